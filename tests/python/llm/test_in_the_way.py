"""An endpoint that hangs, changes or refuses is never in the way of the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_checks import check_whole, config, remember, talk, until, vectors
from loopback import Reply, Request
from model_server import DIMENSION, ModelServer, step_of, user_of, vector

from episodica import EpisodicaError, MemorySystem

REFUSED = Reply({"error": {"message": "blocked", "code": "content_filter"}}, 400)
DOWN = Reply({"error": {"message": "down"}}, 500)
# Never set, and longer than any test takes: a caller that waits for it fails.
FOR_EVER = threading.Event()
# Half of the time that an endpoint may hang here.
WAITED = 30.0


def other_length(request: Request) -> Reply:
    texts = enumerate(request.body["input"])
    return Reply({"data": [{"index": n, "embedding": vector(text)[:3]} for n, text in texts]})


def test_another_dimension_under_the_same_name_leaves_the_words(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    server = serve()
    memory = open_memory(embedding=vectors(server))
    memory.add_messages("ann", talk(30))
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    memory.close()
    server.script = other_length
    again = open_memory(embedding=vectors(server))
    found = again.search("ann", "kite7", top_k=3)
    assert "kite7" in found[0].content
    assert "3" in found.degraded[0]
    assert str(DIMENSION) in found.degraded[0]
    assert "rebuild_indices" in found.degraded[0]
    assert "kite7" in again.context("ann", "kite7").text
    # What is new is kept and found by its words.
    again.add_messages("ann", talk(5, first=30))
    again.flush("ann")
    assert "kite33" in again.search("ann", "kite33")[0].content
    assert again.stats("ann")["pending_vectors"] > 0
    again.rebuild_indices("ann")
    assert again.wait("ann", timeout=60)
    assert again.search("ann", "kite33", method="vector").degraded == ()
    assert again.stats("ann")["pending_vectors"] == 0
    check_whole(again, "ann", 35)


def test_a_refused_episode_blocks_no_other_and_is_given_up(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, the oldest episode was asked for again every minute, and no later episode ever."""
    up = threading.Event()

    def script(request: Request) -> Reply | None:
        if not up.is_set():
            return DOWN
        is_refused = step_of(request) in {"episode", "extract"} and ": kite0 " in user_of(request)
        return REFUSED if is_refused else None

    server = serve(script)
    memory = open_memory(server)
    remember(memory, count=60)
    episodes = memory.stats("ann")["episodes"]
    assert memory.stats("ann")["pending_llm"] == episodes > 2
    up.set()
    until(lambda: memory.stats("ann")["pending_llm"] == 0)
    assert memory.wait("ann", timeout=60)
    first, *others = memory.episodes("ann")
    assert (first.provenance["method"], first.provenance["fallback"]) == ("offline", "refused")
    assert {episode.provenance["method"] for episode in others} == {"scripted"}
    assert memory.stats("ann")["refused_llm"] == 1
    assert memory.stats()["mended"]["answers_refused"] > 0
    check_whole(memory, "ann", 60)
    asked = len(server.requests)
    time.sleep(1.2)
    assert len(server.requests) == asked, "given up"
    # On request it is tried again.
    server.script = None
    assert memory.retry_pending("ann") == 0
    assert next(memory.episodes("ann")).provenance["method"] == "scripted"
    assert memory.stats("ann")["refused_llm"] == 0


