"""What the charts take: a memory to read from, and a theme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from ..dates import TimeLike
from ..inputs.options import Kind, Method
from ..records import Episode, SemanticMemory
from ..results import Hit

ThemeName: TypeAlias = Literal["light", "dark"]


class Source(Protocol):
    """The methods of a memory that the charts call, with the options that they use."""

    def search(
        self, user_id: str, query: str, *, top_k: int, kinds: Iterable[Kind], method: Method
    ) -> Sequence[Hit]:
        """Hits, best first."""

    def episodes(
        self,
        user_id: str,
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        newest_first: bool,
        limit: int,
    ) -> Iterable[Episode]:
        """Episodes by time."""

    def semantic_memories(
        self, user_id: str, *, include_superseded: bool
    ) -> Iterable[SemanticMemory]:
        """Facts by time."""

    def usage(self) -> Mapping[str, Any]:
        """Tokens, calls and seconds by phase and model."""
