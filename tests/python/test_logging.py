"""The engine's log records reach Python's logging, without a deadlock of handlers."""

from __future__ import annotations

import logging
import sys
import threading
import time
from pathlib import Path

import pytest

from episodica import MemorySystem

MESSAGES = [
    {"role": "user", "content": f"the kite number {number} flew over the hill"}
    for number in range(12)
]


def failing(messages: object, **options: object) -> str:
    raise RuntimeError("the model is on holiday")


def test_failures_of_a_model_are_warnings(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING, logger="episodica"),
        MemorySystem(store, llm=failing) as memory,
    ):
        memory.add_messages("ann", MESSAGES)
        memory.flush("ann")
        memory.wait("ann")
    told = [record for record in caplog.records if record.name == "episodica.engine"]
    assert any("the model is on holiday" in record.getMessage() for record in told)
    assert {record.levelno for record in told} == {logging.WARNING}
    assert all(abs(record.created - time.time()) < 3600 and record.threadName for record in told)


def test_below_the_level_nothing_is_told(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="episodica"), MemorySystem(store) as memory:
        memory.add_messages("ann", MESSAGES)
        memory.flush("ann")
    assert "1 episodes are in the log" in caplog.text
    caplog.clear()
    with (
        caplog.at_level(logging.ERROR, logger="episodica"),
        MemorySystem(store, llm=failing) as memory,
    ):
        memory.add_messages("ben", MESSAGES)
        memory.flush("ben")
        memory.wait("ben")
    assert not caplog.records


def test_a_handler_may_call_the_memory(store: Path) -> None:
    class Asking(logging.Handler):
        found = 0

        def emit(self, record: logging.LogRecord) -> None:
            if (
                threading.current_thread() is threading.main_thread()
                and record.levelno >= logging.WARNING
            ):
                Asking.found += len(memory.search("ann", "kite", kinds=["message"]))

    handler, logger = Asking(), logging.getLogger("episodica")
    logger.addHandler(handler)
    try:
        with MemorySystem(store, llm=failing) as memory:
            for message in MESSAGES:
                memory.add_messages("ann", [message])
            memory.flush("ann")
            memory.wait("ann")
            assert Asking.found > 0
    finally:
        logger.removeHandler(handler)


def test_a_handler_that_raises_does_not_fail_the_call(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise ValueError("a broken filter")

    raised: list[BaseException | None] = []
    monkeypatch.setattr(
        sys, "unraisablehook", lambda unraisable: raised.append(unraisable.exc_value)
    )
    broken, logger = Broken(), logging.getLogger("episodica.engine")
    logger.addFilter(broken)
    try:
        with MemorySystem(store, llm=failing) as memory:
            memory.add_messages("ann", MESSAGES)
            assert len(memory.flush("ann")) == 1
            memory.wait("ann")
    finally:
        logger.removeFilter(broken)
    assert raised
    assert all(isinstance(one, ValueError) for one in raised)