def test_search_does_not_wait_for_an_embedder_that_hangs(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, it waited 183 s, then 121 s."""
    hangs = threading.Event()

    def script(request: Request) -> Reply | None:
        if not hangs.is_set():
            return None
        return Reply({"data": []}, wait_for=FOR_EVER)

    server = serve(script)
    settings: dict[str, Any] = {"timeout_seconds": 60, "retry_wait_seconds": 1.0}
    memory = open_memory(embedding=vectors(server, **settings))
    memory.add_messages("ann", talk(30))
    assert memory.wait("ann", timeout=60)
    memory.close()
    hangs.set()
    again = open_memory(embedding=vectors(server, **settings), search_timeout_seconds=0.4)
    for _ in range(5):
        started = time.monotonic()
        found = again.search("ann", "kite7")
        assert time.monotonic() - started < WAITED
        assert "kite7" in found[0].content
        assert found.degraded[0].startswith("vector: ")
        started = time.monotonic()
        assert "kite7" in again.context("ann", "kite7").text
        assert time.monotonic() - started < WAITED
    # Nor does it wait while messages are embedded, or for a user who is opened meanwhile.
    again.add_messages("ben", talk(3, "ben"))
    started = time.monotonic()
    assert "kite2" in again.search("ben", "kite2")[0].content
    assert time.monotonic() - started < WAITED
    started = time.monotonic()
    again.close(timeout=0.2)
    assert time.monotonic() - started < WAITED


def test_the_books_count_answers_without_text_and_failed_attempts(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    used = {"prompt_tokens": 1_000, "completion_tokens": 300}
    empty = {"choices": [{"message": {"content": None}, "finish_reason": "length"}], "usage": used}
    server = serve(lambda request: Reply(empty))
    memory = open_memory(llm=config(server, max_tokens=300))
    remember(memory, count=5)
    usage = memory.usage()
    assert usage["prompt_tokens"] == 1_000 * len(server.requests) > 0
    assert usage["completion_tokens"] == 300 * len(server.requests)
    assert usage["calls"] == 0
    memory.close()
    failing = serve(lambda request: DOWN)
    again = open_memory(llm=config(failing, breaker_failures=1_000), path=None)
    again.add_messages("ben", talk(5, "ben"))
    again.flush("ben")
    assert again.wait("ben", timeout=60)
    usage = again.usage()
    assert usage["failures"] + usage["retries"] == len(failing.requests)
    assert usage["retries"] == 2 * usage["failures"] > 0


def test_an_embedder_that_was_away_is_caught_up_with(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    """Once, nothing was tried again by itself after the attempts at 1, 5 and 30 s."""
    down = threading.Event()
    down.set()
    server = serve(lambda request: DOWN if down.is_set() else None)
    memory = open_memory(embedding=vectors(server, breaker_failures=1_000, max_attempts=1))
    memory.add_messages("ann", talk(30))
    memory.flush("ann")
    until(lambda: memory.stats("ann")["episodes"] > 0)
    until(lambda: memory.stats("ann")["pending_semantic"] == 0)
    stats = memory.stats("ann")
    # An episode has the mean of its messages' vectors.
    records = stats["messages"] + stats["semantic_memories"]
    assert stats["pending_vectors"] == records > 30, "every text without a vector"
    memory.close(timeout=0)
    # Opening leaves pending vectors to the background, too.
    again = open_memory(embedding=vectors(server, breaker_failures=1_000, max_attempts=1))
    assert again.stats("ann")["pending_vectors"] == records
    down.clear()
    until(lambda: again.stats("ann")["pending_vectors"] == 0)
    assert again.wait("ann", timeout=60)
    assert again.search("ann", "kite7", method="vector").degraded == ()


def test_max_tokens_may_be_raised_and_a_dry_answer_gets_more_room(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    server = serve()
    memory = open_memory(llm=config(server, max_tokens=20_000))
    remember(memory)
    assert {request.body["max_tokens"] for request in server.requests} == {20_000}
    memory.close()

    def reasoning(request: Request) -> Reply | None:
        """A model that thinks for 4,000 tokens before it says a word."""
        if request.body["max_tokens"] > 4_000:
            return None
        return Reply({"choices": [{"message": {"content": ""}, "finish_reason": "length"}]})

    thinking = serve(reasoning)
    again = open_memory(thinking)
    again.add_messages("ben", talk(20, "ben"))
    again.flush("ben")
    assert again.wait("ben", timeout=60)
    assert again.stats("ben")["pending_llm"] == 0
    methods = {episode.provenance["method"] for episode in again.episodes("ben")}
    assert methods == {"scripted"}
    dry = [request for request in thinking.requests if request.body["max_tokens"] <= 4_000]
    assert len(dry) <= 8, "learned once, not with every call"


def test_prompts_stay_within_the_models_window(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, 48 kB were sent to any model."""
    from episodica import count_tokens

    window = 2_048

    def small(request: Request) -> Reply | None:
        said = request.body["messages"]
        asked = sum(count_tokens(one["content"]) for one in said) + request.body["max_tokens"]
        if asked <= window:
            return None
        return Reply({"error": {"message": "maximum context length exceeded"}}, 400)

    server = serve(small)
    memory = open_memory(llm=config(server, context_window=window))
    long = "the meadow behind the old mill and everything that grows there " * 60
    messages = [{**message, "content": f"{message['content']} {long}"} for message in talk(24)]
    memory.add_messages("ann", messages)
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    assert memory.stats("ann")["pending_llm"] == 0
    assert memory.usage()["failures"] == 0
    check_whole(memory, "ann", 24)


def test_the_lock_is_free_when_close_returns(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    """Once, another thread's flush kept the lock for 40 s."""
    arrived = threading.Event()

    def script(request: Request) -> Reply:
        arrived.set()
        return Reply({}, wait_for=FOR_EVER)

    memory = open_memory(llm=config(serve(script), timeout_seconds=60))
    memory.add_messages("ann", talk(30))
    outcome: list[EpisodicaError] = []

    def flush() -> None:
        try:
            memory.flush("ann")
        except EpisodicaError as error:
            outcome.append(error)

    thread = threading.Thread(target=flush)
    thread.start()
    assert arrived.wait(30)
    started = time.monotonic()
    memory.close(timeout=0.2)
    assert time.monotonic() - started < WAITED
    with MemorySystem(store) as again:
        assert again.stats("ann")["messages"] == 30
        again.flush("ann")
        check_whole(again, "ann", 30)
    thread.join(30)
    assert not thread.is_alive(), "the call under way ends with the memory"
    assert outcome


def test_a_late_user_does_not_wait_for_another_to_be_done(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, one thread served one user to the end."""

    def script(request: Request) -> None:
        time.sleep(0.02)

    server = serve(script)
    memory = open_memory(server, llm_concurrency=1)
    memory.add_messages("ann", talk(140, "ann"))
    until(lambda: len(server.requests) > 3)
    memory.add_messages("ben", talk(20, "ben"))
    until(lambda: memory.stats("ben")["semantic_memories"] > 0)
    assert memory.wait("ann", timeout=0) is False, "ann's work is still going on"
    assert memory.stats("ann")["buffered"] > 0 or memory.stats("ann")["pending_semantic"] > 0
    assert memory.wait(timeout=100)
    memory.flush("ann")
    assert memory.wait(timeout=100)
    check_whole(memory, "ann", 140)


def test_a_hundred_messages_are_a_handful_of_calls(
    server: ModelServer, open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, 120 messages took 82 s at 2 s a call: 41 calls, one after the other."""
    memory = open_memory(server, prediction_correction=False)
    memory.add_messages("ann", talk(120))
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    assert len(server.requests) <= 7
    check_whole(memory, "ann", 120)


@pytest.mark.requirement("BUF-1")
def test_the_minimum_of_an_episode_is_obeyed(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, the sizes were 6, 2, 6, 2: the model's episodes of eight were cut at the maximum."""
    memory = open_memory(serve(), buffer_size_min=4, buffer_size_max=6)
    memory.add_messages("ann", talk(48))
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    sizes = [episode.message_count for episode in memory.episodes("ann")]
    assert sum(sizes) == 48
    assert set(sizes) <= {4, 5, 6}, sizes


def test_messages_that_come_in_meanwhile_plan_no_attempts_of_their_own(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Once, each message started a round of its own: `wait` took minutes for a hundred messages."""
    server = serve(lambda request: DOWN)
    memory = open_memory(embedding=vectors(server, breaker_failures=1_000, max_attempts=1))
    for message in talk(100):
        memory.add_messages("ann", [message])
    time.sleep(0.3)
    before = len(server.requests)
    until(lambda: len(server.requests) > before)
    time.sleep(0.5)
    again = len(server.requests) - before
    assert again < 50, "one round asks for the vectors of all messages, in batches"
