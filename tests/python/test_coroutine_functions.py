"""Coroutine functions as model, embedder, reranker and callbacks: awaited on the program's loop."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import subprocess
import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from chat_clients import AsyncResource, Client, Object, completion, user
from model_server import sensible

from episodica import (
    AsyncMemorySystem,
    ConfigError,
    InvalidInputError,
    LightweightSearchSystem,
    MemorySystem,
)
from episodica.adapters.openai import wrap

Messages = list[dict[str, str]]
STEPS = {"episodes_and_facts": "episode"}
NOTES = [{"role": "user", "content": f"canoe {number} is at pier {number}"} for number in range(6)]


def answer(messages: Messages, response_format: dict[str, Any]) -> str:
    step = STEPS.get(response_format["json_schema"]["name"], "extract")
    return json.dumps(sensible(step, messages[1]["content"]))


class Shared:
    """Something that belongs to one loop, as a client, a lock or a pool does."""

    def __init__(self) -> None:
        self.loops: dict[asyncio.AbstractEventLoop, int] = {}

    async def use(self) -> None:
        loop = asyncio.get_running_loop()
        self.loops[loop] = self.loops.get(loop, 0) + 1
        if len(self.loops) > 1:
            raise RuntimeError("<Shared> is bound to a different event loop")
        await asyncio.sleep(0)


def functions(shared: Shared) -> dict[str, Any]:
    """A model, an embedder and a reranker that use something of the program."""

    async def llm(messages: Messages, response_format: dict[str, Any]) -> str:
        await shared.use()
        return answer(messages, response_format)

    async def embedding(texts: list[str]) -> Any:
        await shared.use()
        return np.array([[len(text), 1.0, 2.0] for text in texts], dtype=np.float32)

    async def reranker(query: str, texts: list[str]) -> Iterable[float]:
        await shared.use()
        return [float(len(text)) for text in texts]

    return {"llm": llm, "embedding": embedding, "reranker": reranker}


async def whole(memory: AsyncMemorySystem, shared: Shared) -> None:
    """Each function is called, and what it shares is on one loop afterwards."""
    await memory.add_messages("ann", NOTES)
    made = await memory.flush("ann")
    found = await memory.search("ann", "which pier?", kinds=["message"])
    await shared.use()
    assert await memory.wait("ann", timeout=60)
    assert not found.degraded
    assert "rerank" in found[0].scores
    assert "python:" in made[0].provenance["method"]
    assert (await memory.stats("ann"))["pending_llm"] == 0
    assert list(shared.loops) == [asyncio.get_running_loop()]


async def test_they_share_the_loop_of_an_asynchronous_memory(store: Path) -> None:
    shared = Shared()
    async with AsyncMemorySystem(store, **functions(shared)) as memory:
        await whole(memory, shared)


def test_they_share_a_loop_of_uvloop(store: Path) -> None:
    uvloop = pytest.importorskip("uvloop")
    shared = Shared()

    async def main() -> None:
        async with AsyncMemorySystem(store, **functions(shared)) as memory:
            await whole(memory, shared)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_a_memory_made_before_the_loop_takes_the_loop_that_calls_it(store: Path) -> None:
    shared = Shared()
    memory = AsyncMemorySystem(store, **functions(shared))

    async def main() -> None:
        await whole(memory, shared)

    asyncio.run(main())
    # The next loop takes its place.
    shared.loops.clear()

    async def again() -> None:
        await memory.add_messages("ben", NOTES)
        assert len(await memory.flush("ben")) == 1
        assert list(shared.loops) == [asyncio.get_running_loop()]
        await memory.close()

    asyncio.run(again())


def test_a_memory_that_is_entered_on_another_loop_moves_there(store: Path) -> None:
    shared = Shared()

    async def make() -> AsyncMemorySystem:
        return AsyncMemorySystem(store, **functions(shared))

    async def use() -> None:
        async with memory:
            await whole(memory, shared)

    memory = asyncio.run(make())
    asyncio.run(use())


class Answerer:
    """An object that is called like a coroutine function."""

    def __init__(self, function: Callable[..., Awaitable[str]]) -> None:
        self._function = function

    async def __call__(self, messages: Messages, response_format: dict[str, Any]) -> str:
        return await self._function(messages, response_format)


@pytest.mark.parametrize("form", ["partial", "object", "plain"])
async def test_every_form_of_a_coroutine_function(form: str, store: Path) -> None:
    shared = Shared()
    function = functions(shared)["llm"]

    def plain(messages: Messages, response_format: dict[str, Any]) -> Awaitable[str]:
        return function(messages, response_format)

    llm = {"partial": functools.partial(function), "object": Answerer(function), "plain": plain}
    async with AsyncMemorySystem(store, llm=llm[form]) as memory:
        await memory.add_messages("ann", NOTES)
        await memory.flush("ann")
        await memory.wait("ann", timeout=60)
        assert (await memory.stats("ann"))["pending_llm"] == 0
    assert list(shared.loops) == [asyncio.get_running_loop()]


async def test_callbacks_are_awaited(store: Path) -> None:
    shared, seen, steps = Shared(), asyncio.Queue[str](), []

    async def note(event: Any) -> None:
        await shared.use()
        await seen.put(event.change)

    async def progress(step: str, done: int, total: int) -> None:
        await shared.use()
        steps.append(step)

    async with AsyncMemorySystem(store) as memory:
        subscription = await memory.on_event(note)
        await memory.add_messages("ann", NOTES, progress=progress)
        async with asyncio.timeout(20):
            assert await seen.get() == "MESSAGE"
        # A callback that never ends is not awaited by the loop that it needs.
        subscription.close(timeout=3600)
    assert subscription.errors == 0
    assert "messages" in steps
    assert list(shared.loops) == [asyncio.get_running_loop()]


class Answering(BaseHTTPRequestHandler):
    """Answers every request with an empty object."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Writes nothing."""

    def do_POST(self) -> None:
        """Answers."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


async def test_one_http_client_for_the_model_and_the_program(store: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked = 0
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.server_port}") as client:

        async def llm(messages: Messages) -> str:
            nonlocal asked
            asked += 1
            return (await client.post("/", json={})).text

        async with AsyncMemorySystem(store, llm=llm) as memory:
            for number in range(8):
                await memory.add_messages("ann", [NOTES[number % 6] | {"message_id": f"{number}"}])
                await asyncio.gather(
                    memory.flush("ann"), *(client.post("/", json={}) for _ in range(3))
                )
    await asyncio.to_thread(server.shutdown)
    server.server_close()
    assert asked >= 8


@pytest.mark.parametrize("kind", [AsyncMemorySystem, MemorySystem])
@pytest.mark.parametrize("when", ["before", "inside"])
def test_one_client_for_a_wrapped_chat_and_the_model(kind: Any, when: str, store: Path) -> None:
    shared = Shared()
    texts = [f"answer {number}" for number in range(8)]

    class Chat(AsyncResource):
        async def create(self, **arguments: Any) -> Any:
            await shared.use()
            return await super().create(**arguments)

    def make() -> Any:
        return kind(store, **functions(shared))

    async def main(memory: Any) -> None:
        memory = memory or make()
        chat = Client(chat=Object(completions=Chat(*map(completion, texts)), other=1))
        client = wrap(chat, memory, "ann")
        for number in range(len(texts)):
            asked = [user(f"where is canoe {number}?")]
            await client.chat.completions.create(model="m", messages=asked)
        plain = memory if kind is MemorySystem else memory._memory
        assert await asyncio.to_thread(plain.wait, "ann", 60)
        stored = await asyncio.to_thread(lambda: [one.content for one in plain.messages("ann")])
        assert stored[1::2] == texts
        assert list(shared.loops) == [asyncio.get_running_loop()]
        await asyncio.to_thread(plain.close)

    asyncio.run(main(make() if when == "before" else None))


@pytest.mark.parametrize("name", ["llm", "embedding", "reranker"])
async def test_a_synchronous_memory_refuses_to_block_a_loop(name: str, store: Path) -> None:
    """As in a notebook, whose cells run on a loop."""
    shared = Shared()
    memory = MemorySystem(store, **{name: functions(shared)[name]})
    with pytest.raises(ConfigError, match="AsyncMemorySystem"):
        memory.add_messages("ann", NOTES)
    with pytest.raises(ConfigError, match="AsyncMemorySystem"):
        memory.search("ann", "pier")
    assert shared.loops == {}
    memory.close()


async def test_a_reader_refuses_to_block_a_loop(store: Path) -> None:
    await asyncio.to_thread(MemorySystem(store).close)
    shared = Shared()
    with LightweightSearchSystem(store, reranker=functions(shared)["reranker"]) as reader:
        with pytest.raises(ConfigError, match="AsyncMemorySystem"):
            reader.search("ann", "pier")
        # A thread of the program may call it.
        assert not await asyncio.to_thread(reader.search, "ann", "pier")


async def test_a_plain_function_that_returns_a_coroutine_never_stops_a_loop(store: Path) -> None:
    """Nobody can know what it returns before it is called: the loop is blocked by then."""
    shared = Shared()
    function = functions(shared)["llm"]

    def llm(messages: Messages, response_format: dict[str, Any]) -> Awaitable[str]:
        return function(messages, response_format)

    with MemorySystem(store, llm=llm) as one:
        one.add_messages("ann", NOTES)
        assert len(one.flush("ann")) == 1  # written by the rules
        with pytest.raises(ConfigError, match="AsyncMemorySystem"):
            one.flush("ann")
    assert shared.loops.keys() <= {asyncio.get_running_loop()}


async def test_a_call_that_blocks_the_loop_of_its_embedder_does_without(store: Path) -> None:
    """An adapter for a client without coroutines blocks the loop where it is called."""
    shared = Shared()
    embedding = functions(shared)["embedding"]
    async with AsyncMemorySystem(store, embedding=embedding) as memory:
        await memory.add_messages("ann", NOTES)
        found = memory._memory.search("ann", "pier", kinds=["message"])
        assert found.degraded
        assert found
        assert not (await memory.search("ann", "pier", kinds=["message"])).degraded


async def test_waiting_calls_leave_the_threads_of_the_loop_to_the_function(store: Path) -> None:
    """A client resolves names in those threads."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))

    async def llm(messages: Messages, response_format: dict[str, Any]) -> str:
        return await asyncio.to_thread(answer, messages, response_format)

    async with AsyncMemorySystem(store, llm=llm) as memory:
        users = [f"ann{number}" for number in range(4)]
        for one in users:
            await memory.add_messages(one, NOTES)
        made = await asyncio.gather(*(memory.flush(one) for one in users))
    assert [len(episodes) for episodes in made] == [1] * 4


