"""The chart of ``memory.plot.usage``: tokens of language models, a bar per phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from .style import BLUE, ORANGE, SMALL, WIDTH_INCHES, MemoryFigure, empty, font, theme_of

_ROW_INCHES = 0.34
_LEFT, _AXIS_LEFT = 0.2, 2.6
_AXIS_WIDTH = WIDTH_INCHES - _AXIS_LEFT - 3.0
_TOP, _BOTTOM = 0.6, 0.85


def draw(usage: Mapping[str, Any], theme_name: str | None) -> MemoryFigure:
    """The figure, with the phase of most tokens on top."""
    theme = theme_of(theme_name)  # type: ignore[arg-type]
    phases = sorted(
        ((name, _numbers(one)) for name, one in dict(usage.get("by_phase") or {}).items()),
        key=lambda one: -sum(one[1][:2]),
    )
    if not phases:
        return empty(theme, "Tokens by phase", "No language model was asked.")
    lines = _ROW_INCHES * len(phases)
    figure = MemoryFigure(_TOP + lines + _BOTTOM, theme)
    sent, received, calls, seconds = (
        sum(column) for column in zip(*(one for _, one in phases), strict=True)
    )
    figure.heading(
        "Tokens by phase", f"{int(sent + received):,} tokens in {_counted(calls)}, {_time(seconds)}"
    )
    axes = figure.axes_at(_AXIS_LEFT, _BOTTOM, _AXIS_WIDTH, lines)
    axes.set_ylim(len(phases), 0)
    axes.set_yticks([])
    for row, (name, (prompt, completion, count, spent)) in enumerate(phases):
        axes.barh(row + 0.5, prompt, 0.62, color=BLUE, edgecolor=theme.edge, linewidth=0.6)
        axes.barh(
            row + 0.5,
            completion,
            0.62,
            left=prompt,
            color=ORANGE,
            hatch="////",
            edgecolor=theme.edge,
            linewidth=0.6,
        )
        figure.write(
            _LEFT,
            _BOTTOM + lines - _ROW_INCHES * (row + 0.5),
            name.replace("_", " "),
            _AXIS_LEFT - _LEFT - 0.15,
        )
        axes.annotate(
            f"{int(prompt + completion):,} in {_counted(count)}, {_time(spent)}",
            (prompt + completion, row + 0.5),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=theme.text,
            fontproperties=font(SMALL),
            annotation_clip=False,
        )
    axes.set_xlim(0, max(1.0, *(prompt + completion for _, (prompt, completion, _, _) in phases)))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{int(value):,}"))
    axes.grid(axis="x", color=theme.line, linewidth=0.6)
    axes.set_axisbelow(True)
    handles = [
        Patch(facecolor=BLUE, edgecolor=theme.edge, linewidth=0.6),
        Patch(facecolor=ORANGE, hatch="////", edgecolor=theme.edge, linewidth=0.6),
    ]
    figure.key(axes, handles, ["sent (prompts)", "received (answers)"], 0.42, _AXIS_LEFT, 2)
    return figure


def _numbers(one: Mapping[str, Any]) -> tuple[float, float, float, float]:
    return tuple(
        float(one.get(name) or 0)
        for name in ("prompt_tokens", "completion_tokens", "calls", "seconds")
    )  # type: ignore[return-value]


def _counted(calls: float) -> str:
    return f"{int(calls):,} call{'' if calls == 1 else 's'}"


def _time(seconds: float) -> str:
    return f"{seconds:,.1f} s" if seconds >= 1 else "less than 1 s"
