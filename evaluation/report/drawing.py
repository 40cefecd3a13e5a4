"""Draws charts with matplotlib: SVG for pages, PNG for everything else, on a white ground."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .charts import INK, STYLE, Chart, Series

_SIZE_INCHES = (7.2, 3.8)
_BAND_ALPHA = 0.13
# Without dates and versions the same figures give the same bytes.
_METADATA: Any = {"Creator": None, "Date": None, "Format": None, "Type": None}


def save(chart: Chart, folder: Path) -> None:
    """Writes ``<name>.svg`` and ``<name>.png``."""
    with mpl.rc_context(STYLE):
        drawn = figure(chart)
        drawn.savefig(folder / f"{chart.name}.svg", metadata=_METADATA)
        drawn.savefig(folder / f"{chart.name}.png", dpi=150)


def svg(chart: Chart) -> str:
    """The chart as an ``<svg>`` element for a page."""
    with mpl.rc_context(STYLE):
        target = io.StringIO()
        figure(chart).savefig(target, format="svg", metadata=_METADATA)
    text = re.sub(r"<metadata>.*?</metadata>", "", target.getvalue(), flags=re.DOTALL)
    return text[text.index("<svg") :]


def figure(chart: Chart) -> Figure:
    """The chart as a figure."""
    made = Figure(figsize=_SIZE_INCHES, layout="constrained")
    axes = made.add_subplot()
    if chart.kind == "line":
        _draw_lines(axes, chart)
    else:
        _draw_bars(axes, chart)
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.set_ylim(0, _ceiling(chart))
    axes.grid(axis="x", visible=False)
    axes.legend()
    return made


def _ceiling(chart: Chart) -> float:
    """The top of the y axis: 1, or less where all values are far below."""
    highest = max(point.high for series in chart.series for point in series.points)
    return next(limit for limit in (0.1, 0.25, 0.5, 1.0) if highest <= limit or limit == 1.0)


def _draw_lines(axes: Axes, chart: Chart) -> None:
    for series in chart.series:
        points = sorted(series.points, key=lambda point: float(point.x))
        xs = [float(point.x) for point in points]
        if len(points) == 1:
            axes.errorbar(xs, _values(series), yerr=_errors(series), color=series.colour)
        lows, highs = [point.low for point in points], [point.high for point in points]
        axes.fill_between(xs, lows, highs, color=series.colour, alpha=_BAND_ALPHA, linewidth=0)
        axes.plot(xs, [point.y for point in points], "o-", color=series.colour, label=series.name)
    if chart.log_x:
        axes.set_xscale("log")
        axes.set_xlabel(f"{chart.x_label}, logarithmic")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _draw_bars(axes: Axes, chart: Chart) -> None:
    groups = list(dict.fromkeys(str(point.x) for series in chart.series for point in series.points))
    width = 0.8 / len(chart.series)
    for index, series in enumerate(chart.series):
        shift = width * (index - (len(chart.series) - 1) / 2)
        places = [groups.index(str(point.x)) + shift for point in series.points]
        axes.bar(
            places, _values(series), width=0.94 * width, color=series.colour, label=series.name
        )
        # In ink, as an interval in the bar's own colour would vanish inside it.
        axes.errorbar(places, _values(series), yerr=_errors(series), fmt="none", ecolor=INK)
    axes.set_xticks(range(len(groups)), groups)


def _values(series: Series) -> list[float]:
    return [point.y for point in series.points]


def _errors(series: Series) -> list[list[float]]:
    below = [point.y - point.low for point in series.points]
    return [below, [point.high - point.y for point in series.points]]
