"""The command ``episodica``: arguments, exit status and errors. The work is in ``cli.commands`` and ``cli.demo``.

Exit status: 0 done, 1 failed (or ``verify`` found something), 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TypeAlias

from .. import _native
from ..errors import EpisodicaError
from ..inputs.options import KINDS, METHODS
from . import commands, completion, demo, views
from .output import COLOURS, Output, report

Command: TypeAlias = Callable[[argparse.Namespace, Output], int]

_EPILOG = """\
data goes to stdout (one JSON document with --json), everything else to stderr.
examples:
  episodica demo
  episodica ingest chat.json --user alice
  episodica search alice "where does she live?"
  episodica context alice "what should I know before the call?" --max-tokens 1000
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    args = _parser().parse_args(argv)
    command: Command = args.command
    out = Output(args.json, args.color)
    try:
        status = command(args, out)
        sys.stdout.flush()
        return status
    except EpisodicaError as error:
        report(error, args.color)
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; what was stored before stays\n")
        return 1
    except BrokenPipeError:
        # The reader has seen enough (`| head`). Nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="episodica",
        description="Episodic memory for LLM agents: remembers conversations and finds the right moment again.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"episodica {_native.version()}")
    _add_common(parser, first=True)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(name: str, command: Command, summary: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        _add_common(sub, first=False)
        sub.set_defaults(command=command)
        return sub

    sample = add("demo", demo.demo, "remember a sample conversation and answer questions about it")
    sample.add_argument(
        "file", nargs="?", metavar="FILE", help="a file in LoCoMo's format instead of the sample"
    )

    ingest = add("ingest", commands.ingest, "remember the conversations of a file")
    ingest.add_argument(
        "file", metavar="FILE", help="LoCoMo, LongMemEval, a JSON list of messages, or JSONL"
    )
    ingest.add_argument(
        "--user", metavar="U", help="whose memory (LoCoMo and LongMemEval name their own)"
    )
    ingest.add_argument(
        "--no-flush", action="store_true", help="leave the last messages open for more to come"
    )

    search = add("search", commands.search, "find what the memory holds on a question")
    _add_words(search)
    search.add_argument(
        "-k",
        "--top-k",
        type=int,
        default=10,
        metavar="N",
        help="most hits of each kind (default 10)",
    )
    search.add_argument(
        "--kind", action="append", choices=KINDS, help="only this kind; may be repeated"
    )
    search.add_argument(
        "--method", choices=METHODS, default="hybrid", help="how to rank (default hybrid)"
    )
    search.add_argument("--explain", action="store_true", help="show how each score came about")
    _add_range(search)

    context = add(
        "context", commands.context, "pack what the memory holds on a question for a prompt"
    )
    _add_words(context)
    context.add_argument(
        "--max-tokens", type=int, default=2000, metavar="N", help="budget (default 2000)"
    )
    _add_range(context)

    episodes = add("episodes", commands.episodes, "list a user's episodes")
    facts = add("facts", commands.facts, "list what was learned about a user's world")
    facts.add_argument("--all", action="store_true", help="also what no longer holds")
    for listing in (episodes, facts):
        _add_user(listing)
        listing.add_argument("--limit", type=int, metavar="N", help="at most so many")
        listing.add_argument("--newest", action="store_true", help="newest first")
        _add_range(listing)

    timeline = add(
        "timeline",
        views.timeline,
        "show a user's episodes over time, why each ended and what it taught",
    )
    _add_user(timeline)
    timeline.add_argument("--limit", type=int, metavar="N", help="only the newest so many")
    timeline.add_argument(
        "--facts", type=int, default=5, metavar="N", help="most facts an episode (default 5)"
    )
    _add_range(timeline)

    explain = add("explain", views.explain, "show how the scores of the best hits came about")
    _add_words(explain)
    explain.add_argument(
        "-k", "--top-k", type=int, default=2, metavar="N", help="most hits of each kind (default 2)"
    )
    explain.add_argument(
        "--kind", action="append", choices=KINDS, help="only this kind; may be repeated"
    )
    explain.add_argument(
        "--method", choices=METHODS, default="hybrid", help="how to rank (default hybrid)"
    )
    _add_range(explain)

    _add_user(add("stats", commands.stats, "count what the store holds"))
    _add_user(add("verify", commands.verify, "check every record, index and file"))
    add("doctor", commands.doctor, "check this installation and the store")

    def print_completion(args: argparse.Namespace, out: Output) -> int:
        out.line(completion.script(args.shell, parser).rstrip())
        return 0

    add(
        "completion", print_completion, "print a script that completes commands and options"
    ).add_argument("shell", choices=completion.SHELLS, help="your shell")
    return parser


def _add_common(parser: argparse.ArgumentParser, first: bool) -> None:
    """Options that may stand before or after the command; only the first parser has defaults, so that none overwrites."""

    def default(value: object) -> object:
        return value if first else argparse.SUPPRESS

    tenant = os.environ.get("EPISODICA_TENANT") or "default"
    parser.add_argument(
        "--store",
        metavar="PATH",
        default=default(None),
        help="the store (default: $EPISODICA_STORE, then `memories`)",
    )
    parser.add_argument(
        "--tenant",
        metavar="T",
        default=default(tenant),
        help="whose part of the store (default: $EPISODICA_TENANT)",
    )
    parser.add_argument("--json", action="store_true", default=default(False), help="print JSON")
    parser.add_argument(
        "--color",
        choices=COLOURS,
        default=default("auto"),
        help="colours (default auto: terminals, unless $NO_COLOR)",
    )


def _add_words(parser: argparse.ArgumentParser) -> None:
    parser.usage = f"{parser.prog} [options] [USER] QUERY"
    parser.add_argument(
        "words",
        nargs="+",
        metavar="QUERY",
        help="the user and the question; without a user the store's only one",
    )
    parser.add_argument("--user", metavar="U", help="the user; then all words are the query")


def _add_user(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user_id", nargs="?", metavar="USER")
    parser.add_argument("--user", metavar="U", help=argparse.SUPPRESS)


def _add_range(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--since", metavar="DATE", help="only from this date or time on")
    parser.add_argument("--until", metavar="DATE", help="only up to this date or time")
    parser.add_argument("--session", metavar="S", help="only this session")
