"""What type checkers must object to: each marked line is an error, and no other."""

from __future__ import annotations

from episodica import AsyncMemorySystem, MemorySystem

memory = MemorySystem()
memory.search("alice", "?", method="bm52")  # error: unknown method
memory.search("alice", "?", kinds=["episode"])  # error: unknown kind
memory.search("alice", "?", 5, ["message"])  # error: kinds by keyword only
memory.search("alice")  # error: no query
memory.add_messages("alice", [{"role": "user"}], sesion_id="s")  # error: misspelt keyword
memory.plot.usage(theme="drak")  # error: unknown theme
next(memory.episodes("alice")).title = "new"  # error: frozen
memory.episodes("alice")["first"]  # error: an index is a number


async def forgotten(later: AsyncMemorySystem) -> str:
    return (await later.get("alice", "id")).uri  # error: may be None
