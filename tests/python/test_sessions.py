"""BUF-2: sessions, their states, and closing them whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem, Session, SessionReport

FACT = "I moved to Lyon last Friday with my dog Pickle."


def say(memory: MemorySystem, session: str | None, *texts: str, day: int = 11) -> None:
    memory.add_messages(
        "al",
        [
            {
                "role": "user",
                "name": "Alice",
                "content": text,
                "timestamp": f"2024-03-{day:02}T09:{minute:02}:00Z",
            }
            for minute, text in enumerate(texts)
        ],
        session_id=session,
    )


def test_buf_2_sessions_are_listed_with_their_states(memory: MemorySystem) -> None:
    assert memory.sessions("al") == []
    say(memory, "b", FACT, "It is lovely there.")
    say(memory, "a", "Hello again.", day=12)
    say(memory, None, "No session here.", day=13)
    memory.close_session("al", "b")
    first, second = memory.sessions("al")
    assert (first.session_id, first.state, first.messages, first.episodes) == ("b", "closed", 2, 1)
    assert (second.session_id, second.state, second.changed_at) == ("a", "active", None)
    assert first.started_at.isoformat() == "2024-03-11T09:00:00+00:00"
    assert first.ended_at.isoformat() == "2024-03-11T09:01:00+00:00"
    assert Session.from_dict(first.to_dict()) == first
    say(memory, "b", "One more thing.", day=14)
    assert [one.state for one in memory.sessions("al")] == ["active", "active"]
    memory.delete_where("al", session_id="a")
    assert [one.session_id for one in memory.sessions("al")] == ["b"]


def test_closing_and_waiting_reports_what_there_is(memory: MemorySystem) -> None:
    say(memory, "s", FACT, "It is lovely there.")
    report = memory.close_session("al", "s", wait=True, timeout=30)
    assert report
    assert report.session is not None
    assert report.session.is_closed
    assert [episode.session_id for episode in report.episodes] == ["s"]
    assert any("Lyon" in fact.content for fact in report.facts)
    assert SessionReport.from_dict(report.to_dict()) == report
    again = memory.close_session("al", "s", wait=True)
    assert (again.episodes, again.facts) == (report.episodes, report.facts), "it stays as it is"
    unknown = memory.close_session("al", "nothing", wait=True)
    assert (bool(unknown), unknown.session) == (True, None)
    with pytest.raises(InvalidInputError, match="timeout"):
        memory.close_session("al", "s", wait=True, timeout=-1)


async def test_coroutines_close_alike(tmp_path: Path) -> None:
    async with AsyncMemorySystem(tmp_path) as memory:
        bye = {"role": "user", "content": "Bye!", "session_id": "s"}
        await memory.add_messages("al", [bye])
        report = await memory.close_session("al", "s", wait=True)
        assert report.session in await memory.sessions("al")


# The process dies at a numbered request to its model.
DYING = """
import os, signal, sys
from episodica import MemorySystem
asked = 0
def model(*prompts, **more):
    global asked
    asked += 1
    if asked > int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    raise RuntimeError("not available")
memory = MemorySystem(sys.argv[1], llm=model)
said = {said!r}
memory.add_messages("al", said, session_id="s")
memory.close_session("al", "s")
memory.wait("al", timeout=30)
print(memory.sessions("al")[0].state, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.requirement("BUF-2")
@pytest.mark.parametrize("calls", [0, 1, 2, 99])
def test_buf_2_a_crash_in_any_state_is_gone_on_from(store: Any, calls: int) -> None:
    said = [
        {"role": "user", "name": "Alice", "content": FACT, "timestamp": "2024-03-11T09:00:00Z"},
        {
            "role": "user",
            "name": "Alice",
            "content": "Lovely.",
            "timestamp": "2024-03-11T09:01:00Z",
        },
    ]
    code = DYING.replace("{said!r}", repr(said))
    done = subprocess.run(
        [sys.executable, "-c", code, str(store), str(calls)], timeout=120, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with MemorySystem(store) as memory:
        found = memory.sessions("al")
        assert [one.messages for one in found] == [2], "what was acknowledged is there"
        report = memory.close_session("al", "s", wait=True, timeout=60)
        assert report
        assert sum(episode.message_count for episode in report.episodes) == 2
        assert memory.verify("al").errors == 0


# The last state that a process wrote to the log before it died.
@pytest.mark.parametrize("state", ["active", "closing", "extracting", "indexing"])
def test_buf_2_each_state_leads_to_the_end(store: Any, state: str) -> None:
    log = store / "messages" / "al_messages.jsonl"
    with MemorySystem(store) as memory:
        say(memory, "s", FACT, "It is lovely there.")
        memory.close_session("al", "s")
        whole = memory.close_session("al", "s", wait=True)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    said = [line for line in lines if '"type":"session"' not in line]
    stopped = '{"type":"session","session_id":"s","state":"%s","at":"2024-03-11T10:00:00Z"}\n'
    log.write_text("".join([*said, stopped % state]), encoding="utf-8")
    with MemorySystem(store) as memory:
        (before,) = memory.sessions("al")
        assert before.state == state
        report = memory.close_session("al", "s", wait=True, timeout=30)
        assert report
        assert report.episodes == whole.episodes
        assert report.facts == whole.facts


def test_killing_at_random_moments_loses_no_session(store: Any) -> None:
    code = (
        "import sys; from episodica import MemorySystem\n"
        "memory = MemorySystem(sys.argv[1]); print('open', flush=True)\n"
        "for n in range(100000):\n"
        "    memory.add_messages('al', [{'role': 'user', 'content': f'Lamp {n} is red.'}],"
        " session_id=f's{n}')\n"
        "    memory.close_session('al', f's{n}'); print(n, flush=True)\n"
    )
    for seconds in (0.05, 0.2, 0.4):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(store)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            time.sleep(seconds)
            os.kill(process.pid, signal.SIGKILL)
            told = process.stdout.read().split()
        with MemorySystem(store) as memory:
            states = {one.session_id: one.state for one in memory.sessions("al")}
            for number in told:
                assert states[f"s{number}"] == "closed"
            for session in states:
                assert memory.close_session("al", session, wait=True)
            assert {one.state for one in memory.sessions("al")} <= {"closed"}
