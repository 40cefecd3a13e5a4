"""Every format of imports: what a file becomes, twice the same, and what is left out by name."""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.conversations import checked
from episodica.readers import FORMATS, formats, iter_conversations, read_conversations
from episodica.readers.source import Source

FIXTURES = Path(__file__).parents[1] / "fixtures"
EXPECTED: dict[str, Any] = json.loads(
    (FIXTURES / "imports_expected.json").read_text(encoding="utf-8")
)
# A benchmark's form has its own tests.
UNTESTED = {"longmemeval"}


def format_of(path: Path) -> str | None:
    """The format of a file, or of an archive or folder whose files belong together."""
    with Source(path) as source:
        if source.members is not None:
            bundles = formats._BUNDLES.items()
            return next((name for name, read in bundles if read(source)), None)
        chosen = formats._text_format(source.text().read(formats._HEAD))
        if chosen in formats._TEXT:
            return chosen
        found = (formats._recognised(item.value) for item in source.items())
        return next((name for name in found if name), None)


def content(path: Path, format: str | None = None) -> dict[str, Any]:
    """Speaker, text and minute of each message, the facts, and what was left out."""
    messages, facts, left, notes = [], [], [], []
    for talk in iter_conversations(path, format):
        read, more, changed = checked(talk)
        messages += [[one["name"] or one["role"], one["content"], one["timestamp"]] for one in read]
        facts += [[one.text, str(one.date or "")] for one in talk.statements]
        left += [str(one) for one in (*talk.left_out, *more)]
        notes += [*talk.notes, *changed]
    undated = any("the date of the file is taken" in note for note in notes)
    rows = [[who, text, "" if undated else (when or "")[:16]] for who, text, when in messages]
    return {"messages": rows, "facts": facts, "left_out": left}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_file_becomes_its_messages(name: str) -> None:
    assert content(FIXTURES / "imports" / name) == EXPECTED[name]


def test_every_format_has_a_file() -> None:
    found = {format_of(FIXTURES / "imports" / name) for name in EXPECTED}
    assert set(FORMATS) - found == UNTESTED


