"""``memory.plot``: charts of a memory and its scores, as matplotlib figures.

The other modules of this package draw and import matplotlib; this module imports them when a chart
is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .. import operation, queries
from ..dates import TimeLike
from ..errors import InvalidInputError, MissingExtraError
from ..inputs import checks as check
from ..results import Hit
from ..store import OpenStore

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .style import ThemeName


class Plots:
    """Charts of a memory, each a ``matplotlib.figure.Figure``.

    Notebooks show a figure; its ``savefig`` writes it to a file. The charts need matplotlib
    (``pip install 'episodica[plot]'``), else they raise :class:`MissingExtraError`. ``theme`` is
    ``"light"`` or ``"dark"``; the default follows matplotlib's style. The colours suit every kind
    of colour vision. Letters that no installed font has are drawn as squares.
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: OpenStore) -> None:
        self._memory = memory

    def timeline(
        self,
        user_id: str,
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        limit: int = 20,
        facts: int = 4,
        theme: ThemeName | None = None,
    ) -> Figure:
        """The user's episodes over time: why each ended, and its facts, outdated ones struck.

        Parameters
        ----------
        user_id
            User id.
        since, until
            Only episodes of this time, both ends included.
        limit
            Maximum number of episodes, 1 to 200; the newest are shown.
        facts
            Maximum number of facts per episode, 0 or more; the most important are shown.
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an argument out of bounds, and for an unknown theme.

        Examples
        --------
        >>> figure = memory.plot.timeline("alice")
        >>> figure.savefig("timeline.png")
        """
        module = _needed("timeline")
        most, each = check.whole(limit, "limit", 1, 200), check.whole(facts, "facts", 0)
        episodes = list(
            queries.episodes(
                self._memory, user_id, since=since, until=until, newest_first=True, limit=most + 1
            )
        )
        known = list(queries.semantic_memories(self._memory, user_id, include_superseded=True))
        figure: Figure = module.draw(
            user_id, episodes[:most][::-1], known, each, len(episodes) > most, theme
        )
        return figure

    def scores(
        self, hits: Iterable[Hit], *, limit: int = 10, theme: ThemeName | None = None
    ) -> Figure:
        """The contributions of legs and layers to each hit's score, as stacked bars.

        Parameters
        ----------
        hits
            The result of :meth:`MemorySystem.search`, or some of its hits.
        limit
            Maximum number of hits of each kind, 1 to 50.
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an argument out of bounds, and for an unknown theme.

        Examples
        --------
        >>> figure = memory.plot.scores(memory.search("alice", "Lyon"))
        """
        chosen = list(hits)
        for hit in chosen:
            if not isinstance(hit, Hit):
                raise InvalidInputError(
                    f"hits must be the result of a search, not `{type(hits).__name__}`"
                )
        figure: Figure = _needed("scores").draw(
            chosen, getattr(hits, "query", ""), check.whole(limit, "limit", 1, 50), theme
        )
        return figure

    def map(self, user_id: str, *, limit: int = 60, theme: ThemeName | None = None) -> Figure:
        """The user's episodes in two dimensions, similar ones near each other, coloured by time.

        The axes are the principal coordinates of the episodes' cosine similarities.

        Parameters
        ----------
        user_id
            User id.
        limit
            Maximum number of episodes, 1 to 200; the newest are shown.
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an argument out of bounds, and for an unknown theme.

        Examples
        --------
        >>> figure = memory.plot.map("alice")
        """
        module = _needed("map")
        most = check.whole(limit, "limit", 1, 200)
        newest = queries.episodes(self._memory, user_id, newest_first=True, limit=most)
        episodes = list(newest)[::-1]
        figure: Figure = module.draw(
            user_id, episodes, module.similarities(self._memory, user_id, episodes), theme
        )
        return figure

    def usage(self, *, theme: ThemeName | None = None) -> Figure:
        """Tokens sent to and received from language models, by phase.

        Parameters
        ----------
        theme
            ``"light"`` or ``"dark"``.

        Returns
        -------
        matplotlib.figure.Figure
            The chart; ``savefig`` writes it to a file.

        Raises
        ------
        InvalidInputError
            For an unknown theme.

        Examples
        --------
        >>> figure = memory.plot.usage()
        """
        figure: Figure = _needed("usage").draw(operation.usage(self._memory), theme)
        return figure


def _needed(name: str) -> Any:
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        raise MissingExtraError(
            "charts need matplotlib", hint="pip install 'episodica[plot]'"
        ) from error
