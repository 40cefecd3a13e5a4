"""The async class: the same signatures, the same results, an event loop that goes on."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, ClosedError, InvalidInputError, MemorySystem

METHODS = [
    name
    for name, _ in inspect.getmembers(MemorySystem, inspect.isfunction)
    if not name.startswith("_")
]
ITERATORS = {"episodes", "semantic_memories", "messages"}
# Methods that return at once.
PLAIN = {"in_timezone", "recall"}


@pytest.mark.parametrize("name", [*METHODS, "__init__"])
def test_signatures_are_those_of_the_sync_class(name: str) -> None:
    here, there = (
        inspect.signature(getattr(cls, name)) for cls in (AsyncMemorySystem, MemorySystem)
    )
    assert here.parameters == there.parameters
    if name in ITERATORS | {"recall"}:
        assert str(here.return_annotation) == f"Async{there.return_annotation}"
    else:
        assert here.return_annotation == there.return_annotation
        plain = name in PLAIN | {"__init__"}
        assert plain or inspect.iscoroutinefunction(getattr(AsyncMemorySystem, name))


class Recorder:
    """Stands for the synchronous memory; each call returns its arguments."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **options: [(name, args, options)]


@pytest.mark.parametrize("name", sorted({*METHODS} - {"close"} - PLAIN))
async def test_arguments_and_results_are_passed_on(name: str) -> None:
    memory = AsyncMemorySystem._around(Recorder())  # type: ignore[arg-type]
    called: Any = getattr(memory, name)("alice", 1, option=None)
    found = [one async for one in called] if name in ITERATORS else await called
    assert found == [(name, ("alice", 1), {"option": None})]


@pytest.mark.parametrize("name", sorted({*METHODS} - {"close", "in_timezone"}))
def test_documentation_is_that_of_the_sync_method(name: str) -> None:
    here, there = (inspect.getdoc(getattr(cls, name)) for cls in (AsyncMemorySystem, MemorySystem))
    assert here
    assert there
    expected = there.partition("\n\nExamples\n")[0]
    assert here == expected.replace("\nRecords of ", "\nAsyncRecords of ")


def test_nothing_public_is_missing() -> None:
    public = {name for name in dir(MemorySystem) if not name.startswith("_")}
    assert public == {name for name in dir(AsyncMemorySystem) if not name.startswith("_")}


async def test_end_to_end(store: Path, talk: list[dict[str, Any]]) -> None:
    async with AsyncMemorySystem(store) as memory:
        assert (await memory.add_messages("alice", talk)).messages_added == 2
        assert len(await memory.flush("alice")) == 1
        assert await memory.wait("alice")
        hits = await memory.search("alice", "Lyon", kinds=["message"])
        assert hits[0].content == "I moved to Lyon last Friday."
        assert (await memory.context("alice", "Lyon")).messages
        episodes = [episode async for episode in memory.episodes("alice")]
        assert await memory.get("alice", episodes[0].episode_id) == episodes[0]
        assert len([message async for message in memory.messages("alice")]) == 2
        assert [fact async for fact in memory.semantic_memories("alice", limit=0)] == []
        assert repr(memory).startswith("<AsyncMemorySystem ")
        with pytest.raises(InvalidInputError):
            await memory.search("alice", "")
    with pytest.raises(ClosedError):
        await memory.users()


async def many_searches(store: Path, talk: list[dict[str, Any]]) -> None:
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages("alice", talk)
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticker = asyncio.create_task(tick())
        found = await asyncio.gather(
            *(memory.search("alice", f"Lyon {number}", kinds=["message"]) for number in range(1000))
        )
        ticker.cancel()
    assert all(hits[0].content == talk[0]["content"] for hits in found)
    assert ticks > 5  # the loop went on meanwhile


async def test_a_thousand_searches_at_once(store: Path, talk: list[dict[str, Any]]) -> None:
    await many_searches(store, talk)


def test_uvloop(store: Path, talk: list[dict[str, Any]]) -> None:
    uvloop = pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(many_searches(store, talk))


