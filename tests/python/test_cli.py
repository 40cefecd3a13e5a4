"""The command line, each command in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from episodica.cli.output import columns, cut, printable, wrap

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

TALK = [
    {
        "role": "user",
        "name": "Alice",
        "content": "I moved to Lyon last Friday.",
        "timestamp": "2024-03-11T09:30:00+01:00",
    },
    {
        "role": "assistant",
        "content": "How do you like it there?",
        "timestamp": "2024-03-11T09:30:20+01:00",
    },
]


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(TALK), encoding="utf-8")
    return file


@pytest.fixture
def filled(cli: Cli, chat: Path) -> Cli:
    """The command line with Alice's talk in the default store."""
    done = cli("ingest", chat, "--user", "alice")
    assert done.returncode == 0, done.stderr
    return cli


def data_of(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_demo(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo")
    assert (
        done.returncode,
        done.stdout.count("demo-1: 208 messages of Mira and Oskar in 13 sessions"),
    ) == (0, 1)
    parts = ("Questions (6)", "Worth knowing (10 of ", "Said later (1 of ", "Episodes (")
    places = [done.stdout.index(part) for part in parts]
    assert places == sorted(places)
    assert "I'll live in Bonfim" in done.stdout
    assert re.search(
        r"6 of 6 answers proved by a message among the first 10 hits; median search \d+\.\d\d ms",
        done.stdout,
    )
    assert "the store was temporary" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_demo_answers_questions_of_ones_own(cli: Cli, root: Path) -> None:
    done = cli("demo", "--ask", "Who is Mira's boss?", "--ask", "zxqv")
    assert done.returncode == 0, done.stderr
    assert "My boss, Teresa, smokes on the roof" in done.stdout
    assert "Worth knowing" not in done.stdout
    assert len(re.findall(r"\(\d+ tokens of at most 200\)\n", done.stderr)) == 2
    assert "\n\nzxqv\n" in done.stdout
    assert not done.stdout.startswith("\n")
    file = root / "tests/fixtures/conversations/chinese_chat.json"
    [shown] = data_of(cli("demo", file, "--ask", "她住在哪里？", "--json"))
    assert [one["question"] for one in shown["contexts"]] == ["她住在哪里？"]


def test_demo_as_json_in_a_store_that_stays(cli: Cli, tmp_path: Path) -> None:
    [first] = data_of(cli("demo", "--json", "--store", "kept"))
    assert (first["messages_added"], len(first["questions"])) == (208, 6)
    [again] = data_of(cli("demo", "--json", "--store", "kept"))
    assert (again["messages_added"], again["duplicates"]) == (0, 208)
    assert (
        data_of(cli("--store", tmp_path / "kept", "stats", "demo-1", "--json"))["messages"] == 208
    )


def test_demo_of_a_file(cli: Cli, root: Path) -> None:
    done = cli("demo", root / "tests/fixtures/conversations/chinese_chat.json")
    assert done.returncode == 0, done.stderr
    assert "Questions (3)" in done.stdout


def test_demo_of_a_file_masks_secrets_as_ingest_does(cli: Cli, tmp_path: Path) -> None:
    said = "2024-03-11 09:30 Ida: The new password for the wifi is tulip42x.\n"
    (tmp_path / "chat.txt").write_text(said + "2024-03-11 09:31 Tom: Thanks.\n", encoding="utf-8")
    done = cli("demo", "chat.txt")
    assert "chat.txt: 2 messages of Ida and Tom in 1 session\n" in done.stdout
    asked = cli("demo", "chat.txt", "--ask", "What is the password for the wifi?")
    assert "[secret: password]" in asked.stdout
    assert "tulip42x" not in done.stdout + asked.stdout
    ingested = cli("ingest", "chat.txt", "--user", "ida")
    assert "1 secret masked (`--secrets keep` keeps them)" in ingested.stderr
    assert "note: secrets are masked in line 1\n" in ingested.stderr


def test_demo_stays_out_of_the_store_of_the_environment(cli: Cli, tmp_path: Path) -> None:
    assert cli("demo", env={"EPISODICA_STORE": str(tmp_path / "mine")}).returncode == 0
    assert not (tmp_path / "mine").exists()


def test_ingest_tells_the_cost_before(cli: Cli, chat: Path, tmp_path: Path) -> None:
    dry = ("ingest", chat, "--user", "alice", "--store", "s", "--dry-run")
    told = data_of(cli(*dry, "--price", "2.0", "8.0", "--json"))
    assert (told["messages"], told["calls"]) == (2, 1)
    assert told["prompt_tokens"] > 1_024
    assert told["cost"] == (2 * told["prompt_tokens"] + 8 * told["completion_tokens"]) / 1_000_000
    assert "2 messages, 1 calls, " in cli(*dry).stdout
    assert not (tmp_path / "s").exists(), "nothing is added"


def test_ingest(cli: Cli, chat: Path, tmp_path: Path) -> None:
    done = cli("ingest", chat, "--user", "alice", "--store", "s")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head.split() == [
        "user",
        "messages",
        "added",
        "duplicates",
        "buffered",
        "episodes",
        "facts",
        "seconds",
    ]
    assert row.split()[:4] == ["alice", "2", "0", "0"]
    assert done.stderr == "chat.json: 2 messages added for alice\n"
    again = cli("ingest", chat, "--user", "alice", "--store", "s")
    assert again.stderr == "chat.json: 0 messages added for alice, 2 known already\n"
    assert again.stdout.splitlines()[1].split()[:6] == ["alice", "0", "2", "0", "0", "0"]
    [again] = data_of(
        cli(
            "ingest",
            chat,
            "--user",
            "alice",
            "--json",
            env={"EPISODICA_STORE": str(tmp_path / "s")},
        )
    )
    assert (again["messages_added"], again["duplicates"]) == (0, 2)
    [left_open] = data_of(cli("ingest", chat, "--user", "bob", "--json", "--no-flush"))
    assert (left_open["buffered"], left_open["episodes"]) == (2, 0)


def test_search(filled: Cli) -> None:
    done = filled("search", "alice", "where", "does", "she", "live,", "Lyon?", "--kind", "message")
    assert "I moved to Lyon last Friday." in done.stdout
    assert done.stderr.endswith("hits\n")
    data = data_of(filled("search", "alice", "Lyon", "--json", "-k", "1", "--explain"))
    assert data["query"] == "Lyon"
    assert {hit["kind"] for hit in data["hits"]} == {"message"}
    assert data_of(filled("search", "Lyon", "--json")) == data_of(
        filled("search", "--user", "alice", "Lyon", "--json")
    )
    assert (
        data_of(
            filled(
                "search", "alice", "Lyon", "--kind", "message", "--json", "--since", "2025-01-01"
            )
        )["hits"]
        == []
    )


def test_context(filled: Cli) -> None:
    done = filled("context", "alice", "Lyon", "--max-tokens", "100")
    assert "I moved to Lyon last Friday [8 March 2024]." in done.stdout
    assert re.fullmatch(r"\d+ tokens, \d messages\n", done.stderr)
    assert data_of(filled("context", "alice", "Lyon", "--json"))["token_count"] > 0
    done = filled("context", "alice", "hello")
    assert "probably not in this memory (relevance 0.00)\n" in done.stderr
    told = data_of(filled("context", "alice", "hello", "--json"))
    assert (told["found"], told["relevance"]) == (False, 0.0)


def test_listings(filled: Cli) -> None:
    [episode] = data_of(filled("episodes", "alice", "--json"))
    assert episode["message_count"] == 2
    assert episode["title"] in filled("episodes").stdout
    facts = data_of(filled("facts", "alice", "--json", "--limit", "1"))
    assert facts[0]["content"] in filled("facts", "--user", "alice").stdout
    assert data_of(filled("episodes", "alice", "--json", "--until", "2020-01-01")) == []


def test_stats_verify_doctor(filled: Cli) -> None:
    assert data_of(filled("stats", "--user", "alice", "--json"))["messages"] == 2
    assert data_of(filled("stats", "--json"))["users"] == 1
    assert re.search(r"^messages +2$", filled("stats", "alice").stdout, re.MULTILINE)
    assert data_of(filled("verify", "--json"))["errors"] == 0
    assert filled("verify", "alice").stdout.endswith(" 0 errors\n")
    done = filled("doctor", env={"OPENAI_API_KEY": "sk-secret"})
    assert done.returncode == 0, done.stderr
    assert "python" in done.stdout
    assert "sk-secret" not in done.stdout + done.stderr
    assert "OPENAI_API_KEY" in done.stdout
    found = data_of(filled("doctor", "--json"))
    assert found["healthy"] is True
    assert found["problems"] == []
    assert found["numpy"] == np.__version__
    assert found["keys"] == []
    assert {*found["extras"], *found["extras_missing"]} >= {"plot", "pandas", "server", "mcp"}
    assert found["instructions"] in {"AVX-512", "AVX2", "SSE4.2", "NEON", "baseline"}
    assert found["directory"]["free_bytes"] > 0


def test_doctor_finds_what_is_wrong(cli: Cli) -> None:
    done = cli("doctor", env={"EPISODICA_TRACEE": "1"})
    assert (done.returncode, done.stderr) == (
        1,
        "error: unknown environment variable: `EPISODICA_TRACEE`\nhint: did you mean "
        "`EPISODICA_TRACE`?\n",
    )


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        (["search", "alice", "x", "--store", "none"], "error: ", None),
        (
            ["ingest", "none.json", "--user", "u"],
            "error: cannot read `none.json`\ncaused by: ",
            None,
        ),
        (
            ["ingest", "chat.json"],
            "error: the file names no user: `chat.json`",
            "hint: name the user with `--user`",
        ),
        (
            ["context", "alice", "x", "--max-tokens", "-1"],
            "error: --max-tokens must be at least 1: `-1`",
            None,
        ),
        (
            ["search", "alice", "x", "-k", "0"],
            "error: --top-k must be between 1 and 1000: `0`",
            None,
        ),
        (
            ["search", "alice", " "],
            "error: query is empty",
            "hint: ask for something, or list records with `episodica episodes USER`",
        ),
        (["search", "alise", "x"], "error: no such user: `alise`", "hint: did you mean `alice`?"),
        (["facts", "bob"], "error: no such user: `bob`", "hint: the store has `alice`"),
        (["stats", "bob"], "error: no such user: `bob`", "hint: the store has `alice`"),
        (["delete", "bob", "--yes"], "error: no such user: `bob`", None),
        (["delete", "alice"], "error: deleting has to be confirmed", "hint: pass `--yes`"),
        (["facts", "alice", "--limit", "-1"], "error: --limit must be at least 0", None),
        (
            ["search", "alice", "x", "--since", "soon"],
            "error: --since is not an ISO 8601 date: `soon`",
            None,
        ),
        (
            ["search", "alice", "x", "--since", "2025-01-01", "--until", "2024-01-01"],
            "error: --since is later than --until:",
            None,
        ),
        (
            ["search", "alice", "x", "--where", "channel"],
            "error: --where is not like KEY=VALUE: `channel`",
            "hint: write `--where channel=sms`",
        ),
        (["search", "alice", "x", "--where", "{oops"], "error: --where is not a JSON", None),
        (["history", "alice", "none"], "error: no record of this user has the id: `none`", None),
        (["users", "--store", "none"], "error: there is no store: `none`", "--store"),
        (["rebuild", "--store", "none"], "error: there is no store: `none`", "--store"),
        (["remember", "alice", " "], "error: statement is empty", None),
        (["remember", "alice", "x", "--metadata", "[1"], "error: --metadata is not JSON", None),
        (["plot", "scores", "alice"], "error: the chart of scores needs a query", "--query"),
        (["export", "alice", "no/such/a.jsonl"], "error: cannot write `", None),
        (["backup", "."], "error: the directory for the backup is not empty", None),
        (
            ["ingest", "bad.jsonl", "--user", "u"],
            "error: line 1 of `bad.jsonl`: `role` must be a str, not `int`",
            None,
        ),
    ],
)
def test_errors(filled: Cli, tmp_path: Path, args: list[str], error: str, hint: str | None) -> None:
    bad = '{"role": 5, "content": "a"}\n{"role": "user", "content": ""}\n'
    (tmp_path / "bad.jsonl").write_text(bad, encoding="utf-8")
    done = filled(*args)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(error)
    assert hint is None or hint in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "args", ["serch", "search", "search a b --kind x", "search a b -k x", "ingest"]
)
def test_wrong_arguments(cli: Cli, args: str) -> None:
    done = cli(*args.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: episodica")


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        ("serch alice x", "unknown command: `serch`", "did you mean `search`?"),
        ("xyzzy", "unknown command: `xyzzy`", "`episodica --help` lists the commands"),
        ("search a b --topk 3", "unknown arguments: `--topk 3`", "did you mean `--top-k`?"),
        ("search a b --kind massage", "invalid choice", "did you mean `message`?"),
        ("completion bush", "not one of `bash`", "did you mean `bash`?"),
        ("export ab --file x", "unknown arguments: `--file x`", "`episodica export --help` "),
        ("plot", "required: chart", "`episodica plot --help` shows the arguments"),
        ("plot ab", "not one of `timeline`", "comes first: `episodica plot timeline ab`"),
        ("plot x.png ab", "not one of `timeline`", "comes first: `episodica plot timeline "),
        ("plot map ab x.png", "unknown arguments: `x.png`", "name a file with `-o`: `-o x.png`"),
        ("export ab -o", "expected one argument", "`episodica export --help` shows"),
    ],
)
def test_mistyped_words_get_a_suggestion(cli: Cli, args: str, error: str, hint: str) -> None:
    done = cli(*args.split())
    assert (done.returncode, done.stdout) == (2, "")
    *_, told, last = done.stderr.splitlines()
    assert error in told
    assert last.startswith("hint: ")
    assert hint in last


