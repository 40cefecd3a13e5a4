"""A callable as the language model: what it gets, what it may return, where it runs."""

from __future__ import annotations

import asyncio
import functools
import gc
import json
import re
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from llm_checks import check_whole, remember, talk
from model_server import sensible

from episodica import (
    AsyncMemorySystem,
    ConfigError,
    InvalidInputError,
    LLMError,
    MemorySystem,
    count_tokens,
)
from episodica.models import read

STEPS = {"episodes_and_facts": "episode", "facts": "extract"}
Messages = list[dict[str, str]]


def answer(messages: Messages, response_format: dict[str, Any]) -> str:
    step = STEPS[response_format["json_schema"]["name"]]
    return json.dumps(sensible(step, messages[1]["content"]))


def completion(text: str, prompt: int = 100, said: int = 7) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": said},
    }


def as_text(messages: Messages, response_format: dict[str, Any]) -> str:
    return answer(messages, response_format)


def as_mapping(messages: Messages, **options: Any) -> dict[str, Any]:
    assert options["max_tokens"] > 0
    assert options["temperature"] == 0
    return completion(answer(messages, options["response_format"]))


def as_object(messages: Messages, *, response_format: dict[str, Any]) -> Any:
    return json.loads(
        json.dumps(completion(answer(messages, response_format))),
        object_hook=lambda one: SimpleNamespace(**one),
    )


async def as_coroutine(messages: Messages, response_format: dict[str, Any]) -> str:
    await asyncio.sleep(0)
    return answer(messages, response_format)


class Model:
    """An object that is called, and says its name."""

    model = "my-model"

    def __call__(self, messages: Messages, response_format: dict[str, Any]) -> str:
        return answer(messages, response_format)


@pytest.mark.parametrize(
    "llm",
    [as_text, as_mapping, as_object, as_coroutine, Model()],
    ids=lambda llm: getattr(llm, "__name__", "object"),
)
def test_every_form_of_answer_serves(llm: Any, open_memory: Callable[..., MemorySystem]) -> None:
    memory = open_memory(llm=llm)
    remember(memory)
    check_whole(memory, "ann", 30)
    assert memory.stats("ann")["pending_llm"] == 0
    name = "my-model" if isinstance(llm, Model) else f"python:{llm.__module__}.{llm.__qualname__}"
    assert {episode.provenance["method"] for episode in memory.episodes("ann")} == {name}
    usage = memory.usage()
    assert usage["by_model"].keys() == {name}
    counts_itself = llm in (as_mapping, as_object)
    assert usage["counted_locally"] == (0 if counts_itself else usage["calls"])
    if counts_itself:
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (
            100 * usage["calls"],
            7 * usage["calls"],
        )


def test_tokens_of_text_are_counted_here(open_memory: Callable[..., MemorySystem]) -> None:
    seen: list[int] = []

    def llm(messages: Messages) -> str:
        seen.append(sum(count_tokens(message["content"]) for message in messages))
        return "no"

    memory = open_memory(llm=llm)
    remember(memory)
    assert memory.usage()["prompt_tokens"] == sum(seen)


def test_all_coroutines_run_on_one_loop(open_memory: Callable[..., MemorySystem]) -> None:
    """Clients keep their connections in the loop that they were first used in."""
    loops: set[int] = set()

    async def llm(messages: Messages, response_format: dict[str, Any]) -> str:
        loops.add(id(asyncio.get_running_loop()))
        return answer(messages, response_format)

    memory = open_memory(llm=llm)
    remember(memory)
    assert len(loops) == 1


async def test_it_serves_the_asynchronous_memory(store: Path) -> None:
    async with AsyncMemorySystem(store, llm=as_coroutine) as memory:
        await memory.add_messages("ann", talk(12))
        await memory.flush("ann")
        assert await memory.wait("ann", timeout=60)
        assert (await memory.stats("ann"))["pending_llm"] == 0


def test_what_it_raises_is_an_outage_with_its_words(
    open_memory: Callable[..., MemorySystem],
) -> None:
    def llm(messages: Messages) -> str:
        raise RuntimeError("out of credit")

    memory = open_memory(llm=llm)
    remember(memory)
    check_whole(memory, "ann", 30)
    assert memory.stats("ann")["pending_llm"] == memory.stats("ann")["episodes"]
    assert "RuntimeError: out of credit" in memory.health()["last_failure"]


@pytest.mark.parametrize(
    "value",
    [None, 7, {}, {"choices": []}, {"choices": [{"message": {"content": None}}]}, ["text"]],
    ids=repr,
)
def test_what_is_no_answer_is_an_outage(
    value: Any, open_memory: Callable[..., MemorySystem]
) -> None:
    with pytest.raises(LLMError, match="must return text or a chat completion"):
        read(value)
    memory = open_memory(llm=lambda messages: value)
    remember(memory, count=3)
    check_whole(memory, "ann", 3)
    assert memory.stats("ann")["pending_llm"] == 1
    assert "must return text or a chat completion" in memory.health()["last_failure"]


