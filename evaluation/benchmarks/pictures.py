"""Plots of a run, as SVG on a white ground that is legible on light and dark pages alike."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.benchmarks.rows import BUDGETS, FULL, SIZES, plain, short
from evaluation.report.charts import COLOURS, FAINT, INK, STYLE

Result = Mapping[str, Any]
OURS, OTHERS, LIMIT = COLOURS[0], COLOURS[2], COLOURS[5]
PROCESSOR = COLOURS[1]

NAMES = frozenset({"budgets.svg", "growth.svg", "ingestion.svg", "rivals.svg"})
# What is shown over sizes: rows with a title.
GROWTH = (
    ("search", "search: episodes and facts, ms"),
    ("search_messages", "search: with messages too, ms"),
    ("context", "context of 2,000 tokens, ms"),
    ("bm25", "words alone, ms"),
    ("vector", "nearest vectors alone, ms"),
    ("recall", "recall@10 of nearest vectors"),
    ("episode", "storing one episode, ms"),
    ("cold_open", "opening to the first answer, ms"),
    ("resident", "resident memory, MB"),
    ("ingest_batches", "messages added a second"),
    ("tail_other", "p99 while others grow, against idle"),
    ("tail_same", "p99 while it grows, against idle"),
)


def draw(result: Result, folder: Path) -> dict[str, str]:
    """Draws what the run has figures for; the names of the files, with a title for each."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    with mpl.rc_context(STYLE):
        for name, title, figure in _figures(result):
            figure.savefig(folder / name, metadata={"Date": None})
            made[name] = title
    for stale in NAMES - made.keys():
        (folder / stale).unlink(missing_ok=True)
    return made


def _figures(result: Result) -> Iterator[tuple[str, str, Figure]]:
    measured = [
        one
        for one in result["budgets"]
        if one["value"] is not None and one["limit"] and one["value"] > 0
    ]
    if measured:
        yield "budgets.svg", "Each figure as a share of its budget", _shares(measured)
    if result[SIZES]:
        yield "growth.svg", "How figures grow with the number of messages", _growth(result)
        if any(
            row["key"] == "ingest_batches"
            for part in result[SIZES].values()
            for row in part["rows"]
        ):
            yield "ingestion.svg", "Messages added a second, as the store grows", _ingestion(result)
    if any(not one["reason"] for part in result[SIZES].values() for one in part["rivals"]):
        yield "rivals.svg", "The alternatives", _rivals(result)


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.set_layout_engine("constrained", w_pad=0.1, h_pad=0.07)
    return figure


