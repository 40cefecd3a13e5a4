"""Exports of chat programs and other memories: what they become, how broken ones are refused."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem, StoreIOError
from episodica.cli.app import main
from episodica.inputs.messages import normalise
from episodica.readers import (
    FORMATS,
    Conversation,
    dates,
    iter_conversations,
    read_conversations,
    with_ids,
)
from episodica.readers.conversation import PART


@pytest.fixture
def imports(root: Path) -> Path:
    return root / "tests/fixtures/imports"


def told(conversation: Conversation) -> list[tuple[Any, ...]]:
    """Speaker, text and minute of each message as they are stored."""
    return [
        (one["name"] or one["role"], one["content"], (one["timestamp"] or "")[:16])
        for one in normalise(with_ids(conversation))
    ]


def test_parents_in_a_circle_end(tmp_path: Path) -> None:
    node = {"message": {"content": {"parts": ["x"]}}, "parent": "b", "children": ["b"]}
    data = [{"mapping": {"a": node, "b": {**node, "parent": "a"}}, "current_node": "a"}]
    (tmp_path / "a.json").write_text(json.dumps(data), encoding="utf-8")
    assert len(read_conversations(tmp_path / "a.json")[0].messages) == 2


def test_sharegpt(imports: Path) -> None:
    first, second = read_conversations(imports / "sharegpt.json")
    assert told(first) == [
        ("user", "Write a haiku on rain.", ""),
        ("assistant", "Soft rain on the roof", ""),
    ]
    assert [one["session_id"] for one in second.messages] == ["s2"] * 3
    assert second.messages[0]["role"] == "system"


@pytest.mark.parametrize("name", ["openai_log", "anthropic_log"])
def test_logs_of_requests_hold_each_message_once(imports: Path, name: str) -> None:
    [talk] = read_conversations(imports / f"{name}.jsonl")
    stored = told(talk)
    assert len(stored) == len(set(stored)) == {"openai_log": 8, "anthropic_log": 4}[name]
    sessions = [one["session_id"] for one in talk.messages]
    if name == "openai_log":
        assert sessions == ["openai_log-1"] * 5 + ["openai_log-2"] * 3
        assert stored[4] == (
            "assistant", '[tool call: find_vet({"city": "Lyon"})]', "2024-03-11T09:31",
        )  # fmt: skip
        assert stored[5][1] == "Be kind."
        assert talk.lines == (1, 1, 1, 2, 2, 3, 3, 3)
    else:
        assert stored[2:] == [
            ("user", "A bicycle.", "2024-04-01T12:01"),
            ("assistant", '[tool call: map({"to": "lake"})]', "2024-04-01T12:01"),
        ]


def test_an_answer_in_another_form_is_not_told_twice(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "hi"}
    parts = [{"type": "text", "text": "hello"}, {"type": "image"}]
    log = [
        {"messages": [asked], "choices": [{"message": {"role": "assistant", "content": "hello"}}]},
        {"messages": [asked, {"role": "assistant", "content": parts}, {**asked, "content": "x"}]},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    [talk] = read_conversations(tmp_path / "a.jsonl")
    assert [one["content"] for one in talk.messages] == ["hi", "hello", "x"]


def test_two_talks_that_begin_alike_stay_two(tmp_path: Path) -> None:
    def entry(answer: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": answer}
        return {"messages": [{"role": "user", "content": "hi"}], "choices": [{"message": message}]}

    log = "\n".join(json.dumps(entry(answer)) for answer in ("hello", "hey", "hey"))
    (tmp_path / "a.jsonl").write_text(log, encoding="utf-8")
    [talk] = read_conversations(tmp_path / "a.jsonl")
    assert [(one["session_id"], one["content"]) for one in talk.messages] == [
        ("a-1", "hi"),
        ("a-1", "hello"),
        ("a-2", "hi"),
        ("a-2", "hey"),
    ]


def test_responses_and_batches(tmp_path: Path) -> None:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "b"}],
    }
    log = [
        {"request": {"input": "a"}, "response": {"created_at": 5, "output": [said]}},
        {
            "custom_id": "x",
            "body": {"messages": [{"role": "user", "content": "c"}]},
            "response": {"body": {"choices": [{"message": {"role": "assistant", "content": "d"}}]}},
        },
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, log)), encoding="utf-8")
    [talk] = read_conversations(tmp_path / "a.jsonl")
    assert [text for _, text, _ in told(talk)] == ["a", "b", "c", "d"]


def test_a_list_of_messages_a_line(tmp_path: Path) -> None:
    lines = [[{"role": "user", "content": text}] for text in "ab"]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    [talk] = read_conversations(tmp_path / "a.jsonl")
    assert [(one["session_id"], one["content"]) for one in talk.messages] == [
        ("a-1", "a"),
        ("a-2", "b"),
    ]


def test_csv(imports: Path) -> None:
    [talk] = read_conversations(imports / "chat.csv")
    assert told(talk) == [
        ("Alice", "I moved to Lyon;\nreally.", "2024-03-13T09:30"),
        ("Bot", "How do you like it?", "2024-04-04T10:00"),
    ]
    assert [one["role"] for one in talk.messages] == ["user", "assistant"]
    assert [one["session_id"] for one in talk.messages] == ["sms", "sms"]
    assert talk.lines == (2, 4)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_tables_of_spreadsheets(tmp_path: Path, encoding: str) -> None:
    text = "role\tcontent\ttimestamp\r\nuser\tGrüße\t1709888400\r\n\r\nassistant\t你好\t\r\n"
    (tmp_path / "a.tsv").write_bytes(text.encode(encoding))
    [talk] = read_conversations(tmp_path / "a.tsv")
    assert told(talk) == [
        ("user", "Grüße", "2024-03-08T09:00"),
        ("assistant", "你好", "2024-03-08T09:00"),
    ]


def test_plain_text(imports: Path) -> None:
    [talk] = read_conversations(imports / "interview.txt")
    assert told(talk) == [
        ("Alice", "I moved to Lyon.\nIt is warm here.", "2024-03-11T00:00"),
        (
            "Assistant",
            "How do you like it?\nNote: this line belongs to the answer.",
            "2024-03-11T00:00",
        ),
        ("Alice", "Very much; see https://example.org: a page", "2024-03-12T00:00"),
        ("小红", "我也是。", "2024-03-12T00:00"),
    ]
    assert [one["role"] for one in talk.messages] == ["user", "assistant", "user", "user"]
    stamps = [one["timestamp"] for one in talk.messages]
    assert stamps == sorted(set(stamps))


def test_mem0(imports: Path) -> None:
    alice, bob = read_conversations(imports / "mem0.json")
    assert (alice.user_id, bob.user_id, alice.messages) == ("alice", "bob", [])
    assert [(one.text, one.date, one.metadata) for one in alice.statements] == [
        ("Lives in Lyon", "2024-03-11T01:30:00.123456-07:00", {"source": "chat", "mem0_id": "e1"}),
        (
            "Allergic to nuts",
            "2024-03-12T01:30:00-07:00",
            {"mem0_id": "e2", "mem0_categories": ["health"]},
        ),
    ]


def test_archives_of_accounts(tmp_path: Path, imports: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.write(imports / "chatgpt.json", "conversations.json")
    [bread, _, rest] = read_conversations(tmp_path / "export.zip")
    assert len(bread.messages) == 5
    assert list(map(str, rest.left_out)) == ["user.json: no chat that is known"]
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(
        InvalidInputError, match=r"holds no chat that is known, but `a.txt` in `.*other.zip`"
    ):
        read_conversations(tmp_path / "other.zip")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(InvalidInputError, match="damaged or encrypted"):
        read_conversations(tmp_path / "broken.zip")


def test_standard_input(imports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO((imports / "chat.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    [talk] = read_conversations("-")
    assert (talk.name, len(talk.messages)) == ("standard input", 2)


def test_the_format_can_be_said(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_text("remark,sender\nhello,Alice\n", encoding="utf-8")
    unknown = "line 1 is not understood: `remark,sender`"
    with pytest.raises(InvalidInputError, match=unknown) as bad:
        read_conversations(file)
    assert "a column `content`" in str(bad.value.hint)
    with pytest.raises(InvalidInputError, match="no column with the text") as caught:
        read_conversations(file, "csv")
    assert (caught.value.path, caught.value.line) == (str(file), 1)
    with pytest.raises(InvalidInputError, match="format is unknown: `cvs`") as caught:
        read_conversations(file, "cvs")
    assert caught.value.hint == "did you mean `csv`?"
    file.write_text("once upon a time\nthere was a fox\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="line 1 begins no message"):
        read_conversations(file, "text")


@pytest.mark.parametrize("name", FORMATS)
def test_any_format_refuses_what_is_not_its_own(tmp_path: Path, name: str) -> None:
    refused = set()
    for text in ("[]", "{}", "[1]", "x", "[{}, 5]", '{"mapping": 3}', "\x00", "[[]]"):
        (tmp_path / "a").write_text(text, encoding="utf-8")
        try:
            talks = read_conversations(tmp_path / "a", name)
        except InvalidInputError:
            refused.add(text)
            continue
        assert not any(talk.messages or talk.statements for talk in talks), (text, talks)
    # Any text may be a page of iMessage; for other formats, a text that is neither JSON nor a
    # transcript is refused.
    assert refused >= (set() if name == "imessage" else {"x", "\x00"})


@pytest.mark.parametrize(
    ("text", "error", "line"),
    [
        ('[{"role": "user", "content": "a"', "line 1: not valid JSON", 1),
        ('{"role": "user", "content": ""}\n{"role": "us', "line 2: not valid JSON", 2),
        ("role,content\nuser,a,b\n", "the row has 3 cells, the head 2", 2),
        ('role,content\nuser,"open\n', "not a row of a table: ", 2),
        ("[" * 100_000, "nested too deeply", 1),
        ('{"messages": [' + "9" * 5_000 + "]}", "thousands of digits", 1),
        ('[{"mapping": {"a": {"message": {"create_time": 1e300, "content": {"parts": ["x"]}}}}}]',
         "`create_time` is not a date", 1),
    ],
)  # fmt: skip
def test_errors_name_file_and_line(tmp_path: Path, text: str, error: str, line: int) -> None:
    (tmp_path / "a").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        read_conversations(tmp_path / "a")
    assert error in caught.value.message
    assert f"`{tmp_path / 'a'}`" in caught.value.message
    assert f"line {line}" in caught.value.message
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "a"), line)


TURNS = [{"role": "user", "content": str(number)} for number in range(6)]
CHAT = {"uuid": "c", "chat_messages": [{"sender": "human", "text": "x"}]}


@pytest.mark.parametrize(
    ("text", "count", "left"),
    [
        (["{0}", '{{"role": "us', "{1}", "nonsense", "{2}"], 3, [2, 4]),
        (['{{"role": "us', "{0}", "{1}"], 2, [1]),
        (["{0}", "{1}", "", "{2}", '{{"role"'], 3, [5]),
        (["[{0},", "{1}", " {2}]"], 2, [3]),
        (["[{0},", "{1},", '{{"role": "us'], 2, [3]),
        (["role,content", 'user,"a" b', "user,x", "user,a,b", "user,y,,", 'user,"z'], 2, [2, 4, 6]),
        (["[{chat},", "{chat},", '{{"uuid": '], 2, [3]),
    ],
)
def test_what_is_broken_stops_no_other(
    memory: MemorySystem, tmp_path: Path, text: list[str], count: int, left: list[int]
) -> None:
    lines = [line.format(*map(json.dumps, TURNS), chat=json.dumps(CHAT)) for line in text]
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    report = memory.import_(tmp_path / "a", "ann")
    assert report.messages + report.known == count
    assert [int(one.partition(":")[0].removeprefix("line ")) for one in report.left_out] == left
    again = memory.import_(tmp_path / "a", "ann")
    assert (again.messages, again.left_out) == (0, report.left_out)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("role,content\nuser,ok\nuser,Grüße\n".encode("latin-1"))
    with pytest.raises(InvalidInputError, match="line 3 is not UTF-8 text in `") as caught:
        read_conversations(tmp_path / "a.csv")
    assert caught.value.hint == "save the file as UTF-8"


@pytest.mark.parametrize(
    "head", [b"\x89PNG\r\n\x1a\n\0\0", b"\xff\xd8\xff\xe0\0\x10JFIF", b"\xff\x01"]
)
def test_a_picture_is_no_text(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(head + b"\xff\xfe12")
    with pytest.raises(InvalidInputError, match="the file is no text: `") as caught:
        read_conversations(tmp_path / "a.txt")
    assert caught.value.hint is None


def test_a_hint_is_short_and_an_empty_file_needs_none(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("", encoding="utf-8")
    (tmp_path / "b.txt").write_text("It rained all night.\n", encoding="utf-8")
    for name, most in (("a", 0), ("b", 200)):
        with pytest.raises(InvalidInputError) as caught:
            read_conversations(tmp_path / f"{name}.txt")
        assert len(caught.value.hint or "") <= most


def test_a_store_in_a_folder_is_no_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    talk = "2024-03-11 09:30 Ida: I moved to Lyon last Friday.\n2024-03-11 09:31 Tom: Good.\n"
    (tmp_path / "chat.txt").write_text(talk, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["ingest", ".", "--user", "ida"]) == 0
        told = capsys.readouterr().err
        assert told.startswith(f"{tmp_path.name}: ")
    assert "memories: a store of episodica" in told or "a store of episodica (memories)" in told
    with MemorySystem("memories") as memory:
        assert memory.stats("ida")["messages"] == 2
    assert main(["ingest", "memories", "--user", "ida"]) == 1
    assert "the folder is a store of episodica: `memories`" in capsys.readouterr().err


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(StoreIOError, match="cannot read"):
        read_conversations(tmp_path / "none")
    with pytest.raises(InvalidInputError, match="the folder holds no chat that is known"):
        read_conversations(tmp_path)


def test_long_files_come_in_parts(tmp_path: Path) -> None:
    count = PART + 7
    with (tmp_path / "a.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps({"role": "user", "content": f"text {number}"}) + "\n")
    parts = list(iter_conversations(tmp_path / "a.jsonl"))
    assert [(len(one.messages), one.first) for one in parts] == [(PART, 0), (7, PART)]
    ids = [one["message_id"] for part in parts for one in with_ids(part)]
    assert len(set(ids)) == count
    assert parts[1].place(3) == f"line {PART + 4}"


def test_a_huge_list_is_read_element_by_element(tmp_path: Path) -> None:
    """The first conversation is there before the broken end is read."""
    talk = {"id": "x", "conversations": [{"from": "human", "value": "a" * 1_000}] * 100}
    text = "[" + ",\n".join([json.dumps(talk)] * 40)
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    reading = iter_conversations(tmp_path / "a.json")
    assert len(next(reading).messages) == 100
    *_, end = reading
    [left] = end.left_out
    assert str(left) == "line 40: not valid JSON; the rest of the file is not read"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-03-11T09:30:00+01:00", "2024-03-11T09:30:00+01:00"),
        ("2024-03-11 09:30", "2024-03-11T09:30:00+00:00"),
        ("2024年3月11日 9:30", "2024-03-11T09:30:00+00:00"),
        ("11.03.24, 09:30:12", "2024-03-11T09:30:12+00:00"),
        ("11/03/2024, 09:30", "2024-03-11T09:30:00+00:00"),
        ("11 March 2024 at 9:30 pm", "2024-03-11T21:30:00+00:00"),
        ("Mar 11, 2024, 12:05 a.m.", "2024-03-11T00:05:00+00:00"),
        ("2024-03-11T09:30:00.25Z", "2024-03-11T09:30:00.250000+00:00"),
        ("Mon Mar 11 2024 09:30:00 GMT+0100 (Central European Standard Time)",
         "2024-03-11T09:30:00+01:00"),
        ("2024-03-11 09:30 UTC+2", "2024-03-11T09:30:00+02:00"),
        ("2024-03-11 09:30:00-0330", "2024-03-11T09:30:00-03:30"),
        ("11-Mar-2024 09:30", "2024-03-11T09:30:00+00:00"),
        ("2024-03-11 09:30 CET", None),
        ("31.02.2024", None),
        ("13:30 pm on Monday", None),
        ("11/03/2024 13:00 PM", None),
        ("2024-03-111", None),
        ("hello", None),
    ],
)  # fmt: skip
def test_dates_as_people_write_them(text: str, moment: str | None) -> None:
    read = dates.parse(text)
    assert (read.isoformat() if read else None) == moment


def test_a_zone_that_several_countries_name_alike_is_said(
    memory: MemorySystem, tmp_path: Path
) -> None:
    said = {"role": "user", "content": "x", "date": "2024-03-11 09:30 IST"}
    for name, text in (
        ("a.csv", "role,content,date\nuser,x,2024-03-11 09:30 IST\n"),
        ("a.jsonl", json.dumps(said)),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        report = memory.import_(tmp_path / name, name)
        [stored] = memory.messages(name)
        assert stored.timestamp.isoformat() == "2024-03-11T09:30:00+00:00"
        assert any("the zone `IST` is not known; read as UTC" in note for note in report.notes)


def test_day_and_month_in_the_order_of_the_file() -> None:
    assert dates.order_of(["03/04/2024", "13/04/2024"]).day_first
    assert not dates.order_of(["03/04/2024", "03/14/2024"]).day_first
    assert dates.order_of(["01/04/2024", "02/04/2024", "01/05/2024"]).day_first
    assert not dates.order_of(["04/30/24", "05/01/24"]).day_first
    assert not dates.order_of(["04/05/24, 9:30 PM"]).day_first
    assert dates.order_of(["04/05/24, 21:30"]).day_first
    assert dates.parse("04/05/24", day_first=False) == datetime.fromisoformat("2024-04-05T00:00Z")
