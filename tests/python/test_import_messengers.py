"""Messengers: edits, polls, calls, places and notices are no words, and each is counted by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.readers import read_conversations

MARK = "\u200e"


def read(path: Path) -> tuple[list[str], list[str]]:
    """The texts of the messages, and why others were left out."""
    talks = read_conversations(path)
    texts = [one["content"] for talk in talks for one in talk.messages]
    return texts, [one.why for talk in talks for one in talk.left_out]


def whatsapp(path: Path, *said: str) -> Path:
    head = ["05/04/2025, 09:30 - Ida: Is the ferry late?", "05/04/2025, 09:31 - Tom: It is."]
    rest = [f"05/04/2025, 09:{32 + at} - Ida: {one}" for at, one in enumerate(said)]
    path.write_text("\n".join([*head, *rest]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I moved to Bergen. <This message was edited>", "I moved to Bergen."),
        ("Ich wohne in Kiel. <Diese Nachricht wurde bearbeitet>", "Ich wohne in Kiel."),
        ("Vivo en Vigo. <Se editó este mensaje.>", "Vivo en Vigo."),
        ("J'habite à Brest. <Ce message a été modifié>", "J'habite à Brest."),
        ("我住在大连。 <此消息已编辑>", "我住在大连。"),
        (f"I moved. {MARK}<Zpráva byla upravena>", "I moved."),
        ("See you (edited)", "See you"),
        ("I write <b>bold</b>", "I write <b>bold</b>"),
        ("Fill in <your own name here>", "Fill in <your own name here>"),
        ("a < b and b > a", "a < b and b > a"),
    ],
)
def test_the_mark_of_an_edit_is_no_word(tmp_path: Path, text: str, words: str) -> None:
    texts, left = read(whatsapp(tmp_path / "chat.txt", text))
    assert texts[2:] == [words]
    assert left == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("POLL:\nWhere to?\nOPTION: The quay (2 votes)\nOPTION: At home (0 votes)", "a poll"),
        ("UMFRAGE:\nWo?\nOPTION: Am Kai (1 Stimme)\nOPTION: Daheim (3 Stimmen)", "a poll"),
        (f"{MARK}投票：\n去哪？\n选项：码头（2 票）\n选项：家里（1 票）", "a poll"),
        (
            f"{MARK}UMFRAGE:\nWann rudern?\n{MARK}OPTION: Früh ({MARK}2 Stimmen)\n"
            f"{MARK}OPTION: Spät ({MARK}1 Stimme)",
            "a poll",
        ),
        (
            f"{MARK}ENCUESTA:\n¿Dónde?\n{MARK}OPCIÓN: Aquí ({MARK}0 votos)\n"
            f"{MARK}OPCIÓN: Allí ({MARK}4 votos)",
            "a poll",
        ),
        ("Sprachanruf, Keine Antwort", "a call"),
        (f"Sprachanruf, {MARK}keine Antwort", "a call"),
        ("Videoanruf, 12 Min.", "a call"),
        ("Stummgeschalteter Sprachanruf, 1 Std. 4 Min.", "a call"),
        ("Voice call, 45 sec", "a call"),
        ("Video call. No answer", "a call"),
        ("Appel vocal, 3 min", "a call"),
        ("语音通话，12 分钟", "a call"),
        ("Live-Standort wird geteilt", "a place on a map"),
        ("live location shared", "a place on a map"),
        ("Einmalansicht-Medien ausgeschlossen", "a photo, file or the like without words"),
        ("View once photo omitted", "a photo, file or the like without words"),
        ("Missed voice call", "a call"),
        ("Missed video call. Tap to call back", "a call"),
        ("Verpasster Sprachanruf", "a call"),
        ("location: https://maps.google.com/?q=60.39,5.32", "a place on a map"),
        ("Standort: https://maps.google.com/?q=60.39,5.32", "a place on a map"),
        ("Tom Haugen.vcf (file attached)", "a contact card"),
        ("This message was deleted", "a deleted message"),
        ("IMG-20250405-WA0001.jpg (file attached)", "a photo, file or the like without words"),
        ("<Media omitted>", "a photo, file or the like without words"),
    ],
)  # fmt: skip
def test_what_is_no_word_is_left_out_by_name(tmp_path: Path, text: str, reason: str) -> None:
    texts, left = read(whatsapp(tmp_path / "chat.txt", text, "Well."))
    assert texts[2:] == ["Well."]
    assert left == [reason]


@pytest.mark.parametrize(
    "text",
    [
        "POLL:\nI like polls.",
        "Menu:\nfish\nsoup",
        "I missed a voice call from you",
        "Video call, tomorrow at five?",
        "Videoanruf, 3 Leute waren da",
        "Sprachanruf",
        "Der Live-Standort wird geteilt, sagt Tom",
        "Einmalansicht ist praktisch",
        "The location: https://example.org/quay",
        "OPTION: tea (2 cups)",
    ],
)
def test_words_that_look_like_them_stay(tmp_path: Path, text: str) -> None:
    texts, left = read(whatsapp(tmp_path / "chat.txt", text))
    assert texts[2:] == [text]
    assert left == []


def test_a_poll_on_an_iphone_is_left_out_whole(tmp_path: Path) -> None:
    lines = [
        "[05.04.25, 09:31:00] Ida: Kommt die Fähre?",
        f"{MARK}[05.04.25, 09:32:00] Tom: {MARK}UMFRAGE:",
        "Wann rudern?",
        f"{MARK}OPTION: Samstag ({MARK}2 Stimmen)",
        f"{MARK}OPTION: Sonntag ({MARK}0 Stimmen)",
        "[05.04.25, 09:34:00] Ida: Ja.",
    ]
    (tmp_path / "_chat.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read(tmp_path / "_chat.txt") == (["Kommt die Fähre?", "Ja."], ["a poll"])


@pytest.mark.parametrize("words", ["Bild weggelassen", "Audio weggelassen", "GIF", "图片已忽略"])
def test_a_photo_of_an_iphone_is_named_in_any_language(tmp_path: Path, words: str) -> None:
    lines = [
        f"[05.04.25, 09:30:00] Familie: {MARK}Nachrichten und Anrufe sind verschlüsselt.",
        "[05.04.25, 09:31:00] Ida: Kommt die Fähre?",
        f"{MARK}[05.04.25, 09:32:00] Tom: {MARK}{words}",
        f"[05.04.25, 09:33:00] Tom: {MARK}Tom hat die Gruppe verlassen",
        "[05.04.25, 09:34:00] Ida: Ja.",
    ]
    (tmp_path / "_chat.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts, left = read(tmp_path / "_chat.txt")
    assert texts == ["Kommt die Fähre?", "Ja."]
    assert left == [
        "a notice of the messenger",
        "a photo, file or the like without words",
        "a notice of the messenger",
    ]


def test_an_edit_replaces_nothing_in_its_own_file(tmp_path: Path) -> None:
    said = ("I have a dog called Rex", "I have a cat called Tom (edited)", "I row (edited)")
    texts, left = read(whatsapp(tmp_path / "chat.txt", *said))
    assert texts[-3:] == ["I have a dog called Rex", "I have a cat called Tom", "I row"]
    assert not left


@pytest.mark.parametrize(
    "line",
    [
        "12/04/2024 vet",
        "2024-03-20 dentist",
        "14/03/2024 milk: 2",
        "12/04/2024",
        "12/04/2024 10:30 vet",
        "1.5.2024: vet",
        "12/04/2024 - vet",
    ],
)
@pytest.mark.parametrize(
    "form", ["{:02}/03/2024, 09:30 - {}: {}", "[{:02}/03/2024, 09:30:00] {}: {}"]
)
def test_a_date_in_a_message_begins_none(tmp_path: Path, line: str, form: str) -> None:
    lines = [form.format(11, "Ida", "Buy this:"), line, "bread", form.format(13, "Tom", "Fine.")]
    (tmp_path / "chat.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read(tmp_path / "chat.txt") == ([f"Buy this:\n{line}\nbread", "Fine."], [])


def said_by(memory: MemorySystem, user: str = "u") -> list[str]:
    return [one.content for one in memory.messages(user)]


@pytest.mark.parametrize(
    "mark", ["<This message was edited>", "<Diese Nachricht wurde bearbeitet.>"]
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_an_edit_in_a_newer_export_is_a_version(
    memory: MemorySystem, tmp_path: Path, mark: str, zone: str | None
) -> None:
    path = tmp_path / "chat.txt"
    before = ["Dinner is at six.", "Bring the oars."]
    whatsapp(path, *before)
    viewed = memory if zone is None else memory.in_timezone(zone)
    viewed.import_(path, "u")
    old = path.read_text(encoding="utf-8")
    new = old.replace("Dinner is at six.", f"Supper starts at eight {mark}") + (
        "05/04/2025, 09:50 - Tom: Fine.\n"
    )
    path.write_text(new, encoding="utf-8")
    report = viewed.import_(path, "u")
    assert (report.messages, report.edited) == (1, 1)
    assert "Supper starts at eight" in said_by(memory)
    assert "Dinner is at six." not in said_by(memory)
    [edited] = [one for one in memory.messages("u") if one.content.startswith("Supper")]
    versions = [one.content for one in memory.history("u", edited.message_id)]
    assert versions == ["Dinner is at six.", "Supper starts at eight"]
    again = viewed.import_(path, "u")
    assert (again.messages, again.edited, again.known) == (0, 0, 5)
    path.write_text(old, encoding="utf-8")
    older = viewed.import_(path, "u")
    assert (older.messages, older.edited) == (0, 0), "an older export undoes nothing"


def test_an_edit_that_may_be_of_several_is_a_new_message(
    memory: MemorySystem, tmp_path: Path
) -> None:
    head = "05/04/2025, 09:30 - Ida: Is the ferry late?\n05/04/2025, 09:31 - Tom: It is.\n"
    path = tmp_path / "chat.txt"
    path.write_text(head + "05/04/2025, 09:31 - Tom: Sorry.\n", encoding="utf-8")
    memory.import_(path, "u")
    mark = "<This message was edited>"
    path.write_text(head.replace("It is.", f"Very late. {mark}"), encoding="utf-8")
    report = memory.import_(path, "u")
    assert (report.messages, report.edited) == (1, 0), "both messages are gone from the file"
    path.write_text(head + f"05/04/2025, 09:31 - Tom: Sorry! {mark}\n", encoding="utf-8")
    memory.delete_user_data("u")
    for said in (head + "05/04/2025, 09:31 - Tom: Sorry.\n", path.read_text(encoding="utf-8")):
        path.write_text(said, encoding="utf-8")
        report = memory.import_(path, "u")
    assert (report.messages, report.edited) == (0, 1), "the file still has the other one"


def test_two_edits_of_a_minute_are_versions_in_their_order(
    memory: MemorySystem, tmp_path: Path
) -> None:
    head = "05/04/2025, 09:30 - Ida: Is the ferry late?\n"
    said = "05/04/2025, 09:31 - Tom: {}\n05/04/2025, 09:31 - Tom: {}\n"
    path = tmp_path / "chat.txt"
    path.write_text(head + said.format("It is.", "Sorry."), encoding="utf-8")
    memory.import_(path, "u")
    mark = "<This message was edited>"
    new = head + said.format(f"By an hour. {mark}", f"Bring tea. {mark}")
    path.write_text(new, encoding="utf-8")
    report = memory.import_(path, "u")
    assert (report.messages, report.edited) == (0, 2)
    assert said_by(memory) == ["Is the ferry late?", "By an hour.", "Bring tea."]


IPHONE = "[05.04.25, 09:{}] Ida: {}\n"
ANDROID = "05/04/2025, 09:{:.2} - Ida: {}\n"
GONE = "\u200eThis message was deleted."


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize(("form", "mark"), [(IPHONE, "\u200e"), (IPHONE, ""), (ANDROID, "")])
@pytest.mark.parametrize("more", [[], [("41:00", "Is the ferry late?")]])
@pytest.mark.parametrize("is_first", [True, False])
def test_an_edit_beside_a_message_that_was_deleted_is_a_version(
    memory: MemorySystem,
    tmp_path: Path,
    form: str,
    mark: str,
    zone: str | None,
    more: list[tuple[str, str]],
    is_first: bool,
) -> None:
    texts = [
        ("I live in Deutz now", f"I live in Kalk now {mark}<This message was edited>"),
        ("My boss is called Brandt", GONE),
    ]
    if not is_first:
        texts.reverse()
    times = ("30:05", "30:40")
    before, after = (list(zip(times, lines, strict=True)) for lines in zip(*texts, strict=True))
    end = [("40:11", "All right")]
    path = tmp_path / "chat.txt"
    viewed = memory if zone is None else memory.in_timezone(zone)
    edits = []
    for lines in (before + end, after + end + more, after + end + more):
        path.write_text("".join(form.format(*line) for line in lines), encoding="utf-8")
        edits.append(viewed.import_(path, "u").edited)
    assert edits == [0, 1, 0]
    said = said_by(memory)
    assert "I live in Kalk now" in said
    assert "I live in Deutz now" not in said
    assert len(said) == 3 + len(more)


def test_a_second_tells_which_message_an_edit_is_of(memory: MemorySystem, tmp_path: Path) -> None:
    said = ["30:05 I live in Deutz now", "30:20 So do I, nearly", "30:40 My boss is Brandt"]
    mark = "<This message was edited>"
    path = tmp_path / "chat.txt"

    def take(lines: list[str]) -> tuple[int, int]:
        lines = [*lines, "31:00 All right", "32:00 Bye"]
        text = "".join(IPHONE.format(one[:5], one[6:]) for one in lines)
        path.write_text(text, encoding="utf-8")
        report = memory.import_(path, "u")
        return report.messages, report.edited

    take(said)
    assert take([f"30:05 I live in Kalk {mark}"]) == (0, 1), "two others are gone without a notice"
    assert "I live in Deutz now" not in said_by(memory)
    [brandt] = [one for one in memory.messages("u") if "Brandt" in one.content]
    memory.delete("u", brandt.message_id)
    assert take([f"30:05 I live in Kalk {mark}", f"30:40 My boss is Ott {mark}"])[1] == 0
    assert "So do I, nearly" in said_by(memory), "an edit of a deleted message is no other's"


def test_an_edit_of_another_chat_replaces_nothing(memory: MemorySystem, tmp_path: Path) -> None:
    memory.import_(whatsapp(tmp_path / "one.txt", "I moved to Bergen."), "u")
    other = "05/04/2025, 09:32 - Ida: I bought a boat. <This message was edited>\n"
    path = tmp_path / "other.txt"
    path.write_text(other + "05/04/2025, 09:40 - Eva: Which one?\n", encoding="utf-8")
    assert memory.import_(path, "u").edited == 0
    assert "I moved to Bergen." in said_by(memory)


def test_times_without_an_offset_are_read_in_the_zone(memory: MemorySystem, tmp_path: Path) -> None:
    there = memory.in_timezone("Europe/Berlin")
    chat = whatsapp(tmp_path / "chat.txt")
    winter = "[11.01.2025, 23:14:05] Ida: Snow!\n[11.01.2025, 23:15:05] Tom: Yes.\n"
    (tmp_path / "iphone.txt").write_text(winter, encoding="utf-8")
    (tmp_path / "plain.txt").write_text(
        "2025-07-01 10:14 Ida: Hot.\n2025-07-01 10:15+00:00 Tom: Yes.\n", encoding="utf-8"
    )
    (tmp_path / "table.csv").write_text(
        "name,text,timestamp\nIda,Rain,03.07.2025 10:14\nTom,Sun,04.07.2025 10:14\n",
        encoding="utf-8",
    )
    said = [
        {"role": "user", "name": "Ida", "content": "One", "timestamp": "2025-07-01T10:14:00"},
        {"role": "user", "name": "Ida", "content": "Two", "timestamp": "2025-07-01T10:14:00Z"},
        {"role": "user", "name": "Ida", "content": "Three", "timestamp": 1751364840},
    ]
    json_file = in_file(tmp_path / "messages.json", said)
    for name, file, times in (
        ("a", chat, ["2025-04-05T09:30:00+02:00", "2025-04-05T09:31:00+02:00"]),
        ("b", tmp_path / "iphone.txt", ["2025-01-11T23:14:05+01:00", "2025-01-11T23:15:05+01:00"]),
        ("d", tmp_path / "table.csv", ["2025-07-03T10:14:00+02:00", "2025-07-04T10:14:00+02:00"]),
        ("e", json_file, ["2025-07-01T10:14:00+02:00", *["2025-07-01T12:14:00+02:00"] * 2]),
    ):
        there.import_(file, name)
        assert sorted(one.timestamp.isoformat() for one in there.messages(name)) == sorted(times)
        memory.import_(file, f"{name} in UTC")
        again = there.import_(file, f"{name} in UTC")
        assert again.messages == 0, "the same message in any zone"


def in_file(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_telegram_names_what_is_no_word(tmp_path: Path) -> None:
    about = {"type": "message", "date": "2025-04-05T09:30:00", "from": "Ida", "from_id": "u1"}
    said = [
        {"id": 1, **about, "text": "Is it late?"},
        {"id": 2, **about, "text": "", "poll": {"question": "Where?", "answers": []}},
        {"id": 3, **about, "text": "", "location_information": {"latitude": 60.3}},
        {"id": 4, **about, "text": "", "contact_information": {"first_name": "Tom"}},
        {"id": 5, "type": "service", "date": "2025-04-05T09:31:00", "action": "phone_call"},
        {"id": 6, "type": "service", "date": "2025-04-05T09:31:00", "action": "pin_message"},
        {"id": 7, **about, "text": "", "photo": "a.jpg"},
        None,
    ]
    path = in_file(tmp_path / "result.json", {"name": "Ida", "id": 7, "messages": said})
    texts, left = read(path)
    assert texts == ["Is it late?"]
    assert left == [
        "a poll",
        "a place on a map",
        "a contact card",
        "a call",
        "a notice of the messenger",
        "a photo, file or the like without words",
        "no message",
    ]


@pytest.mark.parametrize(
    ("local", "instant", "stored"),
    [
        ("2026-07-04T00:30:00", 1783117800, "2026-07-04T00:30:00+02:00"),
        ("2026-07-04T04:15:00", 1783117800, "2026-07-04T04:15:00+05:45"),
        ("2026-07-03T19:30:00", 1783117800, "2026-07-03T19:30:00-03:00"),
        ("2026-07-03T22:30:00", 1783117800, "2026-07-03T22:30:00+00:00"),
        ("2026-07-01T12:34:56", 1783117800, "2026-07-03T22:30:00+00:00"),
        ("no date", 1783117800, "2026-07-03T22:30:00+00:00"),
    ],
)
def test_a_local_time_beside_an_instant_tells_the_offset(
    memory: MemorySystem, tmp_path: Path, local: str, instant: int, stored: str
) -> None:
    about = {"id": 1, "type": "message", "from": "Jens", "from_id": "u1", "text": "Hi, I moved."}
    times = {"date": local, "date_unixtime": str(instant)}
    chat = {"name": "Jens", "id": 7, "messages": [{**about, **times}]}
    telegram = in_file(tmp_path / "result.json", chat)
    memory.import_(telegram, "t")
    [message] = memory.messages("t")
    assert message.timestamp.isoformat() == stored
    # A copy that was made in another zone has the same messages.
    there = {**about, "date": "2026-07-04T09:30:00", "date_unixtime": str(instant)}
    again = memory.import_(in_file(telegram, {**chat, "messages": [there]}), "t")
    assert (again.messages, again.known) == (0, 1)


@pytest.mark.parametrize(
    "value",
    [
        {"local_time": "2026-07-04T00:30:00", "ts": 1783117800},
        {"timestamp": 1783117800, "date": "2026-07-04 00:30:00"},
        {"timestamp": "2026-07-04T00:30:00", "unix": "1783117800"},
    ],
)
def test_other_files_may_have_two_times_as_well(
    memory: MemorySystem, tmp_path: Path, value: dict[str, Any]
) -> None:
    said = {"role": "user", "content": "Hi, I moved."} | value
    table = tmp_path / "messages.csv"
    cells = ",".join(map(str, said.values()))
    table.write_text(f"{','.join(said)}\n{cells.replace('Hi, I', 'I')}\n", encoding="utf-8")
    for user, path in (("j", in_file(tmp_path / "messages.json", [said])), ("c", table)):
        memory.import_(path, user)
        [message] = memory.messages(user)
        assert message.timestamp.isoformat() == "2026-07-04T00:30:00+02:00"
        assert not message.metadata, "both times are told by the message's"


def test_yesterday_is_the_day_before_the_local_day(memory: MemorySystem, tmp_path: Path) -> None:
    said = {
        "id": 1,
        "type": "message",
        "from": "Jens",
        "from_id": "u1",
        "date": "2026-07-04T00:30:00",
        "date_unixtime": "1783117800",
        "text": "Yesterday I moved to Jena.",
    }
    memory.import_(in_file(tmp_path / "result.json", {"id": 7, "messages": [said]}), "jens")
    for view in (memory, memory.in_timezone("Europe/Berlin")):
        told = view.context("jens", "When did Jens move to Jena?").text
        assert "4 Jul 2026" in told
        assert "3 July 2026" in told


def test_slack_names_calls_and_deletions_and_takes_edits(tmp_path: Path) -> None:
    def said(**about: Any) -> dict[str, Any]:
        return {"type": "message", "user": "U1", "ts": "1743845400.000100", **about}

    changed = {"user": "U1", "ts": "1743845400.000100", "text": "It is on time."}
    value = [
        said(text="It is late."),
        said(subtype="huddle_thread", ts="1743845500.000100"),
        said(subtype="tombstone", ts="1743845600.000100", text="This message was deleted."),
        said(subtype="channel_join", ts="1743845700.000100", text="joined"),
        said(subtype="message_changed", ts="1743845800.000100", message=changed),
    ]
    path = in_file(tmp_path / "2025-04-05.json", value)
    texts, left = read(path)
    assert texts == ["It is late.", "It is on time."]
    assert left == ["a call", "a deleted message", "a notice of the messenger"]
    ids = [one for talk in read_conversations(path) for one in talk.ids]
    assert len(set(ids)) == 1, "the newer words are a version of the message"


@pytest.mark.parametrize(
    ("tables", "what"),
    [
        (["cursorDiskKV (key text, value blob)"], "a database of Cursor"),
        (["threads (id text, summary text, data_type text, data blob)"], "a database of Zed"),
        (["chat_message_join (chat_id integer)"], "a database of iMessage"),
        (["notes (id integer)"], "a database of SQLite"),
    ],
)
def test_a_database_is_named_with_what_to_do(tmp_path: Path, tables: list[str], what: str) -> None:
    import sqlite3

    path = tmp_path / "state.vscdb"
    database = sqlite3.connect(path)
    for table in tables:
        database.execute(f"CREATE TABLE {table}")
    database.close()
    with pytest.raises(InvalidInputError, match=what) as caught:
        read_conversations(path)
    assert "import that" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["[Choir] Ida", '"Ida"', '"Ida", "Tom"', "{Ida}", "Ida [alto]"])
def test_a_chat_may_begin_with_a_name_that_looks_like_json(tmp_path: Path, name: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(
        f"[{name}] [9:30 AM] Is the ferry late?\n[Tom] [9:31 AM] It is.\n", encoding="utf-8"
    )
    [talk] = read_conversations(path)
    said = [(one["name"], one["content"]) for one in talk.messages]
    assert said == [(name, "Is the ferry late?"), ("Tom", "It is.")]


def test_a_link_in_double_brackets_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(
        "[[Ferry]] timetable\nIda: Is it late?\nTom: It is.\nIda: Fine.\n", encoding="utf-8"
    )
    assert read(path)[0] == ["Is it late?", "It is.", "Fine."]
    path.write_text("[[2025-04-05 09:30]] Ida >> Is it late?\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"line 1 is not understood: `\[\[2025"):
        read_conversations(path)


@pytest.mark.parametrize(
    "text",
    [
        '[["Ida: late?" "Tom: yes"]]',
        "[{'role': 'user', 'content': 'late?'}]",
        "{'role': 'user', 'content': 'late?'}",
        '{role: "user", content: "late?"}\nIda: no\nIda: yes\n',
        '[\n "Ida: late?",\n Tom: yes\n]',
        "[" * 100_000,
    ],
)
def test_broken_json_is_no_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"not valid JSON|nested too|not a conversation"):
        read_conversations(path)


@pytest.mark.parametrize(
    ("lines", "kept"),
    [
        ("[Ida] [9:30 AM] {0}\n[Tom] [9:31 AM] Yes.", True),
        ("[09:30] <Ida> {0}\n[09:31] <Tom> Yes.", True),
        ("09:30:12 From Ida to Everyone: {0}\n09:31:12 From Tom to Everyone: Yes.", True),
        ("[05/04/2025, 09:30:00] Ida: {0}\n[05/04/2025, 09:31:00] Tom: Yes.", True),
        ("2024/03/11(Mon)\n09:30\tIda\t{0}\n09:31\tTom\tYes.", False),
    ],
)
def test_only_line_puts_messages_between_quotation_marks(
    tmp_path: Path, lines: str, kept: bool
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(lines.format('"Late"" again,\nsays the sign"') + "\n", encoding="utf-8")
    whole = '"Late"" again,\nsays the sign"'
    assert read(path)[0] == [whole if kept else 'Late" again,\nsays the sign', "Yes."]


KAKAO = (
    "지우 님과 카카오톡 대화\n저장한 날짜 : 2025-03-02 10:00:00\n\n"
    "--------------- 2025년 3월 1일 토요일 ---------------\n"
)


@pytest.mark.parametrize(
    "notice",
    [
        "지우님이 나갔습니다.",
        "지우님이 들어왔습니다.",
        "민수님이 지우님을 초대하였습니다.",
        "지우님을 내보냈습니다.",
        "Jiwoo left this chatroom.",
        "Jiwoo joined this chatroom.",
    ],
)
def test_who_comes_and_goes_in_kakaotalk_is_no_word(tmp_path: Path, notice: str) -> None:
    path = tmp_path / "KakaoTalk.txt"
    said = f"[민수] [오후 12:03] 나는 부산에 살아\n{notice}\n[민수] [오후 12:04] 안녕\n둘째 줄\n"
    path.write_text(KAKAO + said, encoding="utf-8")
    texts, left = read(path)
    assert texts == ["나는 부산에 살아", "안녕\n둘째 줄"]
    assert "a notice of the messenger" in left


@pytest.mark.parametrize("mark", ["사진", "사진 3장", "동영상", "이모티콘", "삭제된 메시지입니다."])
def test_media_of_kakaotalk_are_no_words(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "KakaoTalk.txt"
    said = f"[민수] [오후 12:03] {mark}\n[민수] [오후 12:04] 사진 찍는 걸 좋아해\n"
    path.write_text(KAKAO + said, encoding="utf-8")
    assert read(path)[0] == ["사진 찍는 걸 좋아해"]


@pytest.mark.parametrize("kind", ["blockquote", "expandable_blockquote"])
def test_a_quotation_of_telegram_is_marked(tmp_path: Path, kind: str) -> None:
    quoted = {"type": kind, "text": "I live in Rome\nand keep bees."}
    parts: list[Any] = ["look:", quoted, "\nno, I live in Bari"]
    said = [
        {
            "id": at,
            "type": "message",
            "date": "2025-02-01T10:02:00",
            "from": "Ola",
            "date_unixtime": "1738404120",
            "from_id": "user1",
            "text": text,
        }
        for at, text in enumerate((parts, [quoted], [{"type": "bold", "text": "I"}, " moved"]))
    ]
    path = tmp_path / "result.json"
    chat = {"name": "G", "type": "personal_chat", "id": 7, "messages": said}
    path.write_text(json.dumps(chat), encoding="utf-8")
    quote = "> I live in Rome\n> and keep bees."
    texts = [text.strip() for text in read(path)[0]]
    assert texts == [f"look:\n{quote}\nno, I live in Bari", quote, "I moved"]
    with MemorySystem(tmp_path / "m") as memory:
        memory.import_(path, "ola")
        memory.flush("ola")
        told = [one.content for one in memory.semantic_memories("ola") if one.said_by == "user"]
    assert not any("Rome" in one for one in told)


def test_logs_of_weechat(tmp_path: Path) -> None:
    path = tmp_path / "x.weechatlog"
    lines = [
        "2025-02-01 10:00:00\t@ana\tI moved to Bonn",
        "2025-02-01 10:00:05\t-->\tben (b@x) has joined #x",
        "2025-02-01 10:00:07\t *\tben waves",
        "2025-02-01 10:00:09\tben\thi",
        "2025-02-01 10:00:12\t--\tana is now known as anna",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    [talk] = read_conversations(path)
    found = [(one["name"], one["content"]) for one in talk.messages]
    assert found == [("ana", "I moved to Bonn"), ("ben", "waves"), ("ben", "hi")]
    assert len(talk.left_out) == 2


@pytest.mark.parametrize(
    "said",
    [
        "I was elected mayor of Linz.",
        "I have two kids.\nI moved to Bern.",
        "Я живу в Омске.",
        "Breaking: the bridge is closed.",
    ],
)
@pytest.mark.parametrize("author", ["Karl News", "Eva Klug", "The Daily\nBugle"])
def test_the_head_above_forwarded_words_is_no_fact(
    memory: MemorySystem, tmp_path: Path, author: str, said: str
) -> None:
    one = {"type": "message", "date": "2025-03-01T10:00:00", "from": "Ida", "from_id": "user2"}
    messages = [{**one, "id": 1, "forwarded_from": author, "text": said}]
    messages.append({**one, "id": 2, "text": "Interesting"})
    chat = {"name": "Ida", "type": "personal_chat", "id": 9, "messages": messages}
    (tmp_path / "result.json").write_text(json.dumps(chat), encoding="utf-8")
    memory.import_(tmp_path / "result.json", "u")
    memory.flush("u")
    [words, _] = said_by(memory)
    assert all(line.startswith("> ") for line in words.splitlines())
    assert not [fact.content for fact in memory.semantic_memories("u")]


PREVIEW = "I was diagnosed with asthma and I live in Oslo."


def discord(content: str, is_bot: bool) -> dict[str, Any]:
    return {
        "id": f"{10 + is_bot}{len(content)}",
        "type": "Default",
        "timestamp": "2025-03-01T10:00:00+00:00",
        "content": content,
        "author": {"id": str(is_bot), "name": "rex" if is_bot else "ida", "isBot": is_bot},
        "embeds": [{"title": "My diary", "description": PREVIEW}],
    }


def test_the_preview_of_a_page_in_discord_is_not_its_senders(tmp_path: Path) -> None:
    messages = [discord("", False), discord("Look: https://a.example", False), discord("", True)]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps({"channel": {"id": "1"}, "messages": messages}), encoding="utf-8")
    texts, left = read(path)
    assert texts == ["Look: https://a.example", f"My diary\n{PREVIEW}"]
    assert left == ["a photo, file or the like without words"]


def test_what_a_person_shares_in_slack_is_anothers(tmp_path: Path) -> None:
    attachments = [{"author_name": "Tom", "text": PREVIEW}]
    message = {"type": "message", "ts": "1740823200.1", "text": "", "attachments": attachments}
    path = tmp_path / "2025-03-01.json"
    path.write_text(json.dumps([{**message, "user": "U1"}, {**message, "bot_id": "B1"}]))
    assert read(path)[0] == [f"> {PREVIEW}", PREVIEW]


def messenger(path: Path, *said: tuple[str, str]) -> Path:
    messages = [
        {"sender_name": who, "timestamp_ms": 1740823200000 + at * 1000, "content": text}
        for at, (who, text) in enumerate(said)
    ]
    people = [{"name": who} for who in dict.fromkeys(who for who, _ in said)]
    chat = {"participants": people, "title": "Bees", "messages": messages[::-1]}
    path.write_text(json.dumps(chat), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "notice",
    [
        "You are now connected on Messenger",
        "You are now connected on Messenger.",
        "Say hi to your new Facebook friend, Ida.",
        "You can now message and call each other and see info like Active Status and when you've "
        "read messages.",
        "Ida created the group.",
        "Ida named the group Bees.",
        "Ida Holm named the group Bees.",
        "Ida set the nickname for Tom to Bee.",
        "Ida changed the theme to Love.",
        "Ida left the group.",
        "Ida added Tom Becker to the group.",
        "Ida started a video chat.",
        'Ida voted for "Mon" in the poll: When?',
        'Ida voted for "🐝" in the poll: Which?',
        "Ida created a poll: When?",
        "You missed a call from Ida.",
        "You named the group Bees.",
        "You changed the theme to Love.",
        "The video chat ended.",
        "Ida hat die Gruppe Bienen genannt.",
        "Ida a nommé le groupe Abeilles.",
        "Ida さんがグループに名前を付けました。",
    ],
)
def test_what_messenger_writes_of_a_person_is_a_notice(tmp_path: Path, notice: str) -> None:
    said = ("Ida Holm", "Is the ferry late?"), ("Ida Holm", notice), ("Tom", "It is.")
    texts, left = read(messenger(tmp_path / "message_1.json", *said))
    assert texts == ["Is the ferry late?", "It is."]
    assert left == ["a notice of the messenger"]


@pytest.mark.parametrize(
    ("who", "text"),
    [
        ("Tom", "Ida named the group Bees."),
        ("Ida Holm", "Idaho is a state in the west."),
        ("Ida Holm", "Tom is coming to the ferry."),
        ("Ida Holm", "You are a good friend of mine."),
        ("Ida Holm", "You set the table and I cook."),
        ("Ida Holm", "You missed the call, where were you?"),
        ("Ida Holm", "You joined the call late again."),
        ("Ida Holm", "Ida here\nI have a new number."),
        ("Will Hart", "Will do."),
        ("Hope", "Hope so."),
    ],
)
def test_words_like_those_of_messenger_stay(tmp_path: Path, who: str, text: str) -> None:
    said = ("Ida Holm", "Is the ferry late?"), (who, text)
    texts, left = read(messenger(tmp_path / "message_1.json", *said))
    assert texts == ["Is the ferry late?", text]
    assert not left


def test_a_name_that_is_a_word_begins_sentences(tmp_path: Path) -> None:
    said = [
        ("Will Hart", "Will you be on the ferry?"),
        ("Will Hart", "Will be there at nine."),
        ("Will Hart", "Will left the group."),
        ("Will Hart", "Will Hart set the emoji to a bee."),
    ]
    texts, left = read(messenger(tmp_path / "message_1.json", *said))
    assert texts == ["Will you be on the ferry?", "Will be there at nine."]
    assert left == ["a notice of the messenger"] * 2


HEADS = [
    "13/03/2024, 10:01 - ",
    "[13.03.24, 10:01:05] ",
    "3/13/24, 10:01 PM - ",
    "2024/3/13 10:01 - ",
]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_head_that_is_cut_off_is_no_word_of_the_message_before(
    tmp_path: Path, head: str, cut: int
) -> None:
    time = head.index("10:01")
    text = f"{head}Ida: I keep bees\n{head}Tom: Where?\n{head[: time + cut]}"
    path = tmp_path / "chat.txt"
    path.write_text(text, encoding="utf-8")
    texts, left = read(path)
    assert texts == ["I keep bees", "Where?"]
    assert left == ["the file is cut off in the head of a message"]


@pytest.mark.parametrize(
    "last", ["13/03/2024", "14/03/2024, 10:30", "10", "13/03/2024, 10 boats", "14/03/2024, 1\n"]
)
def test_a_last_line_that_is_no_head_stays(tmp_path: Path, last: str) -> None:
    path = tmp_path / "chat.txt"
    text = f"{HEADS[0]}Ida: I keep bees\n{HEADS[0]}Tom: The dentist:\n{last}"
    path.write_text(text, encoding="utf-8")
    texts, left = read(path)
    assert texts == ["I keep bees", f"The dentist:\n{last.strip()}"]
    assert not left
