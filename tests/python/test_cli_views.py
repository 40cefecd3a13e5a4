"""``timeline``, ``explain``, ``completion``, colours, and tables on narrow terminals."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from episodica import MissingExtraError
from episodica import cli as command
from episodica.cli.arguments import CommandLine
from episodica.cli.completion import SHELLS
from episodica.cli.output import Output, columns

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

TALK = [
    ("2024-03-11T09:30:00+01:00", "s1", "I moved to Lyon last Friday. My dog is called Pickle."),
    (
        "2024-03-14T10:00:00+01:00",
        "s2",
        "I work at a bakery now \x1b[31m 林晓禾 👩‍👩‍👧 שלום " + "and so on " * 50,
    ),
    ("2025-06-01T10:00:00+02:00", "s3", "I moved to Porto."),
]


@pytest.fixture
def filled(cli: Cli, tmp_path: Path) -> Cli:
    messages = [
        {"role": "user", "name": "Alice", "content": text, "timestamp": when, "session_id": session}
        for when, session, text in TALK
    ]
    (tmp_path / "chat.json").write_text(json.dumps(messages), encoding="utf-8")
    assert command.main(["ingest", "chat.json", "--user", "alice"]) == 0
    return cli


class Terminal(io.StringIO):
    """A terminal with a number of columns."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What a command writes to a terminal."""

    def run(width: int, *args: str) -> list[str]:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setenv("COLUMNS", str(width))
        assert command.main(args) == 0
        return terminal.getvalue().splitlines()

    return run


def test_timeline(filled: Cli) -> None:
    done = filled("timeline", "alice")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert sum("●" in line for line in lines) == 3
    assert sum(line.strip() == "⋮" for line in lines) == 2
    assert "the session ended" in done.stdout
    assert "\x1b" not in done.stdout
    assert re.fullmatch(r"3 episodes, \d+ facts\n", done.stderr)
    assert len(filled("timeline", "alice", "--limit", "1").stdout.split("●")) == 2


def test_timeline_as_json(filled: Cli) -> None:
    data = json.loads(filled("timeline", "alice", "--json").stdout)
    assert len(data) == 3
    assert all({"episode_id", "boundary_reason", "facts"} <= set(one) for one in data)


def test_timeline_says_what_ended(filled: Cli) -> None:
    data = json.loads(filled("timeline", "alice", "--json").stdout)
    ended = [fact for one in data for fact in one["facts"] if fact["valid_to"]]
    shown = filled("timeline", "alice", "--color", "always").stdout
    assert shown.count("\x1b[9m") == len(ended)
    assert len(re.findall(r" \(\d{4}-\d\d-\d\d – \d{4}-\d\d-\d\d\)", shown)) == len(ended)


def test_timeline_without_unicode(filled: Cli) -> None:
    done = filled("timeline", "alice", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert " * " in done.stdout


def test_timeline_of_nobody_and_of_wrong_numbers(filled: Cli) -> None:
    done = filled("timeline", "nobody")
    told = "error: no such user: `nobody`\nhint: the store has `alice`\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)
    done = filled("timeline", "alice", "--until", "1999-01-01")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "0 episodes, 0 facts\n")
    assert (
        filled("timeline", "alice", "--facts", "-1").stderr
        == "error: --facts must be at least 0: `-1`\n"
    )


def test_explain(filled: Cli) -> None:
    done = filled("explain", "alice", "Where", "does", "she", "live?")
    assert done.returncode == 0
    assert "statement" in done.stdout
    assert "█" in done.stdout
    assert done.stderr.startswith("read as ")
    data = json.loads(
        filled("explain", "alice", "Lyon", "--json", "--kind", "message", "-k", "1").stdout
    )
    assert data["hits"][0]["explanation"]["children"]


@pytest.mark.parametrize("width", [40, 60, 100, 140])
@pytest.mark.parametrize(
    "args",
    [
        "timeline alice",
        "explain alice Lyon",
        "search alice Lyon",
        "episodes alice",
        "facts alice --all",
        "stats",
    ],
)
def test_everything_fits_the_terminal(
    filled: Cli, screen: Callable[..., list[str]], args: str, width: int
) -> None:
    lines = screen(width, *args.split(), "--color", "never")
    assert lines
    assert max(columns(line) for line in lines) <= width


