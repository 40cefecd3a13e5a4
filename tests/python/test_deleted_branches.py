"""What the user deleted stays deleted when an export shows another branch of the chat."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem

ASKED = "Is the Zorvex ointment safe for my eczema?"
AGAIN = "Is the Zorvex ointment safe for eczema on the hands?"
ANSWER, OTHER = "Ask a pharmacist about it.", "A pharmacist knows."
WORD = "Zorvex"
# A greeting, its answer, and a question on two branches, each with an answer: who says it, what,
# and the number of the message before it.
SAID = [
    ("user", "Good morning!", None),
    ("assistant", "Good morning, what can I do?", 0),
    ("user", ASKED, 1),
    ("assistant", ANSWER, 2),
    ("user", AGAIN, 1),
    ("assistant", OTHER, 4),
]
IDS = [f"3f6c1a2e-{number:04}-4d5e-8f90-aabbccddeeff" for number in range(6)]


def chatgpt(last: int) -> Any:
    mapping: dict[str, Any] = {}
    for number, (role, text, parent) in enumerate(SAID):
        children = [IDS[at] for at, one in enumerate(SAID) if one[2] == number]
        mapping[IDS[number]] = {
            "id": IDS[number],
            "parent": None if parent is None else IDS[parent],
            "children": children,
            "message": {
                "id": IDS[number],
                "author": {"role": role},
                "create_time": 1_767_000_000 + 60 * number,
                "content": {"content_type": "text", "parts": [text]},
            },
        }
    held = {"title": "Skin", "conversation_id": "c1", "mapping": mapping}
    return [{**held, "create_time": 1_767_000_000, "current_node": IDS[last]}]


def claude(last: int) -> Any:
    root = "00000000-0000-4000-8000-000000000000"
    messages = [
        {
            "uuid": IDS[number],
            "parent_message_uuid": root if parent is None else IDS[parent],
            "sender": "human" if role == "user" else role,
            "text": text,
            "created_at": f"2026-02-01T10:0{number}:00Z",
        }
        for number, (role, text, parent) in enumerate(SAID)
    ]
    # The last message of the list ends the branch that was shown last.
    shown = [one for one in messages if one["uuid"] != IDS[last]] + [messages[last]]
    named = {"uuid": "c1", "name": "Skin", "created_at": "2026-02-01T10:00:00Z"}
    return [{**named, "chat_messages": shown}]


def words(memory: MemorySystem) -> set[str]:
    return {one.content for one in memory.messages("ann")}


@pytest.mark.parametrize("export", [chatgpt, claude])
@pytest.mark.parametrize(("first", "then"), [(3, 5), (5, 3)])
def test_a_deleted_question_stays_deleted_on_its_other_branch(
    tmp_path: Path, export: Any, first: int, then: int
) -> None:
    file = tmp_path / "conversations.json"
    with MemorySystem(tmp_path / "store") as memory:
        file.write_text(json.dumps(export(first)))
        memory.import_(file, "ann")
        gone = next(one for one in memory.messages("ann") if WORD in one.content)
        memory.delete("ann", gone.message_id)
        file.write_text(json.dumps(export(then)))
        report = memory.import_(file, "ann")
        assert (report.messages, report.deleted) == (1, 1)
        assert not [text for text in words(memory) if WORD in text]
        assert {ANSWER, OTHER} <= words(memory)
        # Whoever asks for what was deleted gets the branch that is shown.
        report = memory.import_(file, "ann", deleted="add")
        assert report.messages == 1
        assert [WORD in text for text in words(memory)].count(True) == 1


def test_another_branch_without_a_deletion_is_added(tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    with MemorySystem(tmp_path / "store") as memory:
        for last in (3, 5):
            file.write_text(json.dumps(chatgpt(last)))
            assert memory.import_(file, "ann").deleted == 0
        assert {ASKED, AGAIN} <= words(memory)
        # The answer on one branch is none in the place of the other question.
        answer = next(one for one in memory.messages("ann") if one.content == ANSWER)
        memory.delete("ann", answer.message_id)
        report = memory.import_(file, "ann")
        assert (report.messages, report.deleted, report.known) == (0, 0, 4)
