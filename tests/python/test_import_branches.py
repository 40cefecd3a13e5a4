"""Heads above transcripts, logs that are trees, and parts of tools in the words of goose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.readers import read_conversations

HEAD = "Meeting: Harbour board\n**Date:** 2026-02-03\nAttendees: Ida, Jon\n"
HEADS = [
    HEAD + "\nIda: The crane is mended.\nJon: At last.\n",
    HEAD + "\nIda (00:00:12)\nThe crane is mended.\n\nJon (00:00:20)\nAt last.\n",
    HEAD + "[00:00:12] Ida: The crane is mended.\n[00:00:20] Jon: At last.\n",
    "# Notes\n\nTitle: Board\nDuration: 30 min\n\n[00:12] Ida: The crane is mended.\n"
    "[00:20] Jon: At last.\n",
    "Title: Board\n\n2026-02-03 09:12 Ida: The crane is mended.\n2026-02-03 09:20 Jon: At last.\n",
]


@pytest.mark.parametrize("text", HEADS)
def test_labels_above_a_transcript_are_no_speakers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(text, encoding="utf-8")
    (talk,) = read_conversations(path)
    said = [(one["name"], one["content"].strip()) for one in talk.messages]
    assert said == [("Ida", "The crane is mended."), ("Jon", "At last.")]
    assert talk.left_out
    if "2026" in text:
        assert all(one["timestamp"].startswith("2026-02-03") for one in talk.messages)


@pytest.mark.parametrize("below", ["[X:User:17]\nI row.\n", "User\nI row.\n"])
@pytest.mark.parametrize("when", ["2026-02-03", "2026-02-03T10:00:00Z"])
def test_a_head_above_an_unknown_form_is_no_chat(tmp_path: Path, below: str, when: str) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(f"Title: T\nDate: {when}\n\n{below}", encoding="utf-8")
    with pytest.raises(InvalidInputError):
        read_conversations(path)


@pytest.mark.parametrize(
    "text",
    [
        "Ida: When was it?\nJon: 3 Feb 2026\n\nIda: Thanks.\n",
        "Ida: I row.\nJon: I sail.\n\nKim: I swim.\n",
        "Ida: I row.\nJon: 3 Feb 2026\n",
    ],
)
def test_a_talk_with_an_empty_line_has_no_head(tmp_path: Path, text: str) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(text, encoding="utf-8")
    (talk,) = read_conversations(path)
    assert len(talk.messages) == text.count(": ")
    assert not talk.left_out


def pi(own: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}], **more}
    when = "2026-02-03T10:00:00Z"
    about = {"type": "message", "id": own, "parentId": parent, "timestamp": when}
    return {**about, "message": message}


def node(own: str, parent: str | None, role: str, text: str) -> dict[str, Any]:
    kind = "text" if parent else "root"
    about = {"id": own, "parent": parent, "type": kind, "timestamp": 1783619816561}
    return {"role": role, "content": text, **about}


PI = [
    {"type": "session", "version": 3, "id": "p", "timestamp": "2026-02-03T10:00:00Z"},
    {"type": "model_change", "id": "a", "parentId": None},
    pi("b", "a", "user", "I row."),
    pi("c", "b", "assistant", "Often?"),
    pi("d", "a", "user", "I sail."),
    pi("e", "d", "assistant", "Far?"),
    {"type": "compaction", "id": "f", "parentId": "e", "summary": "I swim."},
]
NODES = [
    node("r", None, "system", ""),
    node("1", "r", "user", "I row."),
    node("2", "1", "assistant", "Often?"),
    node("3", "r", "user", "I sail."),
    node("4", "3", "assistant", "Far?"),
]
LLAMA = {"type": "session", "harness": "llama.app", "id": "q", "currNode": "4"}
WRAPPED = [{"type": "message", "message": one} for one in NODES]


@pytest.mark.parametrize(
    "records", [PI, [LLAMA, *WRAPPED], [{"conv": {"id": "q", "currNode": "4"}, "messages": NODES}]]
)
def test_a_tree_gives_the_branch_shown_last(tmp_path: Path, records: list[Any]) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    with MemorySystem(tmp_path / "m") as memory:
        report = memory.import_(path, "u")
        said = [(one.role, one.content) for one in memory.messages("u")]
        sessions = {one.session_id for one in memory.messages("u")}
    assert said == [("user", "I sail."), ("assistant", "Far?")]
    assert len(sessions) == 1
    assert None not in sessions
    assert any("2 messages" in str(one) and "branch" in str(one) for one in report.left_out)


def test_the_named_end_wins_and_sessions_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    first = [{**LLAMA, "currNode": "2"}, *WRAPPED]
    records = [*first, {"type": "session", "id": "z"}, pi("a", None, "user", "I swim.")]
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    (talk,) = read_conversations(path)
    assert [one["session_id"] for one in talk.messages] == ["q", "q", "z"]
    assert talk.messages[0]["content"] == "I row."


def test_a_branch_rewritten_under_new_ids_is_known(memory: MemorySystem, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    said = [pi("a", None, "user", "I row."), pi("b", "a", "assistant", "Often?", responseId="x")]
    again = [pi("k", None, "user", "I row."), pi("l", "k", "assistant", "Often?", responseId="x")]
    for records in (said, [*said, *again, pi("m", "l", "user", "Daily.")]):
        path.write_text("".join(json.dumps(one) + "\n" for one in [PI[0], *records]))
        memory.import_(path, "u")
    assert [one.content for one in memory.messages("u")] == ["I row.", "Often?", "Daily."]


CALL = {"type": "toolCall", "id": "c", "name": "shell", "arguments": {"command": "ls"}}
RESULT = [{"type": "text", "text": "oars"}]


@pytest.mark.parametrize("value", [RESULT, {"content": RESULT, "isError": False}])
def test_tools_of_goose_and_pi_are_calls_and_results(
    memory: MemorySystem, tmp_path: Path, value: Any
) -> None:
    held = {"status": "success", "value": {"name": "shell", "arguments": {"command": "ls"}}}
    part = {"type": "toolRequest", "id": "c", "toolCall": held}
    came = {"type": "toolResponse", "id": "c", "toolResult": {"status": "success", "value": value}}
    goose = [{"role": "assistant", "content": [part]}, {"role": "user", "content": [came]}]
    result = {"role": "toolResult", "toolCallId": "c", "content": RESULT}
    for number, records in enumerate((goose, [{"role": "assistant", "content": [CALL]}, result])):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
        memory.import_(path, f"u{number}")
        said = [(one.role, one.content) for one in memory.messages(f"u{number}")]
        assert said == [("assistant", '[tool call: shell({"command": "ls"})]'), ("tool", "oars")]
