"""What was read is finished and answered, whether the client leaves, cancels or a signal comes."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_server import ACCEPT, INITIALIZE, INITIALIZED, Process, command, open_session, process

from episodica import MemorySystem

# Starts the command with a method of the memory that takes its time.
SLOW = """
import sys, time
from episodica import MemorySystem
name, seconds, *sys.argv[1:] = sys.argv[1:]
real = getattr(MemorySystem, name)
def slow(*args, **kwargs):
    time.sleep(float(seconds))
    return real(*args, **kwargs)
setattr(MemorySystem, name, slow)
from episodica.cli.app import main
sys.exit(main())
"""
OPENING = [INITIALIZE, INITIALIZED]
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def slow_command(store: Path, name: str, seconds: float, *options: str) -> list[str]:
    after = command(store, *options).index("mcp")
    return [sys.executable, "-c", SLOW, name, str(seconds), *command(store, *options)[after:]]


def call(id: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def note(id: int | str, **more: Any) -> dict[str, Any]:
    return call(id, "remember", content=f"I keep note {id}.", **more)


def send(server: Process, *messages: dict[str, Any]) -> None:
    assert server.popen.stdin is not None
    server.popen.stdin.write("".join(f"{json.dumps(one)}\n" for one in messages))
    server.popen.stdin.flush()


def piped(arguments: list[str], *messages: dict[str, Any]) -> dict[Any, Any]:
    """The answers to a batch whose input ends right after it, by their ids."""
    with process(arguments) as server:
        text = "".join(f"{json.dumps(one)}\n" for one in messages)
        out, error = server.popen.communicate(text, timeout=20)
        assert (server.popen.returncode, error) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    assert len({json.dumps(one["id"]) for one in answers}) == len(answers)
    return {one["id"]: one for one in answers}


def facts(store: Path) -> set[str]:
    with MemorySystem(store) as memory:
        return {fact.content for fact in memory.semantic_memories("alice")}


def wait_for_message(store: Path) -> None:
    """Until a note's message is stored; its fact follows."""
    for _ in range(200):
        if any(b"I keep note" in one.read_bytes() for one in store.rglob("*.jsonl")):
            return
        time.sleep(0.05)
    raise AssertionError("no message was stored")


@pytest.mark.parametrize("turn", range(3))
def test_every_note_of_a_batch_is_answered_and_stored_with_its_fact(store: Path, turn: int) -> None:
    """`printf '…' | episodica mcp`: the input ends before the first answer."""
    answers = piped(command(store), *OPENING, *(note(n) for n in range(1, 11)))
    assert sorted(answers) == list(range(11))
    for n in range(1, 11):
        assert answers[n]["result"]["structuredContent"]["fact_id"]
    assert {f"I keep note {n}." for n in range(1, 11)} <= facts(store)


def test_a_batch_without_a_handshake_is_answered(store: Path) -> None:
    notes = [note(n) for n in range(1, 6)]
    for one in notes:
        one["params"]["_meta"] = MODERN
    answers = piped(command(store), *notes)
    assert all(answers[n]["result"]["structuredContent"]["fact_id"] for n in range(1, 6))


def test_other_requests_and_rubbish_of_a_batch_are_answered(store: Path) -> None:
    listing = {"jsonrpc": "2.0", "id": "a", "method": "tools/list"}
    unknown = {"jsonrpc": "2.0", "id": "b", "method": "no/such"}
    half: dict[str, Any] = {"jsonrpc": "2.0", "id": 7}
    batch = [listing, unknown, half, call(8, "search"), call(9, "status"), note("10")]
    answers = piped(command(store), *OPENING, *batch)
    assert set(answers) == {0, "a", "b", 7, 8, 9, "10"}
    assert answers[9]["result"]["structuredContent"]["user"] == "alice"


def test_a_slow_call_of_a_batch_is_finished(store: Path) -> None:
    answers = piped(slow_command(store, "remember", 2), *OPENING, note(1))
    assert answers[1]["result"]["structuredContent"]["fact_id"]
    assert "I keep note 1." in facts(store)


def test_a_call_that_hangs_does_not_hold_the_end(store: Path) -> None:
    begun = time.monotonic()
    answers = piped(slow_command(store, "search", 1000), *OPENING, call(1, "search", query="x"))
    assert "error" in answers[1]
    assert time.monotonic() - begun < 10 + 5


def test_the_server_does_not_wait_for_a_call_that_its_client_cancelled(store: Path) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    with process(slow_command(store, "search", 4)) as server:
        server.handshake()
        send(server, call(1, "search", query="x"), {**cancelled, "params": {"requestId": 1}})
        send(server, {**cancelled, "params": {"requestId": 99}}, {**cancelled, "params": {}})
        begun = time.monotonic()
        assert server.end() == (0, "", "")
    assert time.monotonic() - begun < 7


def test_a_client_that_reads_no_answers_loses_no_note(store: Path) -> None:
    with process(slow_command(store, "remember", 0.5)) as server:
        server.handshake()
        assert server.popen.stdout is not None
        server.popen.stdout.close()
        server.popen.stdout = None
        send(server, *(note(n) for n in range(1, 4)))
        assert server.popen.stdin is not None
        server.popen.stdin.close()
        server.popen.stdin = None
        begun = time.monotonic()
        assert server.popen.wait(20) == 0
    assert time.monotonic() - begun < 6
    assert {f"I keep note {n}." for n in range(1, 4)} <= facts(store)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_be_finished(store: Path, number: signal.Signals) -> None:
    with process(slow_command(store, "remember", 2)) as server:
        server.handshake()
        send(server, note(1))
        wait_for_message(store)
        server.popen.send_signal(number)
        status, out, error = server.ended()
        assert (status, error) == (0, "")
    assert json.loads(out)["result"]["structuredContent"]["fact_id"]
    assert "I keep note 1." in facts(store)


def test_a_note_that_is_cancelled_half_way_gets_its_fact(store: Path) -> None:
    with process(slow_command(store, "remember", 1)) as server:
        server.handshake()
        send(server, note(1))
        wait_for_message(store)
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        send(server, {"jsonrpc": "2.0", **cancelled})
        assert server.end() == (0, "", "")
    assert "I keep note 1." in facts(store)


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
async def test_a_client_that_leaves_over_http_gets_its_fact(store: Path, mode: str) -> None:
    program = slow_command(store, "remember", 1, "--transport", "http", "--port", "0")
    with process(program) as server:
        assert server.popen.stderr is not None
        address = server.popen.stderr.readline().split()[-1]
        one, headers = note(1), {**ACCEPT, "Mcp-Protocol-Version": mode}
        async with httpx2.AsyncClient(headers=headers, timeout=0.5) as web:
            if mode == "2026-07-28":
                one["params"]["_meta"] = MODERN
                more = {"Mcp-Method": "tools/call", "Mcp-Name": "remember"}
            else:
                more = await open_session(web, address)
            with pytest.raises(httpx2.TimeoutException):
                await web.post(address, json=one, headers=more)
        wait_for_message(store)
        server.popen.send_signal(signal.SIGTERM)
        assert server.ended()[0] == 0
    assert "I keep note 1." in facts(store)
