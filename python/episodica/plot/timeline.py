"""The chart of ``memory.plot.timeline``: a line per episode and fact, and its time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from math import ceil, inf
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, date2num
from matplotlib.lines import Line2D

from ..records import Episode, SemanticMemory, learned_from
from .style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    ROW,
    SKY,
    SMALL,
    VERMILION,
    YELLOW,
    MemoryFigure,
    Theme,
    date_labels,
    empty,
    font,
    theme_of,
)

# Reasons for the end of an episode (`Episode.boundary["reason"]`): words, colour and shape, as
# some people can't tell all colours apart.
_REASONS = {
    "session": ("session ended", BLUE, "s"),
    "time_gap": ("long pause", ORANGE, "D"),
    "topic_shift": ("change of subject", VERMILION, "^"),
    "intent": ("announced change", PURPLE, "v"),
    "closing": ("goodbye", GREEN, "o"),
    "size": ("buffer full", SKY, "P"),
    "flush": ("closed by the caller", YELLOW, "X"),
    "llm": ("a model's judgement", VERMILION, "*"),
    "imported": ("imported", SKY, "p"),
}
_OTHER = ("other", PURPLE, "h")
_TITLE_LEFT, _FACT_LEFT = 1.05, 1.25
_TOP, _AXIS_LABELS, _LEGEND_ROW_INCHES = 0.65, 0.45, 0.19
_LEGEND_COLUMNS = 5
_EVENT = "d"


def draw(
    user_id: str,
    episodes: Sequence[Episode],
    known: Sequence[SemanticMemory],
    facts: int,
    more: bool,
    theme_name: str | None,
) -> MemoryFigure:
    """The figure, for episodes in order of time."""
    theme = theme_of(theme_name)  # type: ignore[arg-type]
    heading = f"Timeline of {user_id}"
    if not episodes:
        return empty(theme, heading, "There are no episodes.")
    learned = learned_from(episodes, sorted(known, key=lambda fact: -fact.importance))
    rows: list[Episode | SemanticMemory | int] = []
    for one in episodes:
        own = learned[one.episode_id]
        rows += [one, *own[:facts], *([len(own) - facts] if len(own) > facts else [])]
    handles, labels = _key(
        episodes, [one for one in rows if isinstance(one, SemanticMemory)], theme
    )
    bottom = _AXIS_LABELS + _LEGEND_ROW_INCHES * ceil(len(labels) / _LEGEND_COLUMNS) + 0.2
    top = bottom + ROW * len(rows)
    figure = MemoryFigure(_TOP + top, theme)
    count = f"{len(episodes)} episode{'s' if len(episodes) > 1 else ''}"
    zone = episodes[-1].timestamp.tzinfo or UTC
    note = f"{'the newest ' if more else ''}{count} · times in {zone.tzname(None)}"
    figure.heading(heading, note)
    axes = figure.rows(top, len(rows), 5.9, 0.35)
    _set_time(figure, axes, episodes, zone)
    for place, row in enumerate(rows):
        if isinstance(row, Episode):
            _draw_episode(figure, axes, place, row)
        elif isinstance(row, SemanticMemory):
            _draw_fact(figure, axes, place, row)
        else:
            rest = f"and {row} more fact{'s' if row > 1 else ''}"
            figure.label(axes, place, rest, _FACT_LEFT, color=theme.faint, size=SMALL)
    figure.key(axes, handles, labels, bottom - _AXIS_LABELS, columns=_LEGEND_COLUMNS)
    return figure


def _set_time(figure: MemoryFigure, axes: Axes, episodes: Sequence[Episode], zone: tzinfo) -> None:
    start = min(one.timestamp for one in episodes)
    end = max(_end(one) for one in episodes)
    margin = max((end - start) * 0.03, timedelta(minutes=10))
    axes.set_xlim(_number(start, -margin), _number(end, margin))
    locator = AutoDateLocator(tz=zone, minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(date_labels(locator, zone))
    axes.xaxis.get_offset_text().set(color=figure.theme.faint, fontproperties=font(SMALL))


def _end(episode: Episode) -> datetime:
    return max(episode.ended_at or episode.timestamp, episode.timestamp)


def _number(moment: datetime, shift: timedelta = timedelta()) -> float:
    try:
        moved = moment + shift
    except OverflowError:
        moved = moment
    return float(date2num(moved))


def _draw_episode(figure: MemoryFigure, axes: Axes, row: int, episode: Episode) -> None:
    theme = figure.theme
    date = episode.timestamp.date().isoformat()
    figure.label(axes, row, date, color=theme.faint, size=SMALL)
    figure.label(axes, row, episode.title or "(no title)", _TITLE_LEFT, weight="bold")
    middle = [row + 0.5] * 2
    start, end = _number(episode.timestamp), _number(_end(episode))
    dots = (0, (1, 2))
    axes.plot([axes.get_xlim()[0], start], middle, color=theme.line, linewidth=0.8, linestyle=dots)
    axes.plot([start, end], middle, color=theme.text, linewidth=3, solid_capstyle="butt")
    axes.plot([end], middle[:1], clip_on=False, **_mark(episode, theme))


def _mark(episode: Episode, theme: Theme) -> dict[str, Any]:
    """The look of the mark that tells why an episode ended."""
    _, colour, shape = _reason(episode)
    edge = {"markeredgecolor": theme.text, "markeredgewidth": 0.7}
    return {"marker": shape, "markersize": 8, "color": colour, "linestyle": "", **edge}


def _draw_fact(figure: MemoryFigure, axes: Axes, row: int, fact: SemanticMemory) -> None:
    """A line from when a fact became true to its end; an event happened, it does not go on."""
    colour = figure.theme.faint
    label = figure.label(axes, row, fact.content, _FACT_LEFT, color=colour, size=SMALL)
    if not fact.is_current:
        figure.strike(label)
    low, high = axes.get_xlim()
    moments = [_number(fact.valid_from)]
    if fact.kind != "event":
        moments.append(inf if fact.valid_to is None else _number(fact.valid_to))
    shown = [min(max(one, low), high) for one in moments]
    style = "-" if fact.is_current else "--"
    axes.plot(shown, [row + 0.5] * len(shown), color=colour, linewidth=1.6, linestyle=style)
    inside = _EVENT if fact.kind == "event" else "|"
    for moment, place in zip(moments, shown, strict=True):
        mark = "<" if moment < low else ">" if moment > high else inside
        axes.plot([place], [row + 0.5], marker=mark, markersize=5, color=colour, clip_on=False)


def _reason(episode: Episode) -> tuple[str, str, str]:
    return _REASONS.get(str(episode.boundary.get("reason")), _OTHER)


def _key(
    episodes: Sequence[Episode], facts: Sequence[SemanticMemory], theme: Theme
) -> tuple[list[Artist], list[str]]:
    marks: dict[str, Artist] = {
        _reason(one)[0]: Line2D([], [], **_mark(one, theme)) for one in episodes
    }
    look: dict[str, Any] = {"color": theme.faint, "markersize": 5}
    if any(fact.kind != "event" for fact in facts):
        arrow = Line2D([], [], linewidth=1.6, marker=">", markevery=[1], **look)
        marks["fact; with an arrow: current"] = arrow
    if any(fact.kind == "event" for fact in facts):
        marks["event"] = Line2D([], [], linestyle="", marker=_EVENT, **look)
    return list(marks.values()), list(marks)
