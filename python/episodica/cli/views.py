"""The commands that show more than a list: ``timeline`` and ``explain``.

Each takes the parsed arguments.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import datetime, timedelta

from ..inputs import checks as check
from ..records import Episode, SemanticMemory, learned_from
from ..results import Explanation
from ..value import day
from .commands import found, print_hit
from .output import Output, counted, pad, printable
from .stores import fact_filters_of, filters_of, opened, user_and_query, user_of

# Columns of a date with and without the time of day.
_DATE_COLUMNS, _SHORT_DATE_COLUMNS = 16, 10
_NARROW_COLUMNS = 60
_BAR_COLUMNS, _NARROW_BAR_COLUMNS = 20, 8
# The timeline shows pauses of at least this length.
_LONG = timedelta(hours=1)


def timeline(args: argparse.Namespace, out: Output) -> None:
    """Shows a user's episodes in order of time, why each ended, and its facts."""
    most = check.whole(args.facts, "facts", 0)
    with opened(args) as memory:
        user = user_of(args, memory)
        episodes = list(
            memory.episodes(
                user, newest_first=args.limit is not None, limit=args.limit, **filters_of(args)
            )
        )
        episodes.sort(key=lambda one: one.timestamp)
        learned = learned_from(episodes, memory.semantic_memories(user, include_superseded=True))
    if out.as_json:
        out.json_list(
            {**one.to_dict(), "facts": [fact.to_dict() for fact in learned[one.episode_id]]}
            for one in episodes
        )
        return
    before: datetime | None = None
    for episode in episodes:
        if before is not None and episode.timestamp - before >= _LONG:
            _row(out, "", out.glyph("⋮", ":"), "")
        _print_episode(episode, learned[episode.episode_id], most, out)
        before = episode.ended_at or episode.timestamp
    out.note(
        f"{counted(len(episodes), 'episode')}, {counted(sum(map(len, learned.values())), 'fact')}"
    )


def _print_episode(episode: Episode, facts: list[SemanticMemory], most: int, out: Output) -> None:
    count = f"  ({episode.message_count})"
    _row(
        out,
        day(episode.timestamp),
        out.style(out.glyph("●", "*"), "cyan"),
        episode.title,
        count,
        style="bold",
    )
    bar = out.glyph("│", "|")
    facts = sorted(facts, key=lambda fact: -fact.importance)
    for fact in facts[:most]:
        if fact.is_current:
            _row(out, "", bar, fact.content)
        else:
            _row(out, "", bar, fact.content, f" ({_held(fact, out)})", style="struck")
    if len(facts) > most:
        _row(out, "", bar, f"+ {len(facts) - most}", style="dim")
    _row(out, "", out.glyph("╵", "'"), episode.boundary_reason, style="dim")


def _held(fact: SemanticMemory, out: Output) -> str:
    """From when until when a fact holds, in no language."""
    ends = day(fact.valid_to)[:10] if fact.valid_to else ""
    dash = out.glyph("\N{EN DASH}", "-")
    return f"{day(fact.valid_from)[:10]} {dash} {ends}".rstrip()


def _row(
    out: Output, date: str, mark: str, text: str, after: str = "", style: str | None = None
) -> None:
    """Prints date, mark and text, which is cut so that ``after`` fits on the line."""
    wide = (
        _DATE_COLUMNS if out.width is None or out.width >= _NARROW_COLUMNS else _SHORT_DATE_COLUMNS
    )
    shown = out.cut(printable(text), wide + 3 + len(after))
    when = out.style(date[:wide], "dim") if date else " " * wide
    styled = out.style(shown, style) if style else shown
    out.line(f"{when} {mark} {styled}{out.style(after, 'dim')}".rstrip())


def explain(args: argparse.Namespace, out: Output) -> None:
    """Shows the terms of the best hits' scores, or how one record stands to the query."""
    with opened(args) as memory:
        if args.id is not None:
            standing = memory.explain(
                *user_and_query(args, memory),
                args.id,
                top_k=args.top_k,
                max_tokens=args.max_tokens,
                kinds=args.kind or None,
                method=args.method,
                threshold=args.threshold,
                include_superseded=args.all,
                **fact_filters_of(args),
            )
            if not out.printed_json(standing):
                out.line(str(standing))
            return
        hits = found(args, memory, explain=True)
        if out.printed_json(hits):
            return
        out.note(
            f"read as {hits.intent}; method {args.method}"
            + (f", without {', '.join(hits.degraded)}" if hits.degraded else "")
        )
        for hit in hits:
            print_hit(hit, out)
            _print_tree(hit.explain(), out)
        out.note(counted(len(hits), "hit"))


def _print_tree(tree: Explanation, out: Output) -> None:
    terms = list(_terms(tree))
    longest = max(abs(one.value) for _, one in terms)
    width = max(len(one.name) + 2 * depth for depth, one in terms)
    narrow = out.width is not None and out.width < _NARROW_COLUMNS
    room = _NARROW_BAR_COLUMNS if narrow else _BAR_COLUMNS
    for depth, one in terms:
        cells = round(room * abs(one.value) / longest) if longest else 0
        bar = out.style(out.glyph("█", "#") * cells, "red" if one.value < 0 else "cyan")
        detail = "" if narrow else out.cut(printable(one.detail), 5 + width + 12 + room)
        name = pad("  " * depth + printable(one.name), width)
        fill = " " * (room - cells)
        line = f"     {name} {one.value:>9.4f} {bar}{fill} {out.style(detail, 'dim')}"
        out.line(line.rstrip())
    out.line()


def _terms(tree: Explanation, depth: int = 0) -> Iterator[tuple[int, Explanation]]:
    yield depth, tree
    for child in tree.children:
        yield from _terms(child, depth + 1)
