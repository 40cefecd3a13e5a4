"""A store in a database by command and by SQL: tables, rights, nodes, copies, purging."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from postgres import Server

from episodica import LightweightSearchSystem, MemorySystem

Cli = Callable[..., subprocess.CompletedProcess[str]]


def said(cli: Cli, *arguments: str | Path) -> Any:
    done = cli(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_tables_are_made_and_checked(server: Server, cli: Cli) -> None:
    at = ("--store", server.address())
    done = cli(*at, "store", "check")
    assert done.returncode == 1
    assert "store init" in done.stdout
    refused = cli(*at, "store", "migrate")
    assert "store init" in refused.stderr
    made = said(cli, *at, "store", "init")
    assert made["schema_version"] == made["newest_schema_version"]
    assert made["problems"] == []
    assert said(cli, *at, "store", "check") == said(cli, *at, "store", "migrate") == made
    assert "in a database" in cli("--store", "folder", "store", "check").stderr


def test_sql_reads_what_the_lines_say(lyon: MemorySystem, server: Server, cli: Cli) -> None:
    address = server.address()
    fact = lyon.remember("alice", "Alice likes tea.")
    newer = lyon.update("alice", fact.memory_id, "Alice likes coffee\x00 and 茶.")
    gone = lyon.remember("alice", "Alice has a cat.")
    lyon.export("alice", "alice.jsonl")
    with MemorySystem(address, tenant="acme") as acme:
        acme.import_("alice.jsonl")
        acme.delete("alice", gone.memory_id)
        first = next(iter(acme.messages("alice"))).to_dict()
        for town in ("Nantes", "Quimper"):
            acme.add_messages("alice", [{**first, "content": f"I moved to {town} last Friday."}])
    rows = server.sql(
        "SELECT seq, role, name, content, session_id, timestamp AT TIME ZONE 'UTC' "
        "FROM episodica.messages WHERE tenant = 'acme' ORDER BY seq"
    )
    assert [row[:4] for row in rows] == [
        ["0", "user", "Alice", "I moved to Quimper last Friday."],
        ["1", "assistant", "", "How do you like it there?"],
    ]
    assert rows[0][4:] == ["s1", "2024-03-11 08:30:00"]
    [[title, count]] = server.sql(
        "SELECT title, message_count FROM episodica.episodes WHERE tenant = 'acme'"
    )
    assert title == next(iter(lyon.episodes("alice"))).title.replace("Lyon", "Quimper")
    assert count == "2"
    facts = dict(server.sql("SELECT memory_id, content FROM episodica.facts WHERE tenant = 'acme'"))
    assert facts[newer.memory_id] == "Alice likes coffee\ufffd and 茶."
    assert gone.memory_id not in facts
    with MemorySystem(address, tenant="acme") as acme:
        assert set(facts) == {fact.memory_id for fact in acme.semantic_memories("alice")}


def test_a_role_reads_the_tenants_it_was_granted(server: Server, cli: Cli) -> None:
    for tenant in ("acme", "other"):
        with MemorySystem(server.address(), tenant=tenant) as memory:
            memory.add_messages("alice", [{"role": "user", "content": f"I work at {tenant}."}])
            memory.flush("alice")
    server.sql(
        'CREATE ROLE "its reader" LOGIN; CREATE ROLE analyst LOGIN; GRANT "its reader" TO analyst'
    )
    at = ("--store", server.address(), "--tenant", "acme")
    assert cli(*at, "store", "grant", "its reader").returncode == 0
    assert "no role" in cli(*at, "store", "grant", "none").stderr
    for user in ("its%20reader", "analyst"):
        address = server.address(user=user)
        with LightweightSearchSystem(address, tenant="acme") as reader:
            assert "I work at acme." in [hit.content for hit in reader.search("alice", "work")]
        with LightweightSearchSystem(address, tenant="other") as reader:
            assert reader.users() == []
            assert len(reader.search("alice", "work")) == 0
        refused = cli("--store", address, "--tenant", "acme", "delete", "alice", "--yes")
        assert refused.returncode != 0
    role = 'SET ROLE "its reader"; '
    assert server.sql(f"{role}SELECT DISTINCT tenant FROM episodica.messages") == [["acme"]]
    assert server.sql(f"{role}SELECT DISTINCT tenant FROM episodica.facts") in ([], [["acme"]])
    assert server.sql(f"{role}SELECT count(DISTINCT uid) FROM episodica.log") == [["1"]]
    with pytest.raises(RuntimeError, match="permission denied"):
        server.sql(f"{role}DELETE FROM episodica.log")
    assert cli(*at, "store", "revoke", "its reader").returncode == 0
    with pytest.raises(RuntimeError, match="permission denied"):
        server.sql(f"{role}SELECT * FROM episodica.messages")


def test_nodes_are_listed_until_they_leave(address: str, cli: Cli) -> None:
    at = ("--store", address)
    with MemorySystem(address), MemorySystem(address):
        listed = said(cli, *at, "nodes")
        assert [node["is_silent"] for node in listed] == [False, False]
        assert "heard of" in cli(*at, "nodes").stdout
    assert said(cli, *at, "nodes") == []


def test_copies_go_either_way_and_go_on(
    lyon: MemorySystem, address: str, tmp_path: Path, cli: Cli
) -> None:
    lyon.add_messages("Çağla / 张", [{"role": "user", "content": "I keep bees.\x00"}])
    lyon.flush("Çağla / 张")
    lyon.search("alice", "Lyon")
    first = said(cli, "copy", address, tmp_path / "folder", "--user", "alice")
    assert first["users"] == 1
    whole = said(cli, "copy", address, tmp_path / "folder")
    assert whole["users"] == 2
    assert whole["known_lines"] == first["lines"]
    assert said(cli, "copy", address, tmp_path / "folder")["lines"] == 0
    back = f"{address}x"
    assert said(cli, "copy", tmp_path / "folder", back)["bytes"] == first["bytes"] + whole["bytes"]
    with MemorySystem(back) as copy, MemorySystem(tmp_path / "folder") as folder:
        for one in (copy, folder):
            assert one.users() == lyon.users()
            assert one.verify().errors == 0
            for user in lyon.users():
                assert list(one.messages(user)) == list(lyon.messages(user))
                assert list(one.episodes(user)) == list(lyon.episodes(user))
        copy.add_messages("alice", [{"role": "user", "content": "Something else."}])
    refused = cli("copy", address, back)
    assert refused.returncode != 0
    assert "has other messages" in refused.stderr
    assert "same store" in cli("copy", address, address).stderr


def test_compacting_removes_the_rows_of_old_versions_for_every_node(
    memory: MemorySystem, address: str, cli: Cli
) -> None:
    fact = memory.remember("al", "Al owns no boats.")
    with MemorySystem(address) as other, LightweightSearchSystem(address) as reader:
        for number in range(40):
            memory.update("al", fact.memory_id, f"Al owns {number} boats.")
        report = other.compact("al")
        assert (report.users, report.bytes_after > 0) == (1, True)
        assert report.bytes_after < report.bytes_before / 2
        memory.update("al", fact.memory_id, "Al owns 40 boats.")
        for one in (memory, other, reader):
            assert [each.content for each in one.semantic_memories("al")] == ["Al owns 40 boats."]
            assert one.verify("al").errors == 0
        assert len(memory.history("al", fact.memory_id)) == 10
    done = cli("--store", address, "compact", "al")
    assert done.returncode == 0
    assert "when it vacuums" in done.stderr


def test_a_purge_removes_what_the_tables_keep_of_the_deleted(server: Server, cli: Cli) -> None:
    words = [f"zqxj{number:02}kv" for number in range(40)]
    with MemorySystem(server.address()) as memory:
        for number, word in enumerate(words):
            talk = [{"role": "user", "content": f"I moved to {word} with my dog."}]
            memory.add_messages(f"u{number % 2}", talk)
        memory.flush("u0")
        memory.delete_user_data("u0")
        ids = [message.message_id for message in memory.messages("u1")]
        for one in ids[:10]:
            memory.delete("u1", one)
        left = [message.content for message in memory.messages("u1")]
    report = said(cli, "--store", server.address(), "store", "purge")
    assert any("log moved on" in line for line in report["proven"])
    assert report["beyond_reach"]
    gone = [word for word in words if not any(word in text for text in left)]
    assert len(gone) == 30

    def found(folder: str) -> list[str]:
        data = b"".join(
            path.read_bytes() for path in (server.data / folder).rglob("*") if path.is_file()
        )
        return [word for word in gone if word.encode() + b" " in data]

    assert found("base") == []
    assert found("pg_wal") == []
