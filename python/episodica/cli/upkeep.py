"""The commands that look after a store: counts, checks, deletions, charts.

Each takes the parsed arguments; one that can fail returns an exit status.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError, StoreIOError
from ..hints import shown
from ..place import is_address
from ..progress import Reporter
from ..server.audit import COMMAND_LINE
from ..system import AnyMemory
from .output import Output, counted, counted_records
from .service import keys_of
from .stores import filters_of, known, opened, optional_user, user_of, writing

CHARTS = ("timeline", "map", "scores")
_PICTURES = (".svg", ".png", ".pdf")
# The most ids of messages that a note names.
_NAMED = 5
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def users(args: argparse.Namespace, out: Output) -> None:
    """Lists the users with the number of their records."""
    with opened(args) as memory:
        names = ("user_id", "messages", "episodes", "semantic_memories")
        out.listing(
            [memory.stats(user) for user in memory.users()],
            ("user", "messages", "episodes", "facts"),
            lambda row: [row[name] if name == "user_id" else f"{row[name]:,}" for name in names],
        )


def stats(args: argparse.Namespace, out: Output) -> None:
    """Prints counts and sizes, of one user or of the whole store."""
    with opened(args) as memory:
        user = optional_user(args, memory)
        found = _totals(memory) if user is None else memory.stats(user).to_dict()
    out.tree(found)


def _totals(memory: AnyMemory) -> dict[str, Any]:
    """The sums over all users, and the figures of the store itself."""
    names = ("messages", "buffered", "episodes", "semantic_memories", "superseded", "archived")
    sums = dict.fromkeys(names, 0)
    all_users = memory.users()
    with Reporter(True) as bar:
        for done, user in enumerate(all_users, 1):
            one = memory.stats(user)
            for name in names:
                sums[name] += one[name]
            if bar is not None:
                bar("users", done, len(all_users))
    on_disk = {}
    if not is_address(memory.store):
        size = sum(file.stat().st_size for file in _files(memory.path))
        on_disk = {"bytes_on_disk": size, "size_on_disk": _size(size)}
    own = memory.stats().to_dict()
    return {
        "store": memory.store,
        "tenant": own["tenant"],
        "users": own["users"],
        **sums,
        **on_disk,
        "embedding_model": own["embedding_model"],
        "embedding_dimension": own["embedding_dimension"],
    }


def _files(folder: Path) -> Iterator[Path]:
    for top, _, names in os.walk(folder):
        yield from (path for path in (Path(top, name) for name in names) if path.is_file())


def _size(count: int) -> str:
    """``1.5 MiB``."""
    size, unit = float(count), _UNITS[0]
    for larger in _UNITS[1:]:
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:,.1f} {unit}" if unit != _UNITS[0] else f"{count:,} {unit}"


def verify(args: argparse.Namespace, out: Output) -> int:
    """Checks records, indexes and files; 1 if there are errors."""
    with opened(args) as memory:
        found = memory.verify(optional_user(args, memory), progress=True)
        if not out.printed_json(found):
            for problem in found.problems:
                out.line(str(problem))
            out.line(
                f"{found.total:,} checked, {found.indexed:,} indexed, {found.skipped:,} skipped, "
                f"{found.errors:,} errors"
            )
    return 0 if found.ok else 1


def delete(args: argparse.Namespace, out: Output) -> int:
    """Deletes a user, some of their messages, or one record, after a question on a terminal."""
    filters = filters_of(args)
    chosen = args.fact_kind or any(value is not None for value in filters.values())
    if chosen and args.id is not None:
        raise InvalidInputError("an id and filters can't be combined", hint="leave out the id")
    with writing(args) as memory:
        user = known(args.user_id, memory)
        counts = memory.stats(user)
        if args.fact_kind:
            listed = memory.semantic_memories(
                user, kind=args.fact_kind, include_superseded=True, include_archived=True, **filters
            )
            what = f"{counted(len(listed), 'fact')} of {user}"
        elif chosen:
            what = f"{counted(len(memory.messages(user, **filters)), 'message')} of {user}"
        elif args.id is None:
            what = (
                f"all memories of {user} ({counted(counts['messages'], 'message')}, "
                f"{counted(counts['semantic_memories'], 'fact')})"
            )
        else:
            record = memory.get(user, args.id)
            if record is None:
                raise InvalidInputError(f"no record of this user has the id: `{shown(args.id)}`")
            what = repr(record)
        if not (args.yes or _confirmed(what, out)):
            out.note("nothing was deleted")
            return 1
        if chosen:
            report = memory.delete_where(user, fact_kinds=args.fact_kind, **filters)
        elif args.id is None:
            report = memory.delete_user_data(user)
        else:
            report = memory.delete(user, args.id)
        part = "facts" if args.fact_kind else "messages" if chosen else "record"
        part = part if chosen or args.id is not None else "user"
        keys_of(args).audit.deleted(COMMAND_LINE, args.tenant, user, part, report)
    out.result(report, f"deleted: {', '.join(counted_records(report))}")
    if report.still_in_messages:
        ids = ", ".join(map(shown, report.still_in_messages[:_NAMED]))
        count = counted(len(report.still_in_messages), "message")
        out.note(f"its words still stand in {count}: {ids}; `episodica delete {user} ID` goes on")
    return 0


def _confirmed(what: str, out: Output) -> bool:
    """Asks on a terminal; anywhere else `--yes` must confirm."""
    if not sys.stdin.isatty():
        raise InvalidInputError(
            "deleting has to be confirmed", hint="pass `--yes` outside of a terminal"
        )
    out.ask(f"delete {what} for good? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def rebuild(args: argparse.Namespace, out: Output) -> None:
    """Computes the indexes again, of one user or of all."""
    with writing(args) as memory:
        report = memory.rebuild_indices(optional_user(args, memory), progress=True)
    counts = (counted(getattr(report, f"{one}s"), one) for one in ("user", "record", "vector"))
    out.result(report, f"{', '.join(counts)} in {report.seconds:.1f} s")


def compact(args: argparse.Namespace, out: Output) -> None:
    """Makes the logs smaller, of one user or of all."""
    with writing(args) as memory:
        report = memory.compact(optional_user(args, memory), progress=True)
    lengths = f"{report.bytes_before:,} bytes before, {report.bytes_after:,} now"
    out.result(report, f"{counted(report.users, 'user')}: {lengths}")
    if is_address(memory.store) and not out.as_json:
        out.note("the server frees the room when it vacuums, or now: `episodica store purge`")


def plot(args: argparse.Namespace, out: Output) -> None:
    """Draws a chart into a file."""
    picture = args.user_id if args.output is None else None
    if picture is not None and Path(picture).suffix.lower() in _PICTURES:
        raise InvalidInputError(
            f"a picture is no user: `{picture}`",
            hint=f"name the file with `-o`: `episodica plot {args.chart} -o {picture}`",
        )
    with opened(args) as memory:
        user = user_of(args, memory)
        charts = memory.plot
        if args.chart == "scores":
            if not args.query:
                raise InvalidInputError(
                    "the chart of scores needs a query", hint="name it with `--query`"
                )
            figure = charts.scores(memory.search(user, args.query, explain=True))
        else:
            figure = charts.map(user) if args.chart == "map" else charts.timeline(user)
    target = Path(args.output or f"{args.chart}.svg")
    try:
        figure.savefig(target)
    except ValueError as error:
        raise InvalidInputError(
            f"there is no format of pictures for the file: `{target}`",
            hint="let its name end in .svg, .png or .pdf",
        ) from error
    except OSError as error:
        raise StoreIOError(
            f"cannot write `{target}`", path=str(target), errno=error.errno
        ) from error
    out.note(f"{args.chart} of {user}: {target}")
