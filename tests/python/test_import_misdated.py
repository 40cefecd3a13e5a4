"""Lines of a messenger whose date is none: messages of their own speaker, named by their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from episodica import MemorySystem
from episodica.readers import read_conversations

BEFORE, AFTER = "Is the kiln hot?", "At last."


def chat(path: Path, *lines: str, is_bracketed: bool = True) -> Path:
    form = "[{}] {}: {}" if is_bracketed else "{} - {}: {}"
    begun = [
        form.format("30.12.25, 18:20:00", "Mara", BEFORE),
        form.format("30.12.25, 18:21:00", "Luca", "Soon."),
        form.format("30.12.25, 18:22:00", "Mara", "I wait."),
    ]
    ended = [form.format("30.12.25, 18:40:00", "Mara", AFTER)]
    path.write_text("\n".join([*begun, *lines, *ended]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("is_bracketed", [True, False])
@pytest.mark.parametrize(
    "date",
    [
        "32.13.25, 18:25:00", "31.02.25, 18:25:00", "30.12.25, 25:25:00", "00.12.25, 18:25",
        "30.12.25, 18:61", "30/13/32, 18:25:00", "32-13-2025 18:25", "??.12.25, 18:25:00",
    ],
)  # fmt: skip
def test_a_date_that_is_none_takes_that_of_the_line_before(
    tmp_path: Path, date: str, is_bracketed: bool
) -> None:
    mark = f"[{date}]" if is_bracketed else f"{date} -"
    lines = [f"{mark} Luca: It is hot now.", "Bring the bowls."]
    file = chat(tmp_path / "chat.txt", *lines, is_bracketed=is_bracketed)
    (talk,) = read_conversations(file, "whatsapp")
    said = [(one["name"], one["content"], one["timestamp"][11:16]) for one in talk.messages]
    assert said[2:] == [
        ("Mara", "I wait.", "18:22"),
        ("Luca", "It is hot now.\nBring the bowls.", "18:22"),
        ("Mara", AFTER, "18:40"),
    ]
    noted = [one for one in talk.notes if one.startswith("line 4: no such date")]
    assert len(noted) == 1
    assert date in noted[0]


def test_a_notice_without_a_date_is_left_out_by_its_line(tmp_path: Path) -> None:
    file = chat(tmp_path / "chat.txt", "[32.13.25, 18:25:00] Luca left the group")
    (talk,) = read_conversations(file)
    assert [one["content"] for one in talk.messages] == [BEFORE, "Soon.", "I wait.", AFTER]
    assert [one.line for one in talk.left_out] == [4]


@pytest.mark.parametrize(
    "line", ["[18:25] Luca: a quotation", "1-2-3 - go: now", "see 32.13.25: no", "a/b/c - Luca: x"]
)
def test_other_lines_continue_a_message(tmp_path: Path, line: str) -> None:
    (talk,) = read_conversations(chat(tmp_path / "chat.txt", line))
    assert talk.messages[2]["content"] == f"I wait.\n{line}"


def test_the_first_line_may_have_no_date(memory: MemorySystem, tmp_path: Path) -> None:
    file = chat(tmp_path / "chat.txt")
    whole = "[32.13.25, 18:10:00] Luca: Who comes?\n" + file.read_text(encoding="utf-8")
    file.write_text(whole, encoding="utf-8")
    report = memory.import_(file, "mara")
    assert report.messages == 5
    assert any("line 1: no such date" in note for note in report.notes)
    assert {one.timestamp.date().isoformat() for one in memory.messages("mara")} == {"2025-12-30"}
