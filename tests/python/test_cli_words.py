"""Users, queries and files among the words of a command; output that can't be written."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from episodica import MemorySystem
from episodica.cli.app import main

SAID = {"role": "user", "name": "Alice", "content": "I moved to Lyon."}
SEVERAL = ["alice", "bob"]


@pytest.fixture(params=[["alice"], SEVERAL], ids=["one user", "two users"])
def users(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The users of the default store."""
    names: list[str] = request.param
    with MemorySystem(tmp_path / "memories") as memory:
        for name in names:
            memory.add_messages(name, [SAID])
    return names


def test_a_query_of_several_words_needs_no_quotes(
    users: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "alice", "where", "does", "she", "live"]) == 0
    assert "Lyon" in capsys.readouterr().out
    assert main(["context", "--user", "alice", "where", "does", "she", "live"]) == 0
    assert "Lyon" in capsys.readouterr().out
    status = main(["search", "where", "does", "she", "live"])
    output = capsys.readouterr()
    if users == SEVERAL:
        assert status == 1
        assert "no such user: `where`" in output.err
        assert "`alice`, `bob`" in output.err
    else:
        assert status == 0
        assert "Lyon" in output.out
    assert main(["search", "alice", "Lyon", "--limit", "1"]) == 0
    assert "1 hit\n" in capsys.readouterr().err
    assert main(["search", "alice"]) == 1
    assert "which query? `alice` is a user" in capsys.readouterr().err
    assert main(["search", "alcie", "Lyon"]) == 1
    assert "did you mean `alice`?" in capsys.readouterr().err


@pytest.mark.parametrize("query", ["where does she live", "她住在哪里？", "どこに住んでいる"])
@pytest.mark.parametrize("command", ["search", "context", "explain", "recall"])
def test_a_word_before_a_quoted_query_is_a_user(
    users: list[str], capsys: pytest.CaptureFixture[str], command: str, query: str
) -> None:
    assert main([command, "nobody", query]) == 1
    told = capsys.readouterr().err
    assert "no such user: `nobody`" in told
    assert "the store has `alice`" in told


def test_words_without_a_user_are_the_query_of_the_only_one(
    users: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["search", "nobody", "Lyon"])
    told = capsys.readouterr().err
    if users == SEVERAL:
        assert status == 1
    else:
        assert status == 0
        assert "no user is called `nobody`: all words are the query, to `alice`" in told
        assert main(["search", "where does she live"]) == 0
        assert "no user" not in capsys.readouterr().err


def test_an_export_never_takes_a_user_for_a_file(
    users: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["export", "alice"]) == 1
    output = capsys.readouterr()
    assert "which file? `alice` is a user" in output.err
    assert "`episodica export alice FILE.jsonl`" in output.err
    assert not (tmp_path / "alice").exists()
    assert main(["export", "alice", "a.jsonl"]) == 0
    assert main(["export", "--user", "alice", "b.jsonl"]) == 0
    assert Path("a.jsonl").stat().st_size > 100 < Path("b.jsonl").stat().st_size
    assert main(["export", "alice", "a.jsonl", "more"]) == 1
    assert main(["export", "carol", "c.jsonl"]) == 1
    assert "no such user: `carol`" in capsys.readouterr().err
    assert main(["export", "c.jsonl"]) == int(users == SEVERAL)
    assert Path("c.jsonl").exists() == (users != SEVERAL)


def test_an_export_may_go_to_stdout(users: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "alice", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line).get("type") for line in lines[1:]] == ["message", "end"]
    assert not Path("-").exists()
    for call in (["export", "alice", "-", "--format", "tree"], ["backup", "-"]):
        assert main(call) == 1
        assert "can't go to stdout" in capsys.readouterr().err
    assert not Path("-").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("call", [["messages"], ["stats", "--json"], ["export", "-"]])
def test_a_full_disk_under_the_output_is_one_line(
    cli: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, call: list[str]
) -> None:
    with MemorySystem(tmp_path / "memories") as memory:
        memory.add_messages("alice", [SAID])
    command = cli("--version").args[:-1]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*command, *call], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "error: cannot write the output: No space left on device\n"


def test_a_dash_is_standard_input(
    users: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for call in (["search", "alice", "-"], ["context", "-u", "alice", "-"]):
        monkeypatch.setattr("sys.stdin", io.StringIO("where does she live\n"))
        assert main(call) == 0
        assert "Lyon" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("I like tea.\n"))
    assert main(["remember", "alice", "-"]) == 0
    assert "I like tea." in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["remember", "alice", "-"]) == 1
    assert capsys.readouterr().err == "error: standard input is empty\n"


def test_a_fact_alone_is_of_the_only_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["remember", "I like tea."]) == 1
    assert not (tmp_path / "memories").exists(), "no store for nobody"
    assert main(["remember", "--user", "gus", "I", "like", "tea."]) == 0
    capsys.readouterr()
    assert main(["remember", "I hate coffee."]) == 0
    told = capsys.readouterr()
    assert told.out == "I hate coffee.\n"
    assert "the store's only user: `gus`" in told.err
    assert main(["remember", "gus"]) == 1
    assert "which fact? `gus` is a user" in capsys.readouterr().err
    assert main(["remember", "ida", "I like milk."]) == 0
    assert main(["remember", "I like water."]) == 1
    assert "which user?" in capsys.readouterr().err
    with MemorySystem(tmp_path / "memories") as memory:
        facts = {
            user: [one.content for one in memory.semantic_memories(user)] for user in memory.users()
        }
    assert facts == {"gus": ["I like tea.", "I hate coffee."], "ida": ["I like milk."]}


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("call", "status"),
    [("facts >&-", 0), ("remember alice 'I like tea' >&- 2>&-", 0), ("ingest - -u bob <&-", 1)],
)
def test_a_closed_stream_is_no_traceback(
    cli: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, call: str, status: int
) -> None:
    with MemorySystem(tmp_path / "memories") as memory:
        memory.add_messages("alice", [SAID])
    command = shlex.join(cli("--version").args[:-1])
    done = subprocess.run(
        ["sh", "-c", f"{command} {call}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    with MemorySystem(tmp_path / "memories") as memory:
        assert memory.verify().errors == 0
        assert len(memory.semantic_memories("alice")) == ("remember" in call)


def test_an_unknown_option_is_no_hint_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["search", "alice", "dog", "--newest"])
    assert "did you mean `--newest`" not in capsys.readouterr().err
    # Nor for an option of another command.
    with pytest.raises(SystemExit, match="2"):
        main(["serve", "--max-batch", "50"])
    assert "--max-tokens" not in capsys.readouterr().err


def test_the_help_groups_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    titles = ["remember:", "ask:", "look:", "carry:", "forget:", "serve:", "options:"]
    places = [shown.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    for name in ("ingest", "search", "doctor", "backup", "mcp", "completion"):
        assert shown.count(f"\n  {name} ") == 1
    assert "\ncommands:" not in shown


@pytest.mark.parametrize("command", [["serve"], ["search"], ["keys"], ["keys", "create"], ["mcp"]])
def test_each_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: episodica {' '.join(command)}")
