"""The chart of ``memory.plot.timeline``: a line per episode and fact, and its time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from math import ceil

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
    SKY,
    SMALL,
    VERMILION,
    WIDTH_INCHES,
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
_EPISODE_INCHES, _FACT_INCHES = 0.3, 0.2
_LEFT, _DATE_WIDTH, _AXIS_LEFT = 0.2, 0.85, 5.9
_AXIS_WIDTH = WIDTH_INCHES - _AXIS_LEFT - 0.35
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
    shown = {one.episode_id: learned[one.episode_id][:facts] for one in episodes}
    left_out = {
        one.episode_id: len(learned[one.episode_id]) - len(shown[one.episode_id])
        for one in episodes
    }
    lines = sum(_height(len(shown[one.episode_id]), left_out[one.episode_id]) for one in episodes)
    handles, labels = _key(theme, episodes, [fact for facts in shown.values() for fact in facts])
    bottom = _AXIS_LABELS + _LEGEND_ROW_INCHES * ceil(len(labels) / _LEGEND_COLUMNS) + 0.2
    figure = MemoryFigure(_TOP + lines + bottom, theme)
    note = (
        f"the newest {len(episodes)} episodes"
        if more
        else f"{len(episodes)} episode{'s' if len(episodes) > 1 else ''}"
    )
    zone = episodes[-1].timestamp.tzinfo or UTC
    figure.heading(heading, f"{note} · times in {zone.tzname(None)}")
    axes = _time_axis(figure, episodes, bottom, lines, zone)
    place = lines
    for episode in episodes:
        place -= _EPISODE_INCHES
        _draw_episode(figure, axes, episode, bottom, place + _EPISODE_INCHES / 2 - 0.03)
        for fact in shown[episode.episode_id]:
            place -= _FACT_INCHES
            _draw_fact(figure, axes, fact, bottom, place + _FACT_INCHES / 2)
        if left_out[episode.episode_id]:
            place -= _FACT_INCHES
            count = left_out[episode.episode_id]
            words = f"and {count} more fact{'s' if count > 1 else ''}"
            figure.write(
                _LEFT + _DATE_WIDTH + 0.2,
                bottom + place + _FACT_INCHES / 2,
                words,
                color=theme.faint,
                size=SMALL,
                style="italic",
            )
    figure.key(axes, handles, labels, bottom - _AXIS_LABELS, _LEFT, _LEGEND_COLUMNS)
    return figure


def _height(facts: int, left_out: int) -> float:
    return _EPISODE_INCHES + _FACT_INCHES * (facts + bool(left_out))


def _time_axis(
    figure: MemoryFigure, episodes: Sequence[Episode], bottom: float, lines: float, zone: tzinfo
) -> Axes:
    axes = figure.axes_at(_AXIS_LEFT, bottom, _AXIS_WIDTH, lines)
    start = min(one.timestamp for one in episodes)
    end = max(_end(one) for one in episodes)
    margin = max((end - start) * 0.03, timedelta(minutes=10))
    axes.set_xlim(_number(start, -margin), _number(end, margin))
    axes.set_ylim(0, lines)
    axes.set_yticks([])
    locator = AutoDateLocator(tz=zone, minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(date_labels(locator, zone))
    axes.xaxis.get_offset_text().set(color=figure.theme.faint, fontproperties=font(SMALL))
    axes.grid(axis="x", color=figure.theme.line, linewidth=0.6)
    axes.set_axisbelow(True)
    return axes


def _end(episode: Episode) -> datetime:
    return max(episode.ended_at or episode.timestamp, episode.timestamp)


def _number(moment: datetime, shift: timedelta = timedelta()) -> float:
    try:
        moved = moment + shift
    except OverflowError:
        moved = moment
    return float(date2num(moved))


def _draw_episode(
    figure: MemoryFigure, axes: Axes, episode: Episode, bottom: float, height: float
) -> None:
    theme = figure.theme
    figure.write(
        _LEFT, bottom + height, episode.timestamp.date().isoformat(), color=theme.faint, size=SMALL
    )
    width = _AXIS_LEFT - _LEFT - _DATE_WIDTH - 0.15
    figure.write(
        _LEFT + _DATE_WIDTH, bottom + height, episode.title or "(no title)", width, weight="bold"
    )
    start, end = _number(episode.timestamp), _number(_end(episode))
    _, colour, shape = _reason(episode)
    axes.plot(
        [axes.get_xlim()[0], start],
        [height, height],
        color=theme.line,
        linewidth=0.8,
        linestyle=(0, (1, 2)),
    )
    axes.plot([start, end], [height, height], color=theme.text, linewidth=3, solid_capstyle="butt")
    axes.plot(
        [end],
        [height],
        marker=shape,
        markersize=8,
        color=colour,
        markeredgecolor=theme.text,
        markeredgewidth=0.7,
        clip_on=False,
    )


def _draw_fact(
    figure: MemoryFigure, axes: Axes, fact: SemanticMemory, bottom: float, height: float
) -> None:
    theme = figure.theme
    left = _LEFT + _DATE_WIDTH + 0.2
    label = figure.write(
        left, bottom + height, fact.content, _AXIS_LEFT - left - 0.15, color=theme.faint, size=SMALL
    )
    colour = theme.faint
    low, high = axes.get_xlim()
    start = _number(fact.valid_from)
    dashes: str | tuple[int, tuple[int, int]] = "-"
    if not fact.is_current:
        box = label.get_window_extent()
        across, up = figure.get_size_inches() * figure.dpi
        middle = (box.y0 + box.height * 0.45) / up
        figure.add_artist(
            Line2D(
                [box.x0 / across, box.x1 / across],
                [middle, middle],
                color=theme.faint,
                linewidth=0.9,
            )
        )
        dashes = (0, (2, 1))
    if fact.kind == "event":
        # An event happened; it does not go on.
        marker = "<" if start < low else ">" if start > high else _EVENT
        axes.plot(
            [min(max(start, low), high)],
            [height],
            marker=marker,
            markersize=4.5,
            color=colour,
            clip_on=False,
        )
        return
    end = high if fact.valid_to is None else _number(fact.valid_to)
    axes.plot(
        [max(start, low), max(min(end, high), low)],
        [height, height],
        color=colour,
        linewidth=1.6,
        linestyle=dashes,
    )
    if low <= start <= high:
        axes.plot([start], [height], marker="|", markersize=6, markeredgewidth=1.6, color=colour)
    if start < low:
        axes.plot([low], [height], marker="<", markersize=4.5, color=colour, clip_on=False)
    if fact.valid_to is None or end > high:
        axes.plot([high], [height], marker=">", markersize=4.5, color=colour, clip_on=False)
    elif end >= low:
        axes.plot([end], [height], marker="|", markersize=6, markeredgewidth=1.6, color=colour)


def _reason(episode: Episode) -> tuple[str, str, str]:
    return _REASONS.get(str(episode.boundary.get("reason")), _OTHER)


def _key(
    theme: Theme, episodes: Sequence[Episode], facts: Sequence[SemanticMemory]
) -> tuple[list[Artist], list[str]]:
    handles: list[Artist] = []
    labels = []
    for words, colour, shape in dict.fromkeys(map(_reason, episodes)):
        handles.append(
            Line2D(
                [],
                [],
                linestyle="",
                marker=shape,
                markersize=8,
                color=colour,
                markeredgecolor=theme.text,
                markeredgewidth=0.7,
            )
        )
        labels.append(words)
    if any(fact.kind != "event" for fact in facts):
        handles.append(
            Line2D(
                [], [], color=theme.faint, linewidth=1.6, marker=">", markersize=4.5, markevery=[1]
            )
        )
        labels.append("fact; with an arrow: current")
    if any(fact.kind == "event" for fact in facts):
        handles.append(
            Line2D([], [], linestyle="", color=theme.faint, marker=_EVENT, markersize=4.5)
        )
        labels.append("event")
    return handles, labels
