"""Repositories of one name: ``work/api`` and ``oss/api`` are both the project ``api``.

A second copy of one repository looks the same, so nothing is renamed: the report says it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import queries
from .hints import shown
from .readers.coding import root_of

if TYPE_CHECKING:
    from .store import OpenStore

# The most messages in other folders that are looked at, and notes of one import.
_LOOKED_AT = 20
_NOTES = 10


class Namesakes:
    """The folders of the repositories that an import read."""

    def __init__(self) -> None:
        self._roots: dict[tuple[str, str], list[str]] = {}

    def saw(self, owner: str, read: Iterable[Any]) -> None:
        """Notes where the messages of a conversation were said."""
        for one in read:
            about = one.get("metadata") if isinstance(one, dict) else None
            if isinstance(about, dict) and (root := _root(about)) is not None:
                known = self._roots.setdefault((owner, about["project"]), [])
                if root not in known:
                    known.append(root)

    def notes(self, memory: OpenStore) -> tuple[str, ...]:
        """Names the projects whose messages were said in two folders, also in earlier imports."""
        found = []
        for (owner, project), roots in self._roots.items():
            other = roots[1] if len(roots) > 1 else _other(memory, owner, project, roots[0])
            if other is not None:
                folders = f"`{shown(roots[0])}` and `{shown(other)}`"
                found.append(
                    f"the project `{shown(project)}` is in {folders}: "
                    "if these are two repositories, `directory` tells them apart"
                )
        return tuple(found[:_NOTES])


def _other(memory: OpenStore, owner: str, project: str, root: str) -> str | None:
    where = {
        "project": project,
        "$and": [{"directory": {"$exists": True}}],
        "$not": {"directory": {"$contains": root}},
    }
    found: Iterable[Any] = queries.messages(memory, owner, where=where, limit=_LOOKED_AT)
    roots = (_root(one.metadata or {}) for one in found)
    return next((one for one in roots if one not in (None, root)), None)


def _root(about: dict[str, Any]) -> str | None:
    project, directory = about.get("project"), about.get("directory")
    both = isinstance(project, str) and isinstance(directory, str)
    return root_of(str(project), str(directory)) if both else None
