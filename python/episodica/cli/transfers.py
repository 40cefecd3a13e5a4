"""The commands that bring memories in and out: ingest, remember, import, export and backup.

Each takes the parsed arguments.
"""

from __future__ import annotations

import argparse
import inspect
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from ..config import resolve_config
from ..conversations import Choices, add, checked
from ..errors import InvalidInputError, StoreIOError
from ..forming import estimated
from ..hints import first_of, shown
from ..inputs.names import keys_of
from ..layers.folder import is_tree
from ..progress import ProgressCallback, Reporter
from ..readers import Conversation, LeftOut, Source, is_nemori, iter_conversations
from ..readers.source import STDIN
from ..reports import Estimate, ImportReport
from ..system import AnyMemory, MemorySystem
from ..transfer import is_export, owned, refuse_nothing, stopped
from .output import Output, cell, counted, counted_records, printable
from .speakers import Speakers
from .stores import known, only_user, opened, settings_of, user_and_fact, writing

_COUNTS = (
    "messages_added",
    "duplicates",
    "edited",
    "deleted",
    "episodes",
    "facts",
    "skipped",
    "secrets",
    "seconds",
)
_ESTIMATED = ("messages", "calls", "prompt_tokens", "completion_tokens")
_NAMED = ("left_out", "notes")
_EXPORT = "episodica export USER FILE.jsonl"
# The most places, or notes, that are listed.
_PLACES = 3
_COLUMNS = ("user", "messages_added", "duplicates", "buffered", "episodes", "facts", "seconds")


def pairs(text: str) -> dict[str, str]:
    """The option ``--keys``: the file's names of parts of a message, as a table of our names."""
    given = [one.partition("=") for one in text.split(",")]
    if not all(mark for _, mark, _ in given):
        raise argparse.ArgumentTypeError("write pairs: `content=KEY,speaker=KEY,timestamp=KEY`")
    try:
        return keys_of({ours.strip(): theirs for ours, _, theirs in given})
    except InvalidInputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def ingest(args: argparse.Namespace, out: Output) -> None:
    """Adds the conversations of a file."""
    zone = resolve_config(None, settings_of(args)).timezone
    source = Source(args.file, zone, args.keys)
    missing = InvalidInputError(
        f"the file names no user: `{source.name}`", hint="name the user with `--user`"
    )
    rows: dict[str, dict[str, Any]] = {}
    choices = Choices(args.secrets, args.deleted == "add")
    heard: dict[str, Speakers] = {}
    with source:
        if is_export(source):
            raise InvalidInputError(
                f"the file is an export of episodica: `{source.name}`",
                hint=f"`episodica import {args.file}` reads it",
            )
        talks = owned(iter_conversations(source, args.format), args.user, missing)
        if args.dry_run:
            _estimate((talk for _, talk in talks), args, out)
            return
        first = next(talks, None)
        # The store is made only now: a file that can't be read makes no store.
        with writing(args, create=True) as memory:
            total, fault = ImportReport(), None
            try:
                for user, talk in chain([first] if first else [], talks):
                    if talk.user_id is None:
                        heard.setdefault(user, Speakers()).hear(talk, source.name)
                    counts, report, found = _added(memory, user, talk, choices)
                    _sum(rows, counts)
                    total += report
                    fault = fault or found
            except InvalidInputError as error:
                raise stopped(error, source, total) from error.__cause__
            refuse_nothing(total, fault, source.path)
            for user, row in rows.items():
                _sum(rows, finish(memory, user, flush=not args.no_flush))
                out.note(_told(source.name, user, row))
            _tell(total, out)
            for user, people in heard.items():
                if told := people.choose(memory, user, args.me):
                    out.note(f"note: {told}")
    made = [{**row, "seconds": round(row["seconds"], 3)} for row in rows.values()]
    if not out.printed_json(made):
        names = [name.replace("_", " ") for name in _COLUMNS]
        out.table(names, ([cell(row[name]) for name in _COLUMNS] for row in made))


def _estimate(talks: Iterator[Conversation], args: argparse.Namespace, out: Output) -> None:
    """Tells what a model would cost for the conversations of a file."""
    config = resolve_config(None, settings_of(args))
    price = (args.price[0], args.price[1]) if args.price else None
    all_of_them = [estimated(config, checked(talk)[0], price=price) for talk in talks]
    sums = [sum(int(one[name]) for one in all_of_them) for name in _ESTIMATED]
    cost = sum(one.cost or 0.0 for one in all_of_them) if price else None
    total = Estimate(sums[0], sums[1], sums[2], sums[3], cost)
    told = ", ".join(
        f"{number:,} {name.replace('_', ' ')}"
        for name, number in zip(_ESTIMATED, sums, strict=True)
    )
    if not out.printed_json(total):
        out.line(told if cost is None else f"{told}; cost {cost:,.2f}")


