"""The commands that forget: they archive records of little use, and restore them.

Each takes the parsed arguments. Nothing here deletes.
"""

from __future__ import annotations

import argparse

from ..forgetting import ForgettingReport
from ..records import Episode, Record
from ..system import MemorySystem
from .output import Output, counted, printable
from .stores import known, user_of, writing


def forgetting(args: argparse.Namespace, out: Output) -> None:
    """Lists what could be archived, with reasons; archives it if asked."""
    with writing(args) as memory:
        user = user_of(args, memory)
        found = _candidates(args, memory, user)
        if args.archive:
            memory.archive(user, found)
    if out.printed_json(found):
        return
    rows = ((f"{one.strength:.2f}", one.id, one.text, "; ".join(one.reasons)) for one in found)
    out.table(("strength", "id", "record", "reasons"), rows)
    done = "archived" if args.archive else "to archive"
    out.note(f"{counted(len(found), 'record')} {done}, {counted(found.exempt, 'fact')} exempt")


def _candidates(args: argparse.Namespace, memory: MemorySystem, user: str) -> ForgettingReport:
    strength = {} if args.strength is None else {"strength": args.strength}
    return memory.forgetting(
        user,
        **strength,
        older_than=args.older_than,
        unused_for=args.unused_for,
        max_uses=args.max_uses,
        max_importance=args.max_importance,
        kinds=("semantic", "episodic") if args.episodes else "semantic",
        fact_kinds=args.kind,
        exempt_kinds=args.exempt or (),
        agent_id=args.agent,
    )


def archive(args: argparse.Namespace, out: Output) -> None:
    """Takes records out of searches."""
    with writing(args) as memory:
        records = memory.archive(known(args.user_id, memory), args.ids)
    _show(records, "archived", out)


def restore(args: argparse.Namespace, out: Output) -> None:
    """Takes records back into searches."""
    with writing(args) as memory:
        records = memory.restore(known(args.user_id, memory), args.ids)
    _show(records, "restored", out)


def _show(records: list[Record], done: str, out: Output) -> None:
    if out.printed_list(records):
        return
    for record in records:
        out.line(printable(_text(record)))
    out.note(f"{counted(len(records), 'record')} {done}")


def _text(record: Record) -> str:
    return record.title if isinstance(record, Episode) else record.content
