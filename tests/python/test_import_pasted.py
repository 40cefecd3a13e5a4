"""Chats as people copy them: a name and a time above each text, and labels that are no speakers."""

from __future__ import annotations

from pathlib import Path

import pytest

from episodica import InvalidInputError
from episodica.readers import read_conversations

Rows = list[tuple[str, str, str]]


def rows(path: Path, text: str) -> Rows:
    """Speaker, words and minute of each message."""
    path.write_text(text, encoding="utf-8")
    said = [one for talk in read_conversations(path) for one in talk.messages]
    return [(one["name"], one["content"], (one.get("timestamp") or "")[:16]) for one in said]


DAYS = ["————— 2025-03-03 —————", "2025-03-03", "--- 3 March 2025 ---", "2025年3月3日 星期一"]


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_names_and_times_stand_above_the_texts(tmp_path: Path, day: str, gap: str) -> None:
    said = [day, "mira 14:02", "Shall we see the flat?", "oskar 14:05", "Yes, at three."]
    said += [day.replace("3", "4", 2).replace("20254", "2025"), "mira 0:11", "Two months' rent."]
    if day.startswith("2025年"):
        said[5] = "2025年3月4日 星期二"
    elif "March" in day:
        said[5] = "--- 4 March 2025 ---"
    else:
        said[5] = day.replace("03-03", "03-04")
    assert rows(tmp_path / "chat.txt", gap.join(said)) == [
        ("mira", "Shall we see the flat?", "2025-03-03T14:02"),
        ("oskar", "Yes, at three.", "2025-03-03T14:05"),
        ("mira", "Two months' rent.", "2025-03-04T00:11"),
    ]


def test_a_text_that_ends_in_a_time_is_no_speaker(tmp_path: Path) -> None:
    text = (
        "————— 2025-03-03 —————\nmira 14:02\nThe plan:\nDentist 15:00\nbring the card\n"
        "oskar 14:05\nGood.\nmira 14:06\nDoors close 17:30\noskar 14:07\nOh.\n"
    )
    assert rows(tmp_path / "chat.txt", text) == [
        ("mira", "The plan:\nDentist 15:00\nbring the card", "2025-03-03T14:02"),
        ("oskar", "Good.", "2025-03-03T14:05"),
        ("mira", "Doors close 17:30", "2025-03-03T14:06"),
        ("oskar", "Oh.", "2025-03-03T14:07"),
    ]


def test_without_days_the_times_are_of_the_day_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "2025-03-03 flat.txt"
    text = "Anna  2:02 PM\nShall we see it?\nBen  2:05 PM\nYes.\nAnna  2:06 PM\nGood.\n"
    read = rows(file, text)
    assert [(name, words, when[11:]) for name, words, when in read] == [
        ("Anna", "Shall we see it?", "14:02"),
        ("Ben", "Yes.", "14:05"),
        ("Anna", "Good.", "14:06"),
    ]
    assert any("the day is that of the file" in note for note in read_conversations(file)[0].notes)


def test_a_recording_has_no_times_of_day(tmp_path: Path) -> None:
    text = "Anna  0:03\nShall we begin?\nBen  0:15\nYes.\nAnna  1:02\nGood.\n"
    assert [when for *_, when in rows(tmp_path / "call.txt", text)] == ["", "", ""]


def test_a_list_of_appointments_is_no_chat(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="is not understood"):
        rows(tmp_path / "plan.txt", "The day\nDentist 10:00\nLunch 12:30\nTrain 16:05\n")


LABELS = [
    *("Tadaaa", "PS", "P.S.", "Update", "Yay", "Wow", "Hmmm", "Fun fact", "Reminder", "Question"),
    *("Note to self", "Nachtrag", "Idee", "Nota", "Remarque", "备注"),
]


@pytest.mark.parametrize("label", LABELS)
def test_a_label_that_is_no_name_belongs_to_the_message(tmp_path: Path, label: str) -> None:
    text = f"Anna: It is done.\n{label}: the shed is green.\nBen: Great!\nAnna: I know.\n"
    assert rows(tmp_path / "chat.txt", text) == [
        ("Anna", f"It is done.\n{label}: the shed is green.", ""),
        ("Ben", "Great!", ""),
        ("Anna", "I know.", ""),
    ]


NAMES = ["Ben", "Oskar", "Mira", "Xiaoming", "Dr. Lund", "Aunt Vera", "Coach", "小红", "Jean-Luc"]


@pytest.mark.parametrize("name", NAMES)
def test_whoever_speaks_once_is_a_speaker(tmp_path: Path, name: str) -> None:
    text = f"Anna: Who comes?\n{name}: I do.\nTom: Me, too.\nAnna: Good.\nTom: Fine.\n"
    assert [one[0] for one in rows(tmp_path / "chat.txt", text)] == [
        *("Anna", name, "Tom", "Anna", "Tom")
    ]
