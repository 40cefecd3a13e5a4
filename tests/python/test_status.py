"""Reports of the memory about itself: typed fields, mapping access, JSON, and what is failing."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import episodica
from episodica import Health, LightweightSearchSystem, MemorySystem, StoreStats, Usage, UserStats
from episodica.status import Report

TALK = [
    {"role": "user", "content": "I moved to Lyon last Friday.", "timestamp": "2024-03-11T09:30Z"},
    {"role": "assistant", "content": "How do you like it?"},
]


def broken(prompt: str) -> str:
    raise ConnectionError("no route to the model")


def reports(memory: MemorySystem) -> list[Report]:
    memory.add_messages("alice", TALK)
    memory.flush("alice")
    return [memory.stats("alice"), memory.stats(), memory.health(), memory.usage()]


def test_reports_are_typed(memory: MemorySystem) -> None:
    assert list(map(type, reports(memory))) == [UserStats, StoreStats, Health, Usage]


def test_reports_read_like_dictionaries(memory: MemorySystem) -> None:
    for report in reports(memory):
        assert dict(report) == {name: report[name] for name in report} == report
        assert json.loads(json.dumps(report.to_dict())).keys() == report.keys()
        assert copy.deepcopy(report) == pickle.loads(pickle.dumps(report)) == report
        assert report.get("no such name", 7) == 7
        with pytest.raises(KeyError):
            report["no such name"]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(report, next(iter(report)), 1)
        assert "\n" not in repr(report)
        assert report._repr_html_().startswith("<")


def test_reports_print_a_line_per_number(memory: MemorySystem) -> None:
    stats = reports(memory)[0]
    assert "messages: 2" in str(stats).splitlines()
    assert "vectors.messages: 2" in str(stats).splitlines()


@pytest.mark.parametrize(
    "cls",
    [cls for cls in vars(episodica).values() if isinstance(cls, type) and issubclass(cls, Report)],
)
def test_every_key_is_documented(cls: type[Any]) -> None:
    described = "".join(inspect.getdoc(base) or "" for base in cls.__mro__ if base is not Report)
    for field in dataclasses.fields(cls):
        assert (
            f"{field.name} : " in described
            or f"{field.name}, " in described
            or (f", {field.name} : " in described)
        ), field.name


def test_health_says_what_the_store_stands_on(memory: MemorySystem, store: Path) -> None:
    assert store.exists()
    health = memory.health()
    assert (health.status, health.failing) == ("ok", ())
    found = health["store"]
    assert (found["backend"], found["path"], found["read_only"]) == ("files", str(store), False)


def test_health_names_a_model_that_fails_every_call(store: Path) -> None:
    """Once, it was "ok" after all calls had failed."""
    with MemorySystem(store, llm=broken) as memory:
        memory.add_messages("alice", TALK)
        memory.flush("alice")
        memory.wait("alice")
        health = memory.health()
        assert (health.status, health.failing) == ("degraded", ("llm",))
        service = health.llm.endpoint
        assert service is not None
        assert service.kind == "callable"
        assert service.failing
        assert service.failures == service.calls > 0
        assert "no route to the model" in (health.last_failure or "")


def test_health_names_an_embedder_that_fails_and_forgets_it_when_it_works(store: Path) -> None:
    import numpy as np

    works = False

    def embed(texts: list[str]) -> Any:
        if not works:
            raise ConnectionError("no route to the embedder")
        return np.ones((len(texts), 4), dtype=np.float32)

    with MemorySystem(store, embedding=embed) as memory:
        memory.add_messages("alice", TALK)
        assert memory.health().failing == ("embedding",)
        works = True
        memory.retry_pending("alice")
        assert memory.health().failing == ()


def test_users_and_counts_of_the_store_open_no_user(store: Path) -> None:
    with MemorySystem(store) as memory:
        for number in range(30):
            memory.add_messages(f"user {number}", [{"role": "user", "content": "I like tea."}])
    with LightweightSearchSystem(store) as reader:
        assert len(reader.users()) == 30
        assert reader.stats()["users"] == 30
        assert reader.stats()["open_users"] == 0
        reader.stats("user 7")
        assert reader.stats()["open_users"] == 1
