"""The errors for calls with the names of other libraries, and for calls with typing errors."""

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
        ("save", "add_messages"),
        ("get_context", "context"),
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
        (lambda m: m.reset(), "for user in memory.users(): memory.delete_user_data(user)"),
        (lambda m: m.from_config({}), "settings are arguments here: `MemorySystem(path"),
        (lambda m: m.add_messages("al", "x", run_id="s"), "`session_id` is the name of `run_id`"),
        (lambda m: m.get("al", memory_id="m"), "`id` is the name of `memory_id` here, write"),
        (lambda m: m.delete("al", memory_id="m"), "`id` is the name of `memory_id` here, write"),
        (lambda m: m.remember("al", "x", 1, 2, 3), 'write `memory.remember("alice"'),
    ],
)
def test_calls_of_mem0_lead_to_ours(memory: MemorySystem, call: Call, hint: str) -> None:
    with pytest.raises((AttributeError, TypeError)) as found:
        call(memory)
    assert hint in str(found.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.search("Lyon", filters={"user_id": "al"}),
        lambda m: m.search("Lyon", filters={"user_id": "al", "run_id": "s"}, top_k=2),
        lambda m: m.search(query="Lyon", filters={"user_id": "al"}),
        lambda m: m.search("al", "Lyon", user_id="al"),
        lambda m: m.search("Lyon", user_id="al"),
    ],
)
def test_the_user_may_be_named_as_in_mem0(memory: MemorySystem, call: Call) -> None:
    memory.add_messages("al", "I moved to Lyon.", session_id="s")
    memory.add_messages("bo", "I moved to Lyon as well.", session_id="s")
    found: Any = call(memory)
    assert {message.content for hit in found for message in hit.messages} == {"I moved to Lyon."}


def test_two_users_in_one_call_are_refused(memory: MemorySystem) -> None:
    with pytest.raises(EpisodicaError) as found:
        memory.search("bo", "Lyon", user_id="al")  # type: ignore[call-arg]
    assert "two users: `al` and `bo`" in str(found.value)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda m: m.search("al", "x", run_id="s"), "did you mean `session_id`?"),
        (lambda m: m.context("al", "x", reference_date="2026-03-01"), "did you mean `now`?"),
        (lambda m: m.messages("al", run_id="s"), "did you mean `session_id`?"),
        (lambda m: m.search("al", "x", limit=3), "did you mean `top_k`?"),
        (lambda m: m.search("al", "x", filters={"a": 1}), "did you mean `where`?"),
        (lambda m: m.search("al", "x", kinds="facts"), "did you mean `semantic`?"),
        (lambda m: m.search("al", "x", kinds=["episode"]), "did you mean `episodic`?"),
        (lambda m: m.context("al", "x", budget=3), "did you mean `max_tokens`?"),
        (lambda m: m.context("al", "x", top_k=3), "`max_tokens` limits the text"),
        (lambda m: m.context("al", "x", limit=3), "`max_tokens` limits the text"),
        (lambda m: m.context("al", "x", include_superseded=True), "marks outdated messages"),
        (lambda m: m.messages("al", top_k=3), "did you mean `limit`?"),
        (lambda m: m.messages("al", order="desc"), "did you mean `newest_first`?"),
        (lambda m: m.semantic_memories("al", kind="preferences"), "did you mean `preference`?"),
        (
            lambda m: m.add_messages("al", 7),
            'write `memory.add_messages(user, [{"role": "user", "content": "..."}])`',
        ),
        (lambda m: MemorySystem(user_id="al"), "a store has many users"),
        (lambda m: MemorySystem(storage_path="x"), "the place of the store comes first"),
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
    memory.remember("ann", "Ann lives in Lyon.", attribute="home", value="Lyon")
    memory.remember("ann", "Ann works at a bakery.", kind="work_history")
    memory.remember("ann", "Ann loves jazz.", kind="preference")
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


def test_calls_in_the_order_of_mem0_are_understood(lyon: MemorySystem) -> None:
    memory: Any = lyon
    memory.add_messages([{"role": "user", "content": "I ski."}], user_id="ann")
    memory.add_messages([{"role": "user", "content": "I row."}], "ann")
    memory.remember("Ann sails.", user_id="ann")
    assert [one.content for one in memory.messages("ann")] == ["I ski.", "I row."]
    found = memory.search("What sport?", user_id="ann", top_k=2)
    assert len(found) == 2
    assert found["results"][0]["memory"] == found[0].content
    assert "ski" in memory.context("What sport?", user_id="ann").text


def test_the_number_of_hits_and_of_tokens_may_come_third(lyon: MemorySystem) -> None:
    lyon.add_messages("ann", [{"role": "user", "content": f"I ski, {n}."} for n in range(5)])
    assert len(lyon.search("ann", "ski", 2)) == 2
    assert lyon.context("ann", "ski", 30).token_count <= 30


