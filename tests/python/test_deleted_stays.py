"""What a user has deleted stays deleted when a file that still has it is imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem
from episodica.cli.app import main

WORD = "Zorro"


def said(number: int, content: str, **more: Any) -> dict[str, Any]:
    when = f"2026-03-{1 + number // 10:02}T10:{number % 10:02}:00Z"
    return {"role": "user", "name": "Ann", "content": content, "timestamp": when, **more}


TALK = [
    said(0, "I work as a gardener in Lyon.", session_id="a"),
    said(1, f"I have a cat called {WORD}.", session_id="a"),
    said(2, "I'm allergic to peanuts.", session_id="a"),
    said(30, "My sister lives in Nantes.", session_id="b"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with MemorySystem(tmp_path / "store") as memory:
        memory.add_messages("ann", TALK)
        memory.remember("ann", f"The vet of {WORD} is Dr. Weiss.")
        memory.flush("ann")
        memory.export("ann", tmp_path / "before.jsonl")
        yield memory


def words(memory: MemorySystem, user: str = "ann") -> str:
    facts = memory.semantic_memories(user, include_superseded=True)
    return " | ".join(
        [
            *(message.content for message in memory.messages(user)),
            *(episode.content for episode in memory.episodes(user)),
            *(fact.content for fact in facts),
        ]
    )


def is_on_disk(memory: MemorySystem, word: str = WORD) -> bool:
    files = (path for path in Path(memory.path).rglob("*") if path.is_file())
    return any(word.encode() in path.read_bytes() for path in files)


def with_cat(memory: MemorySystem) -> list[str]:
    return [one.message_id for one in memory.messages("ann") if WORD in one.content]


def stated(memory: MemorySystem) -> str:
    return next(one.memory_id for one in memory.semantic_memories("ann") if one.quote is None)


def test_an_export_from_before_a_deletion_brings_nothing_back(
    memory: MemorySystem, tmp_path: Path
) -> None:
    memory.delete("ann", [*with_cat(memory), stated(memory)])
    kept = words(memory)
    for _ in range(2):
        report = memory.import_(tmp_path / "before.jsonl", "ann")
        # The message, its quotation and the stated fact.
        assert (report.messages, report.semantic_memories, report.deleted) == (0, 0, 3)
        memory.flush("ann")
        assert words(memory) == kept
        assert not is_on_disk(memory)
    assert memory.verify("ann").errors == 0


def test_the_caller_may_bring_deleted_records_back(memory: MemorySystem, tmp_path: Path) -> None:
    before = sorted(words(memory).split(" | "))
    memory.delete("ann", [*with_cat(memory), stated(memory)])
    report = memory.import_(tmp_path / "before.jsonl", "ann", deleted="add")
    assert (report.messages, report.deleted) == (1, 0)
    memory.flush("ann")
    assert sum(WORD in one for one in words(memory).split(" | ")) >= 3
    assert set(before) & set(words(memory).split(" | "))
    # They are the user's again, and may be deleted again.
    memory.delete("ann", with_cat(memory))
    assert memory.import_(tmp_path / "before.jsonl", "ann").deleted >= 1
    assert not with_cat(memory)


@pytest.mark.parametrize("what", ["episode", "session", "condition"])
def test_however_it_was_deleted(memory: MemorySystem, tmp_path: Path, what: str) -> None:
    memory.delete("ann", stated(memory))
    if what == "episode":
        gone = next(one for one in memory.episodes("ann") if WORD in one.content)
        memory.delete("ann", gone.episode_id)
    else:
        session = {"session_id": "a"}
        memory.delete_where("ann", **(session if what == "session" else {"until": "2026-03-02"}))
    kept = words(memory)
    assert "Nantes" in kept
    assert "gardener" not in kept
    report = memory.import_(tmp_path / "before.jsonl", "ann")
    assert (report.messages, report.episodes, report.semantic_memories) == (0, 0, 0)
    assert report.deleted >= 5
    assert words(memory) == kept
    assert not is_on_disk(memory)


def test_an_episode_without_its_deleted_message_is_formed_anew(tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        memory.add_messages("ann", TALK)
        memory.flush("ann")
        memory.export("ann", tmp_path / "whole.jsonl")
        ids = [one.message_id for one in memory.messages("ann")]
    with MemorySystem(tmp_path / "other") as memory:
        # Here only the deleted message was ever known, and nothing of its episode.
        memory.add_messages("ann", [{**TALK[1], "message_id": ids[1]}])
        memory.delete("ann", ids[1])
        report = memory.import_(tmp_path / "whole.jsonl", "ann")
        assert (report.messages, report.episodes) == (3, 1)
        assert report.deleted >= 3
        memory.flush("ann")
        assert {one.content for one in memory.messages("ann")} == {
            one["content"] for one in TALK if WORD not in one["content"]
        }
        told = [one.message_id for ep in memory.episodes("ann") for one in ep.original_messages]
        assert sorted(told) == sorted(id for id in ids if id != ids[1])
        assert any("peanuts" in one.content for one in memory.semantic_memories("ann"))
        assert not is_on_disk(memory)
        assert memory.verify("ann").errors == 0


def test_what_a_deleted_fact_ended_is_current_again(tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "store") as memory:
        memory.remember("ann", "I live in Paris.", attribute="home", value="Paris")
        lyon = memory.remember("ann", "I live in Lyon.", attribute="home", value="Lyon")
        memory.export("ann", tmp_path / "both.jsonl")
        paris = lyon.ends[0]
        memory.delete("ann", [lyon.memory_id, paris])
        assert memory.import_(tmp_path / "both.jsonl", "ann").deleted == 2
        assert not list(memory.semantic_memories("ann", include_superseded=True))
    with MemorySystem(tmp_path / "other") as memory:
        memory.import_(tmp_path / "both.jsonl", "ann")
        memory.delete("ann", [lyon.memory_id, paris])
        # A file with an end that a deleted fact made, of a fact that is not deleted.
        lines = (tmp_path / "both.jsonl").read_text().replace(paris, f"another-{paris}")
        (tmp_path / "renamed.jsonl").write_text(lines)
        report = memory.import_(tmp_path / "renamed.jsonl", "ann")
        assert (report.semantic_memories, report.deleted) == (1, 1)
        (fact,) = memory.semantic_memories("ann")
        assert (fact.content, fact.valid_to, fact.superseded_by) == ("I live in Paris.", None, None)
        assert memory.verify("ann").errors == 0


def test_other_users_and_users_who_begin_anew_get_everything(
    memory: MemorySystem, tmp_path: Path
) -> None:
    memory.delete("ann", with_cat(memory))
    report = memory.import_(tmp_path / "before.jsonl", "eve")
    assert (report.messages, report.deleted) == (4, 0)
    memory.delete_user_data("ann")
    report = memory.import_(tmp_path / "before.jsonl", "ann")
    assert (report.messages, report.deleted) == (4, 0)


def test_it_is_remembered_after_compaction_and_reopening(tmp_path: Path) -> None:
    for step in range(3):
        with MemorySystem(tmp_path / "store") as memory:
            if step == 0:
                memory.add_messages("ann", TALK)
                memory.flush("ann")
                memory.export("ann", tmp_path / "before.jsonl")
                memory.delete("ann", with_cat(memory))
            memory.compact()
            assert memory.import_(tmp_path / "before.jsonl", "ann").deleted >= 1
            assert WORD not in words(memory)


def test_adding_the_message_itself_is_the_callers_word(memory: MemorySystem) -> None:
    (id,) = with_cat(memory)
    memory.delete("ann", id)
    added = memory.add_messages("ann", [{**TALK[1], "message_id": id}])
    assert (added.messages_added, added.deleted) == (1, 0)


def chat(name: str, newer: bool = False) -> str:
    cat = f"I have a cat called {WORD}" + (" the Second." if newer else ".")
    lines = ["I work as a gardener in Lyon.", cat, "I'm allergic to peanuts."]
    if name == "numbered.json":
        return json.dumps([said(at, text, id=at) for at, text in enumerate(lines)])
    if name == "uuids.jsonl":
        id = "0b5e62d4-7d0c-4c9a-8f5e-00000000000{}"
        made = [said(at, text, id=id.format(at)) for at, text in enumerate(lines)]
        return "\n".join(map(json.dumps, made))
    if name == "plain.json":
        return json.dumps([said(at, text) for at, text in enumerate(lines)])
    if name == "table.csv":
        rows = [f'user,"{text}",2026-03-01T10:0{at}:00Z' for at, text in enumerate(lines)]
        return "\n".join(["role,content,timestamp", *rows]) + "\n"
    if name == "undated.txt":
        return "".join(f"Ann: {text}\n" for text in lines)
    return "".join(f"[13/03/2026, 10:0{at}:00] Ann: {text}\n" for at, text in enumerate(lines))


FILES = ["numbered.json", "uuids.jsonl", "plain.json", "table.csv", "undated.txt", "whatsapp.txt"]


@pytest.mark.parametrize("name", FILES)
def test_chats_of_other_programs_bring_nothing_back(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(chat(name))
    with MemorySystem(tmp_path / "store") as memory:
        assert memory.import_(tmp_path / name, "ann").messages == 3
        memory.flush("ann")
        memory.delete("ann", with_cat(memory))
        report = memory.import_(tmp_path / name, "ann")
        assert (report.messages, report.known, report.deleted) == (0, 2, 1)
        memory.flush("ann")
        assert WORD not in words(memory)
        assert not is_on_disk(memory)
        if name in ("numbered.json", "uuids.jsonl"):
            # A later export has the message with other words: it is the same message.
            (tmp_path / f"newer-{name}").write_text(chat(name, newer=True))
            assert memory.import_(tmp_path / f"newer-{name}", "ann").deleted == 1
            assert WORD not in words(memory)
        assert memory.import_(tmp_path / name, "ann", deleted="add").messages == 1


def test_facts_of_other_memories_bring_nothing_back(tmp_path: Path) -> None:
    facts = ["Likes rye bread", f"Owns a cat called {WORD}", "Lives in Lyon"]
    made = [{"id": str(at), "memory": text, "user_id": "ann"} for at, text in enumerate(facts)]
    (tmp_path / "mem0.json").write_text(json.dumps({"results": made}))
    with MemorySystem(tmp_path / "store") as memory:
        assert memory.import_(tmp_path / "mem0.json", "ann").semantic_memories == 3
        assert memory.import_(tmp_path / "mem0.json", "ann").known == 3
        cat = next(one for one in memory.semantic_memories("ann") if WORD in one.content)
        bread = next(one for one in memory.semantic_memories("ann") if "rye" in one.content)
        memory.delete("ann", cat.memory_id)
        memory.update("ann", bread.memory_id, "Likes no bread")
        report = memory.import_(tmp_path / "mem0.json", "ann")
        # What was corrected since is known, too.
        assert (report.semantic_memories, report.known, report.deleted) == (0, 2, 1)
        assert sorted(one.content for one in memory.semantic_memories("ann")) == [
            "Likes no bread",
            "Lives in Lyon",
        ]
        again = memory.import_(tmp_path / "mem0.json", "ann", deleted="add")
        assert (again.semantic_memories, again.deleted) == (1, 0)


def test_commands_count_what_was_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(tmp_path / "store")
    chats = tmp_path / "plain.json"
    chats.write_text(chat("plain.json"))
    ingest = ["--store", store, "ingest", str(chats), "--user", "ann"]
    assert main(ingest) == 0
    with MemorySystem(store) as memory:
        memory.export("ann", tmp_path / "before.jsonl")
        memory.delete("ann", with_cat(memory))
    capsys.readouterr()
    assert main(ingest) == 0
    assert "1 deleted before" in capsys.readouterr().err
    carry = ["--json", "--store", store, "import", str(tmp_path / "before.jsonl")]
    assert main(carry) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["messages"], report["deleted"]) == (0, 2)
    assert main([*carry, "--deleted", "add"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 1


async def test_coroutines_and_wrong_choices(tmp_path: Path) -> None:
    (tmp_path / "plain.json").write_text(chat("plain.json"))
    async with AsyncMemorySystem(tmp_path / "store") as memory:
        await memory.import_(tmp_path / "plain.json", "ann")
        ids = [one.message_id async for one in memory.messages("ann") if WORD in one.content]
        await memory.delete("ann", ids)
        assert (await memory.import_(tmp_path / "plain.json", "ann")).deleted == 1
        with pytest.raises(InvalidInputError, match="deleted is unknown: `restore`"):
            await memory.import_(tmp_path / "plain.json", "ann", deleted="restore")  # type: ignore[arg-type]
