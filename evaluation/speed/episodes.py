"""Stores episodes one after the other in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from episodica import MemorySystem
from evaluation.speed.stores import USER
from evaluation.speed.talk import LATER, Talk, renamed
from evaluation.speed.timing import SyncProbe, Times, times


def sessions(count: int, seed: int) -> list[list[dict[str, Any]]]:
    """Sessions that no store holds yet, of some ten messages each."""
    conversation, found = Talk(seed, after=LATER), list[list[dict[str, Any]]]()
    while len(found) < count:
        by_session: dict[str, list[dict[str, Any]]] = {}
        for message in conversation.messages(200):
            by_session.setdefault(message["session_id"], []).append(renamed(message, f"{seed}"))
        # The last one is cut off in its middle.
        found += list(by_session.values())[:-1]
    return found[:count]


def stored(path: Path, count: int, seed: int, warm_up: int = 3) -> tuple[Times, Times]:
    """Times of storing a session as one episode, and of single syncs in between."""
    told, synced = Times(), Times()
    probe = SyncProbe(path.parent)
    try:
        with MemorySystem(path) as memory:
            memory.search(USER, "warm")
            coming = iter(sessions(warm_up + count, seed))

            def tell(_: str) -> None:
                memory.add_messages(USER, next(coming))
                memory.flush(USER)

            times(tell, [""] * warm_up)
            for _ in range(count):
                told.extend(times(tell, [""]))
                synced.extend(times(probe.append, [""] * 2))
    finally:
        probe.close()
    return told, synced