@pytest.mark.parametrize(
    ("call", "right"),
    [
        (lambda m: m.search("Lyon?"), 'memory.search("alice", "where does she live?", top_k=5)'),
        (lambda m: m.search("al", "x", 5, ["message"]), "memory.search("),
        (lambda m: m.add_messages("al"), 'memory.add_messages("alice", [{"role": "user"'),
        (lambda m: m.add_messages("al", "hi", infer=False), "memory.add_messages("),
        (lambda m: m.remember("al", "x", None, "y"), 'memory.remember("alice", "I live in Lyon.")'),
        (lambda m: m.context("al"), 'memory.context("alice", "where does she live?"'),
        (lambda m: m.get("id"), 'memory.get("alice", id)'),
        (lambda m: m.delete("id"), 'memory.delete("alice", id)'),
        (lambda m: m.update("id", "x"), 'memory.update("alice", id, '),
    ],
)
def test_arguments_that_fit_no_call_show_the_right_one(
    memory: MemorySystem, call: Call, right: str
) -> None:
    with pytest.raises(TypeError, match="hint: write `") as found:
        call(memory)
    assert right in str(found.value)


def test_a_query_in_the_place_of_the_user_is_named(lyon: MemorySystem) -> None:
    user = lyon.users()[0]
    for name in ("search", "context"):
        with pytest.raises(InvalidInputError, match="no such user: `where does she live`") as found:
            getattr(lyon, name)("where does she live", user)
        assert f"memory.{name}('{user}', 'where does she live')" in str(found.value.hint)
    nobody = lyon.search("nobody", "where?")
    assert len(nobody) == 0
    assert "no such user: `nobody`" in repr(nobody)
    assert lyon.search(user, user)


def test_a_text_in_the_place_of_the_user_is_not_stored(lyon: MemorySystem) -> None:
    users = lyon.users()
    for name in ("add_messages", "remember"):
        for text in ("I ski", "I like to ski in winter"):
            with pytest.raises(InvalidInputError, match=f"no such user: `{text}`") as found:
                getattr(lyon, name)(text, users[0])
            assert f"memory.{name}('{users[0]}', '{text}')" in str(found.value.hint)
    with pytest.raises(InvalidInputError, match="no such user"):
        lyon.add_messages("I like to ski", "newcomer")
    assert lyon.users() == users
    lyon.add_messages("Ann Smith", "hi")
    lyon.remember("Ann Smith", "Skis.")
    lyon.delete(lyon.messages("Ann Smith")[0].message_id, user_id="Ann Smith")
    assert len(lyon.messages("Ann Smith")) == 0


def test_hits_and_records_are_read_by_name(lyon: MemorySystem) -> None:
    lyon.add_messages("ann", [{"role": "user", "name": "Ann", "content": "I moved to Lyon."}])
    hit: Any = lyon.search("ann", "Lyon", kinds=["message"])[0]
    assert hit["content"] == hit["memory"] == hit.text == hit.memory == hit["text"] == hit.content
    assert (hit["score"], hit["explanation"], hit.page_content) == (hit.score, None, hit.content)
    assert (hit.get("text"), hit.get("contents"), hit.get("x", 7)) == (hit.content, None, 7)
    assert hit["metadata"] is hit.metadata is hit.record.metadata
    message: Any = lyon.messages("ann")[0]
    assert (message["role"], message["text"], message["session_id"]) == ("user", hit.content, None)
    for wrong in ("contents", "_hidden", "to_dict", "get"):
        with pytest.raises(KeyError, match="content"):
            hit[wrong]
    with pytest.raises(TypeError, match="has fields"):
        list(hit)
    with pytest.raises(AttributeError, match="a Hit has no `contents`"):
        hit.contents  # noqa: B018
    with pytest.raises(KeyError, match="is a list of hits"):
        lyon.search("ann", "Lyon")["memories"]  # type: ignore[call-overload]
    import copy
    import pickle

    assert copy.copy(hit) == hit == pickle.loads(pickle.dumps(hit))


def test_rows_of_tables_are_messages(memory: MemorySystem) -> None:
    import sqlite3
    from collections import namedtuple

    row = namedtuple("row", ("role", "text", "created_at"))
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    rows: list[Any] = [row("user", "I ski.", "2024-03-11T09:30:00Z")]
    rows += database.execute("select 'user' as role, 'I row.' as content, 7 as thread_id")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"role": ["user"], "content": ["I sail."], "name": [None]})
    rows += [frame.iloc[0], *frame.itertuples()]
    assert memory.add_messages("ann", rows).messages_added == 4
    found = memory.messages("ann")
    assert [one.content for one in found] == ["I ski.", "I row.", "I sail.", "I sail."]
    assert found[1].session_id == "7"
