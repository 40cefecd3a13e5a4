"""A window of messages is one question: what it costs, what follows from it, what it leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_checks import check_whole, config, remember, talk
from loopback import Reply, Request
from model_server import ModelServer, sensible, shown, step_of, system_of, user_of

from episodica import InvalidInputError, LLMConfig, MemorySystem, count_tokens


def told(request: Request, facts: list[Any] | None = None) -> dict[str, Any]:
    answer = sensible(step_of(request), user_of(request))
    return answer if facts is None else {**answer, "facts": facts}


def row(sentence: str, number: int, ends: str = "", attribute: str = "home") -> list[str]:
    return ["personal_info", "high", "Ann", attribute, "", "", "", ends, str(number), sentence]


def test_all_questions_begin_with_the_same_instructions(
    server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    """Providers cache a beginning of 1,024 tokens that does not vary."""
    memory = open_memory(server)
    for user in ("ann", "ben"):
        remember(memory, user, 45)
    (beginning,) = {system_of(request) for request in server.requests}
    assert count_tokens(beginning) >= 1_024
    assert set(server.asked) == {"episode"}
    last = [user_of(request) for request in server.requests][-1]
    facts, _, _ = last.partition("</known-")
    numbers = [line.split(" | ")[0] for line in facts.splitlines()[1:]]
    assert numbers == [str(number) for number in range(len(numbers))]


def test_what_follows_an_open_window_is_told_with_the_next_one(
    server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(server)
    memory.add_messages("ann", talk(20))
    assert memory.wait("ann", timeout=60)
    assert user_of(server.requests[-1]).endswith("(more follows)")
    assert memory.stats("ann")["buffered"] == 4
    assert memory.stats("ann")["semantic_memories"] == 2, "not the one of the open episode"
    memory.add_messages("ann", talk(6, first=20))
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    assert user_of(server.requests[-1]).endswith(">"), "nothing follows"
    assert len(server.requests) == 2
    check_whole(memory, "ann", 26)
    titles = [episode.title for episode in memory.episodes("ann")]
    assert all(title.startswith("The model on kite") for title in titles)


@pytest.mark.parametrize("narratives", [False, True])
def test_a_narrative_is_a_sentence_unless_it_is_wanted(
    narratives: bool, server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(server, narratives=narratives)
    remember(memory, count=16)
    assert ("at most 50 words" in system_of(server.requests[0])) == narratives
    episode = next(memory.episodes("ann"))
    assert episode.summary.startswith("It was said that kite0")
    assert episode.content.startswith("It was said that") == narratives, episode.content


def test_a_window_without_facts_asks_for_none(
    server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(server, semantic_memory=False)
    remember(memory, count=16)
    (request,) = server.requests
    assert "facts" not in system_of(request)
    assert "{" not in system_of(request)
    assert "facts" not in json.dumps(request.body["response_format"])
    assert {episode.provenance["method"] for episode in memory.episodes("ann")} == {"scripted"}


def test_nothing_that_a_model_wrote_beside_a_deleted_message_repeats_it(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    """The model was shown the whole window when it wrote of each of its episodes."""

    def script(request: Request) -> str:
        answer = told(request)
        said = dict(shown(user_of(request)))
        words = next((text for text in said.values() if "kite9 " in text), "nothing of it")
        for episode in answer.get("episodes", []):
            episode["narrative"] = f"It was also said that {words}."
        answer["facts"] = [row(f"Ann heard that {words}", number) for number in [*said][::5]]
        return json.dumps(answer)

    for narratives in (False, True):
        memory = open_memory(serve(script), path=store / str(narratives), narratives=narratives)
        remember(memory, count=24)
        episodes = list(memory.episodes("ann"))
        assert len(episodes) == 3
        # The last one may be of a window of its own, if it came after the worker had begun.
        assert all("kite9 " in f"{one.summary}{one.content}" for one in episodes[:2])
        memory.delete("ann", "ann-9")
        assert memory.wait("ann", timeout=60)
        memory.close()
        files = [path for path in (store / str(narratives)).rglob("*") if path.is_file()]
        assert not [path.name for path in files if b"kite9 " in path.read_bytes()]


def test_an_edit_reaches_the_episodes_that_were_written_beside_it(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    def script(request: Request) -> str:
        answer = told(request)
        said = dict(shown(user_of(request)))
        for episode in answer.get("episodes", []):
            episode["narrative"] = " ".join(said.values())[:400]
        return json.dumps(answer)

    memory = open_memory(serve(script))
    remember(memory, count=16)
    first, second = memory.episodes("ann")
    assert "kite0 " in second.summary
    edited = {**talk(1)[0], "content": "the balloon was sold"}
    memory.add_messages("ann", [edited])
    assert memory.wait("ann", timeout=60)
    first, second = memory.episodes("ann")
    assert "kite0 " not in first.summary + first.content
    assert "kite0 " not in second.summary + second.content
    assert memory.verify("ann").errors == 0


def sessions(count: int, each: int = 6) -> list[dict[str, Any]]:
    return [
        {**message, "session_id": f"s{number // each}"}
        for number, message in enumerate(talk(count * each))
    ]


def test_an_import_asks_as_many_questions_at_once_as_it_may(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    together, lock, most = threading.Barrier(4), threading.Lock(), [0, 0]

    def script(request: Request) -> str:
        with lock:
            most[0] += 1
            most[1] = max(most)
        # Four questions meet, or the test fails; none waits for an answer to another.
        together.wait(30)
        with lock:
            most[0] -= 1
        return json.dumps(told(request, []))

    memory = open_memory(serve(script), llm_concurrency=4)
    memory.add_messages("ann", sessions(12))
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    assert most[1] == 4
    check_whole(memory, "ann", 72)


def test_a_change_between_questions_that_were_asked_at_once_ends_the_old_fact(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Neither answer knew of the other: the later one is asked for again."""
    homes = ["Lyon", "Nice", "Metz"]

    def script(request: Request) -> str:
        facts = []
        for number, text in shown(user_of(request)):
            place = next((home for home in homes if f"in {home}" in text), None)
            if place:
                known = user_of(request).partition("</known-")[0].splitlines()[1:]
                old = [line.split(" | ")[0] for line in known if "lives in" in line]
                facts.append(row(f"Ann lives in {place}.", number, ", ".join(old)))
        return json.dumps(told(request, facts))

    memory = open_memory(serve(script), llm_concurrency=4)
    said = []
    for number, home in enumerate(homes):
        filler = talk(3, first=10 * number)
        home_told = {**filler[0], "content": f"I live in {home} now."}
        said += [{**one, "session_id": f"s{number}"} for one in (home_told, *filler[1:])]
    memory.add_messages("ann", said)
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    current = [fact.content for fact in memory.semantic_memories("ann")]
    assert [fact for fact in current if "lives" in fact] == ["Ann lives in Metz."]
    assert memory.stats()["mended"]["episodes_asked_again"] >= 1


