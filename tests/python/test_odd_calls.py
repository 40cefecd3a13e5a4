"""What people who come from other libraries, or who mistype, read instead of an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    ConfigError,
    EpisodicaError,
    InvalidInputError,
    LightweightSearchSystem,
    MemoryConfig,
    MemorySystem,
)

Call = Callable[[Any], object]
WRITING = (
    "add_messages",
    "close_session",
    "delete",
    "delete_user_data",
    "delete_where",
    "flush",
    "import_",
    "rebuild_indices",
    "remember",
    "update",
    "wait",
)


@pytest.mark.parametrize("name", WRITING)
def test_a_reader_says_that_it_only_reads(lyon: MemorySystem, name: str) -> None:
    lyon.close()
    with LightweightSearchSystem(lyon.path) as reader:
        assert not hasattr(reader, name)
        with pytest.raises(AttributeError, match="only reads") as found:
            getattr(reader, name)
        assert "`MemorySystem(path)`" in str(found.value)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("add", "add_messages"),
        ("get_all", "semantic_memories"),
        ("query", "search"),
        ("delete_all", "delete_user_data"),
    ],
)
def test_names_of_other_libraries_lead_to_ours(
    memory: MemorySystem, theirs: str, ours: str
) -> None:
    with pytest.raises(AttributeError, match=f"hint: `{ours}`"):
        getattr(memory, theirs)
    assert hasattr(memory, ours)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda m: m.search("al", "x", limit=3), "did you mean `top_k`?"),
        (lambda m: m.search("al", "x", filters={"a": 1}), "did you mean `where`?"),
        (lambda m: m.search("al", "x", kinds="facts"), "did you mean `semantic`?"),
        (lambda m: m.search("al", "x", kinds=["episode"]), "did you mean `episodic`?"),
        (lambda m: m.context("al", "x", budget=3), "did you mean `max_tokens`?"),
        (lambda m: m.messages("al", top_k=3), "did you mean `limit`?"),
        (lambda m: m.messages("al", order="desc"), "did you mean `newest_first`?"),
        (lambda m: m.semantic_memories("al", kind="preferences"), "did you mean `preference`?"),
        (
            lambda m: m.add_messages("al", 7),
            'write `memory.add_messages(user, [{"role": "user", "content": "..."}])`',
        ),
        (lambda m: MemorySystem("mysql://localhost/x"), "or `postgresql://` addresses"),
        (lambda m: MemorySystem("x", embedding="opnai:y"), "did you mean `openai`?"),
    ],
)
def test_hints(memory: MemorySystem, call: Call, hint: str) -> None:
    with pytest.raises(EpisodicaError) as found:
        call(memory)
    assert hint in (found.value.hint or "")
    assert hint in str(found.value)
    assert not Path("mysql:").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.import_(None),
        lambda m: m.import_(5),
        lambda m: m.export("al", None),
        lambda m: m.backup(None),
        lambda m: m.plot.scores("hits"),
        lambda m: m.semantic_memories("al", attribute=5),
    ],
)
def test_wrong_types_are_named(lyon: MemorySystem, call: Call) -> None:
    pytest.importorskip("matplotlib")
    lyon.remember("al", "Al skis.")
    with pytest.raises(InvalidInputError, match=r"not `(NoneType|int|str)`"):
        call(lyon)


def test_dates_of_numpy_are_dates(memory: MemorySystem) -> None:
    numpy = pytest.importorskip("numpy")
    for unit in ("D", "s", "us", "ns"):
        when = numpy.datetime64("2024-01-02", unit)
        memory.add_messages("al", [{"role": "user", "content": unit, "timestamp": when}])
    dates = {message.timestamp.date().isoformat() for message in memory.messages("al")}
    assert dates == {"2024-01-02"}
    with pytest.raises(InvalidInputError, match="is missing: `NaT`"):
        memory.add_messages(
            "al", [{"role": "user", "content": "x", "timestamp": numpy.datetime64("NaT")}]
        )


def test_facts_by_kind_and_attribute(memory: MemorySystem) -> None:
    for fact in ("Ann lives in Lyon.", "Ann works at a bakery.", "Ann loves jazz."):
        memory.remember("ann", fact)
    assert [one.content for one in memory.semantic_memories("ann", attribute="home")] == [
        "Ann lives in Lyon."
    ]
    [jazz] = memory.semantic_memories("ann", kind="preference")
    assert jazz.content == "Ann loves jazz."
    assert len(memory.semantic_memories("ann", kind="preference", attribute="home")) == 0


def test_an_embedding_model_by_name_in_a_file_or_the_environment(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('embedding = "ollama:nomic-embed-text"\n')
    assert MemoryConfig.load(file, {}).embedding == "ollama:nomic-embed-text"
    assert MemoryConfig.load(file, {}).to_dict()["embedding"] == "ollama:nomic-embed-text"
    named = {"EPISODICA_EMBEDDING": "ollama:bge-m3"}
    assert MemoryConfig.load(file, named).embedding == "ollama:bge-m3"
    both = {**named, "EPISODICA_EMBEDDING_DIMENSION": "5"}
    with pytest.raises(ConfigError, match="EPISODICA_EMBEDDING_DIMENSION can't be combined"):
        MemoryConfig.load(None, both)
    monkeypatch.setenv("EPISODICA_EMBEDDING", "ollama:bge-m3")
    with MemorySystem(store) as memory:
        assert memory.stats().embedding_model == "bge-m3"
    monkeypatch.setenv("EPISODICA_EMBEDDING", "opnai:x")
    with pytest.raises(ConfigError, match="did you mean `openai`"):
        MemorySystem(store)
