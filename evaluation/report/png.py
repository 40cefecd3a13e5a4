"""Draws charts as PNG, where matplotlib is installed (`pip install episodica[plot]`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .charts import Chart


def available() -> bool:
    """Whether matplotlib is there."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(chart: Chart, path: Path) -> None:
    """Writes the chart to a file."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.8), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    groups = list(dict.fromkeys(str(point.x) for series in chart.series for point in series.points))
    for index, series in enumerate(chart.series):
        ys = [point.y for point in series.points]
        below = [point.y - point.low for point in series.points]
        above = [point.high - point.y for point in series.points]
        if chart.kind == "line":
            xs = [float(point.x) for point in series.points]
            axes.errorbar(
                xs,
                ys,
                yerr=[below, above],
                color=series.colour,
                label=series.name,
                marker="o",
                markersize=4,
                capsize=2,
            )
        else:
            width = 0.8 / len(chart.series)
            places = [
                groups.index(str(point.x)) + width * (index - (len(chart.series) - 1) / 2)
                for point in series.points
            ]
            axes.bar(places, ys, width=width * 0.94, color=series.colour, label=series.name)
            axes.errorbar(
                places, ys, yerr=[below, above], fmt="none", ecolor="#1c2024", elinewidth=1
            )
    if chart.kind == "bar":
        axes.set_xticks(range(len(groups)), groups)
    elif chart.log_x:
        axes.set_xscale("log")
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(frameon=False)
    figure.savefig(path)