def test_without_arguments_there_is_help(cli: Cli) -> None:
    done = cli()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == cli("--help").stdout
    assert "examples:" in done.stdout


def test_help_and_version(cli: Cli) -> None:
    assert "examples:" in cli("--help").stdout
    assert re.fullmatch(r"episodica \d+\.\d+\.\d+\n", cli("--version").stdout)


def test_which_user(filled: Cli, chat: Path) -> None:
    assert filled("ingest", chat, "--user", "bob").returncode == 0
    done = filled("search", "Lyon")
    assert (done.returncode, done.stderr) == (
        1,
        "error: which user?\nhint: the store has `alice`, `bob`\n",
    )


def test_a_reader_that_has_seen_enough(filled: Cli) -> None:
    command = (
        f'"{sys.executable}" -m episodica episodes alice --json | true; exit ${{PIPESTATUS[0]}}'
    )
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def on_terminal(args: list[str], env: dict[str, str], size: tuple[int, int] = (24, 60)) -> str:
    """The output of a command on a terminal of that size."""
    master, slave = pty.openpty()
    rows, cols = size
    environment = {
        **os.environ,
        "TERM": "xterm",
        "LINES": str(rows),
        "COLUMNS": str(cols),
        "PYTHONIOENCODING": "utf-8",
        **env,
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "episodica", *args],
        stdout=slave,
        stderr=slave,
        stdin=slave,
        env=environment,
    )
    os.close(slave)
    seen, deadline = b"", time.monotonic() + 60
    while time.monotonic() < deadline and select.select([master], [], [], 60)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    child.wait(60)
    os.close(master)
    return seen.decode()


