"""Exports of assistants in every shape that they have had: links, times, chats without messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem
from episodica.conversations import checked
from episodica.readers import iter_conversations

ROLES = ("user", "assistant", "user", "assistant")
BEGIN = 1_710_149_400.0
TIMES = tuple(BEGIN + 30 * number for number in range(4))


def chatgpt(
    times: tuple[float | None, ...] = TIMES, mark: str = "", **about: Any
) -> dict[str, Any]:
    """A chat of four turns, between a root and a second answer that was not chosen."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None}}
    before = "root"
    for number, (role, time) in enumerate(zip(ROLES, times, strict=True)):
        content = {"content_type": "text", "parts": [f"turn {number}{mark}"]}
        message = {"author": {"role": role}, "create_time": time, "content": content}
        own = f"n{number}"
        nodes[own] = {"id": own, "message": {"id": own, **message}, "parent": before}
        nodes[before].setdefault("children", []).append(own)
        before = own
    nodes[before]["children"] = []
    whole = {"id": f"chat{mark}", "title": "Flat", "create_time": BEGIN, "update_time": BEGIN + 300}
    return {**whole, "mapping": nodes, "current_node": before, **about}


def write(folder: Path, data: Any) -> Path:
    file = folder / "conversations.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    return file


def read(file: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The messages as they are stored, and what was left out."""
    messages, left = [], []
    for talk in iter_conversations(file):
        made, more, _ = checked(talk)
        messages += made
        left += [str(one) for one in (*talk.left_out, *more)]
    return messages, left


@pytest.mark.parametrize("current", [True, False])
@pytest.mark.parametrize("links", [("children", "parent"), ("parent",), ("children",), ()])
def test_any_links_lead_through_a_chat(
    tmp_path: Path, links: tuple[str, ...], current: bool
) -> None:
    chat = chatgpt()
    for node in chat["mapping"].values():
        for link in {"children", "parent"} - set(links):
            del node[link]
    if not current:
        del chat["current_node"]
    messages, left = read(write(tmp_path, [chat]))
    assert [one["content"] for one in messages] == [f"turn {number}" for number in range(4)]
    assert [one["role"] for one in messages] == list(ROLES)
    assert {one["session_id"] for one in messages} == {"chat"}
    assert left == []


def test_another_branch_is_named(tmp_path: Path) -> None:
    chat = chatgpt()
    again = {**chat["mapping"]["n3"], "id": "again", "message": {"content": {"parts": ["no"]}}}
    chat["mapping"]["again"] = again
    chat["mapping"]["n2"]["children"].append("again")
    messages, left = read(write(tmp_path, [chat]))
    assert [one["content"] for one in messages] == [f"turn {number}" for number in range(4)]
    assert left == ["1 message of `Flat`: of another branch"]
    broken = chatgpt()
    broken["mapping"]["n2"]["parent"] = "gone"
    messages, left = read(write(tmp_path, [broken]))
    assert [one["content"] for one in messages] == ["turn 2", "turn 3"]
    assert left == ["2 messages of `Flat`: of another branch"]


@pytest.mark.parametrize(
    ("times", "moments"),
    [
        ((BEGIN, None, BEGIN + 60, BEGIN + 90), (0, 0, 60, 90)),
        ((None, BEGIN + 30, BEGIN + 60, BEGIN + 90), (30, 30, 60, 90)),
        ((BEGIN, BEGIN + 30, None, None), (0, 30, 30, 30)),
        ((BEGIN, 0.0, None, BEGIN + 90), (0, 0, 0, 90)),
        ((None,) * 4, (0, 0, 0, 0)),
        ((BEGIN,) * 4, (0, 0, 0, 0)),
    ],
)
def test_untimed_turns_stay_beside_their_neighbours(
    memory: MemorySystem, tmp_path: Path, times: tuple[float | None, ...], moments: tuple[int, ...]
) -> None:
    file = write(tmp_path, [chatgpt(times)])
    memory.import_(file, "ann")
    stored = list(memory.messages("ann"))
    assert [one.content for one in stored] == [f"turn {number}" for number in range(4)]
    for one, moment in zip(stored, moments, strict=True):
        assert abs(one.timestamp.timestamp() - BEGIN - moment) < 1
    assert memory.import_(file, "ann").messages == 0


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("broken", ["missing", None, {}, [], "text", 5, {"a": None}])
def test_a_chat_without_messages_is_named_and_stops_no_other(
    tmp_path: Path, at: int, broken: Any
) -> None:
    lost = chatgpt(mark="lost", mapping=broken)
    if broken == "missing":
        del lost["mapping"]
    chats = [chatgpt(mark="a"), chatgpt(mark="b")]
    chats.insert(at, lost)
    messages, left = read(write(tmp_path, chats))
    assert {one["session_id"] for one in messages} == {"chata", "chatb"}
    assert len(messages) == 8
    assert [one for one in left if one.startswith(f"conversation {at} in line")] == left
    assert len(left) == 1


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Lyon \ue200cite\ue202turn0search1\ue201 is old.", "Lyon is old."),
        ("Lyon\ue200navlist\ue202Maps\ue202turn1news2\ue201.", "Lyon."),
        ("Lyon\u30104\u2020source\u3011.", "Lyon."),
        ("Lyon\u301012:3\u2020lease.pdf\u3011.", "Lyon."),
        ("\u3010Lyon\u3011 is a title.", "\u3010Lyon\u3011 is a title."),
    ],
)
def test_marks_of_citations_are_no_words(tmp_path: Path, said: str, kept: str) -> None:
    chat = chatgpt()
    chat["mapping"]["n1"]["message"]["content"]["parts"] = [said]
    messages, _ = read(write(tmp_path, [chat]))
    assert " ".join(messages[1]["content"].split()) == kept


PASTED = {"file_name": "note.txt", "extracted_content": "My landlord is called Odile."}
CALL = {"type": "tool_use", "name": "search", "input": {"query": "lift"}}
RESULT = {"type": "tool_result", "content": [{"type": "text", "text": "An old lift."}]}
CALLED = '[tool call: search({"query": "lift"})]'


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ({"text": "", "attachments": [PASTED]}, PASTED["extracted_content"]),
        ({"text": "Look:", "attachments": [PASTED]}, f"Look:\n{PASTED['extracted_content']}"),
        ({"text": "", "attachments": [PASTED, {**PASTED, "extracted_content": "And Tom."}]},
         f"{PASTED['extracted_content']}\nAnd Tom."),
        ({"text": "", "content": [CALL, RESULT]}, f"{CALLED}\nAn old lift."),
        ({"text": "", "content": [CALL]}, CALLED),
        ({"text": "Wait.", "content": [{"type": "text", "text": "Wait."}, CALL]},
         f"Wait.\n{CALLED}"),
        ({"text": "", "content": [{"type": "thinking", "thinking": "hm"}, RESULT]},
         "An old lift."),
        ({"content": [{"type": "text", "text": "Only here."}]}, "Only here."),
    ],
)  # fmt: skip
def test_pasted_text_and_tools_of_claude_are_kept(
    tmp_path: Path, message: dict[str, Any], kept: str
) -> None:
    said = {"uuid": "m1", "sender": "human", "created_at": "2024-05-02T08:00:00Z", **message}
    chat = {"uuid": "c1", "name": "Flat", "chat_messages": [said]}
    messages, left = read(write(tmp_path, [chat]))
    [made] = messages
    lines = [line for line in made["content"].splitlines() if not line.startswith("[file")]
    assert "\n".join(lines) == kept
    assert left == []


@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("content", ["I sold my boat.", [{"type": "REQUEST", "content": "I sold"}]])
def test_deepseek_is_never_taken_for_chatgpt(tmp_path: Path, content: Any, is_empty: bool) -> None:
    """Both forms of its messages: fragments, and a text."""
    held = {"fragments": content} if isinstance(content, list) else {"content": content}
    message = {"inserted_at": "2024-06-01T10:00:00.000+08:00", "model": "m", **held}
    mapping = {
        "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
        "1": {"id": "1", "parent": "root", "children": [], "message": message},
    }
    chats = [
        {"id": "d1", "title": "Boat", "inserted_at": "2024-06-01T10:00:00", "mapping": mapping}
    ]
    if is_empty:
        chats.insert(0, {**chats[0], "id": "d0", "mapping": {"root": mapping["root"]}})
    messages, left = read(write(tmp_path, chats))
    assert [one["role"] for one in messages] == ["user"]
    assert len(left) == is_empty


def test_the_status_of_its_own_memory_is_no_speech(tmp_path: Path) -> None:
    chat = chatgpt()
    turn = chat["mapping"]["n1"]["message"]
    turn["author"] = {"role": "tool", "name": "bio"}
    turn["content"]["parts"] = ["Model set context updated."]
    answer = chat["mapping"]["n3"]["message"]
    answer["author"] = {"role": "tool", "name": "browser"}
    messages, left = read(write(tmp_path, [chat]))
    assert [one["content"] for one in messages] == ["turn 0", "turn 2", "turn 3"]
    assert [one.partition(": ")[2] for one in left] == ["no speech but the status of `bio`"]
