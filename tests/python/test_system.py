"""The memory end to end, through the public API: add, find, read, change, forget, reopen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import pytest

from episodica import (
    AddResult,
    DeleteReport,
    Episode,
    InvalidInputError,
    LightweightSearchSystem,
    MemoryConfig,
    MemorySystem,
    Message,
    ReadOnlyStoreError,
    SemanticMemory,
    StoreIOError,
)


def contents(found: Iterator[Message]) -> list[str]:
    return [message.content for message in found]


def test_messages_are_kept_as_they_came(memory: MemorySystem, talk: list[dict[str, Any]]) -> None:
    added = memory.add_messages("alice", talk)
    assert (added.messages_added, added.duplicates, added.buffered, len(added.episodes)) == (
        2,
        0,
        2,
        0,
    )
    first, second = memory.messages("alice")
    assert (first.role, first.name, first.content, first.session_id) == (
        "user",
        "Alice",
        "I moved to Lyon last Friday.",
        "s1",
    )
    assert first.timestamp == datetime(2024, 3, 11, 8, 30, tzinfo=UTC)
    assert first.metadata == {"channel": "sms"}
    assert (second.name, second.seq) == (None, 1)


def test_nothing_added_is_no_error(memory: MemorySystem) -> None:
    assert memory.add_messages("alice", []) == AddResult()
    assert list(memory.messages("alice")) == []


@pytest.mark.parametrize(
    "metadata",
    [{"a": {"b": [1, 2.5, "ü", None, True]}}, [1, 2], "text", 7, 0.1, False, {"big": 2**70}],
)
def test_any_json_as_metadata(memory: MemorySystem, metadata: Any) -> None:
    memory.add_messages("alice", [{"role": "user", "content": "hi", "metadata": metadata}])
    assert next(memory.messages("alice")).metadata == metadata


@pytest.mark.parametrize(
    "content", ["a\0b\x01\x1b[31m\r\n", "👩‍👩‍👧 ‮", "林晓禾搬到了成都", "x" * 10_000_000]
)
def test_any_text_as_content(memory: MemorySystem, store: Path, content: str) -> None:
    memory.add_messages("alice", [{"role": "user", "content": content}])
    memory.close()
    with MemorySystem(store) as again:
        assert contents(again.messages("alice")) == [content]


def test_messages_without_a_date_are_of_now(memory: MemorySystem) -> None:
    before = datetime.now(UTC)
    memory.add_messages("alice", [{"role": "user", "content": "hi"}])
    assert before <= next(memory.messages("alice")).timestamp <= datetime.now(UTC)


def test_the_whole_calendar(memory: MemorySystem) -> None:
    ends = ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"]
    memory.add_messages(
        "alice", [{"role": "user", "content": "hi", "timestamp": end} for end in ends]
    )
    assert [message.timestamp.isoformat() for message in memory.messages("alice")] == ends


def test_the_same_id_twice_is_added_once(memory: MemorySystem) -> None:
    message = {"role": "user", "content": "hi", "message_id": "m1"}
    assert memory.add_messages("alice", [message, message]).duplicates == 1
    assert memory.add_messages("alice", [message]).messages_added == 0
    assert memory.add_messages("bob", [message]).messages_added == 1
    assert contents(memory.messages("alice")) == ["hi"]


def test_session_of_the_call(memory: MemorySystem) -> None:
    memory.add_messages(
        "alice",
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b", "session_id": "own"}],
        session_id="all",
    )
    assert [message.session_id for message in memory.messages("alice")] == ["all", "own"]


def test_too_long_a_message_adds_none(store: Path) -> None:
    with MemorySystem(store, max_message_bytes=10) as memory:
        with pytest.raises(InvalidInputError, match="10"):
            memory.add_messages(
                "alice",
                [{"role": "user", "content": "short"}, {"role": "user", "content": "é" * 6}],
            )
        assert list(memory.messages("alice")) == []


def test_flush_closes_the_buffer(lyon: MemorySystem) -> None:
    [episode] = lyon.episodes("alice")
    assert isinstance(episode, Episode)
    assert contents(iter(episode.original_messages)) == [
        "I moved to Lyon last Friday.",
        "How do you like it there?",
    ]
    assert (episode.user_id, episode.message_count, episode.session_id) == ("alice", 2, "s1")
    assert episode.title
    assert episode.content
    assert episode.boundary_reason
    assert episode.timestamp == datetime(2024, 3, 11, 8, 30, tzinfo=UTC)
    assert episode.uri.startswith("episodica://default/alice/episode/")
    assert lyon.flush("alice") == []
    assert lyon.flush_all_buffers() == {}


def test_a_new_session_ends_an_episode(memory: MemorySystem, talk: list[dict[str, Any]]) -> None:
    later = [
        {**message, "session_id": "s2", "timestamp": "2024-03-18T09:30:00+01:00"}
        for message in talk
    ]
    added = memory.add_messages("alice", talk + later)
    assert len(added.episodes) == 1
    [made] = memory.flush("alice")
    assert [episode.session_id for episode in memory.episodes("alice")] == ["s1", "s2"]
    assert memory.get("alice", added.episodes[0]) == next(memory.episodes("alice"))
    assert made.session_id == "s2"


def test_close_session(memory: MemorySystem, talk: list[dict[str, Any]]) -> None:
    memory.add_messages("alice", talk)
    assert memory.close_session("alice", "other") == []
    [episode] = memory.close_session("alice", "s1")
    assert episode.session_id == "s1"
    assert memory.close_session("alice", "s1") == []


def test_flush_of_all_users(memory: MemorySystem, talk: list[dict[str, Any]]) -> None:
    for user in ("alice", "bob"):
        memory.add_messages(user, talk)
    made = memory.flush_all_buffers()
    assert {user: len(episodes) for user, episodes in made.items()} == {"alice": 1, "bob": 1}


def test_facts_are_learned(lyon: MemorySystem) -> None:
    facts = list(lyon.semantic_memories("alice"))
    assert facts
    assert all(
        isinstance(fact, SemanticMemory) and fact.is_current and fact.user_id == "alice"
        for fact in facts
    )
    assert any("Lyon" in fact.content for fact in facts)
    episode = next(lyon.episodes("alice"))
    assert all(fact.source_episodes == (episode.episode_id,) for fact in facts)


def test_unknown_users_have_nothing(memory: MemorySystem) -> None:
    assert list(memory.search("nobody", "anything")) == []
    assert memory.context("nobody", "anything").messages == ()
    assert memory.get("nobody", "id") is None
    assert memory.history("nobody", "id") == []
    assert (
        list(memory.episodes("nobody"))
        == list(memory.semantic_memories("nobody"))
        == list(memory.messages("nobody"))
        == []
    )
    assert memory.flush("nobody") == []
    assert memory.delete_user_data("nobody") == DeleteReport()
    assert memory.wait("nobody", timeout=1)
    assert memory.users() == []


@pytest.mark.parametrize("user", ["", None, 5, "\ud800", "x" * 513, b"alice"])
def test_wrong_users(memory: MemorySystem, user: Any) -> None:
    with pytest.raises(InvalidInputError, match="user"):
        memory.add_messages(user, [{"role": "user", "content": "hi"}])
    with pytest.raises(InvalidInputError, match="user"):
        memory.search(user, "query")


def test_wrong_numbers(memory: MemorySystem) -> None:
    for call in (
        lambda: memory.context("alice", "query", max_tokens=0),
        lambda: memory.episodes("alice", limit=-1),
        lambda: memory.wait("alice", timeout=-1),
        lambda: memory.close(timeout=float("nan")),
        lambda: memory.verify(progress=3),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInputError):
            call()


USERS = [
    "a",
    "A",
    "a_b",
    "..",
    "../../etc/passwd",
    "/abs",
    "a\0b",
    "\uff41",
    "\u00e9",
    "e\u0301",
    "x" * 512,
    "con",
    "名前",
]


def test_users_do_not_meet(memory: MemorySystem, store: Path, tmp_path: Path) -> None:
    for user in USERS:
        memory.add_messages(user, [{"role": "user", "content": f"I am {user!r}."}])
        memory.flush(user)
    memory.close()
    assert {path.name for path in tmp_path.iterdir()} <= {"store", "caches"}
    with MemorySystem(store) as again:
        assert sorted(again.users()) == sorted(USERS)
        for user in USERS:
            assert contents(again.messages(user)) == [f"I am {user!r}."]
        again.delete_user_data("a")
        assert sorted(again.users()) == sorted(set(USERS) - {"a"})
        assert contents(again.messages("a_b")) == ["I am 'a_b'."]


@pytest.mark.requirement("STO-4")
def test_tenants_do_not_meet(store: Path, talk: list[dict[str, Any]]) -> None:
    with MemorySystem(store, tenant="one") as memory:
        memory.add_messages("alice", talk)
        memory.flush("alice")
        episode = next(memory.episodes("alice"))
    for tenant in ("default", "two", "../one"):
        with MemorySystem(store, tenant=tenant) as memory:
            assert memory.users() == []
            assert list(memory.search("alice", "Lyon")) == []
            assert memory.get("alice", episode.uri) is None


def test_iterators_take_pages(memory: MemorySystem) -> None:
    batch = [
        {"role": "user", "content": f"message {number}", "timestamp": 1_700_000_000 + number}
        for number in range(600)
    ]
    memory.add_messages("alice", batch)
    assert contents(memory.messages("alice")) == [message["content"] for message in batch]
    assert contents(memory.messages("alice", newest_first=True, limit=300)) == [
        message["content"] for message in batch[:-301:-1]
    ]
    assert contents(memory.messages("alice", limit=0)) == []
    assert len(contents(memory.messages("alice", limit=256))) == 256


def test_update_keeps_the_old_version(lyon: MemorySystem) -> None:
    episode = next(lyon.episodes("alice"))
    updated = lyon.update("alice", episode.uri, "Alice told of her move to Lyon.")
    assert isinstance(updated, Episode)
    assert updated.content == "Alice told of her move to Lyon."
    assert lyon.get("alice", episode.episode_id) == updated
    versions = lyon.history("alice", episode.episode_id)
    assert [version.content for version in versions] == [episode.content, updated.content]
    for unknown, content in (("none", "text"), (episode.episode_id, "  ")):
        with pytest.raises(InvalidInputError):
            lyon.update("alice", unknown, content)
    with pytest.raises(InvalidInputError):
        lyon.update("alice", next(lyon.messages("alice")).message_id, "other words")


def test_delete(lyon: MemorySystem) -> None:
    fact = next(lyon.semantic_memories("alice"))
    assert lyon.delete("alice", fact.memory_id).semantic_memories == 1
    assert lyon.get("alice", fact.memory_id) is None
    assert all(hit.id != fact.memory_id for hit in lyon.search("alice", fact.content))
    assert lyon.delete("alice", fact.memory_id) == DeleteReport()
    assert lyon.delete("bob", next(lyon.episodes("alice")).uri) == DeleteReport()


def test_delete_user_data_leaves_no_byte(lyon: MemorySystem, store: Path) -> None:
    lyon.add_messages("bob", [{"role": "user", "content": "Bob stays."}])
    assert lyon.search("alice", "Lyon", kinds=["message"])
    report = lyon.delete_user_data("alice")
    assert (report.messages, report.episodes) == (2, 1)
    assert list(lyon.search("alice", "Lyon", kinds=["episodic", "semantic", "message"])) == []
    assert lyon.users() == ["bob"]
    lyon.close()
    for file in store.rglob("*"):
        assert "alice" not in file.name
        assert not file.is_file() or b"Lyon" not in file.read_bytes()


def test_a_store_opens_again(lyon: MemorySystem, store: Path, talk: list[dict[str, Any]]) -> None:
    lyon.add_messages("alice", [{**talk[0], "content": "Still open.", "session_id": "s2"}])
    before = [
        list(lyon.episodes("alice")),
        list(lyon.semantic_memories("alice")),
        list(lyon.messages("alice")),
    ]
    lyon.close()
    with MemorySystem(store) as again:
        assert [
            list(again.episodes("alice")),
            list(again.semantic_memories("alice")),
            list(again.messages("alice")),
        ] == before
        assert again.search("alice", "open", kinds=["message"])[0].content == "Still open."
        assert again.stats("alice")["messages"] == 3
        assert again.verify().errors == 0
        assert again.rebuild_indices().users == 1
        assert again.load_user_data_and_indices("alice").users == 1


@pytest.mark.requirement("STO-2")
def test_two_writers_see_and_find_what_the_other_has_acknowledged(
    lyon: MemorySystem, store: Path, talk: list[dict[str, Any]]
) -> None:
    with MemorySystem(store) as other, MemorySystem(store, tenant="other") as stranger:
        assert list(other.episodes("alice")) == list(lyon.episodes("alice"))
        for number, (writer, reader) in enumerate([(other, lyon), (lyon, other)] * 3):
            content = f"The parcel number{number} came today."
            writer.add_messages("alice", [{**talk[0], "content": content, "session_id": "s3"}])
            found = reader.search("alice", f"parcel number{number}", kinds=["message"])
            assert found[0].content == content
            assert list(writer.messages("alice")) == list(reader.messages("alice"))
        formed = other.flush("alice")
        assert lyon.get("alice", formed[0].episode_id) == formed[0]
        fact = next(iter(lyon.semantic_memories("alice")))
        other.update("alice", fact.memory_id, "They moved to Nice.")
        assert lyon.update("alice", fact.memory_id, "They moved to Oslo.").revision_count == 2
        assert [one.content for one in other.history("alice", fact.memory_id)][1:] == [
            "They moved to Nice.",
            "They moved to Oslo.",
        ]
        first = next(iter(other.messages("alice"))).message_id
        lyon.delete("alice", first)
        assert other.get("alice", first) is None
        assert list(stranger.users()) == []
        lyon.delete_user_data("alice")
        assert list(other.search("alice", "parcel", kinds=["message"])) == []
        assert list(other.messages("alice")) == []
    for file in store.rglob("*"):
        assert not file.is_file() or b"parcel" not in file.read_bytes()


def test_readers_beside_a_writer(lyon: MemorySystem, store: Path) -> None:
    with LightweightSearchSystem(store) as reader:
        assert reader.preload().users == reader.preload(["alice"]).users == 1
        assert (
            reader.search("alice", "Lyon", kinds=["message"])[0].content
            == "I moved to Lyon last Friday."
        )
        assert reader.context("alice", "Lyon").messages
        assert list(reader.episodes("alice")) == list(lyon.episodes("alice"))
        assert reader.verify().errors == 0
        assert not hasattr(reader, "add_messages")
        with pytest.raises(ReadOnlyStoreError):
            reader._engine.flush("alice")


def test_a_reader_makes_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreIOError) as caught:
        LightweightSearchSystem(tmp_path / "none")
    assert caught.value.path
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreIOError):
        MemorySystem(tmp_path / "file")
    for path in ("", b"memories", 5):
        with pytest.raises(InvalidInputError, match="path"):
            MemorySystem(path)  # type: ignore[arg-type]


def test_paths_and_config_are_shown(tmp_path: Path) -> None:
    with MemorySystem("~/mine", tenant="t") as memory:
        assert memory.path == tmp_path / "mine"
        assert (memory.tenant, memory.config) == ("t", MemoryConfig())
        assert repr(memory) == f"<MemorySystem {str(tmp_path / 'mine')!r}, tenant 't'>"


def test_a_callable_embeds(store: Path, talk: list[dict[str, Any]]) -> None:
    def embed(texts: list[str]) -> Any:
        rows = [
            [text.lower().count(letter) + 0.01 for letter in "abcdefghijklmnop"] for text in texts
        ]
        return numpy.asarray(rows, dtype=numpy.float32)

    with MemorySystem(store, embedding=embed) as memory:
        memory.add_messages("alice", talk)
        memory.flush("alice")
        assert memory.wait("alice", timeout=30)
        assert memory.search("alice", "Lyon", method="vector")


def test_progress_is_told(memory: MemorySystem) -> None:
    seen: list[tuple[str, int, int]] = []
    memory.add_messages(
        "alice",
        [{"role": "user", "content": f"m {n}"} for n in range(50)],
        progress=lambda *told: seen.append(told),
    )
    memory.verify(progress=lambda *told: seen.append(told))
    assert seen
    assert all(
        isinstance(step, str) and done >= 0 and (done <= total or total == 0)
        for step, done, total in seen
    )


def test_reports_become_plain_data(lyon: MemorySystem) -> None:
    for report in (lyon.stats(), lyon.stats("alice"), lyon.health(), lyon.usage()):
        assert json.loads(json.dumps(report.to_dict())).keys() == report.keys()
    assert lyon.retry_pending() == 0
    assert lyon.trace("alice", next(lyon.episodes("alice")).episode_id) == []
