"""The repositories that records are about: the ``project`` of their metadata."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from ..aio import AsyncMemorySystem
from ..hints import shown
from ..records import Message, SemanticMemory

# The most projects that a note names.
_NAMED = 8


def of_project(project: str | None) -> dict[str, str] | None:
    """What finds only the records of a project."""
    return None if project is None else {"project": project}


async def unknown_project(
    memory: AsyncMemorySystem, user: str, project: str | None
) -> list[str] | None:
    """A note if no record has the project: an agent may have another name for it."""
    if project is None or await _first(memory, user, of_project(project) or {}) is not None:
        return None
    known = [f"`{shown(one)}`" async for one in _known(memory, user)]
    names = f"known: {', '.join(known)}" if known else "no record has one"
    return [f"no record has the project `{shown(project)}`; {names}"]


async def _known(memory: AsyncMemorySystem, user: str) -> AsyncIterator[str]:
    """Names of projects: each search leaves out those that were found."""
    found: list[str] = []
    while len(found) < _NAMED:
        others = {"project": {"$exists": True, "$nin": found}}
        record = await _first(memory, user, others)
        name = None if record is None else (record.metadata or {}).get("project")
        if not isinstance(name, str):
            return
        found.append(name)
        yield name


async def _first(
    memory: AsyncMemorySystem, user: str, where: dict[str, Any]
) -> Message | SemanticMemory | None:
    async for message in memory.messages(user, where=where, newest_first=True, limit=1):
        return message
    async for fact in memory.semantic_memories(user, where=where, limit=1):
        return fact
    return None