@pytest.mark.parametrize("name", ["flush", "wait", "delete_user_data", "close", "search"])
async def test_a_function_that_calls_its_memory_does_not_wait_for_itself(
    name: str, store: Path
) -> None:
    refused = []

    async def llm(messages: Messages) -> str:
        called: Any = getattr(memory, name)
        try:
            await called(*{"close": (), "search": ("ann", "pier")}.get(name, ("ann",)))
        except InvalidInputError as error:
            refused.append("from inside" in str(error))
        return "no"

    async with AsyncMemorySystem(store, llm=llm) as memory:
        await memory.add_messages("ann", NOTES)
        assert len(await memory.flush("ann")) == 1
    assert set(refused) == ({True} if name != "search" else set())


def test_what_belongs_to_another_loop_is_named(store: Path) -> None:
    shared = Shared()

    async def main() -> None:
        await shared.use()

    asyncio.run(main())
    with MemorySystem(store, llm=functions(shared)["llm"]) as memory:
        memory.add_messages("ann", NOTES)
        assert len(memory.flush("ann")) == 1
        failure = str(memory.health()["last_failure"])
    assert "another event loop" in failure
    assert "AsyncMemorySystem" in failure


def test_without_a_loop_the_rules_write_and_the_failure_says_why(store: Path) -> None:
    memory = AsyncMemorySystem(store, **functions(Shared()))
    plain = memory._memory
    plain.add_messages("ann", NOTES)
    assert len(plain.flush("ann")) == 1
    assert "no event loop" in str(plain.health()["last_failure"])
    plain.close(timeout=0)


