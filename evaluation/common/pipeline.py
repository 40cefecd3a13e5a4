"""The four stages as commands, shared by the benchmarks: a benchmark is a loader and the judges' rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.report.generate import write_report

from . import options, stages
from .answering import answer
from .calibration import calibrate
from .dataset import Dataset
from .journal import read_rows
from .judging import Rules, judge, locomo_rules
from .manifest import ManifestError, note
from .prompts import prompt
from .scoring import score_answers, write_metrics

Export = Callable[[Path, list[dict[str, Any]], dict[str, dict[str, Any]]], None]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How a benchmark's data is read, by which prompts its answers are marked, and what its own scorer wants to be given."""

    load: options.Loader
    rules: Rules = locomo_rules
    export: Export | None = None


def add(benchmark: Benchmark, description: str | None, argv: Sequence[str] | None = None) -> int:
    """Command: takes the conversations into a store."""
    args = options.parser(description).parse_args(argv)
    return _guarded(lambda: _add(options.prepare(args, benchmark.load), args, ["episodica"]))


def search(benchmark: Benchmark, description: str | None, argv: Sequence[str] | None = None) -> int:
    """Command: asks the questions, and answers them if a model is named."""
    made = options.parser(description)
    options.add_systems(made)
    options.add_models(made)
    args = made.parse_args(argv)
    return _guarded(lambda: _search(options.prepare(args, benchmark.load), args, benchmark.export))


def evals(benchmark: Benchmark, description: str | None, argv: Sequence[str] | None = None) -> int:
    """Command: scores the answers, and has them judged if a model is named."""
    made = options.parser(description)
    options.add_models(made)
    args = made.parse_args(argv)
    return _guarded(lambda: _evals(options.prepare(args, benchmark.load), args, benchmark.rules))


def generate_scores(
    benchmark: Benchmark, description: str | None, argv: Sequence[str] | None = None
) -> int:
    """Command: sums up, and writes the report."""
    args = options.parser(description).parse_args(argv)
    return _guarded(lambda: _report(options.prepare(args, benchmark.load), args))


def run(benchmark: Benchmark, description: str | None, argv: Sequence[str] | None = None) -> int:
    """Command: all stages."""
    made = options.parser(description)
    options.add_systems(made)
    options.add_models(made)
    args = made.parse_args(argv)

    def work() -> None:
        dataset = options.prepare(args, benchmark.load)
        _add(dataset, args, args.systems)
        _search(dataset, args, benchmark.export)
        _evals(dataset, args, benchmark.rules)
        _report(dataset, args)

    return _guarded(work)


def _guarded(work: Any) -> int:
    """Ctrl-C and known errors end with a line, not with a traceback; what is finished is kept."""
    try:
        work()
    except KeyboardInterrupt:
        print("\nstopped: the same command goes on from here")
        return 130
    except ManifestError as error:
        print(f"error: {error}")
        return 1
    return 0


def _add(dataset: Dataset, args: argparse.Namespace, systems: Sequence[str]) -> None:
    for name in systems:
        system = options.make_system(name, args)
        try:
            stages.build(dataset, system, args.out / name, workers=args.workers)
        finally:
            system.close()


def _search(dataset: Dataset, args: argparse.Namespace, export: Export | None) -> None:
    client = options.make_client(args, "answer")
    for name in args.systems:
        folder = args.out / name
        if name == "episodica":
            _require_build(dataset, folder)
        system = options.make_system(name, args)
        try:
            note(args.out, "systems", name, {**system.describe(), "budget": args.budget})
            rows = stages.search(dataset, system, folder, budget=args.budget, workers=args.workers)
        finally:
            system.close()
        answers = (
            answer(rows, folder, client, workers=args.workers)
            if client
            else _by_key(folder / "answers.jsonl")
        )
        stages.write_results(folder, rows, answers)
        if export and answers:
            export(folder, rows, answers)
    if client:
        for used in ("answer", "choice"):
            note(args.out, "prompts", used, prompt(used).stamp)


def _evals(dataset: Dataset, args: argparse.Namespace, rules: Rules) -> None:
    client = options.make_client(args, "judge")
    answered = False
    for name in options.present_systems(args.out):
        folder = args.out / name
        rows = _search_rows(dataset, folder)
        answers = _by_key(folder / "answers.jsonl")
        if not answers:
            continue
        answered = True
        marks = _by_key(folder / "judgements.jsonl")
        if client:
            marks = judge(
                rows,
                answers,
                folder,
                client,
                rules=rules,
                runs=args.judge_runs,
                workers=args.workers,
            )
        write_metrics(folder, score_answers(rows, answers, marks))
    if client and answered:
        rows = _search_rows(dataset, args.out / options.present_systems(args.out)[0])
        calibrate(
            rows,
            args.out,
            client,
            rules=rules,
            questions=args.calibration,
            runs=args.judge_runs,
            workers=args.workers,
        )
    if not answered:
        print(
            "no answers in this run, so there are none to score: name an --answer-model when searching"
        )


def _report(dataset: Dataset, args: argparse.Namespace) -> None:
    names = options.present_systems(args.out)
    if not names:
        raise SystemExit(f"error: nothing was searched in {args.out} yet")
    print(
        write_report(
            dataset, args.out, {name: _search_rows(dataset, args.out / name) for name in names}
        )
    )


def _require_build(dataset: Dataset, folder: Path) -> None:
    built = {row["key"] for row in read_rows(folder / "build.jsonl")}
    missing = [one.user for one in dataset.conversations if one.user not in built]
    if missing:
        raise SystemExit(
            f"error: {len(missing)} conversations are not in the store yet (first: {missing[0]}): run add first"
        )


def _search_rows(dataset: Dataset, folder: Path) -> list[dict[str, Any]]:
    rows = _by_key(folder / "search.jsonl")
    missing = [one.key for one in dataset.questions if one.key not in rows]
    if missing:
        raise SystemExit(
            f"error: {len(missing)} questions were not searched with {folder.name} yet (first: {missing[0]})"
        )
    return [rows[one.key] for one in dataset.questions]


def _by_key(path: Path) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in read_rows(path)}
