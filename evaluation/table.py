"""Every figure of a run with its interval, and the tables of figures."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation import answers
from evaluation.datasets import DEVELOPMENT, HELD_OUT, Dataset, read
from evaluation.journal import rows_of, write
from evaluation.measures import estimate, paired, separated

OVERALL = "overall"
SUBJECT = "episodica"
NONE = "n/a"
NOTE = "≈ marks intervals that hold 0: no difference was shown."
LESS_IS_BETTER = ("leak", "stale", "left", "abstained")
# The metrics by which halves, groups and pairs of systems are compared.
MAIN = ("recall@10", "any@10", "session_all@5", "quoted@1000", "parts@1000", "leak_deletion@1000")
ANSWERS = ("judge_strict", "judge_lenient", "f1", "abstained", "knows_not_judge", "knows_not_rule")
# Other names of the groups.
TAGS = {"spelling": "typo", "compound": "inflection"}
BY_CONVERSATION = ("languages", "real")
MOST_LISTED = 12
Summary = dict[str, Any]
Rows = dict[str, dict[str, Any]]


def summarise(args: argparse.Namespace, dataset: Dataset, measured: Mapping[str, Rows]) -> Summary:
    """All figures of a run."""
    by_user = args.set in BY_CONVERSATION
    systems = {}
    for name, rows in measured.items():
        folder = args.out / name.replace(":", "-")
        given = answers.scored(rows, folder)
        systems[name] = {
            "scores": _grouped(rows, {key: row["scores"] for key, row in rows.items()}, by_user),
            "answers": _grouped(rows, given, by_user) if given else {},
            "auroc": _auroc(rows.values()) if dataset.name != "GateMem" else None,
            "ledger": _ledger(rows, folder, args.prices),
            "failures": answers.failures(rows, folder),
        }
    return {
        "set": args.set,
        "manifest": read(args.out / "manifest.json"),
        "systems": systems,
        "pairs": [
            {"other": name, **one}
            for name, rows in measured.items()
            if name != SUBJECT and SUBJECT in measured
            for one in differences(rows, measured[SUBJECT], MAIN)
        ],
        "calibration": answers.calibrated(args.out / "calibration.jsonl"),
        "problems": [list(one) for one in dataset.problems],
    }


def groups_of(row: Mapping[str, Any], by_user: bool) -> list[str]:
    """The groups whose means include the row."""
    made = [OVERALL, row["half"], row["category"]]
    made += [TAGS.get(tag, tag) for tag in row["tags"]]
    return [*made, row["key"].rpartition("/")[0]] if by_user else made


def _grouped(
    rows: Rows, scores: Mapping[str, Mapping[str, float]], by_user: bool
) -> dict[str, dict[str, Any]]:
    values: dict[str, dict[str, list[float]]] = {}
    for key, row in rows.items():
        for metric, value in scores.get(key, {}).items():
            for group in dict.fromkeys(groups_of(row, by_user)):
                values.setdefault(metric, {}).setdefault(group, []).append(value)
    return {
        metric: {group: estimate(one).to_dict() for group, one in groups.items()}
        for metric, groups in values.items()
    }


def _auroc(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    tops: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        if row.get("top") is not None:
            tops[row["answerable"]].append(row["top"])
    made = separated(tops[True], tops[False])
    return None if made.mean is None else made.to_dict()


def _ledger(rows: Rows, folder: Path, prices: Mapping[str, float] | None) -> dict[str, Any]:
    builds = list(rows_of(folder / "builds.jsonl"))
    spent = {
        phase: {row["key"]: row for row in rows_of(folder / f"{phase}.jsonl")}.values()
        for phase in ("answers", "judgements")
    }
    tokens = [row.get("tokens", {}) for row in rows.values()]
    made = {
        "messages": sum(one["messages"] for one in builds),
        "build_seconds": round(sum(one["seconds"] for one in builds), 2),
        "search_ms": _quantiles(rows, "search_seconds"),
        "context_ms": _quantiles(rows, "context_seconds"),
        "context_tokens": {
            name: round(statistics.fmean(one[name] for one in tokens if name in one), 1)
            for name in dict.fromkeys(name for one in tokens for name in one)
        },
    }
    for phase, used in (("build", builds), *spent.items()):
        for name in ("prompt_tokens", "completion_tokens"):
            made[f"{phase}_{name}"] = sum(one.get(name) or 0 for one in used)
        if prices:
            costs = (
                made[f"{phase}_{name}_tokens"] * prices.get(name, 0.0) / 1e6
                for name in ("prompt", "completion")
            )
            made[f"{phase}_dollars"] = round(sum(costs), 4)
    return made


def _quantiles(rows: Rows, name: str) -> list[float] | None:
    times = sorted(row[name] for row in rows.values() if row.get(name) is not None)
    if not times:
        return None
    return [round(1000 * times[int(share * (len(times) - 1))], 2) for share in (0.5, 0.95)]


def differences(
    before: Rows,
    after: Rows,
    metrics: Iterable[str],
    scores: Callable[[Mapping[str, Any]], Mapping[str, float]] = lambda row: row["scores"],
) -> list[dict[str, Any]]:
    """Paired differences ``after - before`` for each metric, over the questions that both have."""
    made = []
    for metric in metrics:
        first, second = (
            {key: scores(row)[metric] for key, row in rows.items() if metric in scores(row)}
            for rows in (before, after)
        )
        if shared := first.keys() & second.keys():
            more = sum(second[key] > first[key] for key in shared)
            less = sum(second[key] < first[key] for key in shared)
            difference = paired(first, second).to_dict()
            made.append({"metric": metric, "more": more, "less": less, **difference})
    return made


def cell(one: Mapping[str, Any] | None) -> str:
    """A figure with its interval, or a mark if the figure is missing."""
    if not one or one["mean"] is None:
        return NONE
    return f"{one['mean']:.3f} [{one['low']:.2f}, {one['high']:.2f}]"


def _row(
    label: str,
    cells: Sequence[Mapping[str, Any] | None],
    show: Callable[[Mapping[str, Any] | None], str] = cell,
) -> list[str]:
    """A label, the number of questions, and the figures."""
    return [label, next(str(one["n"]) for one in cells if one), *map(show, cells)]


def markdown(title: str, head: Iterable[str], rows: Iterable[Iterable[str]], note: str = "") -> str:
    """A table in GitHub's Markdown; empty without rows."""
    columns, cells = list(head), [list(row) for row in rows]
    if not cells:
        return ""
    lines = [f"## {title}", "", _line(columns), _line(["---", *["---:"] * (len(columns) - 1)])]
    return "\n".join([*lines, *map(_line, cells), *(["", note] if note else []), "", ""])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(one.replace("|", "\\|").replace("\n", " ") for one in cells) + " |"