def test_narrow_tables_keep_numbers_and_cut_words(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    Output(False, "never").table(
        ("name", "count", "text"),
        [("a very long name " * 4, "123,456", "words " * 20), ("b", "7", "x")],
    )
    head, first, second = terminal.getvalue().splitlines()
    assert max(map(columns, (head, first, second))) <= 40
    assert "123,456" in first
    assert first.count("…") == 2
    assert "      7  x" in second


def test_colour(
    filled: Cli, screen: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def coloured(*args: str) -> bool:
        return "\x1b" in "".join(screen(80, "timeline", "alice", *args))

    assert coloured()
    assert not coloured("--color", "never")
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured()
    assert coloured("--color", "always")
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not coloured()
    assert "\x1b" in filled("--color", "always", "timeline", "alice").stdout
    assert filled("search", "alice", " ", "--color", "always").stderr.startswith(
        "\x1b[31merror:\x1b[0m query is empty\nhint: "
    )


def test_completion_knows_every_command_and_option(cli: Cli) -> None:
    for shell in SHELLS:
        text = cli("completion", shell).stdout
        for word in (
            "timeline",
            "explain",
            "ingest",
            "completion",
            "newest",
            "no-flush",
            "norlift",
        ):
            assert word in text, (shell, word)
    assert cli("completion", "tcsh").returncode == 2


def test_completion_names_the_extra_that_it_needs(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(MissingExtraError) as caught:
        CommandLine().completion("bash")
    assert caught.value.hint == "pip install 'episodica[completion]'"


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("episodica ti", ["timeline"]),
        ("episodica --store x sea", ["search"]),
        ("episodica search --kind se", ["semantic"]),
        ("episodica search alice --met", ["--method"]),
        ("episodica completion f", ["fish"]),
        ("episodica search --top-k 3", []),
        ("episodica --color n", ["never"]),
        ("episodica ingest my", ["my file.json"]),
        ("episodica --store fol", ["folder"]),
    ],
)
def test_bash_completes(words: str, expected: list[str], tmp_path: Path) -> None:
    (tmp_path / "my file.json").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folio.txt").touch()
    count = len(words.split()) - 1
    ask = (
        f"COMP_WORDS=({words}); COMP_CWORD={count}; _shtab_episodica; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "-c", f"{CommandLine().completion('bash')}\n{ask}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=tmp_path,
    )
    assert done.stderr == ""
    assert [line for line in done.stdout.splitlines() if line] == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_scripts(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"no {shell}")
    file = tmp_path / "completion"
    file.write_text(CommandLine().completion(shell), encoding="utf-8")
    done = subprocess.run(
        [shell, "-n", str(file)], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("episodica ti", "timeline"),
        ("episodica search --kind se", "semantic"),
        ("episodica completion z", "zsh"),
        ("episodica facts --ne", "--newest"),
    ],
)
def test_fish_completes(words: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "completion.fish"
    file.write_text(CommandLine().completion("fish"), encoding="utf-8")
    asked = ["fish", "--no-config", "-c", f"source {file}; complete -C '{words}'"]
    done = subprocess.run(
        asked, capture_output=True, text=True, timeout=30, check=False, cwd=tmp_path
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [expected]


def test_recall_prints_only_what_is_new_and_keeps_it_in_a_file(
    filled: Cli, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["recall", "alice", "where does she live?", "--state", "talk.json"]
    capsys.readouterr()
    assert command.main(asked) == 0
    assert "I moved to Porto." in capsys.readouterr().out
    assert command.main(asked) == 0
    assert "Porto" not in capsys.readouterr().out
    assert "I moved to Porto." in json.loads((tmp_path / "talk.json").read_text("utf-8"))["text"]
    (tmp_path / "talk.json").write_text("{", encoding="utf-8")
    assert command.main(asked) != 0
    assert "keeps no conversation" in capsys.readouterr().err


def test_explain_tells_what_left_a_record_out(
    filled: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert command.main(["messages", "alice", "--json", "--limit", "1"]) == 0
    shown = capsys.readouterr().out
    name = re.findall(r'"message_id": *"([^"]+)"', shown)[0]
    asked = ["explain", "alice", "Porto", "--id", name, "--session", "s3"]
    assert command.main(asked) == 0
    shown = capsys.readouterr().out
    assert "found: no" in shown
    assert "left out: session_id='s3': leaves it out" in shown