def test_tables_fit_the_terminal_and_colour_can_be_refused(root: Path) -> None:
    sample = str(root / "python/episodica/data/sample_conversation.json")
    seen = on_terminal(["ingest", sample], {})
    assert "[####" in seen
    plain = on_terminal(["episodes", "demo-1"], {"NO_COLOR": "1"})
    assert "\x1b" not in plain
    lines = plain.splitlines()
    assert len(lines) > 5
    assert max(columns(line) for line in lines) <= 60
    coloured = on_terminal(["episodes", "demo-1"], {})
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain != coloured


def test_stored_texts_cannot_steer_the_terminal(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "evil.json").write_text(
        json.dumps([{"role": "user", "content": "red \x1b[31m alert \x07\nLyon"}]), encoding="utf-8"
    )
    assert cli("ingest", "evil.json", "--user", "eve").returncode == 0
    done = cli("search", "eve", "Lyon", "--kind", "message")
    assert "\x1b" not in done.stdout
    assert "red \\x1b[31m alert \\x07 Lyon" in done.stdout
    assert (
        data_of(cli("search", "eve", "Lyon", "--kind", "message", "--json"))["hits"][0]["content"]
        == "red \x1b[31m alert \x07\nLyon"
    )


def test_a_terminal_without_utf8(filled: Cli, tmp_path: Path) -> None:
    (tmp_path / "zh.json").write_text(
        json.dumps([{"role": "user", "content": "林晓禾 moved to Lyon"}]), encoding="utf-8"
    )
    env = {"PYTHONIOENCODING": "ascii"}
    assert filled("ingest", "zh.json", "--user", "zh", env=env).returncode == 0
    assert "\\u6797" in filled("search", "zh", "Lyon", "--kind", "message", env=env).stdout
    assert (
        "林晓禾"
        in data_of(filled("search", "zh", "Lyon", "--kind", "message", "--json", env=env))["hits"][
            0
        ]["content"]
    )


def test_text_is_measured_in_columns() -> None:
    assert (columns("abc"), columns("林晓"), columns("e\u0301"), columns("👍")) == (3, 4, 1, 2)
    assert cut("林晓禾搬家", 6) == "林晓…"
    assert cut("abc", 3) == "abc"
    assert wrap("one two three four", 9, 5) == ["one two", "three", "four"]
    assert wrap("one two three four", 9, 1) == ["one two…"]
    assert (
        wrap("林晓禾搬家", 4, 3) == ["林", "晓", "禾…"] or columns(wrap("林晓禾搬家", 4, 3)[0]) <= 4
    )
    assert printable("a\tb\n c") == "a b c"
