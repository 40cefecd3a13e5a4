"""Memories on their way in and out: exports, their import, and chat histories of other programs.

An export holds the records of one user as JSON, one per line: a head, messages, episodes and facts
with all their versions, and an end. Without the end, the file is cut.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, TypeAlias

from . import queries
from .conversations import Choices, add
from .errors import InvalidInputError, StoreIOError
from .hints import shown
from .inputs import checks
from .inputs.secrets import hide
from .namesakes import Namesakes
from .progress import ProgressCallback
from .readers import (
    EXPECTED,
    EXPORT,
    Conversation,
    LeftOut,
    Source,
    in_file,
    is_nemori,
    iter_conversations,
    nemori,
)
from .readers.source import STDIN
from .records import Message, SemanticMemory
from .reports import ExportReport, ImportReport
from .store import OpenStore
from .value import day

VERSION = 1
# The most characters of the first line, which is long only with very many unlearned episodes.
_LONGEST_HEAD = 16 << 20
_KINDS = {"message": 0, "episode": 1, "fact": 2}
_MARKDOWN = (".md", ".markdown")
FILE_FORMATS = ("jsonl", "markdown", "tree")
_AGAIN = "export the memories again"
# The most reasons that an error names.
_REASONS = 3

_Lines: TypeAlias = list[tuple[int, str]]


def is_export(source: Source) -> bool:
    """Whether the file is an export: its first line says so."""
    if source.members is not None:
        return False
    try:
        head = json.loads(source.text().readline(_LONGEST_HEAD))
    except (ValueError, RecursionError):
        return False
    return isinstance(head, Mapping) and head.get("format") == EXPORT


def export(
    memory: OpenStore, user: str, path: str | os.PathLike[str], format: str | None = None
) -> ExportReport:
    """Writes a user's records to a file, which gets its name when it is complete."""
    target = Path(path)
    is_markdown = target.suffix.lower() in _MARKDOWN if format is None else format == "markdown"
    write = _write_markdown if is_markdown else write_jsonl
    growing = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        try:
            with growing.open("w", encoding="utf-8", newline="\n") as file:
                report = write(memory, user, file)
                file.flush()
                os.fsync(file.fileno())
            growing.replace(target)
        finally:
            growing.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, StoreIOError):
            raise
        raise StoreIOError(
            f"cannot write `{target}`", path=str(target), errno=error.errno
        ) from error
    return report


def write_jsonl(memory: OpenStore, user: str, file: IO[str]) -> ExportReport:
    """Writes an export to an open file."""
    (messages, episodes, facts), counts, unlearned = memory._engine.export_records(user)
    head = {
        "format": EXPORT,
        "version": VERSION,
        "user_id": user,
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "unlearned": unlearned,
    }
    _write(file, head)
    for kind, records in (("message", messages), ("episode", episodes), ("fact", facts)):
        file.writelines(f'{{"type":"{kind}",{record[1:]}\n' for record in records)
    names = ("messages", "episodes", "facts")
    _write(file, {"type": "end", **dict(zip(names, counts, strict=True))})
    return ExportReport(*counts)


def _write(file: IO[str], record: Mapping[str, Any]) -> None:
    file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def _write_markdown(memory: OpenStore, user: str, file: IO[str]) -> ExportReport:
    """Writes for people: current, former and archived facts, then the episodes, all of them."""
    everything: Any = {"include_archived": True}
    facts = list(queries.semantic_memories(memory, user, include_superseded=True, **everything))
    file.write(f"# Memories of {_inline(user)}\n")
    kept = [fact for fact in facts if not fact.archived_at]
    for heading, chosen in (
        ("Facts", [fact for fact in kept if fact.is_current]),
        ("Facts that no longer hold", [fact for fact in kept if not fact.is_current]),
        ("Archived facts", [fact for fact in facts if fact.archived_at]),
    ):
        if chosen:
            file.write(f"\n## {heading}\n\n")
            file.writelines(_fact_line(fact) for fact in chosen)
    told: set[str] = set()
    episodes = 0
    for episode in queries.episodes(memory, user, **everything):
        episodes += 1
        file.write(f"\n## {_inline(episode.title)}\n\n{day(episode.timestamp)}\n\n")
        file.write(f"{_inline(episode.summary)}\n\n")
        for message in episode.original_messages:
            told.add(message.message_id)
            file.write(_message_lines(message))
    rest = [
        one for one in queries.messages(memory, user, **everything) if one.message_id not in told
    ]
    if rest:
        file.write("\n## Not in an episode yet\n\n")
        file.writelines(map(_message_lines, rest))
    return ExportReport(len(told) + len(rest), episodes, len(facts))


