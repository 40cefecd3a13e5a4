"""The commands that carry memories in and out and look after a store."""

from __future__ import annotations

import json
import os
import pty
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

SAID = [
    {
        "role": "user",
        "content": "I moved to Lyon.",
        "timestamp": "2024-03-11T09:30:00+01:00",
        "metadata": {"channel": "sms", "n": 3},
    },
    {
        "role": "assistant",
        "content": "Lyon is a fine city.",
        "timestamp": "2024-03-11T09:31:00+01:00",
        "metadata": {"channel": "app", "n": 4},
    },
]


@pytest.fixture
def filled(cli: Cli, tmp_path: Path) -> Cli:
    """The command line with a talk of Alice and one of Bob in the default store."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(SAID), encoding="utf-8")
    for user in ("alice", "bob"):
        done = cli("ingest", file, "--user", user)
        assert done.returncode == 0, done.stderr
    return cli


def data_of(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_users_and_totals(filled: Cli, tmp_path: Path) -> None:
    head, *rows = filled("users").stdout.splitlines()
    assert head.split() == ["user", "messages", "episodes", "facts"]
    assert [row.split()[:3] for row in rows] == [["alice", "2", "1"], ["bob", "2", "1"]]
    assert [one["user_id"] for one in data_of(filled("users", "--json"))] == ["alice", "bob"]
    shown = filled("stats").stdout
    assert re.search(r"(?m)^facts +\d", shown)
    assert "semantic" not in shown
    stats = data_of(filled("stats", "--json"))
    assert (stats["users"], stats["messages"], stats["episodes"]) == (2, 4, 2)
    size = sum(one.stat().st_size for one in (tmp_path / "memories").rglob("*") if one.is_file())
    assert stats["bytes_on_disk"] == size > 0
    assert stats["size_on_disk"].endswith(("bytes", "KiB", "MiB"))
    assert "memory bytes" not in filled("stats").stdout


def test_messages_and_history(filled: Cli) -> None:
    rows = filled("messages", "alice").stdout.splitlines()
    assert rows[0].split() == ["date", "speaker", "message"]
    assert "I moved to Lyon." in rows[1]
    assert len(data_of(filled("messages", "alice", "--json", "--limit", "1"))) == 1
    [episode] = data_of(filled("episodes", "alice", "--json"))
    with MemorySystem("memories") as memory:
        memory.update("alice", episode["episode_id"], "Told again.")
    versions = filled("history", "alice", episode["episode_id"]).stdout.splitlines()
    assert [row.split()[0] for row in versions] == ["version", "1", "2"]
    assert versions[2].endswith("Told again.")


def test_where(filled: Cli) -> None:
    def found(*where: str) -> list[str]:
        options = [part for one in where for part in ("--where", one)]
        done = filled("search", "alice", "Lyon", "--kind", "message", "--json", *options)
        return sorted(hit["metadata"]["channel"] for hit in messages(data_of(done)))

    def messages(data: Any) -> list[Any]:
        return [hit["messages"][0] for hit in data["hits"]]

    assert found() == ["app", "sms"]
    assert found("channel=sms") == ["sms"]
    assert found("n=4") == ["app"]
    assert found('{"channel": "sms", "n": 3}') == ["sms"]
    assert found("channel=sms", "n=4") == []


def test_listings_and_deletions_filter(filled: Cli) -> None:
    [message] = data_of(filled("messages", "alice", "--json", "--where", "n=4"))
    assert message["content"] == "Lyon is a fine city."
    above = data_of(filled("messages", "alice", "--json", "--where", '{"n": {"$gt": 3}}'))
    assert above == [message]
    done = filled("delete", "alice", message["message_id"], "--since", "2024-01-01", "--yes")
    assert "error: an id and filters can't be combined" in done.stderr
    done = filled("delete", "alice", "--where", "channel=app", "--yes")
    assert done.stderr.startswith("deleted: 1 message, ")
    [left] = data_of(filled("messages", "alice", "--json"))
    assert left["metadata"]["channel"] == "sms"
    done = filled("messages", "alice", "--where", '{"n": {"$near": 3}}')
    assert (done.returncode, done.stdout) == (1, "")
    assert "$near" in done.stderr


def test_delete_asks_and_deletes(filled: Cli, tmp_path: Path) -> None:
    [message, _] = data_of(filled("messages", "alice", "--json"))
    assert filled("delete", "alice", message["message_id"], "--yes").stderr.startswith(
        "deleted: 1 message, "
    )
    assert len(data_of(filled("messages", "alice", "--json"))) == 1
    done = filled("delete", "alice", "--yes", "--json")
    assert data_of(done)["messages"] == 1
    assert [one["user_id"] for one in data_of(filled("users", "--json"))] == ["bob"]


def test_delete_asks_on_a_terminal(filled: Cli) -> None:
    def answered(answer: str) -> tuple[int, str]:
        master, slave = pty.openpty()
        command = [sys.executable, "-m", "episodica", "delete", "alice"]
        child = subprocess.Popen(command, stdin=slave, stderr=subprocess.PIPE, text=True)
        os.close(slave)
        os.write(master, f"{answer}\n".encode())
        _, told = child.communicate(timeout=60)
        os.close(master)
        return child.returncode, told

    question = "delete all memories of alice (2 messages, "
    status, told = answered("")
    assert (status, told.startswith(question)) == (1, True)
    assert told.endswith("nothing was deleted\n")
    status, told = answered("y")
    assert (status, told.startswith(question)) == (0, True)
    assert [one["user_id"] for one in data_of(filled("users", "--json"))] == ["bob"]


def test_export_import_backup(filled: Cli, tmp_path: Path) -> None:
    done = filled("export", "alice", "alice.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("alice.jsonl: 2 messages, 1 episode and ")
    assert data_of(filled("import", "alice.jsonl", "--user", "carol", "--json"))["messages"] == 2
    assert data_of(filled("import", "alice.jsonl", "--user", "carol", "--json"))["known"] >= 3
    assert filled("import", "alice.jsonl", "--store", "new").returncode == 0
    assert data_of(filled("users", "--store", "new", "--json"))[0]["user_id"] == "alice"
    done = filled("ingest", "alice.jsonl", "--user", "x")
    assert done.returncode == 1
    assert "hint: `episodica import alice.jsonl` reads it" in done.stderr
    done = filled("backup", "copy")
    assert done.stderr.startswith("copy: 3 users, ")
    assert data_of(filled("verify", "--store", "copy", "--json"))["errors"] == 0
    assert filled("export", "alice", "alice.md").returncode == 0
    assert (tmp_path / "alice.md").read_text(encoding="utf-8").startswith("# Memories of alice")


def test_export_names_its_file_in_any_way(filled: Cli, tmp_path: Path) -> None:
    for at, words in enumerate((["alice", "F"], ["-o", "F", "alice"], ["alice", "--output", "F"])):
        name = f"{at}.jsonl"
        assert filled("export", *(name if one == "F" else one for one in words)).returncode == 0
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        ("export", "which file?", "write `episodica export USER FILE.jsonl`"),
        ("export alice", "which file? `alice` is a user", "`episodica export alice FILE.jsonl`"),
        ("export x.jsonl alice", "no such user: `x.jsonl`", "`episodica export alice x.jsonl`"),
        ("export alice bob x.jsonl", "more than a user and a file", "export USER FILE.jsonl`"),
        ("export alice x.jsonl --user bob", "more than a user and a file", "USER FILE.jsonl`"),
        ("export alice bob -o x.jsonl", "more than a user and a file", "USER FILE.jsonl`"),
        ("export -o x.jsonl", "which user?", "the store has `alice`, `bob`"),
        ("export alise -o x.jsonl", "no such user: `alise`", "did you mean `alice`?"),
        ("plot map x.png", "a picture is no user: `x.png`", "`episodica plot map -o x.png`"),
    ],
)
def test_errors_of_files_name_the_remedy(filled: Cli, words: str, error: str, hint: str) -> None:
    done = filled(*words.split())
    assert done.returncode == 1
    assert error in done.stderr
    assert f"hint: {hint}" in done.stderr or hint in done.stderr.split("hint: ")[1]


def test_standard_input_and_formats(cli: Cli, root: Path) -> None:
    text = "Alice: I moved to Lyon.\nBob: Nice!\n"
    done = cli("ingest", "-", "--user", "alice", stdin=text)
    assert done.stderr == "standard input: 2 messages added for alice\n"
    done = cli("ingest", "-", "--user", "alice", "--format", "csv", stdin=text)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no column with the text of messages in line 1 of standard input" in done.stderr
    imports = root / "tests/fixtures/imports"
    done = cli("ingest", imports / "chatgpt.json", "--user", "alice")
    assert done.stderr.splitlines() == [
        "chatgpt.json: 7 messages added for alice, 3 left out",
        "left out: hidden in the chat (message 0 of `Sourdough questions`)",
        "left out: no speech but `thoughts` (message 3 of `Sourdough questions`)",
        "left out: of another branch (1 message of `Sourdough questions`)",
    ]
    [alice, bob] = data_of(cli("ingest", imports / "mem0.json", "--json"))
    assert (alice["user"], alice["facts"], bob["facts"]) == ("alice", 2, 1)


def test_a_folder_with_a_file_of_several_users(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Ida: I moved to Lyon.\nBob: Nice!\n", encoding="utf-8")
    facts = [{"memory": "Likes tea.", "user_id": user} for user in ("alice", "bob")]
    (tmp_path / "in" / "b.json").write_text(json.dumps(facts), encoding="utf-8")
    done = cli("ingest", "in", "--user", "ida")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[:2] == [
        "in: 2 messages added for ida, 1 left out",
        "left out: several users would become `ida`; import it alone, without a user (b.json)",
    ]
    assert cli("ingest", "in/b.json").returncode == 0
    done = cli("ingest", "in/b.json", "--user", "ida", "--store", "none")
    assert "hint: leave `--user` out" in done.stderr
    assert not (tmp_path / "none").exists()


def test_a_file_that_cannot_be_read_makes_no_store(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    assert cli("ingest", "a.json", "--user", "alice").returncode == 1
    assert not (tmp_path / "memories").exists()


def test_remember(cli: Cli) -> None:
    assert cli("remember", "alice", "I", "live", "in", "Paris.", "--valid-from", "2020").returncode
    done = cli("remember", "alice", "I live in Paris.", "--valid-from", "2020-01-01")
    assert (done.returncode, done.stdout) == (0, "I live in Paris.\n")
    assert done.stderr.startswith("personal_info, id ")
    done = cli("remember", "alice", "I live in Lyon.", "--metadata", '{"a": 1}')
    assert "outdated" not in done.stderr, "only a value of the same attribute ends a fact"
    named = ("--subject", "Alice", "--attribute", "home", "--value")
    assert cli("remember", "alice", "Alice lives in Bern.", *named, "Bern").returncode == 0
    done = cli("remember", "alice", "Alice lives in Nice.", *named, "Nice")
    assert done.stderr.endswith("outdated: Alice lives in Bern.\n")
    facts = data_of(cli("facts", "alice", "--json"))
    assert [one["content"] for one in facts] == [
        "I live in Paris.",
        "I live in Lyon.",
        "Alice lives in Nice.",
    ]
    assert facts[1]["metadata"]["a"] == 1
    options = ("--agent", "desk", "--kind", "event", "--expires-after", "86400", "--json")
    told = data_of(cli("remember", "alice", "The show opens.", *named, "Oslo", *options))
    assert (told["metadata"]["agent_id"], told["kind"]) == ("desk", "event")
    assert (told["subject"], told["attribute"], told["value"]) == ("Alice", "home", "Oslo")
    assert told["expires_at"] > told["created_at"]


def test_compact(filled: Cli) -> None:
    done = filled("compact", "alice")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1 user: ")
    assert data_of(filled("compact", "--json"))["users"] == 2


def test_a_copy_that_goes_on_names_who_was_deleted_meanwhile(filled: Cli) -> None:
    assert data_of(filled("copy", "memories", "other", "--json"))["only_in_target"] == []
    assert filled("delete", "bob", "--yes").returncode == 0
    done = filled("copy", "memories", "other", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["only_in_target"] == [{"tenant": "default", "user_id": "bob"}]
    assert "only in the target: bob." in filled("copy", "memories", "other").stderr
    done = filled("copy", "memories", "other", "--prune")
    assert (done.returncode, "They were deleted there" in done.stderr) == (0, True)
    assert data_of(filled("copy", "memories", "other", "--json"))["only_in_target"] == []
    refused = filled("copy", "memories", "other", "--prune", "--user", "alice")
    assert (refused.returncode, "takes no --user" in refused.stderr) == (1, True)


def test_rebuild_and_plot(filled: Cli, tmp_path: Path) -> None:
    done = filled("rebuild", "alice")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1 user, ")
    for args in (
        ["timeline", "alice"],
        ["map", "alice", "-o", "map.png"],
        ["scores", "bob", "--query", "Lyon"],
    ):
        done = filled("plot", *args)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert {"timeline.svg", "map.png", "scores.svg"} <= {one.name for one in tmp_path.iterdir()}
    done = filled("plot", "map", "alice", "-o", "a.xyz")
    assert "error: there is no format of pictures for the file: `a.xyz`" in done.stderr


def test_the_reference_of_commands_is_current(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["cli_reference.py", "--check"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_path(str(root / "tools/cli_reference.py"), run_name="__main__")
    assert caught.value.code == 0, "run `python tools/cli_reference.py`"


def test_a_deleted_fact_offers_to_delete_its_messages(filled: Cli) -> None:
    [fact, *_] = data_of(filled("facts", "alice", "--json"))
    done = filled("delete", "alice", fact["memory_id"], "--yes")
    for id in fact["source_messages"]:
        assert id in done.stderr
    assert "still stand in" in done.stderr


def test_counts_of_facts_agree_or_say_what_they_count(filled: Cli, tmp_path: Path) -> None:
    for town in ("Paris", "Lyon"):
        filled("remember", "bob", f"Lives in {town}", "--attribute", "home", "--value", town)
    with MemorySystem(tmp_path / "memories") as memory:
        memory.archive("bob", [memory.remember("bob", "Old note.").memory_id])
    listed = filled("facts", "bob")
    rows = len(listed.stdout.splitlines()) - 1
    assert listed.stderr.splitlines()[-1] == (
        f"{rows} facts; 1 outdated: `--all`; 1 archived: `--archived`"
    )
    every = filled("facts", "bob", "--all", "--archived")
    assert every.stderr.splitlines()[-1] == f"{rows + 2} facts"
    assert len(every.stdout.splitlines()) - 1 == rows + 2
    assert "; 1 archived" in filled("facts", "bob", "--all").stderr
    stats = data_of(filled("stats", "bob", "--json"))
    assert stats["semantic_memories"] + stats["superseded"] == rows + 2
    for name in ("bob.jsonl", "bob.md"):
        told = filled("export", "bob", name).stderr
        assert f"{rows + 2} facts (with the outdated and archived ones) of bob" in told
    markdown = (tmp_path / "bob.md").read_text(encoding="utf-8")
    assert "## Archived facts\n\n* Old note. (" in markdown
    assert markdown.count("\n* ") == rows + 2 + 2


def test_versions_with_the_same_words_say_how_they_differ(filled: Cli, tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "memories") as memory:
        fact = memory.remember("bob", "Lives in Oslo.", valid_from="2024-01-01T09:00:00Z")
        memory.close_fact("bob", fact.memory_id, at="2025-02-09T10:00:00Z")
    first, second = filled("history", "bob", fact.memory_id).stdout.splitlines()[1:]
    assert first.endswith("Lives in Oslo.")
    assert second.endswith("Lives in Oslo. (until 2025-02-09 10:00)")


def test_ingest_reads_times_without_an_offset_in_the_zone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "chat.txt").write_text(
        "14.07.25, 10:14 - Ida: Hot.\n14.01.25, 10:14 - Tom: Cold.\n", encoding="utf-8"
    )
    assert cli("ingest", "chat.txt", "--user", "ida", "--timezone", "Europe/Berlin").returncode == 0
    said = data_of(cli("messages", "ida", "--json"))
    assert sorted(one["timestamp"] for one in said) == [
        "2025-01-14T10:14:00+01:00",
        "2025-07-14T10:14:00+02:00",
    ]
    assert "10:14" in cli("messages", "ida").stdout
    assert "08:14" in cli("messages", "ida", "--timezone", "UTC").stdout


def test_a_user_that_does_not_exist_is_no_empty_answer(filled: Cli) -> None:
    for command in ("context", "search", "profile", "facts", "delete", "export", "stats"):
        more = {"context": ["where?"], "search": ["where?"], "export": ["x.md"]}.get(command, [])
        done = filled(command, "alise", *more)
        assert done.returncode == 1, command
        assert "no such user: `alise`" in done.stderr
        assert "did you mean `alice`?" in done.stderr
