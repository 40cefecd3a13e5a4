"""The command ``events``: what happened to records, and what happens now."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from ..inputs import checks as check
from ..reports import Event
from ..system import AnyMemory
from ..value import day, jsonable
from ..visible import visible_json
from .output import Output, counted, printable
from .parser import option
from .stores import opened, optional_user

_CHANGE_COLUMNS = 9


def add_events_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``events``."""
    parser.add_argument(
        "user_id", nargs="?", metavar="USER", help="only this user (default: all users)"
    )
    option(parser, "--after CURSOR", "only events after a cursor, or `latest` for new ones")
    option(parser, "--limit N", "maximum number of events")
    option(parser, "--follow", "wait for more; JSON is one object per line then")


def events(args: argparse.Namespace, out: Output) -> None:
    """Lists events; the cursor to continue with goes to stderr."""
    limit = None if args.limit is None else check.whole(args.limit, "limit", 1)
    with opened(args) as memory:
        user = optional_user(args, memory)
        if args.follow:
            _follow(memory, args.after, user, limit, out)
            return
        page = memory.events(args.after, user_id=user, limit=limit or 1000)
        found = list(page)
        while limit is None and len(page):
            page = memory.events(page.cursor, user_id=user)
            found += page
    if out.printed_json({"events": found, "cursor": page.cursor}):
        return
    _print(found, out)
    out.note(f"{counted(len(found), 'event')}; continue with --after {page.cursor}")


def _follow(
    memory: AnyMemory, after: str | None, user: str | None, limit: int | None, out: Output
) -> None:
    with memory.events(after, user_id=user, follow=True) as stream:
        for count, event in enumerate(stream, start=1):
            if out.as_json:
                out.line(visible_json(json.dumps(jsonable(event), ensure_ascii=False)))
            else:
                _print([event], out)
            out.flush()
            if count == limit:
                break


def _print(found: Iterable[Event], out: Output) -> None:
    for event in found:
        text = printable(event.statement or event.id or "everything of the user")
        change = out.style(event.change.ljust(_CHANGE_COLUMNS), "cyan")
        head = f"{day(event.at)}  {printable(event.user_id)}  "
        shown = out.cut(text, len(head) + _CHANGE_COLUMNS + 1)
        out.line(f"{out.style(day(event.at), 'dim')}  {printable(event.user_id)}  {change} {shown}")