async def test_cancelled_searches_in_the_queue_never_run(
    store: Path, talk: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages("alice", talk)
        begun: list[str] = []
        search = MemorySystem.search

        def slow(self: MemorySystem, user: str, query: str, *more: Any, **options: Any) -> Any:
            begun.append(query)
            time.sleep(0.02)
            return search(self, user, query, *more, **options)

        monkeypatch.setattr(MemorySystem, "search", slow)
        tasks = [
            asyncio.create_task(memory.search("alice", f"Lyon {number}")) for number in range(500)
        ]
        await asyncio.sleep(0.1)
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        count = len(begun)
        assert any(isinstance(one, asyncio.CancelledError) for one in done)
        await asyncio.sleep(0.1)
        assert len(begun) - count <= 32
        assert len(begun) < 300
        assert await memory.search("alice", "Lyon", kinds=["message"])


async def test_a_cancelled_addition_stops_and_leaves_the_store_sound(store: Path) -> None:
    messages = [{"role": "user", "content": f"message {number}"} for number in range(20_000)]
    reported: list[int] = []
    loop = asyncio.get_running_loop()
    async with AsyncMemorySystem(store) as memory:

        def report(_step: str, done: int, _total: int) -> None:
            reported.append(done)
            if len(reported) == 1:
                loop.call_soon_threadsafe(task.cancel)
            time.sleep(0.02)

        task = asyncio.create_task(memory.add_messages("alice", messages, progress=report))
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.3)
        count = len(reported)
        await asyncio.sleep(0.2)
        assert len(reported) == count < 10
        stored = (await memory.stats("alice"))["messages"]
        assert 0 < stored < 20_000
        assert (await memory.verify()).errors == 0


async def test_a_timeout_ends_a_wait(store: Path, talk: list[dict[str, Any]]) -> None:
    release = threading.Event()

    def silent(messages: list[dict[str, str]]) -> str:
        release.wait(30)
        return "{}"

    async with AsyncMemorySystem(store, llm=silent) as memory:
        assert await memory.wait(timeout=5)
        await memory.add_messages(
            "alice", [*talk, *({**talk[0], "message_id": f"more-{number}"} for number in range(30))]
        )
        assert not await memory.wait("alice", timeout=0.2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await memory.wait("alice")
        with pytest.raises(InvalidInputError):
            await memory.wait(timeout=-1)
        release.set()
        assert await memory.wait("alice", timeout=60)


async def test_progress_is_passed_on(store: Path, talk: list[dict[str, Any]]) -> None:
    seen: list[str] = []
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages(
            "alice", talk, progress=lambda step, _done, _total: seen.append(step)
        )
        await memory.verify(progress=lambda step, _done, _total: seen.append(step))
        with pytest.raises(InvalidInputError, match="progress must be"):
            await memory.verify(progress="yes")  # type: ignore[arg-type]
    assert {"messages", "users"} <= set(seen)


async def test_a_cancelled_flush_does_not_wait_for_its_model(store: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def slow(messages: list[dict[str, str]]) -> str:
        asked.set()
        release.wait(20)
        return "{}"

    async with AsyncMemorySystem(store, llm=slow, llm_concurrency=1) as memory:
        await memory.add_messages(
            "ann", [{"role": "user", "content": f"kite {number} is up"} for number in range(4)]
        )
        first = asyncio.create_task(memory.flush("ann"))
        await asyncio.to_thread(asked.wait, 20)
        # The only call that the model may have is under way: this one waits, and stops waiting.
        await memory.add_messages(
            "ben", [{"role": "user", "content": f"boat {number} is out"} for number in range(4)]
        )
        second = asyncio.create_task(memory.flush("ben"))
        await asyncio.sleep(0.3)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        assert len(await first) == 1
        assert len(await memory.flush("ben")) == 1
        assert (await memory.verify()).errors == 0


async def test_a_cancelled_block_does_not_wait_for_a_model_that_never_answers(
    tmp_path: Path,
) -> None:
    async def silent(_: object) -> str:
        await asyncio.sleep(600)
        return ""

    said = {"role": "user", "content": "I moved to Lund with my sister.", "message_id": "1"}

    async def learn() -> None:
        async with AsyncMemorySystem(tmp_path / "store", llm=silent) as memory:
            await memory.add_messages("ann", [said])
            await memory.flush("ann")

    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(learn(), timeout=1)
    assert time.monotonic() - begun < 25, "closing waited for the model"
    with MemorySystem(tmp_path / "store") as memory:
        assert [one.content for one in memory.messages("ann")] == [said["content"]]
