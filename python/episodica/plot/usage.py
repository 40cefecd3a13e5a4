"""The chart of ``memory.plot.usage``: tokens of language models, a bar per phase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from matplotlib.ticker import FuncFormatter, MaxNLocator

from .style import BLUE, ORANGE, ROW, MemoryFigure, empty, theme_of

_NUMBERS = ("prompt_tokens", "completion_tokens", "calls", "seconds")
_LOOKS = {"sent (prompts)": (BLUE, ""), "received (answers)": (ORANGE, "////")}
_AXIS_LEFT = 2.6
_TOP, _BOTTOM = 0.6, 0.85


def draw(usage: Mapping[str, Any], theme_name: str | None) -> MemoryFigure:
    """The figure, with the phase of most tokens on top."""
    theme = theme_of(theme_name)  # type: ignore[arg-type]
    by_phase: Mapping[str, Mapping[str, Any]] = usage.get("by_phase") or {}
    if not by_phase:
        return empty(theme, "Tokens by phase", "No language model was asked.")
    phases = {
        name: {number: float(one.get(number) or 0) for number in _NUMBERS}
        for name, one in sorted(by_phase.items(), key=lambda one: -_tokens(one[1]))
    }
    total = {number: sum(one[number] for one in phases.values()) for number in _NUMBERS}
    top = _BOTTOM + ROW * len(phases)
    figure = MemoryFigure(_TOP + top, theme)
    figure.heading("Tokens by phase", _told(total, " tokens"))
    axes = figure.rows(top, len(phases), _AXIS_LEFT, 3.0)
    for row, (name, one) in enumerate(phases.items()):
        figure.label(axes, row, name.replace("_", " "))
        both = zip((one["prompt_tokens"], one["completion_tokens"]), _LOOKS.values(), strict=True)
        figure.stack(axes, row, [(value, *look) for value, look in both], _told(one))
    axes.set_xlim(0, max(1.0, *map(_tokens, phases.values())))
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{int(value):,}"))
    figure.key(axes, figure.samples(_LOOKS.values()), list(_LOOKS), 0.42, _AXIS_LEFT)
    return figure


def _tokens(numbers: Mapping[str, Any]) -> float:
    return float((numbers.get("prompt_tokens") or 0) + (numbers.get("completion_tokens") or 0))


def _told(numbers: Mapping[str, float], noun: str = "") -> str:
    """``1,204 in 3 calls, 2.1 s``."""
    calls, seconds = numbers["calls"], numbers["seconds"]
    time = f"{seconds:,.1f} s" if seconds >= 1 else "less than 1 s"
    of_calls = f"{int(calls):,} call{'' if calls == 1 else 's'}"
    return f"{int(_tokens(numbers)):,}{noun} in {of_calls}, {time}"