def _sum(rows: dict[str, dict[str, Any]], counts: dict[str, Any]) -> None:
    new = {"user": counts["user"], **dict.fromkeys(_COUNTS, 0), **dict.fromkeys(_NAMED, ())}
    row = rows.setdefault(counts["user"], new)
    for name in (*_COUNTS, *_NAMED):
        row[name] += counts.get(name, ())
    row["buffered"] = counts["buffered"]


def _told(name: str, user: str, row: dict[str, Any]) -> str:
    """The result of one file, in one line."""
    told = f"{name}: {counted(row['messages_added'], 'message')} added for {user}"
    if row["duplicates"]:
        told += f", {row['duplicates']:,} known already"
    if row["edited"]:
        told += f", {row['edited']:,} edited"
    if row["deleted"]:
        told += f", {row['deleted']:,} deleted before"
    if row["skipped"]:
        told += f", {row['skipped']:,} left out"
    if row["secrets"]:
        told += f", {counted(row['secrets'], 'secret')} masked (`--secrets keep` keeps them)"
    return told


def _tell(report: ImportReport, out: Output) -> None:
    """Lists the parts that were left out, the most frequent reasons first, and the notes."""
    reasons: dict[str, list[str]] = {}
    for text in report.left_out:
        place, _, why = text.partition(": ")
        reasons.setdefault(why, []).append(place)
    for why, places in sorted(reasons.items(), key=lambda one: -len(one[1])):
        out.note(printable(f"left out: {why} ({first_of(places, _PLACES)})"))
    for text in report.notes[:_PLACES]:
        out.note(printable(f"note: {text}"))
    if len(report.notes) > _PLACES:
        out.note(f"note: {len(report.notes) - _PLACES:,} more of this kind")


def remember(memory: MemorySystem, user: str, conversation: Conversation) -> dict[str, Any]:
    """Adds a conversation, waits for its facts, and counts the results."""
    counts, _, _ = _added(memory, user, conversation, Choices())
    more = finish(memory, user)
    for name in ("episodes", "facts", "seconds"):
        counts[name] += more[name]
    counts["buffered"] = more["buffered"]
    counts["seconds"] = round(counts["seconds"], 3)
    return counts


def _added(
    memory: MemorySystem, user: str, conversation: Conversation, choices: Choices
) -> tuple[dict[str, Any], ImportReport, LeftOut | None]:
    started = time.perf_counter()
    before = _facts(memory, user)
    with Reporter(True) as bar:
        report, added, fault = add(memory, user, conversation, bar, choices)
    counts = {
        "user": user,
        "messages_added": added.messages_added,
        "duplicates": report.known,
        "edited": report.edited,
        "buffered": added.buffered,
        "episodes": len(added.episodes),
        "facts": _facts(memory, user) - before,
        "skipped": report.skipped,
        "deleted": report.deleted,
        "secrets": report.secrets,
        "left_out": report.left_out,
        "notes": report.notes,
        "seconds": time.perf_counter() - started,
    }
    return counts, report, fault


def finish(memory: MemorySystem, user: str, flush: bool = True) -> dict[str, Any]:
    """Closes the buffer, waits for the facts, and counts the new records."""
    started = time.perf_counter()
    before = _facts(memory, user)
    with Reporter(True) as bar:
        flushed = memory.flush(user) if flush else []
        _wait(memory, user, bar)
    stats = memory.stats(user)
    return {
        **dict.fromkeys(_COUNTS, 0),
        "user": user,
        "buffered": stats["buffered"],
        "episodes": len(flushed),
        "facts": _facts(memory, user) - before,
        "seconds": time.perf_counter() - started,
    }


def _facts(memory: MemorySystem, user: str) -> int:
    stats = memory.stats(user)
    return int(stats["semantic_memories"] + stats["superseded"])


def _wait(memory: MemorySystem, user: str, bar: ProgressCallback | None) -> None:
    """Waits in slices, so that the progress bar moves with the messages that are learned from."""
    while not memory.wait(user, timeout=1.0):
        if bar is not None:
            stats = memory.stats(user)
            bar("learning", stats["messages"] - stats["buffered"], stats["messages"])


def state(args: argparse.Namespace, out: Output) -> None:
    """Adds a fact that is stated directly."""
    metadata = None
    if args.metadata is not None:
        try:
            metadata = json.loads(args.metadata)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"metadata is not JSON: `{shown(args.metadata)}`") from error
    # The options have the names of the method's arguments.
    named = inspect.signature(MemorySystem.remember).parameters.keys()
    given = {name: value for name, value in vars(args).items() if name in named - {"metadata"}}
    names_user = args.user is not None or len(args.words) > 1
    with writing(args, create=names_user) as memory:
        user, words = user_and_fact(args, memory)
        fact = memory.remember(user, words, **given, metadata=metadata)
        ended = [memory.get(user, former) for former in fact.ends]
    if not names_user:
        out.note(f"the store's only user: `{printable(user)}`")
    if not out.printed_json(fact):
        out.line(printable(fact.content))
        out.note(f"{fact.kind}, id {fact.memory_id}")
        for former in ended:
            if former is not None:
                out.note(f"outdated: {printable(former.content)}")


