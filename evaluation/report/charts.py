"""The charts of a run: lines with bands and grouped bars with intervals, of shares from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evaluation.common.retrieval import MESSAGE_KS

from .aggregate import OVERALL

# Told apart in grey and by most colour-blind readers; the memory's own colour comes first.
COLOURS = ("#0b63c4", "#d9730d", "#8a8f98", "#2a8a57", "#9b3fb5", "#b3261e")
INK, FAINT, GRID = "#1c2024", "#59626d", "#e3e6ea"
# How every chart of the evaluation looks, as matplotlib's settings.
STYLE: Any = {
    "axes.edgecolor": GRID,
    "axes.grid": True,
    "axes.labelcolor": FAINT,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titlecolor": INK,
    "figure.facecolor": "#ffffff",
    "font.size": 8.5,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    # Letters as outlines look the same everywhere; the salt and no date make the same figures the
    # same bytes.
    "svg.fonttype": "path",
    "svg.hashsalt": "episodica",
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
}


@dataclass(frozen=True, slots=True)
class Point:
    """A value with its interval; ``x`` is a number or the name of a group."""

    x: float | str
    y: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one system."""

    name: str
    colour: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart. ``kind`` is ``line`` (numeric x, ``log_x`` for powers) or ``bar`` (x are groups)."""

    name: str
    kind: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False


def charts(summary: dict[str, Any], key: str = "corrected") -> list[Chart]:
    """The charts of a run: those for which it has figures."""
    systems = summary["systems"]
    colours = dict(zip(systems, COLOURS * (1 + len(systems) // len(COLOURS)), strict=False))
    made = [
        Chart(
            "coverage_over_tokens",
            "line",
            "Evidence inside the context, by its length",
            "tokens of the context (mean)",
            "message coverage",
            tuple(
                Series(
                    name,
                    colours[name],
                    tuple(
                        Point(at["tokens"], at["mean"], at["low"], at["high"])
                        for at in one["curve"]
                    ),
                )
                for name, one in systems.items()
                if one["curve"]
            ),
            log_x=True,
        ),
        Chart(
            "recall_over_k",
            "line",
            "Evidence among the first k messages",
            "k",
            "message recall@k",
            tuple(
                Series(name, colours[name], points)
                for name, one in systems.items()
                if (
                    points := _over(
                        one["retrieval"][key], [(k, f"message_recall@{k}") for k in MESSAGE_KS]
                    )
                )
            ),
            log_x=True,
        ),
        _bars(
            "recall_by_category",
            "Evidence among the first 10 messages, by category",
            "message_recall@10",
            systems,
            colours,
            key,
        ),
        _cost(systems, colours, key),
    ]
    for metric, title in (
        ("llm_score_strict", "Strict judge, by category"),
        ("f1_multiset", "F1 (multiset), by category"),
    ):
        made.append(_answer_bars(f"answers_{metric}", title, metric, systems, colours, key))
    return [chart for chart in made if chart.series]


def _over(table: dict[str, Any], names: list[tuple[float, str]]) -> tuple[Point, ...]:
    found = [(x, table[name][OVERALL]) for x, name in names if name in table]
    return tuple(Point(x, one["mean"], one["low"], one["high"]) for x, one in found)


def _by_category(table: dict[str, Any], metric: str) -> tuple[Point, ...]:
    return tuple(
        Point(group, one["mean"], one["low"], one["high"])
        for group, one in table.get(metric, {}).items()
    )


def _bars(name: str, title: str, metric: str, systems: Any, colours: Any, key: str) -> Chart:
    series = tuple(
        Series(system, colours[system], points)
        for system, one in systems.items()
        if (points := _by_category(one["retrieval"][key], metric))
    )
    return Chart(name, "bar", title, "", metric, series)


def _answer_bars(name: str, title: str, metric: str, systems: Any, colours: Any, key: str) -> Chart:
    series = tuple(
        Series(system, colours[system], points)
        for system, one in systems.items()
        if (points := _by_category(one["answers"].get(key, {}), metric))
    )
    return Chart(name, "bar", title, "", metric, series)


def _cost(systems: Any, colours: Any, key: str) -> Chart:
    """Cost against quality: the tokens of an answer, and its best measured quality."""
    metric = next(
        (
            one
            for one in ("llm_score_strict", "f1_multiset")
            if any(one in s["answers"].get(key, {}) for s in systems.values())
        ),
        "",
    )
    if metric:
        series = []
        for name, one in systems.items():
            table, tokens = (
                one["answers"].get(key, {}),
                one["ledger"]["search"]["mean_context_tokens"],
            )
            if metric in table and tokens:
                points = _over(table, [(tokens, metric)])
                series.append(Series(name, colours[name], points))
        return Chart(
            "answers_cost",
            "line",
            "Cost against quality",
            "tokens of the context (mean)",
            metric,
            tuple(series),
            log_x=True,
        )
    series = []
    for name, one in systems.items():
        names = [(at["tokens"], f"answer_token_recall@{at['budget']}") for at in one["curve"]]
        if points := _over(one["retrieval"][key], names):
            series.append(Series(name, colours[name], points))
    title = "Cost against quality, without an LLM: the answer's words in the context"
    return Chart(
        "cost_and_quality",
        "line",
        title,
        "tokens of the context (mean)",
        "gold-answer token recall",
        tuple(series),
        log_x=True,
    )
