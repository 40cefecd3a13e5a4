"""Writes a small, varied store: ``python tools/store_fixture.py tests/fixtures/stores/0.2.0``.

Run it once for each release. Next to the store, ``0.2.0.json`` lists the records that must be found
in it. A store of a released version is never written again.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from episodica import MemorySystem
from episodica.system import AnyMemory

ALICE = [
    ("user", "Alice", "I moved to Lyon last Friday.", "2024-03-11T09:30:00+01:00", "move"),
    ("assistant", None, "How do you like it there?", "2024-03-11T09:30:20+01:00", "move"),
    (
        "user",
        "Alice",
        "A lot! My favourite drink is still green tea, though.",
        "2024-03-11T09:31:00+01:00",
        "move",
    ),
    ("user", "Alice", "I work at the harbour office now.", "2024-05-02T18:00:00+02:00", "work"),
    (
        "user",
        "Alice",
        "Actually I quit; I work at the botanical garden now.",
        "2024-09-09T18:00:00+02:00",
        "work 2",
    ),
    (
        "user",
        "Alice",
        'Odd "quotes", \\ back\\slashes,\nline feeds, \u2028 and \U0001f600 stay.',
        "2024-09-09T18:01:00+02:00",
        "work 2",
    ),
]


def main(path: Path) -> None:
    """Writes the store; the directory must not exist."""
    if path.exists():
        sys.exit(f"`{path}` is there already")
    with MemorySystem(path) as memory:
        memory.add_messages("alice", [message(number, *one) for number, one in enumerate(ALICE)])
        memory.close_session("alice", "move")
        memory.flush("alice")
        first = next(memory.episodes("alice"))
        memory.update(
            "alice",
            first.episode_id,
            "Alice told that she had moved to Lyon, and that she likes green tea.",
        )
        memory.add_messages(
            "alice",
            [
                message(
                    90, "user", "Alice", "To be deleted again.", "2024-10-01T00:00:00+00:00", None
                )
            ],
        )
        memory.delete("alice", "m90")
        memory.add_messages(
            "alice",
            [
                message(
                    91, "user", "Alice", "Still in the buffer.", "2024-11-01T00:00:00+00:00", None
                )
            ],
        )
        memory.add_messages(
            "Ünal/..",
            [message(0, "user", None, "昨天我搬到了成都。", "2024-03-11T09:30:00+08:00", None)],
        )
        memory.add_messages(
            "l" * 190, [message(0, "user", None, "A long name.", "2024-03-11T09:30:00+08:00", None)]
        )
        memory.flush("Ünal/..")
        memory.remember("alice", "I live in Paris.", valid_from="2023-01-01")
        memory.remember("alice", "I live in Lyon.", valid_from="2024-03-08", metadata={"n": 1.5})
        hobby = memory.remember("alice", "I collect stamps.")
        memory.archive("alice", hobby.memory_id)
        memory.remember_procedure(
            "alice",
            "Water the greenhouse",
            [{"action": "open", "arguments": {"valve": 3}, "result": "wet"}],
            outcome="All plants stood.",
            worked=True,
        )
        path.with_name(f"{path.name}.json").write_text(
            json.dumps(contents(memory), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
        )
    with MemorySystem(path, tenant="Acme") as memory:
        memory.add_messages(
            "alice", [message(0, "user", None, "Another Alice.", "2024-03-11T09:30:00+08:00", None)]
        )
    # Every opening makes these files anew, and they are almost empty.
    (path / ".lock").unlink()
    (path / ".reserve").unlink()
    shutil.rmtree(path / "locks")


def contents(memory: AnyMemory) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """All records of each user."""

    def plain(records: Iterable[Any]) -> list[dict[str, Any]]:
        return [record.to_dict() for record in records]

    return {
        user: {
            "messages": plain(memory.messages(user)),
            "episodes": plain(memory.episodes(user, include_archived=True)),
            "semantic": plain(
                memory.semantic_memories(user, include_superseded=True, include_archived=True)
            ),
        }
        for user in memory.users()
    }


def message(
    number: int, role: str, name: str | None, content: str, timestamp: str, session: str | None
) -> dict[str, object]:
    """A message in the form that callers use."""
    metadata = {"n": number, "deep": [{"a": None}], "big": 2**70 + 1}
    ids = {"message_id": f"m{number}", "session_id": session, "metadata": metadata}
    return {"role": role, "name": name, "content": content, "timestamp": timestamp, **ids}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
