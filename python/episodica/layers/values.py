"""What the tree returns: entries of folders, drawings of trees, and the way to an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ..results import Hit
from ..value import Value, clip
from ..visible import visible

Layer: TypeAlias = Literal["L0", "L1", "L2"]
LAYERS: tuple[Layer, ...] = ("L0", "L1", "L2")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Entry(Value):
    """A folder or a text of the tree: ``memory.ls(uri)``.

    Attributes
    ----------
    uri : str
        Its address, for ``ls`` and ``read``.
    name : str
        The last part of the address.
    kind : str
        ``"folder"``, ``"episode"``, ``"fact"``, ``"message"`` or ``"profile"``.
    title : str
        The title of an episode, the text of a fact.
    timestamp : datetime or None
        When the episode took place, or the fact became true.
    record_uri : str
        The address of the record, for ``memory.get``.
    entries : tuple of Entry or None
        The entries below, to the depth asked of :meth:`MemorySystem.tree`.
    """

    uri: str
    name: str
    kind: str
    title: str = ""
    timestamp: datetime | None = None
    record_uri: str = ""
    entries: tuple[Entry, ...] | None = None

    @property
    def is_folder(self) -> bool:
        """Whether there may be entries below."""
        return self.kind == "folder"

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries or ())

    def _lines(self, indent: str) -> Iterator[str]:
        for at, entry in enumerate(self):
            last = at + 1 == len(self.entries or ())
            mark = "/" if entry.is_folder else ""
            title = f"  {clip(entry.title)}" if entry.title else ""
            yield f"{indent}{'└── ' if last else '├── '}{visible(entry.name)}{mark}{title}"
            yield from entry._lines(indent + ("    " if last else "│   "))

    def __str__(self) -> str:
        """The tree as a drawing."""
        return "\n".join([visible(self.uri), *self._lines("")])

    def __repr__(self) -> str:
        title = f" {clip(self.title)!r}" if self.title else ""
        return f"<Entry {self.kind} {clip(self.uri, 120)}{title}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step(Value):
    """A place that a walk looked at.

    Attributes
    ----------
    uri, title : str
        The place.
    layer : str
        The layer that was compared: ``"L0"`` to ``"L2"``; that of a folder is ``"L0"``.
    score : float
        Of a folder, the relevance of the best text below; of a layer, its share of the score.
    entered : bool
        Whether the walk went on there.
    """

    uri: str
    layer: str
    score: float
    title: str = ""
    entered: bool = True

    def __repr__(self) -> str:
        state = "" if self.entered else ", left"
        return f"<Step {self.layer} {self.score:.3f} {clip(self.uri, 120)}{state}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exploration(Value):
    """The way from abstracts to contents: ``memory.explore(query, uri)``.

    Attributes
    ----------
    query, uri : str
        The question, and the start of the walk.
    steps : tuple of Step
        The places in the order of the walk.
    hits : tuple of Hit
        The hits, best first.
    entries : tuple of Entry
        The places of these hits.
    """

    query: str
    uri: str
    steps: tuple[Step, ...] = ()
    hits: tuple[Hit, ...] = ()
    entries: tuple[Entry, ...] = ()

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        lines = [
            f"{'→' if step.entered else '·'} {step.layer} {step.score:.3f} {visible(step.uri)}"
            + (f"  {clip(step.title)}" if step.title else "")
            for step in self.steps
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<Exploration of {clip(self.query)!r}: {len(self.steps)} steps, {len(self.hits)} hits>"
        )
