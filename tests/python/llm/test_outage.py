"""An endpoint that is slow, down, or comes back; a process that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_checks import check_whole, config, remember, talk, until
from loopback import Reply, Request
from model_server import ModelServer, step_of

from episodica import LLMConfig, MemorySystem

DOWN = Reply({"error": {"message": "down"}}, 500)


class Switch:
    """A server's script: down until it is told otherwise."""

    def __init__(self, reply: Reply = DOWN) -> None:
        self.up = False
        self._reply = reply

    def __call__(self, request: Request) -> Reply | None:
        return None if self.up else self._reply


class Hold:
    """A server's script: every answer of a step waits until it is released."""

    def __init__(self, step: str) -> None:
        self._step = step
        self.arrived = threading.Event()
        self.released = threading.Event()

    def __call__(self, request: Request) -> Reply | None:
        if step_of(request) == self._step and not self.released.is_set():
            self.arrived.set()
            self.released.wait(60)
        return None


@pytest.mark.requirement("RES-2")
def test_a_dead_server_costs_the_breakers_requests_and_no_more(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    server = serve(lambda request: DOWN)
    # With calls at once, those in flight when the breaker opens are sent, too.
    memory = open_memory(
        llm=config(server, breaker_failures=5, breaker_seconds=3_600), llm_concurrency=1
    )
    for user in ("ann", "ben"):
        remember(memory, user, 200)
        check_whole(memory, user, 200)
    assert len(server.requests) == 5
    health = memory.health()
    assert (health["status"], health["llm"]["available"], health["llm"]["endpoint"]["breaker"]) == (
        "degraded",
        False,
        "open",
    )
    assert "500" in health["last_failure"]
    assert memory.stats("ann")["pending_llm"] == memory.stats("ann")["episodes"]
    assert memory.usage()["failures"] > len(server.requests), (
        "calls that the breaker refused at once"
    )
    # Nothing waits for it: not adding, not searching, not closing.
    assert memory.search("ann", "kite7 hill7", kinds=["message"])[0].content.startswith("kite7 ")


def test_a_port_where_nobody_listens_is_an_outage_too(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    server = serve()
    server.close()
    memory = open_memory(llm=config(server, breaker_seconds=3_600), llm_concurrency=1)
    remember(memory)
    check_whole(memory, "ann", 30)
    assert memory.stats("ann")["pending_llm"] > 0
    assert memory.health()["llm"]["endpoint"]["requests"] == 5


@pytest.mark.requirement("EPI-2")
def test_what_the_rules_wrote_is_written_again_by_itself(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    switch = Switch()
    memory = open_memory(serve(switch))
    remember(memory)
    before = list(memory.episodes("ann"))
    assert {episode.provenance["fallback"] for episode in before} == {"outage"}
    assert memory.stats("ann")["pending_llm"] == len(before)
    switch.up = True
    until(lambda: memory.stats("ann")["pending_llm"] == 0)
    assert memory.wait("ann", timeout=60)
    check_whole(memory, "ann", 30)
    after = list(memory.episodes("ann"))
    assert [episode.episode_id for episode in after] == [episode.episode_id for episode in before]
    assert {episode.provenance["method"] for episode in after} == {"scripted"}
    assert all("pending_llm" not in episode.provenance for episode in after)
    versions = memory.history("ann", after[0].episode_id)
    assert [version.content for version in versions] == [before[0].content, after[0].content]
    assert memory.health()["status"] == "ok"


def test_retry_pending_does_it_at_once_and_says_what_is_left(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    switch = Switch()
    # A breaker that stays closed, so that a retry asks; every other episode fails the second time,
    # too.
    memory = open_memory(llm=config(serve(switch), breaker_failures=100_000, max_attempts=1))
    remember(memory)
    assert memory.retry_pending("ann") == memory.stats("ann")["pending_llm"] > 0
    switch.up = True
    assert memory.retry_pending("ann") == 0
    assert memory.stats("ann")["pending_llm"] == 0
    check_whole(memory, "ann", 30)


def test_pending_texts_survive_a_restart(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    switch = Switch()
    server = serve(switch)
    memory = open_memory(server)
    remember(memory)
    pending = memory.stats("ann")["pending_llm"]
    memory.close()
    switch.up = True
    again = open_memory(server)
    assert again.stats("ann")["pending_llm"] in range(pending + 1)
    assert again.wait(timeout=60)
    until(lambda: again.stats("ann")["pending_llm"] == 0)
    check_whole(again, "ann", 30)
    assert {episode.provenance["method"] for episode in again.episodes("ann")} == {"scripted"}


def test_without_a_model_pending_texts_stay_as_they_are(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    memory = open_memory(serve(Switch()))
    remember(memory)
    pending = memory.stats("ann")["pending_llm"]
    memory.close()
    with MemorySystem(store) as offline:
        assert offline.stats("ann")["pending_llm"] == pending
        assert offline.wait(timeout=60)
        check_whole(offline, "ann", 30)


@pytest.mark.requirement("RET-8")
def test_callers_and_searches_do_not_wait(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    hold = Hold("episode")
    server = serve(hold)
    memory = open_memory(server)
    memory.add_messages("ann", talk(40))
    assert hold.arrived.wait(60)
    # All of this happens while the model is silent.
    assert memory.add_messages("ann", talk(1, first=40)).messages_added == 1
    assert memory.search("ann", "kite40", kinds=["message"])[0].content.startswith("kite40")
    assert memory.context("ann", "kite7").messages
    assert memory.stats("ann")["episodes"] == 0
    assert memory.wait("ann", timeout=0) is False
    assert memory.wait(timeout=0.05) is False
    hold.released.set()
    assert memory.wait("ann", timeout=60)
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    check_whole(memory, "ann", 41)


def test_flush_returns_the_models_episodes(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(serve())
    memory.add_messages("ann", talk(12))
    made = memory.flush("ann")
    assert [episode.title for episode in made] == [
        episode.title for episode in memory.episodes("ann")
    ]
    assert all(episode.title.startswith("The model on kite") for episode in made)
    assert memory.flush("ann") == []


@pytest.mark.requirement("RES-4")
def test_close_with_no_time_leaves_the_rest_for_the_next_start(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    hold = Hold("episode")
    server = serve(hold)
    memory = open_memory(server)
    memory.add_messages("ann", talk(40))
    assert hold.arrived.wait(60)
    memory.close(timeout=0)
    hold.released.set()
    again = open_memory(server)
    again.flush("ann")
    assert again.wait("ann", timeout=60)
    check_whole(again, "ann", 40)
    assert again.stats("ann")["pending_llm"] == 0
    # What had been answered before was not asked again.
    prompts = [json.dumps(request.body["messages"]) for request in server.of("episode")]
    assert len(prompts) <= len(set(prompts)) + 1, "but the one that was on its way"


def stated_by_model(memory: MemorySystem) -> int:
    facts = memory.semantic_memories("ann")
    return sum(fact.provenance["method"] == "scripted" for fact in facts)


def test_close_with_time_finishes(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    server = serve()
    memory = open_memory(server)
    memory.add_messages("ann", talk(40))
    memory.flush("ann")
    memory.close(timeout=60)
    asked = len(server.requests)
    again = open_memory(server)
    assert again.wait(timeout=60)
    assert len(server.requests) == asked
    assert stated_by_model(again) == again.stats("ann")["episodes"] > 0


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.requirement("BUF-2")
def test_a_session_is_closed_with_and_without_an_answer(
    up: bool, serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    switch = Switch()
    switch.up = up
    memory = open_memory(llm=config(serve(switch), breaker_seconds=3_600))
    memory.add_messages("ann", talk(12), session_id="one")
    memory.add_messages("ann", talk(3, first=12), session_id="two")
    made = memory.close_session("ann", "one")
    assert sum(episode.message_count for episode in made) == 12
    assert {episode.session_id for episode in made} == {"one"}
    assert made[-1].boundary["reason"] == "session"
    assert memory.wait("ann", timeout=60)
    assert memory.stats("ann")["buffered"] == 3
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    check_whole(memory, "ann", 15)


KILLED = """
import json, sys
from episodica import LLMConfig, MemorySystem
url, store, messages = sys.argv[1], sys.argv[2], json.loads(sys.stdin.readline())
memory = MemorySystem(store, llm=LLMConfig("scripted", base_url=url))
print(memory.add_messages("ann", messages).messages_added, flush=True)
sys.stdin.readline()
"""


def test_work_goes_on_after_a_kill(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    hold = Hold("episode")
    server = serve(hold)
    said = json.dumps(
        [{**message, "timestamp": message["timestamp"].isoformat()} for message in talk(120)]
    )
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, server.url, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(said + "\n")
        process.stdin.flush()
        assert process.stdout.readline().strip() == "120"
        assert hold.arrived.wait(60)
    finally:
        process.kill()
        process.wait(30)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        hold.released.set()
    memory = open_memory(server)
    assert memory.wait(timeout=60)
    memory.flush("ann")
    assert memory.wait("ann", timeout=60)
    check_whole(memory, "ann", 120)
    stats = memory.stats("ann")
    assert (stats["pending_llm"], stats["pending_semantic"]) == (0, 0)
    assert stated_by_model(memory) == stats["episodes"]


def test_the_fallback_answers_while_the_first_endpoint_is_out(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    first, second = serve(lambda request: DOWN), serve()
    spare = LLMConfig("spare", base_url=second.url, retry_wait_seconds=0.01)
    memory = open_memory(
        llm=config(first, fallback=spare, breaker_seconds=3_600), llm_concurrency=1
    )
    remember(memory, count=60)
    check_whole(memory, "ann", 60)
    assert memory.stats("ann")["pending_llm"] == 0
    assert {episode.provenance["method"] for episode in memory.episodes("ann")} == {"spare"}
    assert len(first.requests) == 5
    usage = memory.usage()
    assert usage["by_model"].keys() == {"spare"}
    assert usage["calls"] == len(second.requests)
    health = memory.health()
    assert health["status"] == "ok"
    assert (
        health["llm"]["endpoint"]["breaker"],
        health["llm"]["endpoint"]["fallback"]["breaker"],
    ) == ("open", "closed")


def test_users_do_not_wait_for_each_other(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    released = threading.Event()
    slow: list[Any] = []

    def script(request: Request) -> Reply | None:
        if "user:ann" in json.dumps(request.body) and not released.is_set():
            slow.append(request)
            released.wait(60)
        return None

    memory = open_memory(serve(script), llm_concurrency=4)
    memory.add_messages("ann", talk(40, "ann"))
    remember(memory, "ben", 40)
    check_whole(memory, "ben", 40)
    assert memory.wait("ann", timeout=0) is False
    released.set()
    assert memory.wait("ann", timeout=60)


def test_no_more_calls_are_in_flight_than_allowed(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    lock, together = threading.Lock(), threading.Barrier(2)
    flying, most = 0, 0

    def script(request: Request) -> None:
        nonlocal flying, most
        with lock:
            flying += 1
            most = max(most, flying)
        if request.number <= 2:
            together.wait(30)
        with lock:
            flying -= 1

    memory = open_memory(serve(script), llm_concurrency=2)
    users = [f"u{n}" for n in range(6)]
    for user in users:
        memory.add_messages(user, talk(30, user))
    memory.flush_all_buffers()
    assert memory.wait(timeout=100)
    assert most == 2
    for user in users:
        check_whole(memory, user, 30)


def test_a_deleted_user_is_not_asked_about_any_more(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], store: Path
) -> None:
    hold = Hold("episode")
    memory = open_memory(serve(hold), trace=True)
    memory.add_messages("ann", talk(40))
    assert hold.arrived.wait(60)
    memory.delete_user_data("ann")
    hold.released.set()
    assert memory.wait(timeout=60)
    memory.close()
    assert not [
        path for path in store.rglob("*") if path.is_file() and b"kite" in path.read_bytes()
    ]