def test_tokens_of_caches_and_of_reasoning_are_in_the_books(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    counts = [
        {
            "prompt_tokens_details": {"cached_tokens": 1_024},
            "completion_tokens_details": {"reasoning_tokens": 64},
        },
        {"prompt_cache_hit_tokens": 1_024, "reasoning_tokens": 64},
    ]

    def script(request: Request) -> Reply:
        usage = {"prompt_tokens": 1_500, "completion_tokens": 200, **counts[len(asked) % 2]}
        asked.append(request)
        message = {"message": {"content": json.dumps(told(request))}}
        return Reply({"choices": [message], "usage": usage})

    asked: list[Request] = []
    memory = open_memory(serve(script))
    remember(memory, count=60)
    usage = memory.usage()
    assert usage.calls == len(asked) > 1
    assert usage.cached_prompt_tokens == 1_024 * len(asked)
    assert usage.by_phase["episode"].reasoning_tokens == 64 * len(asked)


def test_what_a_server_taught_is_known_after_a_restart(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    def script(request: Request) -> Reply | None:
        body = request.body
        if "max_tokens" in body:
            return Reply({"error": {"message": "use 'max_completion_tokens' instead"}}, 400)
        if "temperature" in body:
            return Reply({"error": {"message": "'temperature' does not support 0"}}, 400)
        return None

    server = serve(script)
    for attempt, user in enumerate(("ann", "ben")):
        memory = open_memory(server)
        before = len(server.requests)
        remember(memory, user, 6)
        assert len(server.requests) - before == (3 if attempt == 0 else 1)
        memory.close()
    kept = (store / "dialects.json").read_text("utf-8")
    assert server.url.removesuffix("/v1") + " scripted" in json.loads(kept)
    assert "sk-a-secret" not in kept
    (store / "dialects.json").write_text("{", "utf-8")
    remember(open_memory(server), "cem", 6)
    assert json.loads((store / "dialects.json").read_text("utf-8"))


def test_the_effort_of_reasoning_is_one_word(
    server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(llm=config(server, reasoning_effort="low", extra={"seed": 7}))
    remember(memory, count=6)
    assert {(one.body["reasoning_effort"], one.body["seed"]) for one in server.requests} == {
        ("low", 7)
    }
    assert LLMConfig("m").reasoning_effort is None
    given = config(server, reasoning_effort="low", extra={"reasoning_effort": "high"})
    remember(open_memory(llm=given), "ben", 6)
    assert server.requests[-1].body["reasoning_effort"] == "high", "the more exact setting"


@pytest.mark.parametrize("make", [lambda: talk(120), lambda: sessions(20)])
def test_an_estimate_is_near_to_what_is_asked(
    make: Callable[[], list[dict[str, Any]]],
    server: ModelServer,
    open_memory: Callable[..., MemorySystem],
) -> None:
    memory = open_memory(server)
    messages = make()
    guess = memory.estimate(messages, price=(2.0, 8.0))
    assert server.requests == []
    assert memory.users() == []
    memory.add_messages("ann", messages)
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    asked = list(server.requests)
    prompts = sum(count_tokens(system_of(one)) + count_tokens(user_of(one)) for one in asked)
    assert guess.messages == len(messages)
    assert abs(guess.calls - len(asked)) <= 2
    assert 0.75 < guess.prompt_tokens / prompts < 1.33
    assert guess.cost == (2 * guess.prompt_tokens + 8 * guess.completion_tokens) / 1_000_000
    assert memory.estimate([]).calls == 0
    with pytest.raises(InvalidInputError, match="message 0"):
        memory.estimate([{"role": "user"}])