def _fact_line(fact: SemanticMemory) -> str:
    since = [fact._begins] if fact._begins else []
    until = [f"until {day(fact.valid_to)[:10]}"] if fact.valid_to else []
    held = f"{', '.join(since + until)}; " if since or until else ""
    return f"* {_inline(fact.content)} ({held}{fact.kind})\n"


def _message_lines(message: Message) -> str:
    text = message.content.replace("\n", "\n    ")
    return f"* **{_inline(message.speaker)}**, {day(message.timestamp)}: {text}\n"


def _inline(text: str) -> str:
    return " ".join(text.split())


@dataclass(slots=True)
class Export:
    """An export that was read: the id of its user, and its records as lines."""

    user_id: str
    unlearned: list[str] = field(default_factory=list)
    lines: tuple[_Lines, _Lines, _Lines] = field(default_factory=lambda: ([], [], []))


def read_export(source: Source) -> Export:
    """Reads an export."""
    try:
        return _read_export(source)
    except InvalidInputError as error:
        raise in_file(error, source) from error.__cause__
    except UnicodeDecodeError as error:
        raise in_file(source.not_utf8(), source) from error


def _read_export(source: Source) -> Export:
    items = source.items()
    head = next(items).value
    if head.get("version") != VERSION:
        raise InvalidInputError(
            f"the export has version `{shown(head.get('version'))}`",
            hint="update episodica",
            line=1,
        )
    made = Export(str(head.get("user_id") or ""), [str(one) for one in head.get("unlearned") or ()])
    ended = False
    line = 1
    for item in items:
        line = item.line
        kind = item.value.get("type") if isinstance(item.value, Mapping) else None
        if ended or (kind not in _KINDS and kind != "end"):
            raise InvalidInputError(
                f"line {line} is not a record of an export", hint=_AGAIN, line=line
            )
        if kind == "end":
            ended = True
        else:
            text = json.dumps(item.value, ensure_ascii=False, separators=(",", ":"))
            made.lines[_KINDS[kind]].append((line, text))
    for left in source.left_out:
        raise InvalidInputError(str(left), hint=_AGAIN, line=left.line)
    if not ended:
        raise InvalidInputError("the export is cut: its end is missing", hint=_AGAIN, line=line)
    return made


def _hand_over(read: Export, owner: str) -> None:
    """Makes the facts about the user of an export facts about their new owner."""
    if owner == read.user_id:
        return
    facts = read.lines[_KINDS["fact"]]
    for at, (line, text) in enumerate(facts):
        fact = json.loads(text)
        if fact.get("quote") is None and fact.get("subject") == read.user_id:
            renamed = json.dumps({**fact, "subject": owner}, ensure_ascii=False)
            facts[at] = (line, renamed)


def _named(file: str | os.PathLike[str]) -> str:
    return "standard input" if os.fspath(file) == STDIN else f"`{file}`"


def owned(
    conversations: Iterator[Conversation], user: str | None, missing: InvalidInputError
) -> Iterator[tuple[str, Conversation]]:
    """Each conversation with its user: the user of the call, else the file's.

    Raises an error only before the first conversation: ``missing`` if neither names a user, or if
    several users would become one. What is found to be such later is left out.
    """
    return _of_their_users(conversations, missing) if user is None else _of(user, conversations)


def _of_their_users(
    conversations: Iterator[Conversation], missing: InvalidInputError
) -> Iterator[tuple[str, Conversation]]:
    waiting: list[Conversation] = []
    nameless: set[str] = set()
    owner: str | None = None
    for talk in conversations:
        if talk.user_id is None and not talk.is_empty:
            if owner is None:
                raise missing
            nameless.add(_place(talk))
            continue
        owner = talk.user_id or owner
        waiting.append(talk)
        if owner is not None:
            yield from ((owner, one) for one in waiting)
            waiting = []
    if owner is None:
        raise missing
    if nameless:
        yield owner, _left_out(nameless, "messages or facts that name no user")


def _of(user: str, conversations: Iterator[Conversation]) -> Iterator[tuple[str, Conversation]]:
    held: list[Conversation] = []
    file: str | None = None
    is_begun = False
    for talk in conversations:
        if talk.user_id is not None:
            file = talk.file
        elif talk.file != file and (is_begun or not talk.is_empty):
            is_begun = True
            yield user, talk
            continue
        held.append(talk)
    named = [talk for talk in held if talk.user_id is not None]
    if len({talk.user_id for talk in named}) > 1:
        if not is_begun:
            raise InvalidInputError(
                f"the file holds {len(named)} conversations of different users, "
                f"not one of `{shown(user)}`",
                hint="leave the user out: the file names its own",
            )
        why = f"several users would become `{shown(user)}`; import it alone, without a user"
        places = {_place(talk) for talk in held if not talk.is_empty}
        held = [*(talk for talk in held if talk.is_empty), _left_out(places, why)]
    yield from ((user, talk) for talk in held)


