"""The file names that Nemori's scripts look for. Called by :mod:`episodica.compat.nemori` only.

To scripts, ``episodes/Ann_0_episodes.jsonl`` proves that the user ``Ann_0`` was saved. The store
names that log ``^ann_0_episodes.jsonl``, because some file systems don't tell ``A`` from ``a``.
While a store is open through this interface, links give its logs Nemori's names. Closing the store
removes the links, so that no store contains a link that the engine did not make.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

_KINDS = ("episodes", "semantic")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_LONGEST = 180


class ScriptNames:
    """Links in the folder of the logs of one store."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: set[Path] = set()

    def make_room(self, user: str) -> None:
        """Removes a link that stands where a log of this user belongs.

        Where case is folded, a link for ``Ann`` has the name of the log of ``ann``.
        """
        for _, log in self._pairs(user):
            if log.is_symlink():
                log.unlink()

    def add(self, user: str) -> None:
        """Links the names that scripts look for to the logs that there are."""
        for link, log in self._pairs(user):
            # Fails if the name is in use or the file system has no links: the link is left out.
            with contextlib.suppress(OSError):
                if log.exists() and not link.exists():
                    link.symlink_to(log.name)
                    self._made.add(link)

    def remove(self) -> None:
        """Removes the links."""
        for link in self._made:
            with contextlib.suppress(OSError):
                if link.is_symlink():
                    link.unlink()
        self._made.clear()

    def _pairs(self, user: str) -> Iterator[tuple[Path, Path]]:
        name = file_name(user)
        if name == user or len(name) > _LONGEST or "/" in user or "\0" in user:
            return
        for kind in _KINDS:
            folder = self._root / kind
            yield folder / f"{user}_{kind}.jsonl", folder / f"{name}_{kind}.jsonl"


def file_name(user: str) -> str:
    """The name that the store gives to a user's files; ``docs/format.md`` describes it."""
    made = ""
    for character in user:
        dot = character == "." and (not made or made.endswith("."))
        if character in _PLAIN and not dot:
            made += character
        elif "A" <= character <= "Z":
            made += f"^{character.lower()}"
        else:
            made += "".join(f"%{byte:02x}" for byte in character.encode())
    return made
