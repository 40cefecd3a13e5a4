"""The command ``python -m evaluation``: benchmarks of memory, their comparison, and speed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from evaluation import compare, locomo, longmemeval, nemori
from evaluation.benchmarks import database, report, retrieval, serve, speed, suite
from evaluation.common import pipeline
from evaluation.common.pipeline import Benchmark
from evaluation.languages import command as languages
from evaluation.locomo.data import load as load_locomo
from evaluation.longmemeval.data import load as load_longmemeval
from evaluation.longmemeval.data import rules, write_hypotheses

BENCHMARKS = {
    "locomo": (locomo, Benchmark(load_locomo)),
    "longmemeval": (longmemeval, Benchmark(load_longmemeval, rules, write_hypotheses)),
}
SPEED = {
    "suite": suite,
    "report": report,
    "quick": speed,
    "retrieval": retrieval,
    "serve": serve,
    "database": database,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    args = _parser().parse_args(argv)
    status: int = args.run(args)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, benchmark) in BENCHMARKS.items():
        about = (module.__doc__ or "").strip()
        pipeline.add_stages(commands.add_parser(name, help=about, description=about), benchmark)
    _add_command(commands, "compare", compare)
    _add_command(commands, "languages", languages)
    _add_command(commands, "nemori", nemori)
    bench = commands.add_parser("bench", help="how fast the package is, and what finds best")
    parts = bench.add_subparsers(title="parts", metavar="PART", required=True)
    for name, module in SPEED.items():
        _add_command(parts, name, module)
    return parser


def _add_command(commands: argparse._SubParsersAction, name: str, module: Any) -> None:
    """Adds a module's command: its documentation, ``add_options`` and ``run``."""
    made = commands.add_parser(
        name,
        help=module.__doc__.partition("\n")[0],
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_options(made)
    made.set_defaults(run=module.run)


if __name__ == "__main__":
    sys.exit(main())
