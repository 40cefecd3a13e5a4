"""The commands that read and write a store.

Each takes the parsed arguments and returns an exit status.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import _native
from ..config import MemoryConfig
from ..errors import EpisodicaError, InvalidInputError
from ..progress import ProgressCallback, Reporter
from ..queries import MemoryReader
from ..readers import Conversation, read_conversations, with_ids
from ..results import Hit
from ..system import LightweightSearchSystem, MemorySystem
from ..value import day
from ..visible import visible
from .output import Output, counted, printable

# With less room a title gets its own line.
_LEAST_TITLE_COLUMNS = 20


def ingest(args: argparse.Namespace, out: Output) -> int:
    """Adds the conversations of a file."""
    conversations = read_conversations(args.file)
    users = [_owner(conversation, args.user, len(conversations)) for conversation in conversations]
    rows = []
    with MemorySystem(store_of(args), tenant=args.tenant, **settings_of(args)) as memory:
        for user, conversation in zip(users, conversations, strict=True):
            rows.append(remember(memory, user, conversation, flush=not args.no_flush))
            out.note(
                f"{conversation.name}: {counted(rows[-1]['messages_added'], 'message')} added for "
                f"{user}"
            )
    if out.as_json:
        out.json(rows)
    else:
        names = ("user", "messages_added", "duplicates", "buffered", "episodes", "facts", "seconds")
        out.table(
            [name.replace("_", " ") for name in names],
            ([_cell(row[name]) for name in names] for row in rows),
        )
    return 0


def remember(
    memory: MemorySystem, user: str, conversation: Conversation, flush: bool = True
) -> dict[str, Any]:
    """Adds a conversation, waits for its facts, and counts the results."""
    if conversation.statements:
        raise InvalidInputError(f"the file holds facts, not messages: `{conversation.name}`")
    started = time.perf_counter()
    with Reporter(True) as bar:
        added = memory.add_messages(user, with_ids(conversation), progress=bar)
        flushed = memory.flush(user) if flush else []
        _wait(memory, user, bar)
    stats = memory.stats(user)
    return {
        "user": user,
        "messages_added": added.messages_added,
        "duplicates": added.duplicates,
        "buffered": 0 if flush else added.buffered,
        "episodes": len(added.episodes) + len(flushed),
        "facts": stats.get("semantic_memories", 0),
        "seconds": round(time.perf_counter() - started, 3),
    }


def _wait(memory: MemorySystem, user: str, bar: ProgressCallback | None) -> None:
    """Waits in slices, so that the progress bar moves."""
    seconds = 0
    while not memory.wait(user, timeout=1.0):
        seconds += 1
        if bar is not None:
            bar("learning", seconds, 0)


def _owner(conversation: Conversation, user: str | None, count: int) -> str:
    if user is None:
        if conversation.user_id is None:
            raise InvalidInputError(
                f"the file names no user: `{conversation.name}`",
                hint="name the user with `--user`",
            )
        return conversation.user_id
    if count > 1:
        raise InvalidInputError(
            f"the file holds {count} conversations of different users, not one of `{user}`",
            hint="leave `--user` out",
        )
    return user


def search(args: argparse.Namespace, out: Output) -> int:
    """Finds messages, episodes and facts."""
    with opened(args) as memory:
        user, query = user_and_query(args, memory)
        hits = memory.search(
            user,
            query,
            top_k=args.top_k,
            kinds=args.kind or None,
            method=args.method,
            **range_of(args),
            explain=args.explain,
        )
        if out.as_json:
            out.json(hits)
            return 0
        for hit in hits:
            print_hit(hit, out)
            if args.explain:
                for line in str(hit.explain()).splitlines():
                    out.line(out.style(f"      {line}", "dim"))
        out.note(
            counted(len(hits), "hit")
            + (f", without {', '.join(hits.degraded)}" if hits.degraded else "")
        )
    return 0


def print_hit(hit: Hit, out: Output) -> None:
    """Prints a hit on two to four lines: its rank, and the words that matched."""
    head = f"{hit.rank:>3}  {hit.score:.4f}  {hit.kind:<8}  {day(hit.timestamp)}"
    title = printable(hit.title) if hit.kind == "episodic" else ""
    if out.width is not None and out.width < len(head) + _LEAST_TITLE_COLUMNS:
        out.line(out.style(head, "dim"))
        out.paragraph(title, indent=5, max_lines=1)
    else:
        out.line(
            f"{out.style(head, 'dim')}  {out.style(out.cut(title, len(head) + 2), 'bold')}".rstrip()
        )
    best = hit.messages[0] if hit.messages else None
    said = f"{best.speaker}: {best.content}" if best else hit.content
    out.paragraph(said + ("" if hit.is_current else " (superseded)"), indent=5, max_lines=3)


def context(args: argparse.Namespace, out: Output) -> int:
    """Packs memories into text for a prompt."""
    with opened(args) as memory:
        user, query = user_and_query(args, memory)
        packed = memory.context(
            user, query, max_tokens=args.max_tokens, format=args.format, **range_of(args)
        )
        if out.as_json:
            out.json(packed)
        else:
            out.line(visible(packed.text, lines=True))
            out.note(
                f"{counted(packed.token_count, 'token')}, "
                f"{counted(len(packed.messages), 'message')}"
            )
    return 0


def episodes(args: argparse.Namespace, out: Output) -> int:
    """Lists a user's episodes."""
    with opened(args) as memory:
        found = memory.episodes(
            user_of(args, memory), newest_first=args.newest, limit=args.limit, **range_of(args)
        )
        if out.as_json:
            out.json_list(found)
        else:
            rows = ((day(one.timestamp), one.message_count, one.title) for one in found)
            out.table(("date", "messages", "title"), rows)
    return 0


