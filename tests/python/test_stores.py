"""Stores of every format open as they are; those of Nemori are imported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    InvalidInputError,
    LightweightSearchSystem,
    MemorySystem,
    UnsupportedFormatError,
)
from episodica.compat.nemori import MemoryConfig, NemoriMemory
from episodica.system import AnyMemory

Copy = Callable[[str], Path]
FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Copy:
    """A copy of a fixture that a test may write to."""
    return lambda name: Path(shutil.copytree(root / "tests" / "fixtures" / name, tmp_path / "copy"))


def files(place: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def check_first_version(memory: AnyMemory) -> None:
    assert memory.users() == sorted(["alice", "l" * 190, "Ünal/.."])
    messages = list(memory.messages("alice"))
    assert [message.message_id for message in messages] == [
        "m0",
        "m1",
        "m2",
        "m3",
        "m4",
        "m5",
        "m91",
    ]
    assert messages[0].content == "I moved to Lyon last Friday."
    assert messages[0].timestamp.isoformat() == "2024-03-11T09:30:00+01:00"
    assert (
        messages[5].content
        == 'Odd "quotes", \\ back\\slashes,\nline feeds, \u2028 and \U0001f600 stay.'
    )
    assert messages[3].metadata == {"n": 3, "deep": [{"a": None}], "big": 2**70 + 1}
    episodes = list(memory.episodes("alice"))
    assert {
        message.message_id for episode in episodes for message in episode.original_messages
    } == {f"m{n}" for n in range(6)}
    assert (
        episodes[0].content
        == "Alice told that she had moved to Lyon, and that she likes green tea."
    )
    assert [
        type(version).__name__ for version in memory.history("alice", episodes[0].episode_id)
    ] == ["Episode", "Episode"]
    facts = [fact.content for fact in memory.semantic_memories("alice", include_superseded=True)]
    assert any("Lyon" in fact for fact in facts)
    assert (
        memory.search("alice", "where does she live?", kinds=("message",))[0].content
        == "I moved to Lyon last Friday."
    )
    assert memory.search("Ünal/..", "成都", kinds=("message",))[0].content == "昨天我搬到了成都。"
    found = memory.verify()
    assert (found.errors, found.problems) == (0, ())


def test_a_store_of_the_first_version_opens(root: Path, copied: Copy) -> None:
    place = copied("stores/v1")
    before = files(place)
    with LightweightSearchSystem(place) as reader:
        check_first_version(reader)
    assert files(place) == before
    with MemorySystem(place) as memory:
        check_first_version(memory)
        assert memory.stats("alice")["buffered"] == 1
        assert memory.stats()["messages_embedded"] == 0, "vectors come from the caches"
        memory.add_messages("alice", [{"role": "user", "content": "And on it goes."}])
    after = files(place)
    for name, text in before.items():
        if name.endswith(".jsonl"):
            assert after[name].startswith(text), "a log is only appended to"
    with MemorySystem(place, tenant="Acme") as other:
        assert [message.content for message in other.messages("alice")] == ["Another Alice."]


def part(now: Any, before: Any) -> Any:
    """What an older version knew of a value."""
    if isinstance(now, dict) and isinstance(before, dict):
        return {key: part(now.get(key), old) for key, old in before.items()}
    if isinstance(now, list) and isinstance(before, list):
        return [part(new, old) for new, old in zip(now, before, strict=True)]
    return now


def check_release(memory: AnyMemory, expected: dict[str, dict[str, list[dict[str, Any]]]]) -> None:
    """Checks that every record has its old values; a later version may add keys."""
    assert memory.users() == sorted(expected)
    for user, records in expected.items():
        found = {
            "messages": memory.messages(user),
            "episodes": memory.episodes(user, include_archived=True),
            "semantic": memory.semantic_memories(
                user, include_superseded=True, include_archived=True
            ),
        }
        for kind, before in records.items():
            now = [record.to_dict() for record in found[kind]]
            assert part(now, before) == before
        for message in records["messages"]:
            hits = memory.search(user, message["content"], kinds=("message",))
            assert message["message_id"] in [hit.id for hit in hits]
        for fact in memory.semantic_memories(user):
            assert memory.search(user, fact.content, kinds=("semantic",))[0].id == fact.memory_id
    found = memory.verify()
    assert (found.errors, found.problems) == (0, ())


RELEASES = [path.stem for path in (FIXTURES / "stores").glob("*.json")]


@pytest.mark.parametrize("release", RELEASES)
def test_a_store_of_each_release_opens(copied: Copy, release: str) -> None:
    expected = json.loads((FIXTURES / "stores" / f"{release}.json").read_text(encoding="utf-8"))
    place = copied(f"stores/{release}")
    before = files(place)
    with LightweightSearchSystem(place) as reader:
        check_release(reader, expected)
    assert files(place) == before
    with MemorySystem(place) as memory:
        check_release(memory, expected)
        user = next(iter(expected))
        memory.add_messages(user, [{"role": "user", "content": "And on it goes."}])
    after = files(place)
    for name, text in before.items():
        if name.endswith(".jsonl"):
            assert after[name].startswith(text), "a log is only appended to"


@pytest.mark.parametrize("release", RELEASES)
def test_vectors_are_made_once_and_by_a_rebuild_again(copied: Copy, release: str) -> None:
    place = copied(f"stores/{release}")
    found = []
    for _ in range(2):
        with MemorySystem(place) as memory:
            found.append(scores(memory))
            stats = memory.stats()
            assert memory.verify().problems == ()
    assert stats.messages_embedded == 0, "vectors come from the segments"
    for segment in (place / "segments").rglob("*.segment"):
        footer = json.loads(segment.read_bytes().splitlines()[-1])
        assert footer["model"] == stats.embedding_model
    with MemorySystem(place) as memory:
        memory.rebuild_indices()
        found.append(scores(memory))
    assert found[0] == found[1] == found[2]


def scores(memory: MemorySystem) -> dict[str, list[tuple[str, float]]]:
    """The hits of a search for each user, with their scores."""
    return {
        user: [(hit.id, hit.score) for hit in memory.search(user, "Who lives where?", top_k=50)]
        for user in memory.users()
    }


def test_a_store_of_a_newer_version_is_refused_and_left_alone(copied: Copy) -> None:
    place = copied("stores/v1")
    (place / "episodica.json").write_text('{"format_version":3,"created_by":"episodica 9.0.0"}\n')
    before = files(place)
    for system in (MemorySystem, LightweightSearchSystem):
        with pytest.raises(UnsupportedFormatError, match=r"episodica 9\.0\.0") as caught:
            system(place)
        assert caught.value.hint == "update episodica"
    assert files(place) == before


def check_mina(memory: AnyMemory) -> None:
    assert memory.users() == ["Mina"]
    violin, harbour = memory.episodes("Mina")
    assert (violin.title, violin.message_count, violin.boundary_reason) == (
        "Mina repairs a violin",
        3,
        "topic change",
    )
    assert violin.original_messages[0].name == "Mina"
    assert violin.original_messages[0].timestamp.isoformat() == "2024-02-04T18:20:00+00:00"
    assert harbour.original_messages[0].message_id == "msg-港"
    assert [message.seq for message in memory.messages("Mina")] == [0, 1, 2, 3]
    contents = [fact.content for fact in memory.semantic_memories("Mina")]
    assert contents == [
        "Mina owns a violin that belonged to her grandfather.",
        "米娜住在港口旁边。",
    ]
    assert (
        memory.search("Mina", "whose violin was it?", kinds=("semantic",))[0].content == contents[0]
    )
    assert (
        memory.search("Mina", "公寓", kinds=("message",))[0].content
        == "我三月搬到了港口旁边的公寓。"
    )


def check_tomas(memory: AnyMemory) -> None:
    assert memory.users() == ["tomas"]
    assert [episode.title for episode in memory.episodes("tomas")] == [
        "Tomas and the kiln",
        "Glaze",
    ]
    assert [fact.content for fact in memory.semantic_memories("tomas")] == [
        "Tomas prefers a blue glaze."
    ]
    assert (
        memory.search("tomas", "pottery kiln", kinds=("episodic",))[0].title == "Tomas and the kiln"
    )


NEMORI = pytest.mark.parametrize(
    ("name", "check"), [("nemori/jsonl", check_mina), ("nemori/legacy", check_tomas)]
)


@NEMORI
def test_a_folder_of_nemori_is_imported(
    copied: Copy, tmp_path: Path, name: str, check: Callable[[AnyMemory], None]
) -> None:
    place = copied(name)
    before = files(place)
    for system in (MemorySystem, LightweightSearchSystem):
        with pytest.raises(UnsupportedFormatError) as caught:
            system(place)
        assert f"import {place}`" in str(caught.value.hint)
    assert files(place) == before
    with MemorySystem(tmp_path / "store") as memory:
        with pytest.raises(InvalidInputError, match="the folder has no user `bo`"):
            memory.import_(place, "bo")
        report = memory.import_(place)
        assert (report.users, report.skipped, report.known) == (1, 0, 0)
        check(memory)
        assert memory.verify().problems == ()
        again = memory.import_(place)
        assert again.messages + again.episodes + again.semantic_memories == 0
    with MemorySystem(tmp_path / "store") as memory:
        check(memory)
    assert files(place) == before


@NEMORI
def test_scripts_for_nemori_find_its_memories(
    copied: Copy, name: str, check: Callable[[AnyMemory], None]
) -> None:
    place = copied(name)
    before = files(place)
    kept = place.with_name("copy.nemori")
    user = "Mina" if "jsonl" in name else "tomas"
    with pytest.warns(UserWarning, match="imported the memories"):
        memory = NemoriMemory(MemoryConfig(storage_path=str(place)))
    with memory:
        assert memory.search(user, "What did they say?")["episodic"]
    assert files(kept) == before
    with MemorySystem(place) as store:
        check(store)
    shutil.rmtree(place)
    with pytest.warns(UserWarning, match="imported the memories"):
        NemoriMemory(MemoryConfig(storage_path=str(place))).close()
    assert files(kept) == before, "a conversion that stopped between its renames is repeated"


def test_a_broken_folder_of_nemori_gives_what_can_be_read(copied: Copy, tmp_path: Path) -> None:
    place = copied("nemori/jsonl")
    log = place / "episodes" / "Mina_episodes.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    other = b'{"episode_id":"x","user_id":"Bo","content":"Bo\'s."}\n'
    log.write_bytes(lines[0] + b'{"episode_id": "torn", "title": "half a rec\n' + lines[1] + other)
    odd = {"memory_id": "odd", "content": "Odd \ud800", "created_at": "soon", "confidence": 7}
    facts = place / "semantic" / "Mina_semantic.jsonl"
    facts.write_text(f"{json.dumps(odd)}\n[3]\n{json.dumps({'content': ' '})}\n")
    (place / "episodes" / "Tim.json").write_text('[{"episode_id": "x"')
    with MemorySystem(tmp_path / "store") as memory:
        report = memory.import_(place)
        assert [episode.episode_id for episode in memory.episodes("Mina")] == ["ep-1", "ep-2"]
        [fact] = memory.semantic_memories("Mina")
        assert (fact.content, fact.confidence, fact.created_at.year) == ("Odd ?", 1.0, 1970)
    assert sorted(one.partition(":")[0] for one in report.left_out) == [
        "episodes/Mina_episodes.jsonl, line 2",
        "episodes/Mina_episodes.jsonl, line 4",
        "episodes/Tim.json",
        "semantic/Mina_semantic.jsonl, line 2",
        "semantic/Mina_semantic.jsonl, line 3",
    ]
