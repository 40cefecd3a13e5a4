"""Talk for the tests of the LLM loop, and what must hold whatever a model says."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from model_server import ModelServer

from episodica import EmbeddingConfig, LLMConfig, MemorySystem

START = datetime(2024, 3, 11, 9, 30, tzinfo=UTC)
# Retries, breaker and waits so short that no test waits for them.
QUICK: dict[str, Any] = {
    "retry_wait_seconds": 0.01,
    "breaker_seconds": 0.05,
    "timeout_seconds": 20.0,
}


def talk(count: int, user: str = "ann", first: int = 0) -> list[dict[str, Any]]:
    """Messages a minute apart, each with words of its own."""
    return [
        {
            "role": "user",
            "name": "Ann",
            "content": f"kite{n} flew over hill{n} with string{n} user:{user}",
            "timestamp": START + timedelta(minutes=n),
            "message_id": f"{user}-{n}",
        }
        for n in range(first, first + count)
    ]


def config(server: ModelServer, **settings: Any) -> LLMConfig:
    return LLMConfig(
        **{
            "model": "scripted",
            "base_url": server.url,
            "api_key": "sk-a-secret",
            **QUICK,
            **settings,
        }
    )


def vectors(server: ModelServer, **settings: Any) -> EmbeddingConfig:
    return EmbeddingConfig(
        **{
            "model": "vectors",
            "base_url": server.url,
            "api_key": "sk-a-secret",
            **QUICK,
            **settings,
        }
    )


def check_whole(memory: MemorySystem, user: str, count: int) -> None:
    """Checks that every message is in one episode, episodes have its dates, the store is sound."""
    inside = [message for episode in memory.episodes(user) for message in episode.original_messages]
    assert sorted(message.message_id for message in inside) == sorted(
        message.message_id for message in memory.messages(user)
    )
    assert len(inside) == count
    for episode in memory.episodes(user):
        assert episode.title
        assert episode.content
        assert episode.timestamp in [message.timestamp for message in episode.original_messages]
        assert "fail" not in episode.title.lower()
    for fact in memory.semantic_memories(user, include_superseded=True):
        assert fact.valid_from in [message.timestamp for message in inside]
        assert fact.source_messages
    report = memory.verify(user)
    assert (report.errors, report.problems) == (0, ())


def remember(memory: MemorySystem, user: str = "ann", count: int = 30) -> None:
    memory.add_messages(user, talk(count, user))
    memory.flush(user)
    assert memory.wait(user, timeout=60)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until a condition becomes true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
