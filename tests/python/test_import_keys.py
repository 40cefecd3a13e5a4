"""Files whose keys are in the words of another language."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.cli import main

SAID = [
    ("小林", "我住在苏州。", "2024-03-11T09:30:00+08:00"),
    ("小周", "我住在无锡。", "2024-03-11T09:31:00+08:00"),
]
NAMES = {
    "zh": ("发送者", "内容", "时间"),
    "de": ("Absender", "Nachricht", "Zeitpunkt"),
    "es": ("remitente", "mensaje", "fecha"),
}


def rows(names: tuple[str, str, str]) -> list[dict[str, str]]:
    return [dict(zip(names, one, strict=True)) for one in SAID]


def forms(names: tuple[str, str, str]) -> dict[str, str]:
    """The same chat as a list, under a key, a message a line, and a table."""
    held = rows(names)
    lines = [",".join(names), *(",".join(one) for one in SAID)]
    return {
        "list.json": json.dumps(held, ensure_ascii=False),
        "inner.json": json.dumps({"标题": "家", "消息": held}, ensure_ascii=False),
        "lines.jsonl": "\n".join(json.dumps(one) for one in held),
        "table.csv": "\n".join(lines),
    }


def mapping(names: tuple[str, str, str]) -> dict[str, str]:
    return {
        **dict(zip(("speaker", "content", "timestamp"), names, strict=True)),
        "messages": "消息",
    }


@pytest.mark.parametrize("language", NAMES)
@pytest.mark.parametrize("form", ["list.json", "inner.json", "lines.jsonl", "table.csv"])
def test_keys_that_are_not_known_are_named_and_can_be_told(
    memory: MemorySystem, tmp_path: Path, language: str, form: str
) -> None:
    names = NAMES[language]
    path = tmp_path / form
    path.write_text(forms(names)[form], encoding="utf-8")
    with pytest.raises(InvalidInputError) as refused:
        memory.import_(path, "al")
    for name in names:
        assert name in refused.value.message
    assert "--keys content=KEY" in str(refused.value.hint)
    assert not memory.users()
    report = memory.import_(path, "al", keys=mapping(names))
    assert (report.messages, report.left_out) == (2, ())
    found = [(one.name, one.content, one.timestamp.isoformat()) for one in memory.messages("al")]
    assert found == SAID
    assert memory.import_(path, "al", keys=mapping(names)).known == 2


def test_the_command_line_takes_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(rows(NAMES["zh"])), encoding="utf-8")
    store = ["--store", str(tmp_path / "store")]
    base = [*store, "ingest", str(path), "--user", "al"]
    assert main(base) != 0
    assert "`发送者`, `内容`, `时间`" in capsys.readouterr().err
    assert main([*base, "--keys", "content=内容, speaker=发送者,timestamp=时间"]) == 0
    assert "2 messages added for al" in capsys.readouterr().err
    for wrong, told in (("内容", "write pairs"), ("mood=内容", "no part of a message: `mood`")):
        with pytest.raises(SystemExit):
            main([*base, "--keys", wrong])
        assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "keys",
    [
        {"mood": "内容"},
        {"content": ""},
        {"content": 3},
        {"content": "内容", "speaker": "内容"},
        [("content", "内容")],
        {1: "内容"},
    ],
)
def test_keys_that_tell_nothing_are_refused(
    memory: MemorySystem, tmp_path: Path, keys: Any
) -> None:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(rows(NAMES["zh"])), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="keys"):
        memory.import_(path, "al", keys=keys)


def test_a_copy_without_the_first_messages_adds_nothing(
    memory: MemorySystem, tmp_path: Path
) -> None:
    said = [
        {"id": number, "speaker": name, "content": f"Message {number}.", "date": f"2024-03-{day}"}
        for number, name, day in [(1, "Ann", 11), (2, "Ben", 11), (3, "Ann", 12), (4, "Ben", 12)]
    ]
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(said), encoding="utf-8")
    assert memory.import_(path, "al").messages == 4
    for begun in (1, 2, 3):
        path.write_text(json.dumps(said[begun:]), encoding="utf-8")
        report = memory.import_(path, "al")
        assert (report.messages, report.known) == (0, 4 - begun), begun
    # Another chat that numbers its messages and has the same days adds its own.
    other = [{**one, "content": f"Other {one['id']}."} for one in said]
    path.write_text(json.dumps(other), encoding="utf-8")
    assert memory.import_(path, "al").messages == 4


@pytest.mark.parametrize(
    "around",
    [
        '{"data": {"messages": %s}}',
        '{"data": %s}',
        '{"status": 200, "result": {"messages": %s, "cursor": null}}',
        '{"payload": {"chat": {"messages": %s}}}',
    ],
)
@pytest.mark.parametrize("keys", [None, {"content": "text", "speaker": "sender"}])
def test_messages_are_found_inside_the_answer_of_a_service(
    memory: MemorySystem, tmp_path: Path, around: str, keys: dict[str, str] | None
) -> None:
    said = [
        {"sender": "Nina", "text": "I live in Kiel.", "createdAt": 1718445600000},
        {"sender": "Tom", "text": None, "createdAt": 1718445660000},
        {"sender": "Tom", "text": "Nice.", "createdAt": 1718445720000},
    ]
    path = tmp_path / "answer.json"
    path.write_text(around % json.dumps(said), encoding="utf-8")
    report = memory.import_(path, "u", keys=keys)
    assert [(one.name, one.content) for one in memory.messages("u")] == [
        ("Nina", "I live in Kiel."),
        ("Tom", "Nice."),
    ]
    assert report.skipped == 1


@pytest.mark.parametrize(
    "text", ['{"data": {"rows": [{"a": 1}]}}', '{"data": {"messages": [{"a": 1}]}}', '{"data": {}}']
)
def test_answers_without_messages_are_refused(
    memory: MemorySystem, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "answer.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError):
        memory.import_(path, "u")
