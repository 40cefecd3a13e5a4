"""Whatever an endpoint sends back: each message is in one episode, and the store is sound."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from llm_checks import check_whole, config, remember
from loopback import Reply, Request
from model_server import ModelServer, asks_for_facts, sensible, shown, step_of, telling, user_of

from episodica import MemorySystem


def once_a_step(fault: Reply) -> Callable[[Request], Reply | None]:
    """The first request of each step fails."""
    spoiled: set[str] = set()

    def script(request: Request) -> Reply | None:
        step = step_of(request)
        if step in spoiled:
            return None
        spoiled.add(step)
        return fault

    return script


PASSING: dict[str, Reply] = {
    "408": Reply({"error": {"message": "slow"}}, 408),
    "409": Reply({"error": {"message": "conflict"}}, 409),
    "429": Reply({"error": {"message": "too many"}}, 429, {"Retry-After": "0"}),
    "500": Reply(b"<html>oops</html>", 500, content_type="text/html"),
    "503": Reply({"error": {"message": "later"}}, 503, {"Retry-After": "0"}),
    "reset": Reply(reset=True),
    "half an answer": Reply(b'{"choices": [{"message": {"content": "{}"}}]}', cut_after=20),
    "nothing of an answer": Reply(b'{"choices": []}', cut_after=0),
    "a stream that never ends": Reply(b'{"choices": [', endless=True),
}


@pytest.mark.parametrize("name", PASSING)
@pytest.mark.requirement("RES-1")
def test_what_may_pass_is_tried_again(
    name: str, serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    server = serve(once_a_step(PASSING[name]))
    # Only the stream has to wait for its deadline, on a busy machine a good answer may miss it,
    # too.
    patience = 1.5 if PASSING[name].endless else 20.0
    memory = open_memory(llm=config(server, breaker_failures=20, timeout_seconds=patience))
    remember(memory)
    check_whole(memory, "ann", 30)
    assert memory.stats("ann")["pending_llm"] == 0
    assert all(episode.provenance["method"] == "scripted" for episode in memory.episodes("ann"))
    usage = memory.usage()
    assert usage["failures"] == 0
    # The first request of each step.
    steps = len(set(server.asked))
    assert usage["retries"] == steps or PASSING[name].endless
    assert usage["retries"] >= steps >= 1
    assert len(server.requests) == usage["calls"] + usage["retries"]


FINAL: dict[str, tuple[Reply, int]] = {
    "401": (Reply({"error": {"message": "wrong key"}}, 401), 1),
    "403": (Reply({"error": {"message": "no"}}, 403), 1),
    "400 for the content": (Reply({"error": {"message": "maximum context length"}}, 400), 1),
    "a wait that is too long": (
        Reply({"error": {"message": "tomorrow"}}, 429, {"Retry-After": "86400"}),
        1,
    ),
    "another content type": (Reply(b"<html>hello</html>", content_type="text/html"), 1),
    "no JSON": (Reply(b"hello"), 1),
    "no choice": (Reply({"choices": []}), 1),
    "no text": (Reply({"choices": [{"message": {"content": None}, "finish_reason": "stop"}]}), 2),
    "17 MB": (Reply(b'{"x": "' + b"x" * (17 << 20) + b'"}'), 1),
    "500 for ever": (Reply({"error": {}}, 500), 3),
}


# Faults of a server that works, but refuses these messages.
FOR_THIS_EPISODE = {"400 for the content"}


@pytest.mark.parametrize("name", FINAL)
def test_what_will_not_pass_is_asked_no_more_often_than_said(
    name: str, serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    reply, attempts = FINAL[name]
    server = serve(lambda request: reply)
    memory = open_memory(llm=config(server, breaker_failures=1_000, breaker_seconds=3_600))
    # Three messages are too few to ask for a boundary; the episode may be asked for once more by a
    # first probe.
    memory.add_messages(
        "ann",
        [
            {"role": "user", "content": f"I live in Lyon, house {n}.", "timestamp": 60 * n}
            for n in range(3)
        ],
    )
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    assert set(server.asked) <= {"episode", "extract"}
    assert server.asked["episode"] % attempts == 0
    # Nobody asks before a wait is over.
    waits = name == "a wait that is too long"
    assert server.asked["extract"] == (0 if waits or name == "no text" else attempts)
    check_whole(memory, "ann", 3)
    stats, episode = memory.stats("ann"), next(memory.episodes("ann"))
    if name in FOR_THIS_EPISODE:
        assert (stats["pending_llm"], stats["refused_llm"]) == (0, 1)
        assert episode.provenance["fallback"] == "refused"
    else:
        assert (stats["pending_llm"], stats["refused_llm"]) == (1, 0)
        why = "malformed_answer" if name == "no text" else "outage"
        assert episode.provenance["fallback"] == why
        assert episode.provenance["pending_llm"] is True
        assert memory.health()["status"] == "degraded"
    assert memory.stats()["mended"]["episodes_by_rules"] >= 1
    assert memory.usage()["calls"] == 0


def fenced(step: str, prompt: str) -> str:
    answer = json.dumps(sensible(step, prompt), indent=2)
    return f"Sure! Here it is:\n```json\n{answer}\n```\nAnything else?"


def one_bad_item(step: str, prompt: str) -> str:
    answer = sensible(step, prompt)
    for items in answer.values():
        if isinstance(items, list):
            items.append(7)
    return json.dumps(answer)


def cut_short(step: str, prompt: str) -> str:
    return json.dumps(sensible(step, prompt))[:-3]


def hallucinated_indexes(step: str, prompt: str) -> str:
    answer = sensible(step, prompt)
    for episode in answer.get("episodes", []):
        episode["messages"] = [*range(episode["first"], episode["last"] + 1), -1, 0, 999, 10**12]
    for fact in answer.get("facts", []):
        fact["messages"] = [999, -1]
        fact["ends"] = fact["corrects"] = [77, -1, 10**12]
    return json.dumps(answer)


def another_language(step: str, prompt: str) -> str:
    if step == "episode":
        text = "安娜在山上放风筝，风筝飞得很高，她告诉了朋友很多关于风筝的事情。"
        return json.dumps({"title": "放风筝的一天", "narrative": text})
    if step == "extract":
        about = {
            "kind": "event",
            "subject": "安娜",
            "attribute": "hobby",
            "value": "风筝",
            "confidence": 1,
            "importance": "high",
        }
        return json.dumps({"facts": [{"content": "安娜喜欢放风筝。", **about, "messages": [0]}]})
    return json.dumps(sensible(step, prompt))


def huge(step: str, prompt: str) -> str:
    answer = sensible(step, prompt)
    for told in answer.get("episodes", []):
        told["narrative"] = (told["narrative"] + " ") * (1_000_000 // len(told["narrative"]))
    if "facts" in answer:
        answer["facts"] *= 5_000
    return json.dumps(answer)


def echo_of_the_prompt(step: str, prompt: str) -> str:
    return prompt


def a_refusal(step: str, prompt: str) -> str:
    return "I'm sorry, I can't help with that."


def noise(step: str, prompt: str) -> str:
    return "".join(chr(random.Random(prompt).randrange(32, 0x2FFF)) for _ in range(500))


# What is counted for it, by step; nothing where the answer is used as it is.
ANSWERS: dict[Callable[[str, str], str], tuple[str, ...]] = {
    fenced: ("answers_salvaged",),
    one_bad_item: ("boundary_indexes_repaired",),
    cut_short: ("answers_salvaged",),
    hallucinated_indexes: ("boundary_indexes_repaired",),
    another_language: ("episodes_by_rules",),
    huge: (),
    echo_of_the_prompt: ("boundary_answers_malformed", "episodes_by_rules", "facts_by_rules"),
    a_refusal: ("boundary_answers_malformed", "episodes_by_rules", "facts_by_rules"),
    noise: ("boundary_answers_malformed", "episodes_by_rules", "facts_by_rules"),
}


@pytest.mark.parametrize("write", ANSWERS, ids=lambda write: write.__name__)
@pytest.mark.parametrize("mode", ["window", "message"])
@pytest.mark.requirement("RES-3")
def test_any_answer_leaves_everything_whole(
    write: Callable[[str, str], str],
    mode: Any,
    serve: Callable[..., ModelServer],
    open_memory: Callable[..., MemorySystem],
) -> None:
    server = serve(lambda request: write(step_of(request), user_of(request)))
    memory = open_memory(server, boundary_mode=mode)
    remember(memory)
    check_whole(memory, "ann", 30)
    assert server.asked["episode"]
    assert (server.asked["boundary"] > 0) == (mode == "message")
    mended = memory.stats()["mended"]
    if mode == "window":
        assert set(ANSWERS[write]) <= set(mended), mended
    assert len(server.requests) == memory.usage()["calls"]
    for episode in memory.episodes("ann"):
        assert len(episode.content) < 20_000
        assert "kite" in episode.content, "in the language of the conversation, and about it"
    for fact in memory.semantic_memories("ann"):
        assert "kite" in fact.content or write is another_language
    # After an answer that could not be used, the model is asked again only on request.
    before = len(server.requests)
    assert memory.wait("ann", timeout=60)
    assert len(server.requests) == before


def test_what_is_no_statement_is_turned_down_and_counted(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """An audit of another system found 97.8 % junk, prompt examples among it."""

    def invent(request: Request) -> str | None:
        if not asks_for_facts(request):
            return None
        about = {
            "kind": "event",
            "subject": "Ann",
            "attribute": "x",
            "confidence": 0.9,
            "importance": "high",
            "messages": [0],
        }
        junk = ["kite0 flew over hill0?", "Two facts in one message are two arrays.", "..."]
        facts = [{"content": text, **about} for text in junk]
        facts.append({**about, "content": "kite0 is kite0.", "messages": []})
        said = shown(user_of(request))
        facts += [{**about, "content": text, "messages": [number]} for number, text in said]
        return telling(request, facts)

    memory = open_memory(serve(invent))
    remember(memory, count=8)
    assert [fact.content for fact in memory.semantic_memories("ann")] == [
        f"kite{n} flew over hill{n} with string{n} user:ann" for n in range(8)
    ]
    rejected = memory.stats()["rejected_statements"]
    assert rejected == {"question": 1, "echo": 1, "empty": 1, "no_source": 1}


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    answers=st.lists(
        st.one_of(
            st.text(max_size=200),
            st.sampled_from(['{"episodes":[[0],[5]', '{"facts":{}}', "[]", "{", "null", '"x"']),
        ),
        min_size=1,
    )
)
def test_any_text_at_all_leaves_everything_whole(
    answers: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    turn = iter(range(10**9))
    with MemorySystem(
        tmp_path_factory.mktemp("any"), llm=lambda messages: answers[next(turn) % len(answers)]
    ) as memory:
        remember(memory, count=27)
        check_whole(memory, "ann", 27)


LLAMA_CPP_PYTHON = (
    "1 validation error:\n  {'type': 'literal_error', "
    "'loc': ('body', 'response_format', 'type'), 'msg': \"Input should be 'text'\"}"
)


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "response_format is not supported"), (422, "no"), (500, LLAMA_CPP_PYTHON)],
)
def test_a_refused_form_is_lowered_once_and_remembered(
    status: int,
    words: str,
    serve: Callable[..., ModelServer],
    open_memory: Callable[..., MemorySystem],
) -> None:
    def refuse(request: Request) -> Reply | None:
        form = request.body.get("response_format", {}).get("type", "text")
        return Reply({"error": {"message": words}}, status) if form != "text" else None

    server = serve(refuse)
    memory = open_memory(server, llm_concurrency=1)
    remember(memory, count=60)
    check_whole(memory, "ann", 60)
    assert memory.stats("ann")["pending_llm"] == 0
    forms = [
        request.body.get("response_format", {}).get("type", "text") for request in server.requests
    ]
    assert forms[:4] == ["json_schema", "json_object", "json_object", "text"]
    assert set(forms[4:]) == {"text"}
    assert memory.health()["llm"]["endpoint"]["format"] == "text"
