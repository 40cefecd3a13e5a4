"""STO-5: the tree of layers at ``cortex://`` and ``episodica://``, its export and the way back."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    Episode,
    InvalidInputError,
    MemorySystem,
    Message,
    SemanticMemory,
    count_tokens,
)

MOMENT = "2024-03-11T09:30:07+01:00"
ODD = ["a/b", "..", ".", "a\0b", "张伟", "%2e%2e", "_", "a b#c?d", "~root", "Ä" * 100, "-"]


def talk(memory: MemorySystem, user: str = "alice", session: str = "s1") -> None:
    said = [
        ("user", "Alice", "I moved to Lyon last Friday with my dog Pickle."),
        ("assistant", None, "How do you like it there?"),
        ("user", "Alice", "I love the old town. I work as a nurse at Siemens."),
    ]
    memory.add_messages(
        user,
        [
            {"role": role, "name": name, "content": content, "timestamp": MOMENT}
            for role, name, content in said
        ],
        session_id=session,
    )
    memory.close_session(user, session)
    memory.wait(user)


@pytest.fixture
def filled(memory: MemorySystem) -> MemorySystem:
    talk(memory)
    memory.remember("alice", "Alice prefers tea to coffee.", kind="preference")
    memory.remember("alice", "Restart the router to mend the line.", kind="case", agent_id="bot")
    return memory


@pytest.mark.requirement("STO-5")
def test_sto_5_addresses_lead_to_what_they_name(filled: MemorySystem) -> None:
    (episode,) = filled.episodes("alice")
    timeline = "cortex://session/s1/timeline"
    names = {
        uri: [entry.name for entry in filled.ls(uri)]
        for uri in (
            "cortex://",
            "cortex://session",
            "cortex://session/s1/",
            timeline,
            f"{timeline}/2024-03",
        )
    }
    assert names == {
        "cortex://": ["session", "user", "agent", "resources"],
        "cortex://session": ["s1"],
        "cortex://session/s1/": ["timeline"],
        timeline: ["2024-03"],
        f"{timeline}/2024-03": ["11"],
    }
    (entry,) = filled.ls(f"{timeline}/2024-03/11")
    assert entry.name == f"09_30_07_{episode.episode_id}.md"
    assert (entry.kind, entry.title, entry.record_uri) == ("episode", episode.title, episode.uri)
    # cortex://session/{id}/timeline/{msg}.md, .overview.md and .abstract.md
    stem = entry.uri.removesuffix(".md")
    assert filled.read(entry.uri) == filled.read(entry.uri, "L2")
    assert filled.read(f"{stem}.overview.md") == filled.read(entry.uri, "L1") == episode.content
    assert filled.read(f"{stem}.abstract.md") == filled.read(entry.uri, "L0")
    assert filled.read(entry.uri, "L0").startswith(episode.title)
    assert "Alice: I moved to Lyon last Friday" in filled.read(entry.uri)
    message = filled.messages("alice")[0]
    for ending in ("", ".md", ".overview.md", ".abstract.md"):
        assert message.content in filled.read(f"{timeline}/{message.message_id}{ending}")
    # cortex://user/{id}/…
    assert {entry.name for entry in filled.ls("cortex://user/alice")} == {
        "profile.md",
        "profile.json",
        "personal_info",
        "work_history",
        "preferences",
        "relationships",
        "goals",
        "entities",
        "events",
        "decisions",
    }
    preferences = filled.ls("cortex://user/alice/preferences/")
    [preference] = [one for one in preferences if one.title == "Alice prefers tea to coffee."]
    assert filled.read(preference.uri, "L0") == preference.title
    assert '"preference"' in filled.read("cortex://user/alice/profile.json")
    assert filled.read("cortex://user/alice/profile.md").startswith("# Alice")
    # cortex://agent/{id}/{cases|skills|instructions}
    assert [entry.name for entry in filled.ls("cortex://agent")] == ["bot"]
    assert [entry.name for entry in filled.ls("cortex://agent/bot")] == [
        "cases",
        "skills",
        "instructions",
    ]
    (case,) = filled.ls("cortex://agent/bot/cases")
    assert "router" in filled.read(case.uri)
    assert list(filled.ls("cortex://resources")) == []


def test_every_value_has_an_address_that_reads(filled: MemorySystem) -> None:
    for kind, records in (
        ("message", filled.messages("alice")),
        ("episode", filled.episodes("alice")),
        ("semantic", filled.semantic_memories("alice")),
    ):
        listed = filled.ls(f"episodica://default/alice/{kind}")
        assert [entry.uri for entry in listed] == [record.uri for record in records]
        for record, entry in zip(records, listed, strict=True):
            assert filled.get("alice", record.uri) == record
            assert isinstance(record, Message | Episode | SemanticMemory)
            for layer in ("L0", "L1", "L2"):
                assert filled.read(entry.uri, layer)  # type: ignore[arg-type]
            assert count_tokens(filled.read(entry.uri, "L0")) <= 100
    for hit in filled.search("alice", "where does she live?"):
        assert hit.uri == hit.record.uri
        assert filled.read(hit.uri, "L2")


def test_folders_have_layers(filled: MemorySystem) -> None:
    (episode,) = filled.episodes("alice")
    day = "cortex://session/s1/timeline/2024-03/11"
    assert filled.read(day, "L0") == filled.read(f"{day}/.abstract.md")
    assert filled.read(day, "L0") == f"1 entry: {episode.title}"
    assert episode.title in filled.read(day, "L1")


@pytest.mark.parametrize("name", ODD)
def test_names_cannot_escape(memory: MemorySystem, tmp_path: Path, name: str) -> None:
    talk(memory, user=name, session=name)
    talk(memory, user="other", session="other")
    memory.remember(name, "Ann likes tea.", kind="preference")
    (session,) = memory.ls("cortex://session", user_id=name)
    (user,) = memory.ls("cortex://user", user_id=name)
    for entry in (session, user):
        assert "/" not in entry.name
        assert entry.name not in (".", "..")
        assert entry.name.isascii()
        assert entry.name.isprintable()
    (record,) = [one for one in memory.ls("episodica://default") if one.name == user.name]
    assert [entry.name for entry in memory.ls(record.uri)] == ["message", "episode", "semantic"]
    texts = list(leaves(memory, "cortex://", name))
    assert any("Pickle" in memory.read(uri, user_id=name) for uri in texts)
    for uri in texts:
        assert "other" not in uri
        assert memory.read(uri, "L0", user_id=name)
    place = tmp_path / "deep" / "tree"
    memory.export(name, place, format="tree")
    assert [path for path in tmp_path.rglob("*.md") if place not in path.parents] == []
    assert memory.import_(place, name).updated == 0


def leaves(memory: MemorySystem, uri: str, user: str) -> Any:
    for entry in memory.ls(uri, user_id=user):
        if entry.is_folder:
            yield from leaves(memory, entry.uri, user)
        else:
            yield entry.uri


@pytest.mark.parametrize(
    "uri",
    [
        "", "cortex", "http://a/b", "cortex:///", "cortex://user//x", "cortex://user/../x",
        "cortex://user/./x", "cortex://user/%ff", "cortex://nothing", "cortex://user/nobody",
        "cortex://session/none/timeline", "cortex://session/s1/timeline/2024-04",
        "cortex://session/s1/timeline/2024-03/11/09_30_07_x.md", "cortex://user/alice/secrets",
        "cortex://session/s1/timeline/2024-03/12/09_30_07_ID.md",
        "episodica://other/alice", "episodica://default/alice/episode/x",
        "episodica://default/alice/semantic/ID", "cortex://user/alice/goals/ID.md",
    ],
)  # fmt: skip
def test_where_nothing_is_there_is_an_error(filled: MemorySystem, uri: str) -> None:
    (episode,) = filled.episodes("alice")
    for call in (filled.ls, filled.read):
        with pytest.raises(InvalidInputError, match=r"^(nothing is at|not an address|uri)"):
            call(uri.replace("ID", episode.episode_id))


def test_another_users_records_are_not_in_the_tree_of_one(filled: MemorySystem) -> None:
    talk(filled, user="bob", session="secret")
    assert [entry.name for entry in filled.ls("cortex://session", user_id="alice")] == ["s1"]
    assert [entry.name for entry in filled.ls("cortex://user", user_id="alice")] == ["alice"]
    for uri in ("cortex://session/secret", "cortex://user/bob", "episodica://default/bob"):
        assert filled.ls(uri)
        with pytest.raises(InvalidInputError, match="nothing is at"):
            filled.ls(uri, user_id="alice")
    (episode,) = filled.episodes("bob")
    with pytest.raises(InvalidInputError, match="nothing is at"):
        filled.read(episode.uri, user_id="alice")


def test_a_tree_is_drawn_as_deep_as_asked(filled: MemorySystem) -> None:
    tree = filled.tree("cortex://session/s1", depth=2)
    assert [entry.name for entry in tree] == ["timeline"]
    (month,) = next(iter(tree))
    assert (month.name, month.entries) == ("2024-03", None)
    assert str(tree) == "cortex://session/s1\n└── timeline/\n    └── 2024-03/"
    assert "Lyon" in str(filled.tree("cortex://session/s1", depth=9))


def test_exploring_walks_from_abstracts_to_contents(filled: MemorySystem) -> None:
    for number in range(4):
        filled.add_messages(
            "alice",
            [
                {
                    "role": "user",
                    "name": "Alice",
                    "content": f"I repaired bicycle number {number} in the garage.",
                    "timestamp": f"2024-0{4 + number}-01T10:00:00Z",
                }
            ],
            session_id=f"bikes{number}",
        )
        filled.close_session("alice", f"bikes{number}")
    walk = filled.explore("Which dog moved to Lyon?", "cortex://session")
    assert walk.hits[0].kind == "episodic"
    assert "Lyon" in walk.hits[0].content
    path = [step.uri for step in walk if step.entered]
    for uri in (
        "cortex://session/s1",
        "cortex://session/s1/timeline",
        "cortex://session/s1/timeline/2024-03",
        "cortex://session/s1/timeline/2024-03/11",
    ):
        assert uri in path
    folders = [step for step in walk if step.layer == "L0" and not step.uri.endswith(".md")]
    assert folders[0].uri == "cortex://session/s1", "the best comes first"
    leaf = [step for step in walk if step.uri == walk.entries[0].uri]
    assert [step.layer for step in leaf] == ["L0", "L1", "L2"]
    assert sum(step.score for step in leaf) == pytest.approx(walk.hits[0].scores["raw"], abs=0.5)
    assert filled.read(walk.entries[0].uri, "L1") == walk.hits[0].record.content
    assert any(not step.entered for step in walk), "a folder that was left"
    assert filled.explore("tea", "cortex://user/alice/preferences").hits[0].content.endswith("fee.")
    records = filled.explore("Lyon", "episodica://default/alice")
    assert records.entries[0].uri == records.hits[0].uri


def test_corrected_files_become_updates_with_history(filled: MemorySystem, tmp_path: Path) -> None:
    place = tmp_path / "tree"
    report = filled.export("alice", place, format="tree")
    assert (report.messages, report.episodes) == (3, 1)
    assert filled.import_(place, "alice").updated == 0
    files = {
        path.relative_to(place).as_posix(): path for path in place.rglob("*") if path.is_file()
    }
    in_the_tree = {uri.removeprefix("cortex://") for uri in leaves(filled, "cortex://", "alice")}
    layers = {name for name in files if name.endswith((".abstract.md", ".overview.md"))}
    assert files.keys() - layers == in_the_tree
    fact, overview, abstract = (
        next(
            path
            for name, path in files.items()
            if name.startswith(start) and name.endswith(end) and words in path.read_text("utf-8")
        )
        for start, end, words in (
            ("user/alice/preferences/", ".md", "tea to coffee"),
            ("session/", ".overview.md", ""),
            ("session/", ".abstract.md", ""),
        )
    )
    for path, old, new in (
        (fact, "tea to coffee", "coffee to tea"),
        (overview, "Lyon", "Lyons"),
        (abstract, "\n---\n\n", "\n---\n\nNot at all: "),
    ):
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
    (place / "notes.md").write_text("# Notes of somebody", encoding="utf-8")
    report = filled.import_(place, "alice")
    assert (report.updated, len(report.refused)) == (2, 1)
    assert "only facts and the overviews" in report.refused[0]
    preferences = filled.semantic_memories("alice", kind="preference")
    [preference] = [one for one in preferences if one.content == "Alice prefers coffee to tea."]
    first, second = filled.history("alice", preference.memory_id)
    assert (first.content, second) == ("Alice prefers tea to coffee.", preference)
    (episode,) = filled.episodes("alice")
    assert "Lyons" in episode.content
    assert len(filled.history("alice", episode.episode_id)) == 2
    text = fact.read_text(encoding="utf-8")
    fact.write_text(text.replace("coffee to tea", "milk to tea"), encoding="utf-8")
    report = filled.import_(place, "alice")
    assert report.updated == 0
    assert any("was changed since the files were written" in one for one in report.refused)
    with pytest.raises(InvalidInputError, match="the directory is not empty"):
        filled.export("alice", place, format="tree")
    shutil.rmtree(place)
    kept = filled.semantic_memories("alice", kind="preference")
    assert sum("coffee" in one.content for one in kept) == 1


def test_many_episodes_are_listed_quickly(memory: MemorySystem) -> None:
    said = [
        {
            "role": "user",
            "content": f"Note {number} on lamps.",
            "timestamp": 1_700_000_000 + 16_000 * number,
        }
        for number in range(2_500)
    ]
    memory.add_messages("al", said, session_id="s")
    memory.flush("al")
    count = len(list(memory.episodes("al")))
    assert count >= 1_000, "one episode has two messages or more"
    started = time.process_time()
    entries = list(memory.ls("episodica://default/al/episode"))
    assert time.process_time() - started < 0.5
    months = memory.ls("cortex://session/s/timeline")
    assert (len(entries), len(months)) == (count, 16)
