"""The chart of ``memory.plot.map``: episodes in the plane, similar ones near each other.

The search by meaning gives a matrix of cosines, one for each pair of episodes. Its principal
coordinates (J. C. Gower, Biometrika 53, 1966) are the principal components of the
vectors, which need not leave the engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.dates import AutoDateLocator, date2num

from ..queries import search
from ..records import Episode
from ..store import OpenStore
from .style import SMALL, WIDTH_INCHES, MemoryFigure, date_labels, empty, font, theme_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The longest query of title and summary: more text hardly changes its vector, and costs time.
_QUESTION_CHARACTERS = 600
_MAX_TOP_K = 1000
_SIDE = 5.6
_DOT_INCHES = 0.27
_ROW_INCHES = 0.22
_LEFT, _BOTTOM, _TOP = 0.3, 0.35, 0.6
_LIST_LEFT = _LEFT + _SIDE + 0.45
_MAX_TITLES = 20
_UNNAMED = 0.6
_MARGIN = 0.05
_SHORTEST_BAR_DAYS = 0.01


def similarities(
    memory: OpenStore, user_id: str, episodes: Sequence[Episode]
) -> NDArray[np.float64]:
    """Cosines of the episodes, shape (episodes, episodes), symmetric, 1 on the diagonal."""
    place = {episode.episode_id: index for index, episode in enumerate(episodes)}
    found = np.zeros((len(episodes), len(episodes)))
    for row, episode in enumerate(episodes):
        question = (
            f"{episode.title}\n{episode.summary}"[:_QUESTION_CHARACTERS].strip()
            or episode.content[:_QUESTION_CHARACTERS]
        )
        for hit in search(
            memory, user_id, question or "?", kinds=["episodic"], method="vector", top_k=_MAX_TOP_K
        ):
            column = place.get(hit.id)
            if column is not None:
                found[row, column] = hit.score
    both = (found + found.T) / 2
    np.fill_diagonal(both, 1.0)
    return both


def coordinates(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two main axes, shape (episodes, 2), scaled into the square from 0 to 1.

    The first episode decides the signs of the axes, so that later episodes don't flip them.
    """
    count = len(cosines)
    centred = cosines - cosines.mean(0) - cosines.mean(1)[:, None] + cosines.mean()
    values, vectors = np.linalg.eigh(centred)
    axes = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    if axes.shape[1] < 2:
        axes = np.zeros((count, 2))
    axes *= np.where(axes[0] < 0, -1.0, 1.0)
    span = np.ptp(axes, axis=0).max()
    if span < 1e-6:
        return np.full((count, 2), 0.5)
    middle = (axes.max(0) + axes.min(0)) / 2
    return np.asarray((axes - middle) / span + 0.5)


def apart(points: NDArray[np.float64], distance: float) -> NDArray[np.float64]:
    """The points, moved until no two are nearer than ``distance``, if the unit square has room."""
    moved = points.astype(float)
    count = len(moved)
    # Points in one place move apart along a spiral: without chance, so the chart is reproducible.
    turns = np.arange(count) * 2.399963
    moved += 1e-4 * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for _ in range(400):
        between = moved[:, None] - moved[None]
        lengths = np.hypot(between[..., 0], between[..., 1])
        np.fill_diagonal(lengths, np.inf)
        overlap = np.maximum(distance - lengths, 0.0)
        if overlap.max(initial=0.0) < 1e-3 * distance:
            break
        push = 0.5 * (between / np.maximum(lengths, 1e-9)[..., None] * overlap[..., None]).sum(1)
        # Without a limit, a crowd would leave the square in one step.
        push /= np.maximum(1.0, np.linalg.norm(push, axis=1) / (0.3 * distance))[:, None]
        moved += push
        moved = np.clip(moved, 0.0, 1.0)
    return moved