def _place(talk: Conversation) -> str:
    return talk.file or f"`{shown(talk.name)}`"


def _left_out(places: set[str], why: str) -> Conversation:
    """A conversation of which nothing is left but the places of others, and why they are not."""
    left = tuple(LeftOut(place, why, is_fault=True) for place in sorted(places))
    return Conversation("", None, [], left_out=left)


def import_file(
    memory: OpenStore,
    path: str | os.PathLike[str],
    user: str | None,
    format: str | None,
    progress: ProgressCallback | None,
    secrets: str | None = None,
    adds_deleted: bool = False,
    keys: Mapping[str, str] | None = None,
) -> ImportReport:
    """Adds what a file holds: the records of an export, or the messages of a chat history."""
    source, choices = Source(path, memory._zone, keys), Choices(secrets, adds_deleted)
    with source:
        if format is None and is_export(source):
            read = read_export(source)
            owner = checks.user(read.user_id if user is None else user)
            _hand_over(read, owner)
            report = memory._engine.import_records(
                owner, read.lines, read.unlearned, str(source.path), choices.adds_deleted
            )
            return replace(report, users=1)
        if format is None and is_nemori(source):
            return _import_nemori(memory, source, user, choices)
        total, users = ImportReport(), set()
        missing = InvalidInputError(
            f"the file names no user: {_named(path)}", hint="name one: `user_id`", path=str(path)
        )
        fault: LeftOut | None = None
        talks, namesakes = iter_conversations(source, format), Namesakes()
        if user is not None:
            checks.user(user)
        try:
            for owner, conversation in owned(talks, user, missing):
                users.add(checks.user(owner))
                report, _, found = add(memory, owner, conversation, progress, choices)
                namesakes.saw(owner, conversation.messages)
                total += report
                fault = fault or found
        except InvalidInputError as error:
            raise stopped(error, source, total) from error.__cause__
        refuse_nothing(total, fault, path)
        notes = (*total.notes, *namesakes.notes(memory))
        return replace(total, users=len(users), notes=notes)


def _import_nemori(
    memory: OpenStore, source: Source, user: str | None, choices: Choices
) -> ImportReport:
    """Adds the memories of a folder that Nemori wrote: of all its users, or of one."""
    policy = choices.policy(memory)
    total, users = ImportReport(), 0
    fault: LeftOut | None = None
    for read in nemori(source):
        if user not in (None, read.user_id):
            continue
        records = (read.messages, read.episodes, read.facts)
        hidden = [[(line, *hide(text, policy)) for line, text in kind] for kind in records]
        messages, episodes, facts = ([(line, text) for line, text, _ in kind] for kind in hidden)
        masked = sum(number for kind in hidden for *_, number in kind)
        owner = checks.user(read.user_id)
        lines = (messages, episodes, facts)
        total += memory._engine.import_records(
            owner, lines, [], str(source.path), choices.adds_deleted
        )
        left = tuple(map(str, read.left_out))
        total += ImportReport(skipped=len(left), left_out=left, secrets=masked)
        fault = fault or next((one for one in read.left_out if one.is_fault), None)
        users += 1
    if user is not None and not users:
        raise InvalidInputError(f"the folder has no user `{shown(user)}`", path=str(source.path))
    refuse_nothing(total, fault, source.path)
    return replace(total, users=users)


def stopped(error: InvalidInputError, source: Source, total: ImportReport) -> InvalidInputError:
    """The error with the file's name, and with what was stored before it."""
    error = in_file(error, source)
    if not total.messages + total.edited + total.semantic_memories:
        return error
    stored = f"messages {total.messages + total.edited:,}, facts {total.semantic_memories:,}"
    return InvalidInputError(
        f"{error.message}; stored before it: {stored}",
        hint=error.hint,
        path=error.path,
        line=error.line,
    )


def refuse_nothing(
    total: ImportReport, fault: LeftOut | None, file: str | os.PathLike[str]
) -> None:
    """Raises an error for a file of which nothing was taken and nothing was known."""
    taken = total.messages + total.episodes + total.semantic_memories
    if taken + total.known + total.edited + total.deleted:
        return
    if fault is not None:
        raise InvalidInputError(
            f"{fault.place} of {_named(file)}: {fault.why}",
            hint=EXPECTED,
            path=str(file),
            line=fault.line,
        )
    reasons = Counter(text.partition(": ")[2] for text in total.left_out).most_common(_REASONS)
    told = "; ".join(f"left out: {why} ({count:,})" for why, count in reasons)
    raise InvalidInputError(
        f"nothing to add in {_named(file)}" + (f": {told}" if told else ""),
        hint=EXPECTED,
        path=str(file),
    )