def page(summary: Summary) -> str:
    """All tables of a run, as Markdown."""
    systems, about = summary["systems"], summary["manifest"]
    command = " ".join(about["command"])
    models = about.get("models", {})
    said = [
        f"`python -m evaluation {command}`: {about['questions']} questions, "
        f"{about['conversations']} conversations, episodica {about['episodica']}. "
        "95 % intervals in brackets.",
        *(f"{role}: {one}" for role, one in models.items()),
    ]
    parts = [
        f"# {about['dataset']}\n\n" + "\n\n".join(said) + "\n\n",
        _side_by_side("Without a model", systems, "scores"),
        _halves(systems),
        *(_groups(metric, systems) for metric in ("recall@10", "quoted@1000", "parts@1000")),
        _side_by_side("Answers", systems, "answers", ANSWERS),
        _pairs(summary["pairs"]),
        _calibration(summary["calibration"]),
        _costs(systems),
        _failures(systems),
        _problems(summary["problems"]),
    ]
    return "".join(parts).rstrip() + "\n"


def _side_by_side(
    title: str, systems: Summary, level: str, metrics: Iterable[str] | None = None
) -> str:
    """A table with a column for each system and a row for each metric."""
    with_level = {name: one[level] for name, one in systems.items() if one[level]}
    known = dict.fromkeys(metric for one in with_level.values() for metric in one)
    rows = []
    # Only the file has the figures of these metrics.
    hidden = () if metrics or "recall@10" not in known else ("answer_words", "any_quoted")
    for metric in metrics or known:
        if metric.startswith(hidden):
            continue
        cells = [one.get(metric, {}).get(OVERALL) for one in with_level.values()]
        if any(cells):
            rows.append(_row(metric, cells))
    if level == "scores" and any(one["auroc"] for one in systems.values()):
        rows.append(_row("auroc", [systems[name]["auroc"] for name in with_level]))
    return markdown(title, ["metric", "n", *with_level], rows)


def _halves(systems: Summary) -> str:
    """A table of the development half and the held-out half."""
    halves = (DEVELOPMENT, HELD_OUT)
    rows = []
    for metric in MAIN:
        found = {name: one["scores"].get(metric, {}) for name, one in systems.items()}
        if any(all(half in one for half in halves) for one in found.values()):
            rows += [
                _row(f"{metric}, {half}", [one.get(half) for one in found.values()])
                for half in halves
            ]
    return markdown("Halves", ["metric", "n", *systems], rows)


def _groups(metric: str, systems: Summary) -> str:
    found = {name: one["scores"].get(metric, {}) for name, one in systems.items()}
    found = {name: one for name, one in found.items() if one}
    aside = (OVERALL, DEVELOPMENT, HELD_OUT)
    groups = sorted({group for one in found.values() for group in one} - {*aside})
    rows = [_row(group, [one.get(group) for one in found.values()]) for group in groups]
    return markdown(f"{metric} by group", ["group", "n", *found], rows if len(rows) > 1 else [])


