"""The command ``python -m evaluation``: what a memory finds, answers and forgets, and how fast."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from evaluation import contexts, fit_relevance, nemori, reader, runner, speed, table


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    args = _parser().parse_args(argv)
    status: int = args.run(args)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, about in runner.SETS.items():
        made = commands.add_parser(name, help=about, description=about)
        runner.add_options(made, name)
        made.set_defaults(run=runner.run, set=name)
    made = commands.add_parser("compare", help="two runs, question by question")
    table.add_options(made)
    made.set_defaults(run=table.compare)
    _add_command(commands, "contexts", contexts)
    _add_command(commands, "reader", reader)
    _add_command(commands, "fit", fit_relevance)
    _add_command(commands, "nemori", nemori)
    _add_command(commands, "speed", speed)
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
