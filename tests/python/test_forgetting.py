"""Forgetting: proposals with reasons, archiving and restoring, times of expiry, counts of uses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    AsyncMemorySystem,
    Episode,
    ForgettingReport,
    InvalidInputError,
    LightweightSearchSystem,
    MemorySystem,
    SemanticMemory,
)

LONG_AGO = "2020-01-01T00:00:00+00:00"


def aged(memory: MemorySystem, statements: dict[str, dict[str, Any]], folder: Path) -> None:
    """Facts of user `ann` that were written down long ago."""
    with MemorySystem(folder / "scratch") as scratch:
        for statement in statements:
            scratch.remember("ann", statement)
        scratch.export("ann", folder / "old.jsonl")
    lines = (folder / "old.jsonl").read_text(encoding="utf-8").splitlines()
    changed = []
    for line in map(json.loads, lines):
        if "memory_id" in line:
            line |= {"created_at": LONG_AGO, "updated_at": LONG_AGO, "valid_from": LONG_AGO}
            line |= statements[line["content"]]
            line.pop("crc", None)
        changed.append(json.dumps(line))
    (folder / "old.jsonl").write_text("\n".join(changed), encoding="utf-8")
    memory.import_(folder / "old.jsonl")


def facts(memory: MemorySystem, user: str = "ann", **options: Any) -> dict[str, SemanticMemory]:
    return {fact.content: fact for fact in memory.semantic_memories(user, **options)}


def proposed(memory: MemorySystem, **policy: Any) -> list[str]:
    return [candidate.text for candidate in memory.forgetting("ann", **policy)]


def found(memory: MemorySystem, query: str, user: str = "ann") -> str:
    told = memory.search(user, query, include_superseded=True)
    return " ".join(hit.content for hit in told) + memory.context(user, query).text


def test_nothing_is_proposed_that_is_strong_and_nothing_without_a_condition(
    lyon: MemorySystem,
) -> None:
    assert list(lyon.forgetting("alice")) == []
    assert list(lyon.forgetting("alice", strength=None)) == []
    assert list(lyon.forgetting("nobody", strength=None, max_uses=9)) == []


@pytest.mark.requirement("SEM-6")
def test_old_facts_are_proposed_with_reasons_and_vital_ones_never(
    memory: MemorySystem, tmp_path: Path, store: Path
) -> None:
    aged(
        memory,
        {
            "Ann bought a blue umbrella.": {"importance": 0.4},
            "Ann likes liquorice.": {"importance": 0.9, "kind": "preference"},
            "Ann is allergic to peanuts.": {},
            "Ann's birthday is on 3 May.": {},
            "My name is Ann Lee.": {},
            "安对花生过敏。": {},
        },
        tmp_path,
    )
    report = memory.forgetting("ann")
    assert {candidate.text for candidate in report} == {
        "Ann bought a blue umbrella.",
        "Ann likes liquorice.",
    }
    assert report.exempt == 4
    assert all(candidate.strength < 0.05 for candidate in report)
    assert report.candidates[0].reasons == ("strength 0.00 is below 0.05",)
    # Every condition narrows, and each adds its reason.
    assert proposed(memory, max_importance="medium") == ["Ann bought a blue umbrella."]
    [candidate] = memory.forgetting("ann", max_importance=0.5, older_than=365, max_uses=0)
    assert len(candidate.reasons) == 4
    assert candidate.reasons[2] == "used 0 times"
    assert proposed(memory, fact_kinds="preference") == ["Ann likes liquorice."]
    assert proposed(memory, exempt_kinds=["preference"]) == ["Ann bought a blue umbrella."]
    assert proposed(memory, older_than=timedelta(days=36_500)) == []
    assert proposed(memory, kinds="episodic") == []
    # A use makes it strong again.
    memory.search("ann", "umbrella", top_k=1, kinds=["semantic"])
    assert proposed(memory) == ["Ann likes liquorice."]
    with MemorySystem(store) as other:
        assert ForgettingReport.from_dict(report.to_dict()) == report
        assert len(other.forgetting("ann")) == 2, "the other process has not written its uses"


def test_archived_records_leave_searches_and_nothing_else(lyon: MemorySystem, store: Path) -> None:
    fact, episode = next(lyon.semantic_memories("alice")), next(lyon.episodes("alice"))
    before = (fact, episode)
    records = lyon.archive("alice", [fact.memory_id, episode.uri])
    assert [record.archived_at is None for record in records] == [False, False]
    assert "Lyon" not in found(lyon, "Lyon", "alice")
    assert len(lyon.semantic_memories("alice")) == len(lyon.episodes("alice")) == 0
    assert len(lyon.semantic_memories("alice", include_archived=True)) == 1
    assert len(lyon.episodes("alice", include_archived=True)) == 1
    assert len(lyon.messages("alice")) == 2
    assert lyon.stats("alice").archived == 2
    assert lyon.get("alice", fact.memory_id) == records[0]
    assert [one.archived_at is None for one in lyon.history("alice", fact.memory_id)] == [
        True,
        False,
    ]
    assert lyon.verify("alice").errors == 0
    # Archiving twice writes nothing; restoring gives the records back as they were.
    size = sum(path.stat().st_size for path in store.rglob("*.jsonl"))
    assert lyon.archive("alice", [fact.memory_id, fact.memory_id]) == [records[0]]
    assert sum(path.stat().st_size for path in store.rglob("*.jsonl")) == size
    back = lyon.restore("alice", [fact.memory_id, episode.episode_id])
    assert [record.content for record in back] == [record.content for record in before]
    assert [record.archived_at for record in back] == [None, None]
    assert "Lyon" in found(lyon, "Lyon", "alice")
    assert lyon.stats("alice").archived == 0


def test_archiving_survives_another_process_a_reopening_and_an_export(
    lyon: MemorySystem, tmp_path: Path, store: Path
) -> None:
    fact, episode = next(lyon.semantic_memories("alice")), next(lyon.episodes("alice"))
    code = (
        "import sys; from episodica import MemorySystem\n"
        "with MemorySystem(sys.argv[1]) as memory: memory.archive('alice', sys.argv[2:])"
    )
    ids = [fact.memory_id, episode.episode_id]
    command = [sys.executable, "-c", code, str(store), *ids]
    subprocess.run(command, check=True, timeout=60)
    assert "Lyon" not in found(lyon, "Lyon", "alice")
    lyon.export("alice", tmp_path / "alice.jsonl")
    lyon.close()
    for options in ({}, {"snapshot_threshold": 1}, {"snapshot_threshold": 1}):
        with MemorySystem(store, **options) as again:
            assert "Lyon" not in found(again, "Lyon", "alice")
            assert again.stats("alice").archived == 2
            again.add_messages("alice", [{"role": "user", "content": "Hello there."}])
    with LightweightSearchSystem(store) as reader:
        assert "Lyon" not in found(reader, "Lyon", "alice")
    with MemorySystem(tmp_path / "other") as other:
        other.import_(tmp_path / "alice.jsonl")
        assert "Lyon" not in found(other, "Lyon", "alice")
        other.restore("alice", ids)
        assert "Lyon" in found(other, "Lyon", "alice")


def test_what_is_said_again_comes_back_and_what_is_superseded_stays_away(
    memory: MemorySystem,
) -> None:
    slot = {"attribute": "home", "value": "Paris"}
    home = memory.remember("ann", "I live in Paris.", **slot)
    memory.archive("ann", home.memory_id)
    assert memory.remember("ann", "I live in Paris.", **slot).memory_id == home.memory_id
    assert "Paris" in found(memory, "Paris")
    memory.archive("ann", home.memory_id)
    memory.remember("ann", "I live in Lyon.", attribute="home", value="Lyon")
    assert memory.get("ann", home.memory_id).is_current is False  # type: ignore[union-attr]
    memory.restore("ann", home.memory_id)
    assert list(facts(memory)) == ["I live in Lyon."]


def test_facts_that_expire_leave_by_themselves_and_are_reported(
    memory: MemorySystem, store: Path
) -> None:
    memory.remember("ann", "The gate code is 5822.", expires_after=timedelta(hours=1))
    code = memory.remember("ann", "The door code is 4711.", expires_after=timedelta(microseconds=1))
    assert "5822" in found(memory, "gate code")
    assert "4711" not in found(memory, "door code")
    assert list(facts(memory)) == ["The gate code is 5822."]
    [candidate] = memory.forgetting("ann")
    assert candidate.id == code.memory_id
    assert candidate.reasons[0].startswith("expired on ")
    assert memory.get("ann", code.memory_id) == code
    memory.close()
    with MemorySystem(store, snapshot_threshold=1) as again:
        assert "4711" not in found(again, "door code")
        [back] = again.restore("ann", code.memory_id)
        assert isinstance(back, SemanticMemory)
        assert back.expires_at is None
        assert "4711" in found(again, "door code")
    # Stated again, it lasts for the longer time, or for good.
    with MemorySystem(store) as again:
        first = again.remember("ann", "The lift is broken.", expires_after=60)
        longer = again.remember("ann", "The lift is broken.", expires_after=600)
        assert first.expires_at
        assert longer.expires_at
        assert longer.expires_at > first.expires_at
        assert again.remember("ann", "The lift is broken.").expires_at is None
        assert again.remember("ann", "The lift is broken.", expires_after=1).expires_at is None


def test_uses_are_counted_across_restarts_without_a_write_per_search(store: Path) -> None:
    with MemorySystem(store, semantic_memory=False) as memory:
        memory.remember("ann", "Ann has a parrot.")
        memory.add_messages("ann", [{"role": "user", "content": "The kite is red."}])
        memory.flush("ann")

        def stamps() -> dict[Path, int]:
            return {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}

        written = stamps()
        for _ in range(5):
            memory.search("ann", "parrot", kinds=["semantic"], top_k=1)
            memory.search("ann", "kite", kinds=["message"], top_k=1)
        assert stamps() == written
    for _ in range(2):
        with MemorySystem(store, semantic_memory=False) as memory:
            kinds = ("semantic", "episodic")
            counts = memory.forgetting("ann", strength=None, max_uses=99, kinds=kinds)
            assert {candidate.text: candidate.uses for candidate in counts} == {
                "Ann has a parrot.": 5,
                "The kite is red": 5,
            }
    [file] = (store / "uses").glob("*")
    file.write_text("not a line\n" + file.read_text(), encoding="utf-8")
    with MemorySystem(store, semantic_memory=False) as memory:
        assert len(memory.forgetting("ann", strength=None, max_uses=4)) == 0
    file.unlink()
    with MemorySystem(store, semantic_memory=False) as memory:
        assert memory.forgetting("ann", strength=None, max_uses=4).candidates[0].uses == 0


def test_a_deletion_leaves_no_id_in_the_counts(store: Path) -> None:
    with MemorySystem(store) as memory:
        gone, kept = (memory.remember("ann", text) for text in ("A zqparrot.", "Ann has a kite."))
        memory.search("ann", "parrot kite", kinds=["semantic"])
    with MemorySystem(store) as memory:
        assert files_with(store, gone.memory_id)
        memory.search("ann", "parrot kite", kinds=["semantic"])
        memory.archive("ann", gone.memory_id)
        memory.delete("ann", gone.memory_id)
        assert files_with(store, gone.memory_id) == files_with(store, "zqparrot") == []
        [candidate] = memory.forgetting("ann", strength=None, max_uses=9)
        assert (candidate.id, candidate.uses) == (kept.memory_id, 2)
        memory.delete_user_data("ann")
    assert files_with(store, kept.memory_id) == []


def files_with(place: Path, word: str) -> list[Path]:
    found = (path for path in place.rglob("*") if path.is_file())
    return [path for path in found if word.encode() in path.read_bytes()]


def test_delete_where_removes_archived_records_too(lyon: MemorySystem) -> None:
    fact = next(lyon.semantic_memories("alice"))
    lyon.archive("alice", fact.memory_id)
    assert lyon.delete_where("alice", fact_kinds=fact.kind).semantic_memories == 1  # type: ignore[arg-type]
    assert lyon.get("alice", fact.memory_id) is None
    assert len(lyon.messages("alice")) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory.archive("alice", "no such"), "no record of this user has the id"),
        (lambda memory: memory.restore("nobody", "no such"), "no record of this user has the id"),
        (
            lambda memory: memory.archive("alice", next(memory.messages("alice")).message_id),
            "a message can't be archived",
        ),
        (lambda memory: memory.forgetting("alice", strength=2), "strength must be a number"),
        (lambda memory: memory.forgetting("alice", older_than=-1), "older_than must be a number"),
        (lambda memory: memory.forgetting("alice", max_importance="hihg"), "max_importance is unk"),
        (lambda memory: memory.forgetting("alice", kinds="message"), "kind is unknown"),
        (lambda memory: memory.forgetting("alice", exempt_kinds="goals"), "exempt_kinds is unkn"),
        (lambda memory: memory.remember("a", "It rains.", expires_after=-1), "expires_after must"),
        (
            lambda memory: memory.remember("a", "It rains.", expires_after=1e18),
            "expires_after ends",
        ),
        (lambda memory: memory.search("alice", "x", fact_kinds="facts"), "fact_kinds is unknown"),
    ],
)
def test_what_cannot_be_is_refused(
    lyon: MemorySystem, call: Callable[[MemorySystem], object], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call(lyon)
    assert lyon.stats("alice").archived == 0


def test_the_command_line_forgets_and_remembers_again(
    lyon: MemorySystem, cli: Callable[..., subprocess.CompletedProcess[str]], store: Path
) -> None:
    fact = next(lyon.semantic_memories("alice"))
    lyon.close()
    where = ("--store", store)
    listed = cli("forgetting", "alice", "--max-uses", "9", "--strength", "1", *where, "--json")
    assert json.loads(listed.stdout)["candidates"][0]["record"]["memory_id"] == fact.memory_id
    done = cli("forgetting", "alice", "--strength", "1", "--archive", *where)
    assert fact.content in done.stdout
    assert "1 record archived" in done.stderr
    assert cli("facts", "alice", *where).stdout.count("Lyon") == 0
    assert "(archived)" in cli("facts", "alice", "--archived", *where).stdout
    assert "1 record restored" in cli("restore", "alice", fact.memory_id, *where).stderr
    assert "1 record archived" in cli("archive", "alice", fact.memory_id, *where).stderr
    assert ["archived", "1"] in [
        line.split() for line in cli("stats", "alice", *where).stdout.splitlines()
    ]


def test_the_asynchronous_system_forgets_too(lyon: MemorySystem, store: Path) -> None:
    lyon.close()

    async def run() -> None:
        async with AsyncMemorySystem(store) as memory:
            report = await memory.forgetting("alice", strength=None, max_uses=9)
            [record] = await memory.archive("alice", report)
            assert isinstance(record, SemanticMemory)
            assert record.archived_at is not None
            [record] = await memory.restore("alice", record.memory_id)
            assert record.archived_at is None

    asyncio.run(run())


def test_notebooks_show_proposals_and_archived_facts(lyon: MemorySystem) -> None:
    report = lyon.forgetting("alice", strength=None, max_uses=9)
    shown = report._repr_html_()
    assert "used 0 times" in shown
    [record] = lyon.archive("alice", report)
    assert "archived_at" in record._repr_html_()
    assert ", archived" in repr(record)
    assert isinstance(next(lyon.episodes("alice")), Episode)
