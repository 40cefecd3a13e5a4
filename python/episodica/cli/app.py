"""The command ``episodica``: exit status and errors.

Exit status: 0 done, 1 failed (or ``verify`` found errors), 2 wrong arguments.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ..errors import EpisodicaError, StoreIOError
from .arguments import Command, CommandLine
from .output import Output, report
from .words import in_words_of_the_line


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    _open_closed_streams()
    line = CommandLine()
    args = line.parser.parse_args(argv)
    if "command" not in args:
        line.parser.print_help()
        return 0
    command: Command = args.command
    out = Output(args.json, args.color)
    try:
        status = command(args, out) or 0
        sys.stdout.flush()
        return status
    except EpisodicaError as error:
        report(in_words_of_the_line(error), args.color)
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. What was stored is kept; run the same command to resume.\n")
        return 1
    except BrokenPipeError:
        # The reader closed the pipe (`| head`).
        _write_nothing_more()
        return 0
    except OSError as error:
        # A full disk under stdout. Failures of the store are errors of the package.
        _write_nothing_more()
        failure = StoreIOError(
            f"cannot write the output: {error.strerror or error}", errno=error.errno
        )
        report(failure, args.color)
        return 1


def _open_closed_streams() -> None:
    """Opens the null device for closed streams: files of the store would get their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _write_nothing_more() -> None:
    """Lets the interpreter discard the remaining output when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
