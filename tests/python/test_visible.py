"""No stored text acts on a terminal or a page: every display shows escapes instead."""

from __future__ import annotations

import argparse
import json
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from episodica import InvalidInputError, MemorySystem
from episodica.cli.app import main
from episodica.cli.arguments import CommandLine
from episodica.errors import from_native
from episodica.visible import visible, visible_json

# In order, these would: colour the rest, write to the clipboard, clear the screen, set the title,
# do the last two by C1 controls, ring, go back, reverse the line, isolate, end the line, hide.
HOSTILE = (
    "\x1b[31mEVIL",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2J\x1b[H",
    "\x1b]0;title\x1b\\",
    "\x9b2J",
    "\x9d52;c;ZXZpbA==\x9c",
    "\x07\x08\x7f",
    "\u202eabc\u202c",
    "\u2066abc\u2069",
    "\u200eabc\u200f\u061c",
    "one\u2028two\u2029three\x85four\x0bfive\x0csix",
    "a\rb",
    "\ufff9a\ufffbb",
    "\U000e0068\U000e0069",
)
ALL = " ".join(HOSTILE)
ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
OWN_STYLE = re.compile(r"\x1b\[(0|1|2|9|31|32|33|36)m")


def test_what_acts_becomes_an_escape() -> None:
    for text in (*HOSTILE, "lone \ud800"):
        assert ACTING.search(text), ascii(text)
        assert not ACTING.search(visible(text)), ascii(text)
        assert not ACTING.search(visible(text, lines=True)), ascii(text)
    assert visible("\x1b[31m \x9b \u202e \U000e0041 \ud800") == (
        "\\x1b[31m \\x9b \\u202e \\U000e0041 \\ud800"
    )
    assert visible("a\tb\nc\r\nd\re") == "a\\tb\\nc\\r\\nd\\re"
    assert visible("a\tb\nc\r\nd\re", lines=True) == "a\tb\nc\nd\\re"


def test_what_people_write_stays() -> None:
    for text in (
        "plain",
        "Zoë, 林晓禾, שלום, می\u200cخواهم",
        "👩\u200d👩\u200d👧 ❤\ufe0f 🇫🇷",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "co\u00adop, a\u00a0b, ក\u200bខ",
        "C:\\new",
    ):
        assert visible(text) == text


def test_json_says_the_same_in_visible_characters() -> None:
    data = {"text": ALL + "\ud800", ALL: [ALL]}
    written = visible_json(json.dumps(data, ensure_ascii=False, indent=1))
    assert not ACTING.search(written)
    assert json.loads(written) == data


@pytest.fixture
def hostile(tmp_path: Path) -> MemorySystem:
    """A store whose user, speakers, sessions and messages are hostile, and files like it."""
    messages = [
        {
            "role": f"user{text}",
            "name": f"Ann{text}",
            "content": f"I live in Lyon{text} with my dog Pickle{number}.",
            "message_id": f"m{number}{text}",
            "timestamp": f"2024-03-{number + 1:02}T09:30:00+01:00",
            "session_id": f"s{number}{text}",
            "metadata": {ALL: text},
        }
        for number, text in enumerate(HOSTILE)
    ]
    (tmp_path / "chat.json").write_text(json.dumps(messages), encoding="utf-8")
    (tmp_path / f"{HOSTILE[1]}{HOSTILE[7]}.json").write_text(json.dumps(messages))
    turns = [
        {
            "speaker": f"{'Ann' if number % 2 else 'Ben'}{ALL}",
            "text": text,
            "dia_id": f"D1:{number}",
        }
        for number, text in enumerate(HOSTILE, 1)
    ]
    talk = {
        "sample_id": f"me{ALL}",
        "conversation": {
            "speaker_a": f"Ann{ALL}",
            "speaker_b": f"Ben{ALL}",
            "session_1": turns,
            "session_1_date_time": "7:12 pm on 5 March, 2024",
        },
        "qa": [{"question": f"where{ALL}?", "answer": ALL, "evidence": ["D1:1"]}],
    }
    (tmp_path / "locomo.json").write_text(json.dumps([talk]), encoding="utf-8")
    with MemorySystem(tmp_path / "memories") as memory:
        memory.add_messages(f"ann{ALL}", messages)
        memory.flush(f"ann{ALL}")
        memory.wait()
    return memory


USER = f"ann{ALL}"
COMMANDS: dict[str, list[str]] = {
    "demo": ["locomo.json"],
    "ingest": ["chat.json", "--user", f"new{ALL}"],
    "search": [USER, "where is Lyon?", "--explain"],
    "explain": [USER, "where is Lyon?"],
    "context": [USER, "where is Lyon?"],
    "episodes": [USER],
    "facts": [USER, "--all"],
    "timeline": [USER],
    "stats": [USER],
    "verify": [],
    "doctor": [],
    "completion": ["bash"],
    "remember": [USER, f"Ann likes tea{ALL}."],
    "messages": [USER],
    "history": [USER, f"m0{HOSTILE[0]}"],
    "plot": ["timeline", USER, "--output", "chart.png"],
    "export": [USER, "ann.jsonl"],
    "backup": ["copy"],
    "users": [],
    "compact": [USER],
    "rebuild": [USER],
    "delete": [USER, "--yes"],
}
SHOWS_CONTENT = {
    "episodes",
    "demo",
    "search",
    "explain",
    "context",
    "timeline",
    "messages",
    "history",
    "users",
}


def commands() -> Iterator[str]:
    for action in CommandLine().parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices


def ran(args: list[str]) -> int:
    try:
        return main(args)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize("option", ["--color=never", "--color=always", "--json"])
@pytest.mark.parametrize("name", list(commands()))
def test_every_command_writes_visible_characters(
    hostile: MemorySystem, capsys: pytest.CaptureFixture[str], name: str, option: str
) -> None:
    # A command that the table does not know is at least called with the user.
    status = ran([name, *COMMANDS.get(name, [USER]), option])
    out, err = capsys.readouterr()
    assert "\x1b[31mEVIL" not in out + err
    for stream in (out, err):
        assert not ACTING.search(OWN_STYLE.sub("", stream)), ascii(ACTING.search(stream))
    if name in COMMANDS:
        assert status == 0, err
    if name in SHOWS_CONTENT:
        escapes = ("\\u001b",) if option == "--json" else ("\\x07", "\\x1b", "\\x9b", "\\u202e")
        assert any(one in out for one in escapes)
    if option == "--json" and out and name != "completion":
        json.loads(out)


@pytest.mark.parametrize(
    "args",
    [
        ["ingest", f"{HOSTILE[1]}{HOSTILE[7]}.json"],
        ["ingest", f"missing{ALL}", "--user", "u"],
        ["search", "--store", f"nowhere{ALL}", "x"],
        ["episodes", USER, "--since", f"2024{ALL}"],
        ["facts", USER, "--since", "2025-01-01", "--until", "2024-01-01"],
    ],
)
def test_errors_and_notes_are_visible(
    hostile: MemorySystem, capsys: pytest.CaptureFixture[str], args: list[str]
) -> None:
    assert ran(args) == 1
    out, err = capsys.readouterr()
    assert err.startswith("error: ")
    assert not ACTING.search(out + err), ascii(err)


def test_errors_are_visible_and_end(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    for error in (
        InvalidInputError(ALL, hint=ALL),
        InvalidInputError("x" * 10**6, hint="y" * 10**6),
    ):
        assert not ACTING.search(str(error).replace("\n", "")), ascii(str(error))
        assert len(str(error)) < 10_000

    def failing(texts: list[str]) -> Any:
        raise RuntimeError(ALL + "x" * 10**6)

    failing.dimension = 4  # type: ignore[attr-defined]
    with caplog.at_level("DEBUG"), MemorySystem(store, embedding=failing) as memory:
        memory.add_messages("ann", [{"role": "user", "content": "hello there"}])
        health = memory.health()
    assert "EVIL" in str(health.last_failure)
    assert len(str(health.last_failure)) < 2_000
    assert "EVIL" in caplog.text
    for shown in (str(health), repr(health), health._repr_html_(), caplog.text):
        assert not ACTING.search(shown), ascii(shown)
        assert len(shown) < 20_000
    cause = from_native("io", ALL, ALL, None, None, [ALL + "x" * 10**6]).__cause__
    assert not ACTING.search(str(cause))
    assert len(str(cause)) < 10_000


def test_log_records_are_visible(store: Path, caplog: pytest.LogCaptureFixture) -> None:
    def failing(messages: object) -> str:
        raise RuntimeError(ALL)

    with (
        caplog.at_level(logging.DEBUG, logger="episodica"),
        MemorySystem(store, llm=failing) as memory,
    ):
        messages = [{"role": "user", "content": f"kite number {n} flew"} for n in range(12)]
        memory.add_messages(USER, messages)
        memory.flush(USER)
        memory.wait(USER)
    said = "\n".join(record.getMessage() for record in caplog.records)
    assert "\\x1b[31mEVIL" in said
    assert not ACTING.search(said), ascii(said)


@pytest.mark.parametrize("name", ["timeline", "map", "scores", "usage"])
def test_charts_are_visible(hostile: MemorySystem, name: str) -> None:
    with MemorySystem(hostile.path) as memory:
        draw: Callable[[], Any] = {
            "timeline": lambda: memory.plot.timeline(USER),
            "map": lambda: memory.plot.map(USER),
            "scores": lambda: memory.plot.scores(memory.search(USER, f"Lyon{ALL}")),
            "usage": memory.plot.usage,
        }[name]
        drawn = [text.get_text() for text in draw().findobj(Text)]
    assert not any(ACTING.search(text) for text in drawn)
    assert name == "usage" or any("\\x1b" in text for text in drawn)