def _pairs(pairs: list[dict[str, Any]]) -> str:
    others = list(dict.fromkeys(one["other"] for one in pairs))
    rows = []
    for metric in dict.fromkeys(one["metric"] for one in pairs):
        known = {one["other"]: one for one in pairs if one["metric"] == metric}
        rows.append(_row(metric, [known.get(other) for other in others], changed))
    return markdown(
        f"{SUBJECT} minus each, question by question", ["metric", "n", *others], rows, NOTE
    )


def changed(one: Mapping[str, Any] | None) -> str:
    """A paired difference with its interval."""
    if not one:
        return NONE
    sign = " ≈" if one["low"] <= 0 <= one["high"] else ""
    return f"{one['mean']:+.3f} [{one['low']:+.2f}, {one['high']:+.2f}]{sign}"


def _calibration(known: Summary) -> str:
    rows = [
        [kind, str(max(one[kind]["n"] for one in known.values()))]
        + [cell(one[kind]) for one in known.values()]
        for kind in (answers.KINDS if known else ())
    ]
    note = "The rate of known answers that a judge accepts: all but the first should be 0."
    return markdown("Judges' calibration", ["known answer", "n", *known], rows, note)


def _costs(systems: Summary) -> str:
    rows = []
    for name, one in systems.items():
        book = one["ledger"]
        tokens = ", ".join(
            f"{budget}: {held:,.0f}" for budget, held in book["context_tokens"].items()
        )
        phases = ("build", "answers", "judgements")
        used = "; ".join(
            f"{phase} {book[f'{phase}_prompt_tokens']:,} + {book[f'{phase}_completion_tokens']:,}"
            + (f" (${book[f'{phase}_dollars']})" if f"{phase}_dollars" in book else "")
            for phase in phases
            if book[f"{phase}_prompt_tokens"]
        )
        times = [
            " / ".join(f"{value:,.1f}" for value in book[kind]) if book[kind] else NONE
            for kind in ("search_ms", "context_ms")
        ]
        built = f"{book['messages']:,} in {book['build_seconds']:,.1f} s"
        rows.append([name, built, *times, tokens, used or "none"])
    head = ["system", "messages added", "search ms", "context ms", "tokens of a context", "models"]
    note = (
        "Milliseconds: p50 / p95, wall clock on the machine of this run. "
        "Models: prompt + completion tokens."
    )
    return markdown("Speed and cost", head, rows, note)


def _failures(systems: Summary) -> str:
    rows = [[name, *one] for name, system in systems.items() for one in system["failures"]]
    title = f"Failures, counted as wrong ({len(rows)})"
    return markdown(title, ["system", "question", "what"], rows[:MOST_LISTED])


def _problems(problems: list[list[str]]) -> str:
    title = f"Faults of the data ({len(problems)})"
    return markdown(title, ["question", "what", "in the file"], problems[:MOST_LISTED])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``compare``."""
    parser.add_argument("before", type=Path, help="folder of a run")
    parser.add_argument("after", type=Path, help="folder of another run over the same data")
    parser.add_argument("--system", default=SUBJECT, help="of both runs (default: %(default)s)")


def compare(args: argparse.Namespace) -> int:
    """Compares two runs question by question, and writes ``comparison.md`` into the second folder.

    A difference of two means may be certain although their intervals overlap, since both runs
    answer the same questions.
    """
    try:
        first, second = (read(run / "manifest.json") for run in (args.before, args.after))
    except OSError as error:
        print(f"error: {error}")
        return 1
    folders = [run / args.system.replace(":", "-") for run in (args.before, args.after)]
    before, after = ({row["key"]: row for row in rows_of(one / "rows.jsonl")} for one in folders)
    if first["data"] != second["data"] or not before.keys() & after.keys():
        print("error: the runs are over different data, or share no question of this system")
        return 1
    given = [answers.scored(rows, one) for rows, one in zip((before, after), folders, strict=True)]
    for rows, scores in zip((before, after), given, strict=True):
        for key, row in rows.items():
            row["scores"] |= scores.get(key, {})
    metrics = dict.fromkeys(metric for row in after.values() for metric in row["scores"])
    rows = [
        [one["metric"], str(one["n"]), changed(one), f"{one['more']} : {one['less']}"]
        for one in differences(before, after, metrics)
    ]
    changes = sorted(
        (after[key]["scores"]["recall@10"] - before[key]["scores"]["recall@10"], key)
        for key in before.keys() & after.keys()
        if "recall@10" in after[key]["scores"] and "recall@10" in before[key]["scores"]
    )
    moved = [one for one in [*changes[:MOST_LISTED], *changes[-MOST_LISTED:]] if one[0]]
    title = f"{args.system}: {args.after.name} minus {args.before.name}"
    text = markdown(title, ["metric", "n", "difference", "more : less"], rows)
    text += markdown(
        "Questions whose recall@10 changed most",
        ["question", "difference", "what"],
        [
            [key, f"{by:+.3f}", after[key]["question"]]
            for by, key in sorted(set(moved), key=lambda one: -abs(one[0]))
        ],
    )
    write(args.after / "comparison.md", text)
    print(text)
    return 0
