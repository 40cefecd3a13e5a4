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
        about = (one.get("metadata") for one in read if isinstance(one, dict))
        for place in filter(None, dict.fromkeys(map(_place, about))):
            if (root := root_of(*place)) is not None:
                known = self._roots.setdefault((owner, place[0]), [])
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
    places = dict.fromkeys(_place(one.metadata) for one in found)
    roots = (root_of(*place) for place in filter(None, places))
    return next((one for one in roots if one not in (None, root)), None)


def _place(about: object) -> tuple[str, str] | None:
    """The project and the directory that metadata name."""
    if not isinstance(about, dict):
        return None
    project, directory = about.get("project"), about.get("directory")
    return (project, directory) if isinstance(project, str) and isinstance(directory, str) else None
