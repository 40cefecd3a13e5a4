"""Writes a run's report: `scores.json`, `report.html`, `report.md`, and the plots."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from evaluation.common.dataset import KEYS, Dataset
from evaluation.common.journal import read_json, write_json

from . import drawing, html, markdown, tables
from .aggregate import OVERALL, SUBJECT, aggregate
from .charts import Chart, charts
from .worst import worst

_READING = (
    "Retrieval and answers are two different things and stand apart: a message that was found is "
    "not yet an answer, and a right answer "
    "may come from elsewhere. Every name says what was counted (message, episode, session) and "
    "how deep (@k, or @tokens). Failures count "
    "as wrong."
)


def write_report(dataset: Dataset, out: Path, rows: dict[str, list[dict[str, Any]]]) -> str:
    """Writes all files into the run's folder; returns what a terminal should show."""
    summary = aggregate(dataset, out, rows)
    write_json(out / "scores.json", summary)
    drawn = charts(summary)
    plots(drawn, out / "plots")
    shown = SUBJECT if SUBJECT in rows else next(iter(rows))
    examples = worst(dataset, rows[shown], _scored(out / shown))
    (out / "report.html").write_text(_html(summary, drawn, examples, shown), encoding="utf-8")
    (out / "report.md").write_text(_markdown(summary, drawn, shown), encoding="utf-8")
    return _terminal(summary, out)


