"""``memory.plot``: pictures of what a memory holds and why it answers as it does, as matplotlib figures.

The modules beside this one draw and import matplotlib; this one imports them when a picture is
asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..dates import TimeLike
from ..errors import MissingExtraError
from ..inputs import checks as check
from ..results import Hit
from .source import Source, ThemeName

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plots:
    """Pictures of a memory. Each method returns a ``matplotlib.figure.Figure``, which notebooks show and ``savefig`` writes to a file.

    They need matplotlib: ``pip install 'episodica[plot]'``. ``theme`` is ``"light"`` or ``"dark"``;
    by default that of matplotlib's style. The colours can be told apart with every kind of colour
    vision. Scripts that no installed font has letters for are drawn as squares.
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: Source) -> None:
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
        """The user's episodes over time: where each ended and why, and what was learned from it, superseded facts struck through.

        Parameters
        ----------
        user_id
            Whose.
        since, until
            Only episodes that took place in this time, both ends included.
        limit
            Most episodes, 1 to 200; of more the newest.
        facts
            Most facts for each episode, 0 or more, the most important ones.
        theme
            ``"light"`` or ``"dark"``.

        Raises
        ------
        MissingExtraError
            Without matplotlib.

        Examples
        --------
        >>> figure = memory.plot.timeline("alice")
        >>> figure.savefig("timeline.png")
        """
        module = _needed("timeline")
        most, each = check.whole(limit, "limit", 1, 200), check.whole(facts, "facts", 0)
        episodes = list(
            self._memory.episodes(
                user_id, since=since, until=until, newest_first=True, limit=most + 1
            )
        )
        known = list(self._memory.semantic_memories(user_id, include_superseded=True))
        figure: Figure = module.draw(
            user_id, episodes[:most][::-1], known, each, len(episodes) > most, theme
        )
        return figure

    def scores(
        self, hits: Iterable[Hit], *, limit: int = 10, theme: ThemeName | None = None
    ) -> Figure:
        """What each leg and layer of the search contributed to the scores of the hits, as bars that add up to the score.

        Parameters
        ----------
        hits
            What :meth:`MemorySystem.search` returned, or some of it.
        limit
            Most hits of each kind, 1 to 50.
        theme
            ``"light"`` or ``"dark"``.

        Examples
        --------
        >>> figure = memory.plot.scores(memory.search("alice", "Lyon"))
        """
        figure: Figure = _needed("scores").draw(
            list(hits), getattr(hits, "query", ""), check.whole(limit, "limit", 1, 50), theme
        )
        return figure

    def map(self, user_id: str, *, limit: int = 60, theme: ThemeName | None = None) -> Figure:
        """The user's episodes in two dimensions, alike ones near each other, coloured by time.

        The two axes are the main axes of the episodes' cosine similarities (principal coordinates),
        as the search by meaning sees them.

        Parameters
        ----------
        user_id
            Whose.
        limit
            Most episodes, 1 to 200; of more the newest.
        theme
            ``"light"`` or ``"dark"``.

        Examples
        --------
        >>> figure = memory.plot.map("alice")
        """
        module = _needed("map")
        most = check.whole(limit, "limit", 1, 200)
        episodes = list(self._memory.episodes(user_id, newest_first=True, limit=most))[::-1]
        figure: Figure = module.draw(
            user_id, episodes, module.similarities(self._memory, user_id, episodes), theme
        )
        return figure

    def usage(self, *, theme: ThemeName | None = None) -> Figure:
        """Tokens that were sent to and came back from language models, by phase of the work.

        Examples
        --------
        >>> figure = memory.plot.usage()
        """
        figure: Figure = _needed("usage").draw(self._memory.usage(), theme)
        return figure


def _needed(name: str) -> Any:
    try:
        return import_module(f".{name}", __package__)
    except ImportError as error:
        raise MissingExtraError(
            "pictures need matplotlib", hint="pip install 'episodica[plot]'"
        ) from error