def procedure(args: argparse.Namespace, out: Output) -> None:
    """Adds what an agent did, from a file."""
    try:
        text = sys.stdin.read() if args.file == "-" else Path(args.file).read_text("utf-8")
        given = json.loads(text)
    except OSError as error:
        raise StoreIOError(
            f"cannot read `{args.file}`", path=args.file, errno=error.errno
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the file is not JSON: `{shown(args.file)}`") from error
    done = given if isinstance(given, dict) else {"messages": given}
    with writing(args, create=True) as memory:
        fact = memory.remember_procedure(
            args.user_id,
            args.goal or done.get("goal"),
            done.get("steps", ()),
            outcome=args.outcome or done.get("outcome"),
            worked=done.get("worked") if args.worked is None else args.worked,
            messages=done.get("messages"),
            agent_id=args.agent,
        )
    if not out.printed_json(fact):
        out.line(printable(fact.content))
        out.note(f"{fact.kind}, id {fact.memory_id}")


def import_(args: argparse.Namespace, out: Output) -> None:
    """Adds what a file holds: an export, memories in files, or what ``ingest`` adds."""
    if not _has_records(args):
        ingest(args, out)
        return
    with writing(args, create=True) as memory:
        report = memory.import_(
            args.file,
            args.user,
            format=args.format,
            keys=args.keys,
            secrets=args.secrets,
            deleted=args.deleted,
            progress=True,
        )
    out.tree(report.to_dict())


def _has_records(args: argparse.Namespace) -> bool:
    """Whether a file has memories, not chats. Standard input, which can be read once, may have."""
    if args.format is not None:
        return False
    if args.file == STDIN or (Path(args.file).is_dir() and is_tree(Path(args.file))):
        return True
    with Source(args.file) as source:
        return is_export(source) or is_nemori(source)


def export(args: argparse.Namespace, out: Output) -> None:
    """Writes a user's records to a file."""
    with opened(args) as memory:
        user, target = _user_and_file(args, memory)
        if str(target) == STDIN:
            _to_stdout(memory, user, args.format)
            return
        report = memory.export(user, target, format=args.format)
    written = {**report.to_dict(), "file": str(target), "user": user}
    messages, episodes, facts = counted_records(report)
    more = " (with the outdated and archived ones)" if report.semantic_memories else ""
    out.result(written, f"{target}: {messages}, {episodes} and {facts}{more} of {user}")


def _to_stdout(memory: AnyMemory, user: str, format: Any) -> None:
    """Writes an export to stdout, once it is whole."""
    if format == "tree":
        raise InvalidInputError("a tree is a directory: it can't go to stdout")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "export.jsonl"
        memory.export(user, file, format=format)
        with file.open(encoding="utf-8", newline="") as lines:
            shutil.copyfileobj(lines, sys.stdout)


def _user_and_file(args: argparse.Namespace, memory: AnyMemory) -> tuple[str, Path]:
    """The user (by default the store's only one) and the file, which can't be a user's name."""
    words: list[str] = args.words
    file = args.output
    if file is None and args.user is None and len(words) == 1 and words[0] in memory.users():
        raise InvalidInputError(
            f"which file? `{shown(words[0])}` is a user",
            hint=f"write `episodica export {shown(words[0])} FILE.jsonl`",
        )
    if file is None and words:
        file, words = words[-1], words[:-1]
    users = words + ([] if args.user is None else [args.user])
    if file is None:
        raise InvalidInputError("which file?", hint=f"write `{_EXPORT}`")
    if len(users) > 1:
        raise InvalidInputError(
            f"more than a user and a file: `{shown(' '.join([*users, file]))}`",
            hint=f"write `{_EXPORT}`; a name with spaces needs quotes",
        )
    if not users:
        return only_user(memory), Path(file)
    if file in memory.users() and users[0] not in memory.users():
        raise InvalidInputError(
            f"no such user: `{shown(users[0])}`",
            hint=f"the user comes first: `episodica export {shown(file)} {shown(users[0])}`",
        )
    return known(users[0], memory), Path(file)


def backup(args: argparse.Namespace, out: Output) -> None:
    """Copies the store, all tenants."""
    with opened(args) as memory:
        if args.path == STDIN:
            raise InvalidInputError(
                "a backup is a directory: it can't go to stdout",
                hint="`episodica export USER -` writes a user's memories to stdout",
            )
        report = memory.backup(args.path, progress=True)
    counts = f"{counted(report.users, 'user')}, {counted(report.files, 'file')}"
    out.result(report, f"{args.path}: {counts}, {report.bytes:,} bytes")
