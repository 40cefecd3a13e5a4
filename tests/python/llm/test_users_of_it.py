"""Models for scripts that were written for Nemori, and in the evaluation's ledger."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_checks import talk
from model_server import ModelServer

from episodica.compat.nemori import MemoryConfig, NemoriMemory
from episodica.compat.nemori import config as nemori_config

sys.path.insert(0, str(Path(__file__).parents[3]))

from evaluation.datasets import Conversation
from evaluation.systems import Episodica


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nemori_config, "_reported", set())


@pytest.mark.parametrize(
    "names",
    [
        ("llm_base_url", "llm_api_key"),
        ("openai_base_url", "openai_api_key"),
        ("base_url", "api_key"),
    ],
)
def test_a_script_for_nemori_gets_the_model_that_it_names(
    names: tuple[str, str], server: ModelServer, store: Path
) -> None:
    fields = {
        "storage_path": str(store),
        "llm_model": "their-model",
        names[0]: server.url,
        names[1]: "sk-theirs",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = MemoryConfig.from_dict(fields)
    with NemoriMemory(config) as memory:
        memory.add_messages(
            "ann",
            [{**one, "role": "Ann", "timestamp": one["timestamp"].isoformat()} for one in talk(12)],
        )
        assert memory.flush("ann")["title"].startswith("The model on kite")
        assert memory.wait_for_semantic("ann", timeout=60)
        assert memory.search("ann", "kite")["semantic"]
    assert {request.body["model"] for request in server.requests} == {"their-model"}
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-theirs"}
    assert "sk-theirs" not in repr(config) + str(config.to_dict())


def test_a_script_that_names_a_model_without_a_way_to_it_works_by_rules(store: Path) -> None:
    with pytest.warns(UserWarning, match="no effect in episodica: llm_model$"):
        config = MemoryConfig(storage_path=str(store), llm_model="their-model")
    assert config.llm() is None
    assert "llm" not in config.overrides()


def test_a_key_in_the_environment_is_a_way(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setattr(nemori_config, "_told_offline", [])
    with pytest.warns(UserWarning, match="OPENAI_API_KEY is set, but no field names a model"):
        config = MemoryConfig(storage_path=str(store))
    assert config.llm() is None, "a script that names nothing asks for nothing"
    made = MemoryConfig(storage_path=str(store), llm_model="their-model").llm()
    assert made is not None
    assert (made.model, made.base_url, made.api_key) == ("their-model", None, None)


def test_the_evaluations_ledger_has_what_building_cost(
    server: ModelServer, store: Path, serve: Callable[..., Any]
) -> None:
    system = Episodica(store, {"llm": {"model": "scripted", "base_url": server.url}})
    rows = []
    for user in ("ann", "ben"):
        messages = [{**one, "timestamp": one["timestamp"].isoformat()} for one in talk(30, user)]
        rows.append(system.add(Conversation(user, messages, ()), 0, 30))
    system.close()
    assert all(row["complete"] and row["calls"] > 0 for row in rows)
    assert sum(row["calls"] for row in rows) == len(server.requests)
    steps = ("episode", "extract")
    assert sum(row["prompt_tokens"] + row["completion_tokens"] for row in rows) == sum(
        server.tokens[step] for step in steps
    )
