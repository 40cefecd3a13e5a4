"""What 400 messages cost, compared with Nemori."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from llm_checks import check_whole, talk
from model_server import ModelServer, step_of, system_of, user_of

from episodica import EmbeddingConfig, MemorySystem, count_tokens

# Nemori at its first public version: 399 calls for boundaries and 49 for episodes were counted with
# a scripted server, 291 requests for vectors too. The tokens are those of its prompts (478 a
# boundary, 701 an episode, 514 an extraction before anything is filled in), filled in with the
# messages of this test and counted as ours are. Predictions, which it makes for later episodes, are
# left out.
NEMORI = {
    "boundary": (399, 219_996),
    "episode": (49, 47_040),
    "extract": (49, 37_877),
    "embedding": (291, 0),
}


@pytest.mark.parametrize("batch", [1, 7, 400])
def test_four_hundred_messages_cost_a_sixth_of_nemori_at_most(
    batch: int, server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(server, embedding=EmbeddingConfig(model="vectors", base_url=server.url))
    messages = talk(400)
    for start in range(0, 400, batch):
        memory.add_messages("ann", messages[start : start + batch])
    memory.flush("ann")
    assert memory.wait("ann", timeout=100)
    check_whole(memory, "ann", 400)
    episodes = memory.stats("ann")["episodes"]
    assert 45 <= episodes <= 60
    calls, tokens, tasks = Counter(server.asked), Counter[str](), Counter[str]()
    beginnings: dict[str, set[str]] = {}
    for request in server.requests:
        step = step_of(request)
        if step == "embedding":
            continue
        tasks[step] += count_tokens(system_of(request))
        tokens[step] += count_tokens(system_of(request)) + count_tokens(user_of(request))
        beginnings.setdefault(step, set()).add(system_of(request))
    print(f"\n{'':12}{'Nemori':>8}{'tokens':>10}{'here':>8}{'tokens':>10}")
    for step, (theirs, their_tokens) in NEMORI.items():
        print(f"{step:12}{theirs:8}{their_tokens:10}{calls[step]:8}{tokens[step]:10}")
    share = tasks.total() / tokens.total()
    print(f"share of prompt tokens at the beginning that every call of a step has: {share:.2f}")
    chat = sum(count for step, count in calls.items() if step != "embedding")
    assert chat == calls["episode"] <= 22, "one question a window"
    texts = [request.body["input"] for request in server.of("embedding")]
    assert calls["embedding"] == sum(-(-len(part) // 32) for part in texts)
    embedded = [text for part in texts for text in part]
    assert len(embedded) == len(set(embedded)), "the same text is never embedded twice"
    # An episode needs the facts of earlier episodes, so their vectors can't wait for more texts.
    assert calls["embedding"] <= (70 if batch > 1 else 130)
    assert 6 * tokens.total() <= sum(tokens for _, tokens in NEMORI.values())
    (beginning,) = set[str]().union(*beginnings.values())
    assert count_tokens(beginning) >= 1_024, "servers keep a beginning of this length"
    assert share > 0.45