def test_the_guide_names_every_format(root: Path) -> None:
    page = (root / "docs/guide/carrying.md").read_text(encoding="utf-8")
    table = page.partition("| Format | Contents |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    assert {name for cell in cells for name in re.findall("`([^`]+)`", cell)} == set(FORMATS)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_format_can_be_named(name: str) -> None:
    file = FIXTURES / "imports" / name
    named = content(file, format_of(file))
    assert named["messages"] == EXPECTED[name]["messages"]


def test_a_second_import_under_another_name_adds_nothing(
    memory: MemorySystem, tmp_path: Path
) -> None:
    compared = 0
    for name in sorted(EXPECTED):
        file, again = FIXTURES / "imports" / name, tmp_path / f"copy of {name}"
        (shutil.copytree if file.is_dir() else shutil.copyfile)(file, again)
        user = None if name == "mem0.json" else f"user of {name}"
        first = memory.import_(file, user)
        stored = {one: list(memory.messages(one)) for one in memory.users()}
        second = memory.import_(again, user)
        assert (second.messages, second.semantic_memories) == (0, 0), name
        assert second.known == first.messages + first.semantic_memories, name
        assert {one: list(memory.messages(one)) for one in memory.users()} == stored, name
        if user is not None:
            kept = [
                [one.name or one.role, one.content] for one in stored.get(user, ()) if one.content
            ]
            assert kept == [one[:2] for one in EXPECTED[name]["messages"]], name
        compared += 1
    assert compared >= 20


def archive(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


@pytest.mark.parametrize("name", ["../a.json", "x/../../a.json", "..\\a.json"])
@pytest.mark.parametrize(
    "others",
    [
        {},
        {"b.txt": "Ana: Hi.\nBen: Yes?\n"},
        {
            "users.json": "[]",
            "sea/2026-02-01.json": '[{"user": "U", "text": "Hi.", "ts": "1.7e9"}]',
        },
    ],
)
def test_a_name_that_leads_out_of_an_archive_is_named(
    tmp_path: Path, name: str, others: dict[str, str]
) -> None:
    path = archive(tmp_path / "a.zip", {name: '[{"role": "user", "content": "Hi."}]', **others})
    why = f"{name.replace(os.sep, '/')}: the name leads out of the archive"
    if others:
        assert why in content(path)["left_out"]
        return
    with pytest.raises(InvalidInputError, match=re.escape(why)):
        read_conversations(path)


@pytest.mark.parametrize("folder", ["", "export/", "My data/2024/"])
def test_an_export_of_chatgpt_in_several_files(tmp_path: Path, folder: str) -> None:
    chats = json.loads((FIXTURES / "imports/chatgpt.json").read_text(encoding="utf-8"))
    files = {
        f"{folder}conversations-{number:03}.json": json.dumps([chat])
        for number, chat in enumerate(chats)
    }
    files |= {f"{folder}user.json": "{}", f"{folder}chat.html": "<p>", f"{folder}x.png": "?"}
    made = content(archive(tmp_path / "a.zip", files))
    assert made["messages"] == EXPECTED["chatgpt.json"]["messages"]
    assert f"{folder}user.json: no chat that is known" in made["left_out"]
    assert "1 file `.html`: no text" in made["left_out"]


def test_a_chat_of_a_messenger_in_an_archive(tmp_path: Path) -> None:
    text = (FIXTURES / "imports/whatsapp_ios.txt").read_text(encoding="utf-8")
    files = {"_chat.txt": text, "00000001-PHOTO.jpg": "?", "__MACOSX/._chat.txt": "?"}
    made = content(archive(tmp_path / "a.zip", files))
    assert made["messages"] == EXPECTED["whatsapp_ios.txt"]["messages"]
    assert made["left_out"][-1] == "1 file `.jpg`: no text"
    assert not any("MACOSX" in one for one in made["left_out"])


def test_words_of_programs_and_forwarded_words_come_in(tmp_path: Path) -> None:
    who, bot = {"name": "fox"}, {"name": "Dice", "isBot": True}
    day = "2026-03-08T21:00:00+01:00"
    embeds = [{"title": "Roll: 2d6", "description": "You rolled 9"}, "broken"]
    said = [
        {"id": "1", "type": "20", "author": bot, "timestamp": day, "content": "", "embeds": embeds},
        {"id": "2", "type": "Default", "author": who, "timestamp": day, "content": "",
         "forwardedMessage": {"content": "The room is booked."}},
        {"id": "3", "type": "ChannelPinnedMessage", "author": who, "timestamp": day,
         "content": "Pinned a message."},
    ]  # fmt: skip
    talk = {"guild": {"name": "g"}, "channel": {"id": "7", "name": "plans"}, "messages": said}
    (tmp_path / "discord.json").write_text(json.dumps(talk), "utf-8")
    robot = {
        "type": "message", "subtype": "bot_message", "ts": "1772442000.000919", "text": "",
        "username": "Builder", "attachments": [{"fallback": "Build 4 passed"}, None],
    }  # fmt: skip
    file = tmp_path / "2026-03-02.json"
    file.write_text(json.dumps([robot]), "utf-8")
    with MemorySystem(tmp_path / "store") as memory:
        memory.import_(tmp_path / "discord.json", "a")
        assert [one.content for one in memory.messages("a")] == [
            "Roll: 2d6\nYou rolled 9",
            "> The room is booked.",
        ]
        memory.import_(file, "b")
        [one] = memory.messages("b")
        assert (one.role, one.speaker, one.content) == ("assistant", "Builder", "Build 4 passed")


def test_a_package_of_discord(tmp_path: Path) -> None:
    said = [
        {"ID": 2, "Timestamp": "2024-03-05 10:31:00", "Contents": "later", "Attachments": ""},
        {"ID": 1, "Timestamp": "2024-03-05 10:30:00", "Contents": "earlier", "Attachments": ""},
    ]
    table = "ID,Timestamp,Contents,Attachments\n9,2024-03-06 10:30:00.5+00:00,from a table,\n"
    files = {
        "account/user.json": json.dumps({"id": "7", "username": "nadia"}),
        "messages/c10001/channel.json": json.dumps({"id": "10001", "name": "chess"}),
        "messages/c10001/messages.json": json.dumps(said),
        "messages/c10002/channel.json": json.dumps({"id": "10002"}),
        "messages/c10002/messages.csv": table,
    }
    made = content(archive(tmp_path / "package.zip", files))
    assert made["messages"] == [
        ["nadia", "earlier", "2024-03-05T10:30"],
        ["nadia", "later", "2024-03-05T10:31"],
        ["nadia", "from a table", "2024-03-06T10:30"],
    ]
    assert made["left_out"] == ["account/user.json: no chat that is known"]


def opencode(folder: Path, session: str, texts: list[str], **about: Any) -> Path:
    """A session in the storage of opencode; a fork has other ids and the same times."""

    def put(name: str, data: Any) -> None:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(data), encoding="utf-8")

    put(f"session/p/{session}.json", {"id": session, "title": "Rename", **about})
    for number, text in enumerate(texts):
        time = {"created": 1_728_100_004_000 + number * 1000}
        own, role = f"msg_{session}_{number}", ("user", "assistant")[number % 2]
        put(f"message/{session}/{own}.json", {"id": own, "role": role, "time": time})
        put(f"part/{own}/prt_{number}.json", {"type": "text", "text": text})
    return folder


def opencode_export(path: Path, session: str, texts: list[str], **about: Any) -> Path:
    messages = [
        {
            "info": {
                "id": f"msg_{session}_{number}",
                "role": ("user", "assistant")[number % 2],
                "time": {"created": 1_728_100_004_000 + number * 1000},
            },
            "parts": [{"type": "text", "text": text}],
        }
        for number, text in enumerate(texts)
    ]
    info = {"id": session, "title": "Rename", **about}
    path.write_text(json.dumps({"info": info, "messages": messages}), encoding="utf-8")
    return path


def test_the_storage_of_opencode(tmp_path: Path) -> None:
    made = content(opencode(tmp_path / "storage", "ses_1", ["Rename it.", "Done."]))
    assert [one[:2] for one in made["messages"]] == [["user", "Rename it."], ["assistant", "Done."]]


@pytest.mark.parametrize("write", [opencode, opencode_export])
def test_a_session_of_opencodes_own_agent_is_left_out_and_counted(
    tmp_path: Path, write: Any
) -> None:
    path = write(tmp_path / "kept", "ses_2", ["Search for it.", "I found it."], parentID="ses_1")
    made = content(path)
    assert made["messages"] == []
    assert len(made["left_out"]) == 2
    assert all("own agent" in one for one in made["left_out"])


def test_copies_in_a_fork_of_opencode_are_known(memory: MemorySystem, tmp_path: Path) -> None:
    said = ["Rename it.", "Done."]
    folder = opencode(tmp_path / "storage", "ses_1", said)
    opencode(folder, "ses_2", [*said, "Now the file."], title="Rename (fork #1)")
    report = memory.import_(folder, "ida")
    assert (report.messages, report.known) == (3, 2)
    third = opencode_export(tmp_path / "a.json", "ses_3", [*said, "Go back."])
    assert memory.import_(third, "ida").messages == 1


@pytest.mark.parametrize(
    ("line", "when"),
    [
        ("11/03/24, 9:30 pm - A: x", "2024-03-11T21:30"),
        ("3/14/24, 9:30 PM - A: x", "2024-03-14T21:30"),
        ("3/4/24, 9:30\u202fPM - A: x", "2024-03-04T21:30"),
        ("3/4/24, 9:30 pm - A: x", "2024-04-03T21:30"),
        ("11/3/2024, 9:30 ص - A: x", "2024-03-11T09:30"),
        ("١١\u200f/٣\u200f/٢٠٢٤، ٩:٣٠ م - A: x", "2024-03-11T21:30"),
        ("2024/3/11 上午9:30 - A: x", "2024-03-11T09:30"),
        ("[2024/3/11 下午12:30:12] A: x", "2024-03-11T12:30"),
        ("2024年3月11日 晚上9:30 - A: x", "2024-03-11T21:30"),
        ("2024. 3. 11. 오후 9:30, A : x", "2024-03-11T21:30"),
        ("2024년 3월 11일 오전 12:05, A : x", "2024-03-11T00:05"),
        ("2024/03/11 午前9:30 - A: x", "2024-03-11T09:30"),
        ("11.03.24, 24:05 - A: x", "2024-03-11T00:05"),
        ("11.3.2024 klo 9.30 - A: x", "2024-03-11T09:30"),
        ("11/03/2024 às 21:30 - A: x", "2024-03-11T21:30"),
        ("11.3.2024 xyz 9.30 - A: x", None),
        ("11/3/2024, 9:30 xyz - A: x", None),
        ("05/03/2024, 9:30 PTG - A: x", "2024-03-05T21:30"),
        ("21:30, 11/3/2024 - A: x", "2024-03-11T21:30"),
        ("11/3/2567 21:30 - A: x", "2024-03-11T21:30"),
        ("11.03.24 \u0433., 21:30 \u0447. - A: x", "2024-03-11T21:30"),
        ("28/3/2024, 9:29 p. m. - A: x", "2024-03-28T21:29"),
    ],
)
def test_dates_of_messengers(tmp_path: Path, line: str, when: str | None) -> None:
    (tmp_path / "a.txt").write_text(line + "\n", encoding="utf-8")
    if when is None:
        with pytest.raises(InvalidInputError, match="line 1 is not understood"):
            read_conversations(tmp_path / "a.txt")
        return
    [[name, text, moment]] = content(tmp_path / "a.txt")["messages"]
    assert (name, text, moment) == ("A", "x", when)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[09:30] Nadia: Hi.\n[00:10] Ben: Late!\n", ["Nadia: Hi.", "Ben: Late!"]),
        ("Nadia (10:30): Hi.\nBen (10:31): Yes?\n", ["Nadia: Hi.", "Ben: Yes?"]),
        ("Nadia Roth  0:03\nHi.\n\nBen Ode  0:10\nYes?\n", ["Nadia Roth: Hi.", "Ben Ode: Yes?"]),
        ("You said:\nHi.\nChatGPT said:\nYes?\n", ["You: Hi.", "ChatGPT: Yes?"]),
        ("**You**\n\nHi.\n\n---\n\n**Claude**\n\nYes?\n", ["You: Hi.", "Claude: Yes?"]),
        ("## Zoe\n\nHi.\n\n## Ben\n\nYes?\n\n## Zoe\n\nOk.\n",
         ["Zoe: Hi.", "Ben: Yes?", "Zoe: Ok."]),
        ("[5/3/2024 9:30 AM] Zoe\nHi.\n\n[5/13/2024 9:31 AM] Ben\nYes?\n",
         ["Zoe: Hi.", "Ben: Yes?"]),
        ("1.5.24, 9:30 - Zoe hat die Gruppe \u201eReise: Rom\u201c erstellt.\n"
         "1.5.24, 9:31 - Zoe: Hi.\n"
         "1.5.24, 9:32 - Ben: Diese Nachricht wurde gel\u00f6scht.\n", ["Zoe: Hi."]),
    ],
)  # fmt: skip
def test_further_forms_of_text(tmp_path: Path, text: str, said: list[str]) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    made = content(tmp_path / "a.txt")
    assert [f"{who}: {words}" for who, words, _ in made["messages"]] == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"prompt": "Hi.", "completion": "Yes?"}, ["user: Hi.", "assistant: Yes?"]),
        ({"instruction": "Translate.", "input": "Hi.", "output": "Salut."},
         ["user: Translate.\nHi.", "assistant: Salut."]),
        ({"prompt": "Hi.", "response": "Yes?", "created": 1750000000},
         ["user: Hi.", "assistant: Yes?"]),
        ({"model": "m", "created_at": "2026-02-01T10:00:00Z", "prompt": "Hi.", "response": "Yes?",
          "done": True}, ["user: Hi.", "assistant: Yes?"]),
        ({"request": {"prompt": "Hi."}, "response": {"model": "m", "response": "Yes?"}},
         ["user: Hi.", "assistant: Yes?"]),
        ({"instruction": "Hi.", "output": "Yes?", "timestamp": "2026-02-01T10:00:00Z"},
         ["user: Hi.", "assistant: Yes?"]),
        ({"instruction": "Hi.", "input": None, "response": "Yes?"},
         ["user: Hi.", "assistant: Yes?"]),
        ({"prompt": "Hi.", "answer": "Yes?"}, ["user: Hi.", "assistant: Yes?"]),
        ({"store": {"k": [{"role": "user", "blocks": [{"block_type": "text", "text": "Hi."}]}]},
          "class_name": "SimpleChatStore"}, ["user: Hi."]),
        ({"channel_values": {"messages": [{"type": "human", "content": "Hi."}]}}, ["user: Hi."]),
        ({"input": [{"role": "user", "content": "Hi."}], "output": [
            {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}]},
         ["user: Hi.", "assistant: [tool call: f({})]"]),
        ({"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes?"}]}}]},
         ["assistant: Yes?"]),
    ],
)  # fmt: skip
def test_further_forms_of_messages(tmp_path: Path, data: Any, said: list[str]) -> None:
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    made = content(tmp_path / "a.json")
    assert [f"{who}: {words}" for who, words, _ in made["messages"]] == said
    assert made["left_out"] == []


@pytest.mark.parametrize(
    ("asked", "answered", "when"),
    [
        ("prompt", "response", "created"),
        ("prompt", "response", "created_at"),
        ("instruction", "output", "timestamp"),
    ],
)
@pytest.mark.parametrize("count", [1, 2])
def test_both_turns_of_a_row_have_its_time(
    tmp_path: Path, asked: str, answered: str, when: str, count: int
) -> None:
    rows = [
        {asked: f"Hi {at}.", answered: f"Yes {at}?", when: f"2026-02-01T10:0{at}:00Z"}
        for at in range(count)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    assert content(path)["messages"] == [
        [who, words, f"2026-02-01T10:0{at}"]
        for at in range(count)
        for who, words in (("user", f"Hi {at}."), ("assistant", f"Yes {at}?"))
    ]


def test_an_answer_without_a_question_is_named(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Yes?"}]
    rows = [{"messages": said, "answer": "Yes!"}, {"prompt": "", "response": "Oh."}]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    made = content(path)
    assert [one[1] for one in made["messages"]] == ["Hi.", "Yes?"]
    [left] = made["left_out"]
    assert left.startswith("line 2: ")
    path.write_text('{"question": "Hi?", "answer": "Yes."}\n', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="`question`, `answer` is not a conversation"):
        read_conversations(path)


AGENT = {"sessionId": "s", "cwd": "/", "timestamp": "2026-02-01T10:00:00Z"}
OTHERS: list[tuple[str, Any, list[str]]] = [
    ("claude-code", [
        {**AGENT, "type": "user", "uuid": "a", "message": {"role": "user", "content": "Hi."}},
        {**AGENT, "type": "assistant", "uuid": "b", "isApiErrorMessage": True,
         "message": {"role": "assistant", "content": [{"type": "text", "text": "Error 529"}]}},
    ], ["user: Hi."]),
    ("grok", {"conversations": [{"conversation": {"id": "g"}, "responses": [
        {"response": {"sender": "human", "message": "Hi."}},
        {"response": {"sender": "ASSISTANT", "message": 'Yes<grok:render id="1"><argument>0'
         "</argument></grok:render>."}}]}]}, ["user: Hi.", "assistant: Yes."]),
    ("telegram", {"name": "Tom", "type": "personal_chat", "id": 5, "messages": [
        {"id": 1, "type": "message", "date": "2024-03-11T09:30:00", "from": "Ann", "from_id": "u",
         "forwarded_from": "Tom", "text": ["I live ", {"type": "bold", "text": "in Berlin."}]}]},
     ["Ann: > Forwarded from Tom:\n> I live in Berlin."]),
    ("whatsapp", "[11.03.24, 09:30:12] Ann: @\u2068Tom\u2069, come by.\n",
     ["Ann: @Tom, come by."]),
    ("subtitles", "1\n00:00:01,000 --> 00:00:02,000\n[Ann]: Hi.\n", ["Ann: Hi."]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "said"), OTHERS, ids=[one[0] for one in OTHERS])
def test_marks_and_words_of_others_are_told_from_what_was_said(
    memory: MemorySystem, tmp_path: Path, name: str, data: Any, said: list[str]
) -> None:
    lines = data if isinstance(data, list) else [data]
    text = data if isinstance(data, str) else "\n".join(map(json.dumps, lines))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    assert format_of(tmp_path / "a.txt") == name
    made = content(tmp_path / "a.txt")
    assert [f"{who}: {words}" for who, words, _ in made["messages"]] == said
    memory.import_(tmp_path / "a.txt", "ann")
    memory.flush("ann")
    memory.wait("ann")
    learned = [fact.content for fact in memory.semantic_memories("ann")]
    assert learned == []


def test_an_order_of_day_and_month_that_is_guessed_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("3/4/24, 21:30 - A: x\n", encoding="utf-8")
    [talk] = read_conversations(tmp_path / "a.txt")
    assert talk.notes == (
        "dates like 3/4/2024 begin with the day here; nothing in the file says so",
    )
    (tmp_path / "a.txt").write_text("13/4/24, 21:30 - A: x\n", encoding="utf-8")
    assert read_conversations(tmp_path / "a.txt")[0].notes == ()


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\nfour\n",
        "[not a chat]\nno speaker here\n",
        "[2024] once upon a time\n",
        "%PDF-1.7\n",
        "Meeting notes 11 March\nAttendees: Alice, Ben\nAgenda: Budget\nAction: Ben pays\n",
        "<html><body>Chat</body></html>\n",
    ],
)
def test_a_text_that_is_not_understood_shows_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_conversations(tmp_path / "a.txt")
    assert f"line 1 is not understood: `{text.splitlines()[0]}`" in caught.value.message
    assert "text with `Name:` on each line" in str(caught.value.hint)


@pytest.mark.parametrize("lines", ["[{0},\n{1}]", "{0}\n{1}", "[{0}, {0},\n{1}]"])
def test_half_a_letter_is_replaced_and_said(
    memory: MemorySystem, tmp_path: Path, lines: str
) -> None:
    whole = '{"role": "user", "content": "I live in Lyon."}'
    broken = '{"role": "user", "content": "And work there \\ud83d", "name": "A\\udc00"}'
    (tmp_path / "a.jsonl").write_text(lines.format(whole, broken), encoding="utf-8")
    report = memory.import_(tmp_path / "a.jsonl", "u")
    assert report.messages == lines.count("{")
    assert "line 2: half a letter was replaced by `\ufffd`" in report.notes
    assert list(memory.messages("u"))[-1].content == "And work there \ufffd"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "role,content,timestamp\nuser,x,2024-03-11\nassistant,,2024-03-11\n"),
        ("a.jsonl", '{"role": "user", "content": "x"}\n{"role": "user", "content": " "}\n'),
        ("a.json", '[{"role": "user", "content": "x"},\n{"role": "assistant", "content": null}]'),
        ("b.json", '[{"role": "user", "content": "x"},\n{"type": "reasoning", "summary": []}]'),
        ("a.txt", "Alice: x\nBen:\nAlice: y\n"),
    ],
)
def test_what_has_no_words_is_left_out_in_every_format(
    memory: MemorySystem, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    report = memory.import_(tmp_path / name, "u")
    assert report.messages in (1, 2)
    assert report.skipped == len(report.left_out) == 1
    assert report.left_out[0] in ("line 2: no words", "line 3: no words")


@pytest.mark.parametrize("name", ["zep.json", "gemini_takeout.json"])
def test_a_broken_record_is_an_error_of_ours(tmp_path: Path, name: str) -> None:
    text = (FIXTURES / "imports" / name).read_text(encoding="utf-8")
    data = json.loads(text)
    if isinstance(data, list):
        data[1]["safeHtmlItem"] = 5.5
    else:
        data["messages"].insert(0, None)
    (tmp_path / name).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="the file breaks the form of"):
        read_conversations(tmp_path / name)


def test_the_style_of_an_answer_in_html_is_not_read(tmp_path: Path) -> None:
    [first, *_] = json.loads((FIXTURES / "imports/gemini_takeout.json").read_text("utf-8"))
    first["safeHtmlItem"] = [{"html": "<style>p { color: red }</style><p>At&nbsp;nine.</p>"}]
    (tmp_path / "a.json").write_text(json.dumps([first]), encoding="utf-8")
    [talk] = read_conversations(tmp_path / "a.json")
    assert talk.messages[-1]["content"] == "At\u00a0nine."


def test_an_untimed_answer_follows_its_question(memory: MemorySystem) -> None:
    memory.import_(FIXTURES / "imports/chatgpt_gaps.json", "u")
    stored = list(memory.messages("u"))
    assert [one.role for one in stored] == ["user", "assistant", "user", "assistant"]
    assert stored[0].timestamp < stored[1].timestamp < stored[2].timestamp < stored[3].timestamp
    assert (stored[1].timestamp - stored[0].timestamp).total_seconds() < 1


def test_a_chat_without_dates_has_that_of_its_neighbour(tmp_path: Path) -> None:
    chats = [
        {"uuid": f"c{number}", "chat_messages": [{"sender": "human", "text": "x", **date}]}
        for number, date in enumerate(({}, {"created_at": "2020-05-01T00:00:00Z"}, {}))
    ]
    (tmp_path / "a.json").write_text(json.dumps(chats), encoding="utf-8")
    stored = [one for talk in iter_conversations(tmp_path / "a.json") for one in checked(talk)[0]]
    moments = [datetime.fromisoformat(one["timestamp"]) for one in stored]
    assert moments[0] < moments[1] < moments[2]
    assert moments[2] - moments[0] < timedelta(seconds=1)
    assert moments[1].isoformat() == "2020-05-01T00:00:00+00:00"


def test_two_chats_that_begin_alike_stay_two(memory: MemorySystem, tmp_path: Path) -> None:
    for name, answer in (("a", "Hello!"), ("b", "Good day!")):
        said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": answer}]
        (tmp_path / name).write_text(json.dumps(said), encoding="utf-8")
        assert memory.import_(tmp_path / name, "u").messages == 2


def test_numbers_of_messages_are_those_of_one_chat(memory: MemorySystem, tmp_path: Path) -> None:
    for name in ("Ben", "Zoe"):
        said = {
            "id": 1,
            "type": "message",
            "date_unixtime": "1709283660",
            "from": name,
            "text": name,
        }
        chat = {"name": name, "type": "personal_chat", "id": name, "messages": [said]}
        (tmp_path / name).write_text(json.dumps(chat), encoding="utf-8")
        assert memory.import_(tmp_path / name, "u").messages == 1


@pytest.mark.parametrize("gap", [{}, {"session_2_date_time": "9:00 am on 1 June, 2024"}])
@pytest.mark.parametrize("text", [None, "", "Hi."])
def test_sessions_of_locomo_with_gaps(tmp_path: Path, gap: dict[str, Any], text: Any) -> None:
    talk = {
        "speaker_a": "Ann",
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_1": [{"speaker": "Ann", "text": "First."}],
        "session_11": [{"speaker": "Ann", "text": "Last."}],
        "session_11_date_time": "1:56 pm on 9 July, 2024",
        "session_3": [{"speaker": "Ben", "text": text}],
        **gap,
    }
    (tmp_path / "a.json").write_text(json.dumps({"conversation": talk}), encoding="utf-8")
    made = content(tmp_path / "a.json")
    assert [one[1] for one in made["messages"]] == ["First.", *([text] if text else []), "Last."]
    assert len(made["left_out"]) == (not text)


def test_an_entry_of_longmemeval_with_null_turns(tmp_path: Path) -> None:
    entry = {
        "question_id": "q",
        "question": "?",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 2,
        "haystack_sessions": [[{"role": "user", "content": None}], None],
    }
    whole = {
        **entry,
        "question_id": "r",
        "haystack_sessions": [[{"role": "user", "content": "x"}], []],
    }
    (tmp_path / "a.json").write_text(json.dumps([entry, whole]), encoding="utf-8")
    made = content(tmp_path / "a.json")
    assert [one[1] for one in made["messages"]] == ["x"]
    assert made["left_out"] == ["message 0 of `q`: no words"]