INTERRUPTED = """
import os, signal, sys, threading
from episodica import MemorySystem
# Where the tests run in the background, the signal is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
calls = []
def llm(messages):
    calls.append(1)
    if len(calls) == 1:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(30)
    return "no"
with MemorySystem(sys.argv[1], llm=llm) as memory:
    memory.add_messages("ann", [{"role": "user", "content": f"line {n}"} for n in range(3)])
    try:
        memory.flush("ann")
        for _ in range(1000):
            memory.stats("ann")
        print("swallowed")
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_a_ctrl_c_while_it_answers_reaches_the_caller(store: Path) -> None:
    """Once, the engine took Ctrl-C for an outage of the model."""
    script = [sys.executable, "-c", INTERRUPTED, str(store)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_no_model_is_refused(store: Path) -> None:
    with pytest.raises(ConfigError, match="must be an LLMConfig or a callable"):
        MemorySystem(store, llm="gpt-4")  # type: ignore[arg-type]


def bare(messages: Messages, response_format: Any, max_tokens: int) -> str:
    return ""


@functools.wraps(bare)
def narrowed(messages: Messages) -> str:
    return ""


@functools.wraps(lambda client, messages: "")
def supplied(messages: Messages) -> str:
    return ""


class Careful:
    def __call__(self, messages: Messages, *, temperature: float) -> str:
        return ""

    async def other(self, first: Messages, second: Messages) -> str:
        return ""


@pytest.mark.parametrize(
    ("llm", "reason"),
    [
        (lambda **options: "", "too many positional arguments"),
        (lambda: "", "too many positional arguments"),
        (lambda one, two, three: "", "missing a required argument: 'two'"),
        (lambda messages, *, model: "", "missing a required.* argument: 'model'"),
        (Careful().other, "missing a required argument: 'second'"),
        (narrowed, "unexpected keyword argument"),
    ],
)
def test_a_function_that_can_not_be_called_is_refused_at_once(
    store: Path, llm: Any, reason: str
) -> None:
    with pytest.raises(ConfigError, match=f"llm can't be called .*: .*{reason}"):
        MemorySystem(store, llm=llm)
    MemorySystem(store).close()


@pytest.mark.parametrize(
    "llm",
    [
        bare,
        supplied,
        Careful(),
        mock.Mock(),
        functools.partial(lambda x, messages, **options: "", 1),
        lambda *args: "",
        lambda prompt, /: "",
        str,
        max,
    ],
)
def test_a_function_whose_signature_may_fit_is_taken(store: Path, llm: Any) -> None:
    MemorySystem(store, llm=llm).close()


def test_other_functions_that_can_not_be_called_are_refused(store: Path) -> None:
    with pytest.raises(ConfigError, match="embedding can't be called with a list of texts"):
        MemorySystem(store, embedding=lambda texts, model: [])  # type: ignore[misc,arg-type]
    with pytest.raises(ConfigError, match="reranker can't be called with two arguments"):
        MemorySystem(store, reranker=lambda texts: [])  # type: ignore[misc,arg-type]
    with MemorySystem(store) as memory:
        with pytest.raises(InvalidInputError, match="callback can't be called with an event"):
            memory.on_event(lambda: None)  # type: ignore[misc,arg-type]
        with pytest.raises(InvalidInputError, match="progress can't be called"):
            memory.verify(progress=lambda step: None)  # type: ignore[misc,arg-type]


def test_a_memory_that_nobody_closed_is_collected(store: Path) -> None:
    started, released = threading.Event(), threading.Event()

    def llm(messages: Messages) -> str:
        started.set()
        released.wait(60)
        return "no"

    memory = MemorySystem(store, llm=llm)
    memory.add_messages("ann", talk(40))
    assert started.wait(60)
    gone = weakref.ref(memory._handle)
    # Closing waits for a call under way, which can't be interrupted.
    threading.Timer(0.2, released.set).start()
    del memory
    gc.collect()
    assert gone() is None
    with MemorySystem(store) as again:
        assert again.stats("ann")["messages"] == 40


SCRIPT = """
import sys, threading
from episodica import MemorySystem
started = threading.Event()
{prefix}def llm(messages):
    started.set()
    threading.Event().wait(0.1)
    return "no"
memory = MemorySystem(sys.argv[1], llm=llm)
memory.add_messages("ann", [{{"role": "user", "content": f"line {{n}}"}} for n in range(40)])
started.wait(60)
print("done")
"""


@pytest.mark.parametrize("prefix", ["", "async "])
def test_a_script_that_closes_nothing_ends(prefix: str, store: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(prefix=prefix), str(store)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    # Only warnings about the model's answers: no thread dies with the interpreter.
    assert not re.search("Traceback|Fatal|ignored|panicked", done.stderr), done.stderr


def test_the_exit_does_not_wait_for_a_model_that_sleeps(store: Path) -> None:
    sleeping = SCRIPT.replace("wait(0.1)", "wait(100)").format(prefix="")
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", sleeping, str(store)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert time.monotonic() - started < 30