def facts(args: argparse.Namespace, out: Output) -> int:
    """Lists a user's facts."""
    with opened(args) as memory:
        found = memory.semantic_memories(
            user_of(args, memory),
            newest_first=args.newest,
            limit=args.limit,
            include_superseded=args.all,
            **range_of(args),
        )
        if out.as_json:
            out.json_list(found)
        else:
            rows = (
                (
                    day(one.valid_from),
                    one.kind,
                    one.content + ("" if one.is_current else " (superseded)"),
                )
                for one in found
            )
            out.table(("since", "kind", "fact"), rows)
    return 0


def stats(args: argparse.Namespace, out: Output) -> int:
    """Prints counts and sizes."""
    with opened(args) as memory:
        _print_tree(memory.stats(args.user_id or args.user).to_dict(), out)
    return 0


def verify(args: argparse.Namespace, out: Output) -> int:
    """Checks records, indexes and files; 1 if there are errors."""
    with opened(args) as memory:
        found = memory.verify(args.user_id or args.user, progress=True)
        if out.as_json:
            out.json(found)
        else:
            for problem in found.problems:
                out.line(str(problem))
            out.line(
                f"{found.total:,} checked, {found.indexed:,} indexed, {found.skipped:,} skipped, "
                f"{found.errors:,} errors"
            )
    return 0 if found.ok else 1


def doctor(args: argparse.Namespace, out: Output) -> int:
    """Checks this installation and the store; 1 if a check fails."""
    findings: dict[str, Any] = {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        **_native.system_info(),
    }
    failure: EpisodicaError | None = None
    try:
        settings, defaults = MemoryConfig.load().to_dict(), MemoryConfig().to_dict()
        findings["settings"] = {
            name: value for name, value in settings.items() if value != defaults[name]
        } or "defaults"
        findings["store"] = store_of(args)
        findings["health"] = _health(args)
    except EpisodicaError as error:
        failure = error
    healthy = failure is None and findings["health"]["status"] in ("ok", "no store yet")
    _print_tree({**findings, "healthy": healthy}, out)
    if failure is not None:
        raise failure
    return 0 if healthy else 1


def _health(args: argparse.Namespace) -> dict[str, Any]:
    if not Path(store_of(args)).expanduser().is_dir():
        return {"status": "no store yet"}
    with opened(args) as memory:
        return memory.health().to_dict()


def _print_tree(data: dict[str, Any], out: Output) -> None:
    if out.as_json:
        out.json(data)
    else:
        out.table(("", ""), _leaves(data, ""))


def _leaves(data: dict[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        name = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield name, _cell(value)


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, (int, float)):
        return f"{value:,}"
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(map(str, value)) or "-"
    return str(value)


def store_of(args: argparse.Namespace) -> str:
    """The store that the command works on."""
    return args.store or os.environ.get("EPISODICA_STORE") or "memories"


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command names; the others come from the environment."""
    return {} if args.timezone is None else {"timezone": args.timezone}


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[MemoryReader]:
    """Opens the store for reading, beside a writer if need be."""
    with LightweightSearchSystem(store_of(args), tenant=args.tenant, **settings_of(args)) as memory:
        yield memory


def range_of(args: argparse.Namespace) -> dict[str, Any]:
    """The filters of a search or listing."""
    return {"since": args.since, "until": args.until, "session_id": args.session}


def user_and_query(args: argparse.Namespace, memory: MemoryReader) -> tuple[str, str]:
    """``USER QUERY…``; the user is that of ``--user`` or the store's only one if left out."""
    words: list[str] = args.words
    if args.user is not None:
        return args.user, " ".join(words)
    if len(words) == 1:
        return _only_user(memory), words[0]
    return words[0], " ".join(words[1:])


def user_of(args: argparse.Namespace, memory: MemoryReader) -> str:
    """The named user, or the store's only one."""
    return args.user_id or args.user or _only_user(memory)


def _only_user(memory: MemoryReader) -> str:
    users = memory.users()
    if len(users) != 1:
        known = ", ".join(f"`{user}`" for user in users[:5]) + (", …" if len(users) > 5 else "")
        raise InvalidInputError(
            "which user?", hint=f"the store has {known}" if users else "the store has no users yet"
        )
    return users[0]
