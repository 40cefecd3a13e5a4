"""The chart of ``memory.plot.scores``: the terms of each hit's score, end to end.

Raw scores are comparable only within a kind, so every kind has its own axis. The number at
the end of a bar is the relevance, which is comparable across kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ..results import Hit
from .style import (
    BLUE,
    GREEN,
    LEFT,
    ORANGE,
    PALETTE,
    PURPLE,
    ROW,
    SKY,
    VERMILION,
    YELLOW,
    MemoryFigure,
    empty,
    theme_of,
)

_KINDS = {"episodic": "Episodes", "semantic": "Facts", "message": "Messages"}
# A leg has the same colour everywhere; its part from title and summary (L0) is hatched.
_COLOURS = {
    "words": BLUE,
    "bm25": BLUE,
    "vector": ORANGE,
    "cosine": ORANGE,
    "tokens": GREEN,
    "L2": GREEN,
    "speaker": PURPLE,
    "subject": PURPLE,
    "statement": SKY,
    "current": SKY,
    "answer": VERMILION,
    "norlift": YELLOW,
}
_HATCHES = ("", "////", "....", "xxxx", "++++")
_HEAD_INCHES, _FOOT_INCHES = 0.4, 0.8
_AXIS_LEFT = 5.0


def draw(hits: Sequence[Hit], query: str, limit: int, theme_name: str | None) -> MemoryFigure:
    """The figure, for hits in any order."""
    theme = theme_of(theme_name)  # type: ignore[arg-type]
    heading = f"Scores for: {query}" if query else "Scores of the hits"
    kinds = {
        kind: [hit for hit in hits if hit.kind == kind]
        for kind in dict.fromkeys(hit.kind for hit in hits)
    }
    if not kinds:
        return empty(theme, heading, "There are no hits.")
    rows = {kind: sorted(found, key=lambda hit: hit.rank)[:limit] for kind, found in kinds.items()}
    heights = [_HEAD_INCHES + ROW * len(found) + _FOOT_INCHES for found in rows.values()]
    figure = MemoryFigure(0.45 + sum(heights), theme)
    figure.heading(heading, "")
    top = sum(heights)
    for (kind, found), height in zip(rows.items(), heights, strict=True):
        few = len(found) < len(kinds[kind])
        note = f"  the first {len(found)} of {len(kinds[kind])}" if few else ""
        figure.write(LEFT, top - 0.22, f"{_KINDS.get(kind, kind)}{note}", weight="bold")
        _draw_kind(figure, found, top - _HEAD_INCHES)
        top -= height
    return figure


def terms(hit: Hit) -> dict[str, float]:
    """The terms that are not sums of others (``L1`` is a sum, ``L1.words`` is not)."""
    if hit.explanation is not None:
        leaves: dict[str, float] = {}
        pending = [hit.explanation]
        while pending:
            one = pending.pop()
            pending += reversed(one.children)
            if not one.children:
                leaves[one.name] = leaves.get(one.name, 0.0) + one.value
        return leaves
    sums = {"raw", *(name.rpartition(".")[0] for name in hit.scores)}
    return {name: value for name, value in hit.scores.items() if name not in sums}


def _draw_kind(figure: MemoryFigure, hits: Sequence[Hit], top: float) -> None:
    axes = figure.rows(top, len(hits), _AXIS_LEFT)
    parts = [{name: value for name, value in terms(hit).items() if isfinite(value)} for hit in hits]
    names = list(dict.fromkeys(name for part in parts for name in part))
    looks = _looks(names)
    furthest = 0.0
    for row, (hit, part) in enumerate(zip(hits, parts, strict=True)):
        figure.label(axes, row, f"{hit.rank}  {_label(hit)}")
        bars = [(part[name], *looks[name]) for name in names if name in part]
        furthest = max(furthest, figure.stack(axes, row, bars, f"{hit.score:.3f}"))
    axes.axvline(0, color=figure.theme.faint, linewidth=0.8)
    if furthest > 0:
        axes.set_xlim(right=furthest * 1.02)
        # The locator also proposes ticks beyond the limit, where their labels would be cut.
        axes.set_xticks([tick for tick in axes.get_xticks() if tick <= furthest * 1.02])
    if names:
        bottom = top - ROW * len(hits) - 0.32
        figure.key(axes, figure.samples(looks.values()), names, bottom, _AXIS_LEFT)


def _looks(names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A unique colour and hatching for each term."""
    taken: dict[str, tuple[str, str]] = {}
    for name in names:
        layer, _, leaf = name.rpartition(".")
        colour = _COLOURS.get(leaf)
        first = "////" if layer == "L0" else ""
        choices = [(colour, hatch) for hatch in dict.fromkeys((first, *_HATCHES))] if colour else []
        choices += [(other, hatch) for hatch in _HATCHES for other in PALETTE]
        taken[name] = next((one for one in choices if one not in taken.values()), choices[0])
    return taken


def _label(hit: Hit) -> str:
    if hit.kind == "message" and hit.messages:
        return f"{hit.messages[0].speaker}: {hit.content[:300]}"
    return f"{'' if hit.is_current else '(outdated) '}{hit.title or hit.content[:300]}"