def plots(drawn: list[Chart], folder: Path) -> None:
    """Writes every chart to a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for chart in drawn:
        drawing.save(chart, folder)


def _scored(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / "metrics.json"
    return (
        {row["key"]: row for part in read_json(path).values() for row in part}
        if path.exists()
        else {}
    )


def _retrieval_tables(summary: dict[str, Any]) -> list[tables.Table]:
    original, corrected = KEYS
    made = [tables.retrieval(summary, corrected)]
    if summary["counts"]["corrected"]:
        made.append(tables.retrieval(summary, original))
    return [*made, *tables.by_category(summary, corrected)]


def _answer_tables(summary: dict[str, Any]) -> list[tables.Table]:
    original, corrected = KEYS
    made = tables.answers(summary, corrected)
    if made and summary["counts"]["corrected"]:
        made += tables.answers(summary, original)[:1]
    return [
        *made,
        *tables.abstention(summary),
        *tables.judge_spread(summary),
        *tables.calibration(summary),
    ]


def _counts(summary: dict[str, Any]) -> str:
    counts = summary["counts"]
    categories = ", ".join(f"{n} {name}" for name, n in counts["by_category"].items())
    return (
        f"{_plural(counts['conversations'], 'conversation')}, "
        f"{_plural(counts['messages'], 'message')}, "
        f"{_plural(counts['questions'], 'question')} ({categories}). Audited corrections: "
        f"{counts['corrected']}. "
        f"Answerable questions that cite no evidence that exists: {counts['without_evidence']}."
    )


def _plural(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _html(
    summary: dict[str, Any], drawn: list[Chart], examples: list[dict[str, Any]], shown: str
) -> str:
    manifest = summary["manifest"]
    answered = _answer_tables(summary)
    sections = [
        "Retrieval",
        *(["Answers"] if answered else []),
        "Differences",
        "Cost",
        "Worst questions",
        "Data and failures",
        "Manifest",
    ]
    body = [
        f"<h1>{escape(summary['dataset'])}, measured</h1>",
        f'<p class="soft">episodica {escape(manifest["episodica"])}, '
        f"{escape(manifest['started'])}. {escape(_counts(summary))}</p>",
        f"<p>{escape(_READING)}</p>",
        "<nav>" + "".join(f'<a href="#{_anchor(one)}">{one}</a>' for one in sections) + "</nav>",
        html.tiles(_tiles(summary, shown)),
        _heading("Retrieval"),
        html.charts(
            [drawing.svg(chart) for chart in drawn if not chart.name.startswith("answers_")]
        ),
        *map(html.table, _retrieval_tables(summary)),
    ]
    if answered:
        body += [
            _heading("Answers"),
            html.charts(
                [drawing.svg(chart) for chart in drawn if chart.name.startswith("answers_")]
            ),
        ]
        body += map(html.table, answered)
    body += [
        _heading("Differences"),
        *map(html.table, tables.comparisons(summary)),
        _heading("Cost"),
        html.table(tables.costs(summary)),
    ]
    body += [
        _heading("Worst questions"),
        f"<p>Of {escape(shown)}, by what it found; ranks are among the first 50 messages.</p>",
    ]
    body += [*map(html.question, examples)] or ["<p>Everything was found.</p>"]
    body += [
        _heading("Data and failures"),
        *_or_none(tables.problems(summary)),
        *_or_none(tables.failures(summary)),
    ]
    body += [_heading("Manifest"), html.data(manifest)]
    return html.page(f"{summary['dataset']} with episodica {manifest['episodica']}", body)


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _heading(title: str) -> str:
    return f'<h2 id="{_anchor(title)}">{title}</h2>'


def _or_none(made: tables.Table) -> list[str]:
    return [html.table(made)] if made.rows else [f'<p class="soft">{escape(made.title)}: none.</p>']


def _tiles(summary: dict[str, Any], shown: str) -> list[tuple[str, str]]:
    """Figures of one kind only: recall never stands beside answer scores."""
    table = summary["systems"][shown]["retrieval"]["corrected"]
    found = []
    for metric in (
        "message_recall@10",
        "episode_recall@5",
        "session_recall@5",
        "message_coverage@2000",
    ):
        if metric in table:
            one = table[metric][OVERALL]
            found.append(
                (
                    f"{one['mean']:.4f}",
                    f"{shown} {metric} (95 %: {one['low']:.3f} to {one['high']:.3f})",
                )
            )
    return found


def _markdown(summary: dict[str, Any], drawn: list[Chart], shown: str) -> str:
    manifest = summary["manifest"]
    parts = [
        f"# {summary['dataset']}, measured",
        f"episodica {manifest['episodica']}, {manifest['started']}. {_counts(summary)}",
        _READING,
        "## Retrieval",
    ]
    parts += [
        f"![{chart.title}](plots/{chart.name}.svg)"
        for chart in drawn
        if not chart.name.startswith("answers_")
    ]
    parts += map(markdown.table, _retrieval_tables(summary))
    if answered := _answer_tables(summary):
        parts += [
            "## Answers",
            *(
                f"![{chart.title}](plots/{chart.name}.svg)"
                for chart in drawn
                if chart.name.startswith("answers_")
            ),
        ]
        parts += map(markdown.table, answered)
    parts += [
        "## Differences",
        *map(markdown.table, tables.comparisons(summary)),
        "## Cost",
        markdown.table(tables.costs(summary)),
    ]
    for made in (tables.problems(summary), tables.failures(summary)):
        parts.append(
            f"## {made.title}\n\n"
            + (markdown.table(made).partition("\n\n")[2] if made.rows else "None.")
        )
    parts.append(
        f"Questions that went worst for {shown}, with their evidence and what was retrieved, and "
        "the manifest: `report.html`."
    )
    return "\n\n".join(parts) + "\n"


def _terminal(summary: dict[str, Any], out: Path) -> str:
    """The first retrieval table and the answers' overall scores, each on its own."""
    lines = []
    for made in [tables.retrieval(summary, "corrected"), *tables.answers(summary, "corrected")[:1]]:
        widths = [
            max(len(row[i]) for row in [made.head, *made.rows]) for i in range(len(made.head))
        ]
        lines += ["", made.title]
        lines += [
            "  "
            + "  ".join(one.ljust(width) for one, width in zip(row, widths, strict=True)).rstrip()
            for row in [made.head, *made.rows]
        ]
    failed = sum(len(one["failures"]) for one in summary["systems"].values())
    lines += [
        "",
        f"{failed} failures, {len(summary['problems'])} problems in the data",
        f"report: {out / 'report.html'}",
    ]
    return "\n".join(lines)
