"""The stages of a benchmark as commands. A benchmark is a loader and the judges' rules."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
    """A benchmark: its loader, its judging rules, and the files that its own scorer reads."""

    load: options.Loader
    rules: Rules = locomo_rules
    export: Export | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """A command of a benchmark: what it does, and which options it takes."""

    about: str
    work: Callable[[Benchmark, Dataset, argparse.Namespace], None]
    systems: bool = False
    models: bool = False


def add_stages(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Adds the commands of a benchmark; each sets ``run``, which returns an exit status."""
    commands = parser.add_subparsers(title="stages", metavar="STAGE", required=True)
    for name, stage in STAGES.items():
        made = commands.add_parser(name, help=stage.about, description=stage.about)
        options.add_run(made)
        if stage.systems:
            options.add_systems(made)
        if stage.models:
            options.add_models(made)
        made.set_defaults(run=partial(_run_stage, benchmark, stage))


def _run_stage(benchmark: Benchmark, stage: Stage, args: argparse.Namespace) -> int:
    """Ctrl-C and known errors end with a line, not a traceback; finished rows are kept."""
    try:
        stage.work(benchmark, options.prepare(args, benchmark.load), args)
    except KeyboardInterrupt:
        print("\nstopped: the same command goes on from here")
        return 130
    except ManifestError as error:
        print(f"error: {error}")
        return 1
    return 0


def _all(benchmark: Benchmark, dataset: Dataset, args: argparse.Namespace) -> None:
    _add(dataset, args, args.systems)
    _search(benchmark, dataset, args)
    _evals(benchmark, dataset, args)
    _scores(benchmark, dataset, args)


def _add_ours(_: Benchmark, dataset: Dataset, args: argparse.Namespace) -> None:
    _add(dataset, args, ["episodica"])


def _add(dataset: Dataset, args: argparse.Namespace, systems: Sequence[str]) -> None:
    for name in systems:
        system = options.make_system(name, args)
        try:
            stages.build(dataset, system, args.out / name, workers=args.workers)
        finally:
            system.close()


def _search(benchmark: Benchmark, dataset: Dataset, args: argparse.Namespace) -> None:
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
        if benchmark.export and answers:
            benchmark.export(folder, rows, answers)
    if client:
        for used in ("answer", "choice"):
            note(args.out, "prompts", used, prompt(used).stamp)


def _evals(benchmark: Benchmark, dataset: Dataset, args: argparse.Namespace) -> None:
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
                rules=benchmark.rules,
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
            rules=benchmark.rules,
            questions=args.calibration,
            runs=args.judge_runs,
            workers=args.workers,
        )
    if not answered:
        print(
            "no answers in this run, so there are none to score: name an --answer-model when "
            "searching"
        )


def _scores(_: Benchmark, dataset: Dataset, args: argparse.Namespace) -> None:
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
            f"error: {len(missing)} conversations are not in the store yet (first: {missing[0]}): "
            "run add first"
        )


def _search_rows(dataset: Dataset, folder: Path) -> list[dict[str, Any]]:
    rows = _by_key(folder / "search.jsonl")
    missing = [one.key for one in dataset.questions if one.key not in rows]
    if missing:
        raise SystemExit(
            f"error: {len(missing)} questions were not searched with {folder.name} yet (first: "
            f"{missing[0]})"
        )
    return [rows[one.key] for one in dataset.questions]


def _by_key(path: Path) -> dict[str, dict[str, Any]]:
    return {row["key"]: row for row in read_rows(path)}


STAGES = {
    "run": Stage(
        "all stages, for the memory and the baselines; a stopped run goes on when repeated",
        _all,
        systems=True,
        models=True,
    ),
    "add": Stage("add the conversations to a memory and wait for their facts", _add_ours),
    "search": Stage(
        "ask every question, and answer it if --answer-model names a model",
        _search,
        systems=True,
        models=True,
    ),
    "evals": Stage(
        "score the answers, and judge them if --judge-model names a model", _evals, models=True
    ),
    "scores": Stage("write scores.json, the report and the plots", _scores),
}