def landmarks(
    points: NDArray[np.float64], sizes: Sequence[int], most: int = _MAX_TITLES
) -> list[int]:
    """The points that get a number and a title: large ones, from all parts of the map.

    The largest comes first; each following one is large and far from those already chosen.
    """
    weights = np.sqrt(np.maximum(np.asarray(sizes, dtype=float), 1.0))
    chosen = [int(np.argmax(weights))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < min(most, len(points)):
        nearest = np.minimum(nearest, np.hypot(*(points - points[chosen[-1]]).T))
        # Points in the place of a chosen one come last, by size.
        worth = weights * (nearest + 1e-9)
        worth[chosen] = -1.0
        chosen.append(int(np.argmax(worth)))
    return sorted(chosen)


def draw(
    user_id: str, episodes: Sequence[Episode], cosines: NDArray[np.float64], theme_name: str | None
) -> MemoryFigure:
    """The figure, for episodes in order of time."""
    theme = theme_of(theme_name)  # type: ignore[arg-type]
    heading = f"Map of {user_id}"
    if not episodes:
        return empty(theme, heading, "There are no episodes.")
    figure = MemoryFigure(_TOP + _SIDE + _BOTTOM, theme)
    figure.heading(
        heading,
        f"{len(episodes)} episode{'s' if len(episodes) > 1 else ''}, similar ones near each other",
    )
    axes = figure.axes_at(_LEFT, _BOTTOM, _SIDE, _SIDE)
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    for side in axes.spines.values():
        side.set(visible=True, color=theme.line)
    room = 1 - 2 * _MARGIN
    dot = min(_DOT_INCHES, 3.2 / np.sqrt(len(episodes))) / _SIDE
    true = coordinates(cosines)
    places = _MARGIN + room * apart(true, dot * 1.12 / room)
    times = np.array([float(date2num(episode.timestamp)) for episode in episodes])
    named = landmarks(true, [episode.message_count for episode in episodes])
    points = dot * _SIDE * 72
    sizes = np.where(np.isin(np.arange(len(episodes)), named), points, points * _UNNAMED) ** 2
    look: dict[str, Any] = {"edgecolors": theme.faint, "linewidths": 0.6}
    dots = axes.scatter(places[:, 0], places[:, 1], s=sizes, c=times, cmap="cividis", **look)
    for number, place in enumerate(named, 1):
        # The later half of the colours is light.
        ink = "#000000" if times[place] > (times.min() + times.max()) / 2 else "#ffffff"
        look = {"ha": "center", "va": "center", "color": ink}
        across, up = places[place]
        prop = font(min(SMALL, points * 0.45))
        axes.text(across, up, str(number), fontproperties=prop, **look)
    _list(figure, [episodes[place] for place in named], len(episodes))
    if np.ptp(times) > _SHORTEST_BAR_DAYS:
        bar = figure.axes_at(_LIST_LEFT, _BOTTOM + 0.1, WIDTH_INCHES - _LIST_LEFT - 0.4, 0.12)
        locator = AutoDateLocator(minticks=2, maxticks=5)
        labels = date_labels(locator, UTC, show_offset=False)
        figure.colorbar(dots, bar, orientation="horizontal", ticks=locator, format=labels)
    return figure


def _list(figure: MemoryFigure, episodes: Sequence[Episode], total: int) -> None:
    """The legend of the numbers: the titles of ``episodes``, which are some of ``total``."""
    line = _BOTTOM + _SIDE - 0.1
    if len(episodes) < total:
        words = f"{len(episodes)} of them, long ones from all parts of the map:"
        figure.write(_LIST_LEFT, line, words, color=figure.theme.faint, size=SMALL)
        line -= _ROW_INCHES
    for number, episode in enumerate(episodes, 1):
        figure.write(_LIST_LEFT + 0.22, line, str(number), size=SMALL, ha="right", weight="bold")
        figure.write(_LIST_LEFT + 0.32, line, str(episode.timestamp.date()), size=SMALL)
        words, room = episode.title or "(no title)", WIDTH_INCHES - _LIST_LEFT - 1.3
        figure.write(_LIST_LEFT + 1.1, line, words, room, size=SMALL)
        line -= _ROW_INCHES
