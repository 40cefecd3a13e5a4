"""Edits: other words under a known id, by every door; what follows from a message follows."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, InvalidInputError, LightweightSearchSystem, MemorySystem

AnyMemory = MemorySystem | LightweightSearchSystem
LYON, NICE = "I live in Lyon.", "I live in Nice."
# Of no account.
TOKEN = "Zx81qLmW" + "03vTbKyR" + "94sHdNcE" + "57fGjUaP" + "26oI"


def message(text: str, id: str = "m2", minute: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "name": "Ida",
        "content": text,
        "message_id": id,
        "timestamp": f"2026-01-05T10:{minute:02}:00Z",
        "session_id": "s",
        **more,
    }


def talk(text: str) -> list[dict[str, Any]]:
    return [
        message("Good morning, it rains.", "m1", 0),
        message(text),
        message("I have a dog called Rex.", "m3", 2),
    ]


def stored(memory: AnyMemory, user: str = "ida") -> list[str]:
    return [one.content for one in memory.messages(user)]


def facts(memory: AnyMemory, user: str = "ida", **options: Any) -> str:
    return " | ".join(one.content for one in memory.semantic_memories(user, **options))


def learned(memory: MemorySystem) -> None:
    memory.add_messages("ida", talk(LYON))
    memory.flush("ida")
    memory.wait("ida")
    assert "Lyon" in facts(memory)


def is_followed(memory: AnyMemory, old: str, new: str) -> None:
    """Everything that follows from the message has the new words, and none the old ones."""
    texts = [
        *stored(memory),
        facts(memory, include_superseded=True),
        *(f"{one.title} {one.summary} {one.content}" for one in memory.episodes("ida")),
        *(one.content for episode in memory.episodes("ida") for one in episode.original_messages),
        memory.context("ida", f"Does she live in {old} or {new}?").text,
        *(hit.content for hit in memory.search("ida", f"live in {old}")),
    ]
    assert not any(old in text for text in texts), texts
    assert facts(memory).count(new) == 1
    assert memory.search("ida", new, method="bm25")[0].content.count(new)
    assert memory.search("ida", new, method="vector", kinds=["message"])[0].content.count(new)
    assert memory.verify().errors == 0


def test_the_newer_words_hold_and_all_follows(memory: MemorySystem) -> None:
    learned(memory)
    report = memory.add_messages("ida", [message(NICE)])
    assert (report.messages_added, report.duplicates, report.edited) == (0, 0, 1)
    assert report.message_ids == ("m2",)
    is_followed(memory, "Lyon", "Nice")
    now = memory.get("ida", "m2")
    assert now is not None
    assert [one.content for one in memory.history("ida", "m2")] == [LYON, NICE]  # type: ignore[union-attr]
    first, second = memory.history("ida", "m2")
    assert first.edited_at is None  # type: ignore[union-attr]
    assert second.edited_at is not None  # type: ignore[union-attr]
    assert (first.timestamp, first.seq) == (second.timestamp, second.seq)  # type: ignore[union-attr]
    assert "dog" in facts(memory), "what the others said stays"


def test_an_edit_outlives_the_process_and_a_reader_sees_it(
    memory: MemorySystem, store: Path
) -> None:
    learned(memory)
    with LightweightSearchSystem(store) as reader:
        assert LYON in stored(reader)
        memory.add_messages("ida", [message(NICE)])
        is_followed(reader, "Lyon", "Nice")
    memory.close()
    with MemorySystem(store) as again:
        is_followed(again, "Lyon", "Nice")
        assert len(again.history("ida", "m2")) == 2
        again.add_messages("ida", [message("I live in Toulon.")])
        is_followed(again, "Nice", "Toulon")
        assert len(again.history("ida", "m2")) == 3


def test_a_message_in_the_buffer_is_edited(memory: MemorySystem) -> None:
    memory.add_messages("ida", talk(LYON)[:2])
    memory.add_messages("ida", [message(NICE)])
    assert stored(memory)[1] == NICE
    memory.flush("ida")
    memory.wait("ida")
    is_followed(memory, "Lyon", "Nice")


def test_both_versions_in_one_call(memory: MemorySystem) -> None:
    report = memory.add_messages("ida", [*talk(LYON), message(NICE)])
    assert (report.messages_added, report.edited) == (3, 1)
    memory.flush("ida")
    memory.wait("ida")
    is_followed(memory, "Lyon", "Nice")


def test_a_fact_that_another_message_proves_stays(memory: MemorySystem) -> None:
    memory.add_messages("ida", [*talk(LYON), message(LYON, "m9", 50)])
    memory.flush("ida")
    memory.add_messages("ida", [message("I like the rain.")])
    assert "Lyon" in facts(memory)
    (fact,) = [one for one in memory.semantic_memories("ida") if "Lyon" in one.content]
    assert fact.source_messages == ("m9",)


def test_a_deleted_fact_does_not_come_back_by_an_edit_beside_it(memory: MemorySystem) -> None:
    learned(memory)
    (dog,) = [one for one in memory.semantic_memories("ida") if "dog" in one.content]
    memory.delete("ida", dog.memory_id)
    memory.add_messages("ida", [message(NICE)])
    memory.wait("ida")
    assert "dog" not in facts(memory)
    assert "Nice" in facts(memory)


@pytest.mark.parametrize("again", [[LYON], [NICE], [LYON, NICE, LYON]])
def test_words_that_were_replaced_undo_nothing(memory: MemorySystem, again: list[str]) -> None:
    learned(memory)
    memory.add_messages("ida", [message(NICE)])
    for text in again:
        report = memory.add_messages("ida", [message(text)])
        assert (report.duplicates, report.edited) == (1, 0)
    assert stored(memory)[1] == NICE


def test_the_time_of_an_edit_decides_where_it_is_known(memory: MemorySystem) -> None:
    def edited(text: str, minute: int) -> int:
        one = message(text, edited_at=f"2026-01-05T11:{minute:02}:00Z")
        return memory.add_messages("ida", [one]).edited

    memory.add_messages("ida", talk(LYON))
    assert [edited(NICE, 5), edited("I live in Toulon.", 3), edited(LYON, 9)] == [1, 0, 1]
    assert stored(memory)[1] == LYON
    assert [one.content for one in memory.history("ida", "m2")] == [LYON, NICE, LYON]  # type: ignore[union-attr]


def test_an_edit_can_be_refused(memory: MemorySystem) -> None:
    memory.add_messages("ida", talk(LYON))
    for messages in (
        [message("New.", "m8"), message(NICE)],
        [message("A", "m9"), message("B", "m9")],
    ):
        with pytest.raises(InvalidInputError, match="message 1: the id is known with other words"):
            memory.add_messages("ida", messages, duplicates="error")
    assert memory.add_messages("ida", talk(LYON), duplicates="error").duplicates == 3
    assert len(stored(memory)) == 3
    with pytest.raises(InvalidInputError, match="duplicates is unknown"):
        memory.add_messages("ida", [], duplicates="ignore")  # type: ignore[arg-type]


def test_an_id_of_another_role_is_no_edit(memory: MemorySystem) -> None:
    turn = [message("Where is it?", "turn-1"), message("In Bergen.", "turn-1", role="assistant")]
    with pytest.raises(InvalidInputError, match="message 1: the id belongs to a message of `user`"):
        memory.add_messages("ida", turn)
    assert stored(memory) == []


def test_an_event_tells_an_edit(memory: MemorySystem) -> None:
    learned(memory)
    cursor = memory.events("latest").cursor
    memory.add_messages("ida", [message(NICE)])
    events = memory.events(cursor, user_id="ida").events
    (edit,) = [one for one in events if one.id == "m2"]
    assert (edit.change, edit.reason, edit.statement, edit.previous) == (
        "MESSAGE",
        "edited",
        NICE,
        LYON,
    )
    assert {"EPISODE", "ADD", "DELETE"} & {one.change for one in events}


def test_a_deletion_removes_every_version(memory: MemorySystem, store: Path) -> None:
    learned(memory)
    for text in (NICE, "I live in Toulon."):
        memory.add_messages("ida", [message(text)])
    memory.delete("ida", "m2")
    memory.close()
    for file in store.rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            for secret in (b"Lyon", b"Nice", b"Toulon", b'"m2"'):
                assert secret not in held, (file, secret)
    with MemorySystem(store) as again:
        assert again.history("ida", "m2") == []
        assert len(stored(again)) == 2
        assert again.verify().errors == 0


def test_an_export_carries_the_versions(memory: MemorySystem, tmp_path: Path) -> None:
    learned(memory)
    memory.export("ida", tmp_path / "before.jsonl")
    memory.add_messages("ida", [message(NICE)])
    report = memory.export("ida", tmp_path / "after.jsonl")
    assert report.messages == 3
    with MemorySystem(tmp_path / "new") as new:
        assert new.import_(tmp_path / "after.jsonl").messages == 3
        is_followed(new, "Lyon", "Nice")
        assert new.history("ida", "m2") == memory.history("ida", "m2")
        again = new.import_(tmp_path / "after.jsonl")
        assert (again.messages, again.edited) == (0, 0)
        old = new.import_(tmp_path / "before.jsonl")
        assert (old.messages, old.edited) == (0, 0)
        is_followed(new, "Lyon", "Nice")
    with MemorySystem(tmp_path / "older") as older:
        older.import_(tmp_path / "before.jsonl")
        assert older.import_(tmp_path / "after.jsonl").edited == 1
        is_followed(older, "Lyon", "Nice")


def test_an_edit_after_a_snapshot(store: Path) -> None:
    with MemorySystem(store, snapshot_threshold=8) as memory:
        memory.add_messages(
            "ida", [message(f"Word {n} of quay {n}.", f"w{n}", n) for n in range(20)]
        )
        learned(memory)
    for text in (NICE, "I live in Toulon."):
        with MemorySystem(store, snapshot_threshold=8) as memory:
            memory.add_messages("ida", [message(text)])
            assert text in stored(memory)
    with MemorySystem(store, snapshot_threshold=8) as memory:
        is_followed(memory, "Nice", "Toulon")
        assert [one.content for one in memory.history("ida", "m2")] == [
            LYON,
            NICE,
            "I live in Toulon.",
        ]  # type: ignore[union-attr]


def test_an_edit_follows_while_a_model_forms_the_memories(store: Path) -> None:
    def answer(prompt: str) -> str:
        raise RuntimeError("no model today")

    with MemorySystem(store, llm=answer) as memory:
        memory.add_messages("ida", talk(LYON))
        memory.flush("ida")
        memory.wait("ida", timeout=30)
        memory.add_messages("ida", [message(NICE)])
        memory.flush("ida")
        memory.wait("ida", timeout=30)
        assert stored(memory)[1] == NICE
        texts = [one.content for one in memory.episodes("ida")]
        assert not any("Lyon" in text for text in texts), texts
        assert "Lyon" not in facts(memory, include_superseded=True)


def telegram(text: str) -> Any:
    about = {"type": "message", "from": "Ida", "from_id": "u1"}
    said = [
        {"id": id, **about, "date": f"2026-01-05T10:0{id}:00", "text": one}
        for id, one in enumerate(["Good morning, it rains.", text, "I have a dog called Rex."])
    ]
    return {"name": "Ida", "type": "personal_chat", "id": 7, "messages": said}


def discord(text: str) -> Any:
    about = {"type": "Default", "author": {"id": "1", "name": "Ida"}}
    said = [
        {"id": str(id), **about, "timestamp": f"2026-01-05T10:0{id}:00+00:00", "content": one}
        for id, one in enumerate(["Good morning, it rains.", text, "I have a dog called Rex."])
    ]
    return {"guild": {"name": "g"}, "channel": {"id": "9", "name": "quay"}, "messages": said}


def slack(text: str) -> Any:
    return [
        {"type": "message", "user": "U1", "ts": f"176760720{id}.000100", "text": one}
        for id, one in enumerate(["Good morning, it rains.", text, "I have a dog called Rex."])
    ]


def as_list(text: str) -> Any:
    return [{**one, "id": one.pop("message_id")} for one in talk(text)]


@pytest.mark.parametrize("export", [telegram, discord, slack, as_list, talk])
def test_every_export_tells_an_edit(
    memory: MemorySystem, tmp_path: Path, export: Callable[[str], Any]
) -> None:
    files = []
    for text in (LYON, NICE):
        path = tmp_path / text[-5:-1] / "export.json"
        path.parent.mkdir()
        path.write_text(json.dumps(export(text)), encoding="utf-8")
        files.append(path)
    assert memory.import_(files[0], "ida").messages == 3
    memory.flush("ida")
    report = memory.import_(files[1], "ida")
    assert (report.messages, report.edited, report.known) == (0, 1, 2)
    is_followed(memory, "Lyon", "Nice")
    older = memory.import_(files[0], "ida")
    assert (older.messages, older.edited, older.known) == (0, 0, 3)
    is_followed(memory, "Lyon", "Nice")


def test_the_same_id_of_another_user_is_another_message(memory: MemorySystem) -> None:
    learned(memory)
    memory.add_messages("ole", [message("I live in Bergen.", name="Ole")])
    before = list(memory.messages("ole"))
    memory.add_messages("ida", [message(NICE)])
    memory.add_messages("ole", [message("I live in Bergen.", name="Ole")], duplicates="error")
    assert list(memory.messages("ole")) == before
    assert [one.content for one in memory.history("ole", "m2")] == ["I live in Bergen."]  # type: ignore[union-attr]
    memory.delete("ole", "m2")
    assert stored(memory)[1] == NICE
    assert stored(memory, "ole") == []


@pytest.mark.parametrize(
    ("other", "whose"),
    [
        ({"session_id": "t", "minute": 9}, "of session `s`"),
        ({"session_id": "t", "timestamp": None}, "of session `s`"),
        ({"name": "Ole", "minute": 9}, "of `Ida`"),
        ({"role": "assistant"}, "of `user`"),
    ],
)
def test_a_counter_that_begins_anew_overwrites_nothing(
    memory: MemorySystem, other: dict[str, Any], whose: str
) -> None:
    memory.add_messages("ida", talk(LYON))
    again = [message("A new talk.", "m10"), message("I have a cat.", **other)]
    with pytest.raises(InvalidInputError, match=f"message 1: the id belongs to a message {whose}"):
        memory.add_messages("ida", again)
    assert stored(memory) == [one["content"] for one in talk(LYON)]
    assert memory.add_messages("ida", [message(LYON, **other)]).duplicates == 1


@pytest.mark.parametrize("other", [{"session_id": "copy"}, {"name": "Ida B."}, {"minute": 9}])
def test_a_copied_or_renamed_chat_edits(memory: MemorySystem, other: dict[str, Any]) -> None:
    learned(memory)
    assert memory.add_messages("ida", [message(NICE, **other)]).edited == 1
    now = memory.messages("ida")[1]
    assert (now.content, now.session_id, now.name) == (NICE, "s", "Ida")
    assert now.timestamp.minute == 1


def test_a_masked_copy_of_a_message_is_no_edit(memory: MemorySystem, tmp_path: Path) -> None:
    words = f"My key is ghp_{TOKEN}, keep it."
    memory.add_messages("ida", [message(words)], secrets="keep")
    masked = memory.add_messages("ida", [message(words)], secrets="mask")
    assert (masked.duplicates, masked.edited, masked.secrets) == (1, 0, 1)
    path = tmp_path / "list.json"
    path.write_text(json.dumps([message(words)]), encoding="utf-8")
    assert memory.import_(path, "ida").edited == 0
    assert stored(memory) == [words]


def test_a_deleted_message_is_new_when_it_is_said_again(memory: MemorySystem) -> None:
    learned(memory)
    memory.add_messages("ida", [message(NICE)])
    memory.delete("ida", "m2")
    report = memory.add_messages("ida", [message("I live in Toulon.")])
    assert (report.messages_added, report.edited) == (1, 0)
    memory.flush("ida")
    assert [one.content for one in memory.history("ida", "m2")] == ["I live in Toulon."]  # type: ignore[union-attr]
    assert "Nice" not in facts(memory, include_superseded=True)


@pytest.mark.asyncio
async def test_an_edit_by_coroutine(store: Path) -> None:
    async with AsyncMemorySystem(store) as memory:
        await memory.add_messages("ida", talk(LYON))
        await memory.flush("ida")
        report = await memory.add_messages("ida", [message(NICE)])
        assert report.edited == 1
        with pytest.raises(InvalidInputError, match="known with other words"):
            await memory.add_messages("ida", [message("I live in Pau.")], duplicates="error")
        said = [one.content async for one in memory.messages("ida")]
        known = [one.content async for one in memory.semantic_memories("ida")]
    assert said[1] == NICE
    assert not any("Lyon" in one for one in known)


def test_the_command_line_tells_edits(
    cli: Callable[..., subprocess.CompletedProcess[str]], store: Path, tmp_path: Path
) -> None:
    path = tmp_path / "talk.json"
    for text in (LYON, NICE):
        path.write_text(json.dumps(talk(text)), encoding="utf-8")
        done = cli("ingest", path, "--user", "ida", "--store", store)
        assert done.returncode == 0, done.stderr
    assert "0 messages added for ida, 2 known already, 1 edited" in done.stderr
    with MemorySystem(store) as memory:
        (known,) = [one for one in memory.messages("ida") if one.content == NICE]
    shown = cli("history", "ida", known.message_id, "--store", store).stdout
    assert LYON in shown
    assert NICE in shown


def test_the_metadata_of_an_edit(memory: MemorySystem) -> None:
    memory.add_messages("ida", [message(LYON, metadata={"app": "x"})])
    memory.add_messages("ida", [message(NICE)])
    assert memory.messages("ida")[0].metadata == {"app": "x"}
    memory.add_messages("ida", [message("I live in Pau.", metadata={"app": "y"})])
    assert memory.messages("ida")[0].metadata == {"app": "y"}
    assert [one.metadata for one in memory.history("ida", "m2")] == [  # type: ignore[union-attr]
        {"app": "x"},
        {"app": "x"},
        {"app": "y"},
    ]


def test_an_empty_edit_changes_nothing(memory: MemorySystem) -> None:
    learned(memory)
    with pytest.raises(InvalidInputError, match="empty"):
        memory.add_messages("ida", [message(" ")])
    assert stored(memory)[1] == LYON
    other = {"role": "user", "content": "Good night.", "timestamp": "2026-01-06T20:00:00Z"}
    for key in ("message_id", "id"):
        nothing = {"content": "", "role": "user", key: message("")["message_id"]}
        added = memory.add_messages("ida", [other, nothing])
        assert added.notes == (f"1 message without words: skipped (`{nothing[key]}`)",)
    assert stored(memory)[1] == LYON


TOWNS = ("Lyon", "Nice", "Pau", "Brest", "Metz", "Toulon")


@pytest.mark.parametrize("seed", range(6))
def test_after_any_history_only_the_last_words_count(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    path, held = tmp_path / "edited", dict[str, str]()
    memory = MemorySystem(path, snapshot_threshold=4)
    for _ in range(30):
        id, said = f"m{draw.randrange(6)}", f"I have a house in {draw.choice(TOWNS)}."
        step = draw.randrange(10)
        if step < 6:
            earlier = [one.content for one in memory.history("ida", id)]  # type: ignore[union-attr]
            memory.add_messages("ida", [message(said, id, int(id[1:]))])
            if said not in earlier:
                held[id] = said
        elif step == 6 and id in held:
            memory.delete("ida", id)
            del held[id]
        elif step == 7:
            memory.flush("ida")
        elif step == 8:
            memory.close()
            memory = MemorySystem(path, snapshot_threshold=4)
    memory.flush("ida")
    assert {one.message_id: one.content for one in memory.messages("ida")} == held
    known = {one.source_messages: one.content for one in memory.semantic_memories("ida")}
    assert set(known) == {(id,) for id in held}
    assert all(held[ids[0]][-6:] in text for ids, text in known.items())
    spoken = [one for episode in memory.episodes("ida") for one in episode.original_messages]
    assert sorted((one.message_id, one.content) for one in spoken) == sorted(held.items())
    assert memory.verify().errors == 0
    memory.delete("ida", list(held))
    memory.close()
    left = b"".join(file.read_bytes() for file in path.rglob("*") if file.is_file())
    assert not any(town.encode() in left for town in TOWNS)