def test_a_loop_that_ended_holds_nobody_up(store: Path) -> None:
    """The loop is closed while the function waits, and the memory is closed after it."""
    begun = threading.Event()

    async def llm(messages: Messages) -> str:
        begun.set()
        await asyncio.Event().wait()
        return ""

    async def main() -> AsyncMemorySystem:
        memory = AsyncMemorySystem(store, llm=llm)
        await memory.add_messages("ann", NOTES * 8)
        waiting = asyncio.create_task(memory.flush("ann"))
        await asyncio.to_thread(begun.wait, 20)
        assert begun.is_set()
        waiting.cancel()
        return memory

    memory = asyncio.run(main())
    memory._memory.close()
    with MemorySystem(store) as again:
        assert again.verify().errors == 0
        assert again.stats("ann")["messages"] == 48


def test_what_a_loop_never_began_leaves_no_warning(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def made() -> AsyncMemorySystem:
        return AsyncMemorySystem(store, **functions(Shared()))

    def asked(*given: Any, **options: Any) -> asyncio.Handle:
        handle = schedule(*given, **options)
        scheduled.set()
        return handle

    loop = asyncio.new_event_loop()
    memory = loop.run_until_complete(made())._memory
    scheduled, schedule = threading.Event(), loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", asked)
    with warnings.catch_warnings(record=True) as heard, ThreadPoolExecutor(1) as threads:
        warnings.simplefilter("always")
        added = threads.submit(memory.add_messages, "ann", NOTES)
        assert scheduled.wait(20)
        loop.close()
        added.result(20)
        memory.close(timeout=0)
        gc.collect()
    assert not [str(warning.message) for warning in heard if "await" in str(warning.message)]


FORKED = """
import asyncio, os, sys
from episodica import MemorySystem
async def llm(messages):
    await asyncio.sleep(0)
    return "no"
memory = MemorySystem(sys.argv[1], llm=llm)
def told(user):
    memory.add_messages(user, [{"role": "user", "content": f"line {n}"} for n in range(3)])
    return len(memory.flush(user)), memory.usage()["calls"] > 0
assert told("ann") == (1, True)
child = os.fork()
if not child:
    done = told("ben") == (1, True)
    memory.close()
    os._exit(0 if done else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), told("cid"))
memory.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_has_a_loop_of_its_own(store: Path) -> None:
    script = [sys.executable, "-c", FORKED, str(store)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "0 (1, True)\n"), done.stderr
