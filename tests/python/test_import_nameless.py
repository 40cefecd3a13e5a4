"""Accounts without a name in files of messengers: each is its own person, never the user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem
from episodica.readers import read_conversations

SAID = ("I keep bees in Graz.", "I repair clocks.", "Where is the ladder?")
DAY = "2025-04-05T09:3{}:00"


def telegram(*senders: dict[str, Any]) -> dict[str, Any]:
    said = [
        {"id": at, "type": "message", "date": DAY.format(at), "text": SAID[at], **sender}
        for at, sender in enumerate(senders)
    ]
    return {"id": 7, "name": "Hives", "type": "personal_chat", "messages": said}


def discord(*senders: dict[str, Any]) -> dict[str, Any]:
    said = [
        {"id": str(at), "type": "Default", "timestamp": DAY.format(at), "content": SAID[at], **one}
        for at, one in enumerate(senders)
    ]
    return {"guild": {}, "channel": {"id": "9", "name": "hives"}, "messages": said}


def slack(*senders: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "message", "ts": f"174384540{at}.0", "text": SAID[at], **sender}
        for at, sender in enumerate(senders)
    ]


def messenger(*senders: dict[str, Any]) -> dict[str, Any]:
    said = [
        {"timestamp_ms": 1743845400000 + at, "content": SAID[at], **sender}
        for at, sender in enumerate(senders)
    ]
    return {"participants": [], "title": "Hives", "messages": said}


def google_chat(*senders: dict[str, Any]) -> dict[str, Any]:
    date = "Saturday, 5 April 2025 at 09:3{}:00 UTC"
    said = [
        {"created_date": date.format(at), "text": SAID[at], "message_id": f"a/{at}", **sender}
        for at, sender in enumerate(senders)
    ]
    return {"messages": said}


ONE = "Deleted account"
PAUL = {"sender_name": "Paul"}


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (
            telegram({"from": None, "from_id": "user1"}, {"from_id": "user2"}, {"from": "Ida"}),
            [f"{ONE} user1", f"{ONE} user2", "Ida"],
        ),
        (telegram({"from": " ", "from_id": 31}, {"from": None}), [f"{ONE} 31", ONE]),
        (discord({}, {"author": None}, {"author": {"name": "Ida"}}), [ONE, ONE, "Ida"]),
        (
            discord({"author": {"id": "5", "name": ""}}, {"author": {"id": "6"}}),
            [f"{ONE} 5", f"{ONE} 6"],
        ),
        (slack({"user": "U5"}, {"client_msg_id": "m"}), ["U5", ONE]),
        (messenger({"sender_name": ""}, {}, PAUL), [ONE, ONE, "Paul"]),
        (
            google_chat({"creator": {"name": "Ida"}}, {}, {"creator": {"resource_name": "u/8"}}),
            ["Ida", ONE, f"{ONE} u/8"],
        ),
    ],
)
def test_an_account_without_a_name_is_named_by_its_id_and_counted(
    tmp_path: Path, value: Any, names: list[str]
) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(value), encoding="utf-8")
    (talk,) = read_conversations(file)
    assert [one["name"] for one in talk.messages] == names
    assert {one["role"] for one in talk.messages} == {"user"}
    noted = " ".join(talk.notes)
    for name in {one for one in names if one.startswith(ONE)}:
        count = names.count(name)
        said = "1 message" if count == 1 else f"{count} messages"
        assert f"{said} of an account without a name, called `{name}` here" in noted


def test_what_says_nothing_is_not_counted(tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    value = telegram({"from": "Ida"}, {"from": None, "from_id": "user1", "text": ""})
    file.write_text(json.dumps(value), encoding="utf-8")
    (talk,) = read_conversations(file)
    assert talk.notes == ()


@pytest.mark.parametrize("user", ["ida", "user1", "me"])
def test_words_of_a_deleted_account_are_not_the_users(
    memory: MemorySystem, tmp_path: Path, user: str
) -> None:
    file = tmp_path / "result.json"
    value = telegram({"from": None, "from_id": "user1"}, {"from_id": "user2"}, {"from": "Ida"})
    said = ("I am allergic to walnuts.", "I am allergic to cats.", "I am allergic to dust.")
    for message, text in zip(value["messages"], said, strict=True):
        message["text"] = text
    file.write_text(json.dumps(value), encoding="utf-8")
    report = memory.import_(file, user)
    assert report.messages == 3
    assert "`Deleted account user1`" in " ".join(report.notes)
    memory.flush(user)
    own = memory.profile(user).to_markdown()
    assert "walnuts" not in own
    assert "cats" not in own
    other = memory.profile(user, of="Deleted account user1").to_markdown()
    assert "walnuts" in other
    assert "cats" not in other