def _shares(measured: Sequence[Mapping[str, Any]]) -> Figure:
    """Bars to the right of the line are over the budget."""
    figure = _figure(9, 0.7 + 0.27 * len(measured))
    axes = figure.subplots()
    shares = [
        one["value"] / one["limit"] if one["most"] else one["limit"] / one["value"]
        for one in measured
    ]
    for place, (one, share) in enumerate(zip(measured, shares, strict=True)):
        colour = FAINT if one["met"] is None else OURS if one["met"] else LIMIT
        axes.plot(
            [1, share],
            [place, place],
            color=colour,
            linewidth=2.2,
            alpha=0.55,
            solid_capstyle="butt",
        )
        axes.plot([share], [place], "o", color=colour, markersize=5.5)
    axes.axvline(1, color=INK, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(min(0.1, *shares) / 1.4, max(2, *shares) * 1.4)
    axes.set_yticks(range(len(measured)), [one["name"] for one in measured])
    axes.set_ylim(len(measured) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.xaxis.set_major_formatter(lambda value, _: plain(value))
    note = "share of the budget: left of 1 is within; red: not met; grey: not measured at its size"
    figure.supxlabel(note, fontsize=8.5, color=FAINT)
    return figure


def _growth(result: Result) -> Figure:
    figure = _figure(9, 9.6)
    for axes, (key, title) in zip(figure.subplots(4, 3).flat, GROWTH, strict=True):
        axes.set_title(title)
        points = _points(result, key)
        if not points:
            axes.text(0.5, 0.5, "not measured", transform=axes.transAxes, ha="center", color=FAINT)
            axes.set_axis_off()
            continue
        tails = _points(result, f"{key}_p99")
        if tails:
            axes.plot(*_columns(tails), "o--", color=OURS, alpha=0.5, markersize=3, label="p99")
        axes.plot(
            *_columns(points), "o-", color=OURS, markersize=4, label="p50" if tails else "measured"
        )
        worked = [(count, row["cpu"]) for count, row in _rows(result, key) if row["cpu"]]
        if worked:
            axes.plot(
                *_columns(worked),
                "o-",
                color=PROCESSOR,
                markersize=3,
                linewidth=1,
                label="processor time",
            )
        counts = [count for count, _ in points]
        limits = _limits(axes, key, counts)
        _log_log(axes, counts, [value for _, value in (*points, *tails, *worked)] + limits)
        if key == "recall":
            axes.set_yscale("linear")
            axes.set_ylim(0, 1.05)
        if len(axes.lines) > len(limits) + 1:
            axes.legend(fontsize=7.5)
    figure.supxlabel("messages of one user", fontsize=8.5, color=FAINT)
    return figure


def _limits(axes: Axes, key: str, counts: Sequence[int]) -> list[float]:
    """Draws the budgets of a row as lines, those for a million only where that was measured.

    Returns them.
    """
    drawn = []
    for budget in BUDGETS:
        if (
            budget.row == key
            and budget.part == SIZES
            and budget.due is not None
            and budget.due <= max(FULL, *counts)
        ):
            drawn.append(budget.limit)
            axes.axhline(budget.limit, color=LIMIT, linewidth=1, linestyle=":")
            axes.annotate(
                f"budget at {short(budget.due)}: {plain(budget.limit)}",
                (0.02, budget.limit),
                xycoords=("axes fraction", "data"),
                xytext=(0, 2),
                textcoords="offset points",
                color=LIMIT,
                fontsize=7,
            )
    return drawn


def _ingestion(result: Result) -> Figure:
    figure = _figure(9, 3.4)
    axes = figure.subplots()
    count, part = max(result[SIZES].items(), key=lambda item: int(item[0]))
    rates = next(row["detail"]["rates"] for row in part["rows"] if row["key"] == "ingest_batches")
    counts = [rate["messages"] for rate in rates]
    style = "o-" if len(counts) < 40 else "-"
    axes.plot(
        counts,
        [rate["wall"] for rate in rates],
        style,
        color=OURS,
        markersize=3.5,
        label="of wall clock",
    )
    axes.plot(
        counts,
        [rate["cpu"] for rate in rates],
        style,
        color=PROCESSOR,
        markersize=3.5,
        linewidth=1,
        label="of processor time",
    )
    limits = _limits(axes, "ingest_batches", [int(count)])
    _logarithmic(axes, [rate[kind] for rate in rates for kind in ("wall", "cpu")] + limits)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlim(0, 1.03 * max(counts))
    axes.set_xlabel("messages in the store")
    axes.set_title("messages added a second, batch by batch")
    axes.legend(title="in a second", fontsize=7.5, title_fontsize=7.5)
    return figure


def _rivals(result: Result) -> Figure:
    """Medians and middle halves on a common axis, one panel a size; ours stands first in each."""
    sizes = [
        (int(count), part)
        for count, part in result[SIZES].items()
        if any(not one["reason"] for one in part["rivals"])
    ]
    names = list(dict.fromkeys(one["name"] for _, part in sizes for one in part["rivals"]))
    ours = {
        "bm25": "ours, words alone",
        "vector": "ours, nearest vectors alone",
        "hybrid": "ours, hybrid, messages",
    }
    whole = "ours, hybrid, everything"
    labels = [*ours.values(), whole, *names]
    figure = _figure(9, 1.0 + 0.24 * len(labels))
    panels = figure.subplots(1, len(sizes), sharey=True, sharex=True, squeeze=False)[0]
    for axes, (count, part) in zip(panels, sizes, strict=True):
        own: dict[str, list[Mapping[str, float]]] = {}
        for one in part["rivals"]:
            place = labels.index(one["name"])
            if one["reason"]:
                axes.annotate(
                    "not measured",
                    (0.04, place),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    color=FAINT,
                )
                continue
            _span(axes, place, one, OTHERS)
            own.setdefault(ours[one["part"]], []).append(one["ours_part"])
            own.setdefault(whole, []).append(one["ours_whole"])
        for label, found in own.items():
            # Once beside each rival.
            middle = {
                kind: statistics.median(one[kind] for one in found)
                for kind in ("p25", "p50", "p75")
            }
            _span(axes, labels.index(label), middle, OURS)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: plain(value))
        axes.set_title(f"{count:,} messages")
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
    figure.supxlabel(
        "milliseconds for a question: median and middle half", fontsize=8.5, color=FAINT
    )
    return figure


def _span(axes: Axes, place: int, one: Mapping[str, float], colour: str) -> None:
    axes.plot(
        [one["p25"], one["p75"]],
        [place, place],
        color=colour,
        linewidth=4,
        alpha=0.4,
        solid_capstyle="butt",
    )
    axes.plot([one["p50"]], [place], "o", color=colour, markersize=4.5)


def _rows(result: Result, key: str) -> list[tuple[int, Mapping[str, Any]]]:
    return [
        (int(count), row)
        for count, part in result[SIZES].items()
        for row in part["rows"]
        if row["key"] == key
    ]


def _points(result: Result, key: str) -> list[tuple[int, float]]:
    """What a logarithmic axis can show."""
    return [(count, row["value"]) for count, row in _rows(result, key) if row["value"] > 0]


def _columns(points: Sequence[tuple[int, float]]) -> tuple[list[int], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _log_log(axes: Axes, counts: Sequence[int], values: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(counts, [short(count) for count in counts])
    axes.set_xticks([], minor=True)
    _logarithmic(axes, values)


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic y axis over whole powers of ten, so that there are numbers at it."""
    axes.set_yscale("log")
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    axes.set_ylim(10.0**low / 1.1, 10.0 ** max(high, low + 1) * 1.25)
    axes.yaxis.set_major_formatter(lambda value, _: plain(value))
    axes.yaxis.set_minor_formatter(lambda *_: "")
