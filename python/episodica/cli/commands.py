"""The commands that search and list memories.

Each takes the parsed arguments.
"""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError
from ..hints import shown
from ..records import Episode, Message, Record, SemanticMemory
from ..results import Hit, SearchResults
from ..system import AnyMemory
from ..value import day
from ..visible import visible
from .output import Output, counted, printable
from .stores import fact_filters_of, filters_of, opened, user_and_query, user_of

# With less room a title gets its own line.
_LEAST_TITLE_COLUMNS = 20


def search(args: argparse.Namespace, out: Output) -> None:
    """Finds moments, or messages, episodes and facts."""
    with opened(args) as memory:
        hits = found(args, memory, args.explain)
        if out.printed_json(hits):
            return
        for hit in hits:
            print_hit(hit, out)
            if args.explain:
                for line in str(hit.explain()).splitlines():
                    out.line(out.style(f"      {line}", "dim"))
        out.note(
            counted(len(hits), "hit")
            + (f", without {', '.join(hits.degraded)}" if hits.degraded else "")
        )


def found(args: argparse.Namespace, memory: AnyMemory, explain: bool) -> SearchResults:
    """The hits for the query of the arguments."""
    user, query = user_and_query(args, memory)
    return memory.search(
        user,
        query,
        top_k=args.top_k,
        kinds=args.kind or None,
        method=args.method,
        threshold=args.threshold,
        include_superseded=args.all,
        **fact_filters_of(args),
        explain=explain,
    )


def print_hit(hit: Hit, out: Output) -> None:
    """Prints a hit on two to four lines: its rank, and the words that matched."""
    head = f"{hit.rank:>3}  {hit.score:.4f}  {hit.kind:<8}  {day(hit.timestamp)}"
    title = printable(hit.title) if hit.kind == "episodic" else ""
    if hit.episode is not None:
        title = printable(hit.episode.title)
    if out.width is not None and out.width < len(head) + _LEAST_TITLE_COLUMNS:
        out.line(out.style(head, "dim"))
        out.paragraph(title, indent=5, max_lines=1)
    else:
        out.line(
            f"{out.style(head, 'dim')}  {out.style(out.cut(title, len(head) + 2), 'bold')}".rstrip()
        )
    best = hit.messages[0] if hit.messages else None
    said = f"{best.speaker}: {best.content}" if best else hit.content
    out.paragraph(said + _standing(hit), indent=5, max_lines=3)


def context(args: argparse.Namespace, out: Output) -> None:
    """Packs memories into text for a prompt."""
    with opened(args) as memory:
        user, query = user_and_query(args, memory)
        packed = memory.context(
            user, query, max_tokens=args.max_tokens, format=args.format, **fact_filters_of(args)
        )
        if not out.printed_json(packed):
            out.line(visible(packed.text, lines=True))
            out.note(
                f"{counted(packed.token_count, 'token')}, "
                f"{counted(len(packed.messages), 'message')}"
            )
            if not packed.found:
                out.note(f"probably not in this memory (relevance {packed.relevance:.2f})")


def recall(args: argparse.Namespace, out: Output) -> None:
    """Gives the lines that answer a question, without those given before."""
    file = None if args.state is None else Path(args.state)
    with opened(args) as memory:
        user, query = user_and_query(args, memory)
        recalled = memory.recall(user, args.max_tokens, state=_state(file), **fact_filters_of(args))
        new = recalled.add(query)
    if file is not None:
        file.write_text(json.dumps(recalled.state, ensure_ascii=False), encoding="utf-8")
    if not out.printed_json(
        {"new": new, "text": recalled.text, "token_count": recalled.token_count}
    ):
        out.line(visible(new, lines=True))
        out.note(f"{counted(recalled.token_count, 'token')} in all")


def _state(file: Path | None) -> Any:
    """What a file keeps of a conversation; ``None`` if there is no file yet."""
    if file is None or not file.exists():
        return None
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"{shown(str(file))} keeps no conversation", hint="name a new file"
        ) from error


def episodes(args: argparse.Namespace, out: Output) -> None:
    """Lists a user's episodes."""
    with opened(args) as memory:
        found = memory.episodes(
            user_of(args, memory),
            newest_first=args.newest,
            limit=args.limit,
            include_archived=args.archived,
            **filters_of(args),
        )
        out.listing(
            found,
            ("date", "messages", "title"),
            lambda one: (day(one.timestamp), one.message_count, one.title + _archived(one)),
        )


def facts(args: argparse.Namespace, out: Output) -> None:
    """Lists a user's facts, and counts those that are not listed."""
    with opened(args) as memory:
        user = user_of(args, memory)
        chosen: dict[str, Any] = {
            "kind": args.kind,
            "attribute": args.attribute,
            "min_importance": args.min_importance,
            "about": args.about,
            **filters_of(args),
        }
        found = memory.semantic_memories(
            user,
            newest_first=args.newest,
            limit=args.limit,
            include_superseded=args.all,
            include_archived=args.archived,
            **chosen,
        )
        out.listing(
            found,
            ("since", "kind", "fact"),
            lambda one: (
                day(one.valid_from) if one.is_dated else "",
                one.kind,
                one.content + _standing(one) + _archived(one),
            ),
        )
        if args.limit is None:
            out.note(_counted_facts(memory, user, args, chosen))


def _counted_facts(
    memory: AnyMemory, user: str, args: argparse.Namespace, chosen: dict[str, Any]
) -> str:
    """How many facts are listed, and by which options the others would be."""

    def counts(outdated: bool, archived: bool) -> int:
        states = {"include_superseded": outdated, "include_archived": archived}
        return len(memory.semantic_memories(user, **{**chosen, **states}))

    listed, with_outdated = counts(args.all, args.archived), counts(True, args.archived)
    left = (
        (with_outdated - listed, "outdated: `--all`"),
        (counts(True, True) - with_outdated, "archived: `--archived`"),
    )
    more = (f"; {number:,} {where}" for number, where in left if number)
    return counted(listed, "fact") + "".join(more)


def _standing(one: Hit | SemanticMemory) -> str:
    return f" ({one._standing})" if one._standing else ""


def _archived(record: Episode | SemanticMemory) -> str:
    return " (archived)" if record.archived_at else ""


def messages(args: argparse.Namespace, out: Output) -> None:
    """Lists a user's messages."""
    with opened(args) as memory:
        found = memory.messages(
            user_of(args, memory), newest_first=args.newest, limit=args.limit, **filters_of(args)
        )
        out.listing(
            found,
            ("date", "speaker", "message"),
            lambda one: (day(one.timestamp), one.speaker, one.content),
        )


def history(args: argparse.Namespace, out: Output) -> None:
    """Lists the versions of a record."""
    with opened(args) as memory:
        user = user_of(args, memory)
        versions = memory.history(user, args.id)
        if not versions:
            raise InvalidInputError(
                f"no record of this user has the id: `{shown(args.id)}`",
                hint="`--json` of a listing shows the ids",
            )
        number = count(1)
        out.listing(
            versions,
            ("version", "written", "text"),
            lambda one: (next(number), day(_written(one)), one.content + _ended(one)),
        )


def _ended(record: Record) -> str:
    """Until when a version of a fact holds: two versions with the same words may differ in it."""
    until = record.valid_to if isinstance(record, SemanticMemory) else None
    return f" (until {day(until)})" if until else ""


def _written(record: Record) -> datetime:
    if isinstance(record, SemanticMemory):
        return record.updated_at
    if isinstance(record, Message):
        return record.edited_at or record.timestamp
    return record.created_at
