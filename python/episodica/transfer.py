"""Memories on their way in and out: exports, their import, and chat histories of other programs.

An export holds the records of one user as JSON, one per line: a head, messages, episodes and facts
with all their versions, and an end. Without the end, the file is cut.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, TypeAlias

from . import forming, queries
from .dates import rfc3339
from .errors import InvalidInputError, StoreIOError
from .hints import shown
from .inputs import checks
from .inputs.messages import incoming
from .inputs.names import renamed
from .inputs.secrets import hide, policy_of
from .progress import ProgressCallback
from .readers import (
    EXPECTED,
    EXPORT,
    Conversation,
    LeftOut,
    Source,
    Statement,
    in_file,
    is_nemori,
    iter_conversations,
    nemori,
    with_ids,
)
from .readers.conversation import NO_WORDS
from .readers.dates import in_unknown_zone, parse
from .readers.source import STDIN
from .records import Message, SemanticMemory
from .reports import AddResult, ExportReport, ImportReport
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
    """Writes for people: current and former facts, then the episodes with their messages."""
    facts = list(queries.semantic_memories(memory, user, include_superseded=True))
    file.write(f"# Memories of {_inline(user)}\n")
    for heading, current in (("Facts", True), ("Facts that no longer hold", False)):
        chosen = [fact for fact in facts if fact.is_current is current]
        if chosen:
            file.write(f"\n## {heading}\n\n")
            file.writelines(_fact_line(fact) for fact in chosen)
    told: set[str] = set()
    episodes = 0
    for episode in queries.episodes(memory, user):
        episodes += 1
        file.write(f"\n## {_inline(episode.title)}\n\n{day(episode.timestamp)}\n\n")
        file.write(f"{_inline(episode.summary)}\n\n")
        for message in episode.original_messages:
            told.add(message.message_id)
            file.write(_message_lines(message))
    rest = [one for one in queries.messages(memory, user) if one.message_id not in told]
    if rest:
        file.write("\n## Not in an episode yet\n\n")
        file.writelines(map(_message_lines, rest))
    return ExportReport(len(told) + len(rest), episodes, len(facts))


def _fact_line(fact: SemanticMemory) -> str:
    end = f", until {day(fact.valid_to)[:10]}" if fact.valid_to else ""
    return f"* {_inline(fact.content)} (since {day(fact.valid_from)[:10]}{end}; {fact.kind})\n"


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
        raise in_file(InvalidInputError(source.broken_line()), source) from error


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


def checked(conversation: Conversation) -> tuple[list[dict[str, Any]], list[LeftOut], list[str]]:
    """The messages as the engine takes them, the parts left out, and the changes."""
    messages = with_ids(conversation)
    left: list[LeftOut] = []
    notes: list[str] = []
    try:
        done = incoming(messages)
    except InvalidInputError:
        done = None
    if done is None or done.skipped:
        good = []
        for position, message in enumerate(messages):
            kept, why = _one(message)
            place = conversation.place(position)
            if kept is None:
                is_fault = why not in _FINE
                left.append(LeftOut(place, why, is_fault, is_fault))
            else:
                good.append(kept)
                if why:
                    notes.append(f"{place}: {why}")
        done = incoming(good)
    read = done.messages
    if conversation.date is not None and not any(one["timestamp"] for one in read):
        with suppress(InvalidInputError, OverflowError):
            start = datetime.fromisoformat(rfc3339(conversation.date, "`date`"))
            for position, one in enumerate(read):
                # Steps keep the messages apart and in order.
                one["timestamp"] = (start + position * timedelta(microseconds=1)).isoformat()
        if read and conversation.is_file_date:
            day = str(conversation.date)[:10]
            notes.append(f"no message has a date; the date of the file is taken: {day}")
    return read, left, [*notes, *done.notes()]


_THOUGHT = "nothing but thinking"
_FINE = (NO_WORDS, _THOUGHT)


def _one(message: Any) -> tuple[Any, str]:
    """The message if it can be added, perhaps without its date, and the error."""
    try:
        done = incoming([message])
    except InvalidInputError as error:
        why = error.message.removeprefix("message 0: ")
    else:
        if done.messages:
            return message, ""
        return None, _THOUGHT if done.thoughts else _silence(message)
    if why in ("`content` is empty", "`content` must be a str, not `None`"):
        return None, NO_WORDS
    if not isinstance(message, Mapping):
        return None, why
    own, rest = renamed(message)
    given = own.pop("timestamp", None)
    moment = parse(given) if isinstance(given, str) else None
    told_zone = ""
    if moment is None and isinstance(given, str) and (zoned := in_unknown_zone(given)):
        moment, told_zone = zoned[0], f"the zone `{zoned[1]}` is not known; read as UTC"
    for dated, told in (
        ({**own, **rest, "timestamp": moment}, told_zone),
        ({**own, **rest}, f"{why}; dated like its neighbour"),
    ):
        if dated.get("timestamp") is not None or "timestamp" not in dated:
            with suppress(InvalidInputError):
                if given is not None and incoming([dated]).messages:
                    return dated, told
    return None, why


def _silence(message: Any) -> str:
    """Why a message has no words: they may stand under a name that is not known."""
    rest = renamed(message)[1] if isinstance(message, Mapping) else {}
    held = [f"`{shown(key)}`" for key, value in rest.items() if isinstance(value, (dict, list))]
    return f"no words under a known name, but {', '.join(held)}" if held else NO_WORDS


def since(statement: Statement) -> str | None:
    """From when on a stated fact held."""
    given = statement.date
    if given is None:
        return None
    moment = parse(given) if isinstance(given, str) else None
    return rfc3339(given if moment is None else moment, "`created_at`")


def _named(file: str | os.PathLike[str]) -> str:
    return "standard input" if os.fspath(file) == STDIN else f"`{file}`"


def owned(
    conversations: Iterator[Conversation], user: str | None, missing: InvalidInputError
) -> Iterator[tuple[str, Conversation]]:
    """Each conversation with its user: the user of the call, else the file's.

    Raises ``missing`` if neither names one. Also refuses, before the first conversation, several
    users that would become one.
    """
    for conversation in conversations:
        if user is None and conversation.user_id is None:
            raise missing
        if user is None or conversation.user_id is None:
            yield user or str(conversation.user_id), conversation
            continue
        others = [conversation, *conversations]
        if len({other.user_id for other in others}) > 1:
            raise InvalidInputError(
                f"the file holds {len(others)} conversations of different users, "
                f"not one of `{shown(user)}`",
                hint="leave the user out: the file names its own",
            )
        yield from ((user, other) for other in others)


def import_file(
    memory: OpenStore,
    path: str | os.PathLike[str],
    user: str | None,
    format: str | None,
    progress: ProgressCallback | None,
    secrets: str | None = None,
) -> ImportReport:
    """Adds what a file holds: the records of an export, or the messages of a chat history."""
    source = Source(path)
    with source:
        if format is None and is_export(source):
            read = read_export(source)
            owner = checks.user(read.user_id if user is None else user)
            report = memory._engine.import_records(
                owner, read.lines, read.unlearned, str(source.path)
            )
            return replace(report, users=1)
        if format is None and is_nemori(source):
            return _import_nemori(memory, source, user, _policy(memory, secrets))
        total, users = ImportReport(), set()
        missing = InvalidInputError(
            f"the file names no user: {_named(path)}", hint="name one: `user_id`"
        )
        fault: LeftOut | None = None
        talks = iter_conversations(source, format)
        for owner, conversation in owned(talks, user, missing):
            users.add(checks.user(owner))
            try:
                report, _, found = add(memory, owner, conversation, progress, secrets)
            except InvalidInputError as error:
                raise in_file(error, source) from error.__cause__
            total += report
            fault = fault or found
        refuse_nothing(total, fault, path)
        return replace(total, users=len(users))


def _import_nemori(
    memory: OpenStore, source: Source, user: str | None, policy: str
) -> ImportReport:
    """Adds the memories of a folder that Nemori wrote: of all its users, or of one."""
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
        total += memory._engine.import_records(
            owner, (messages, episodes, facts), [], str(source.path)
        )
        left = tuple(map(str, read.left_out))
        total += ImportReport(skipped=len(left), left_out=left, secrets=masked)
        fault = fault or next((one for one in read.left_out if one.is_fault), None)
        users += 1
    if user is not None and not users:
        raise InvalidInputError(f"the folder has no user `{shown(user)}`", path=str(source.path))
    refuse_nothing(total, fault, source.path)
    return replace(total, users=users)


def refuse_nothing(
    total: ImportReport, fault: LeftOut | None, file: str | os.PathLike[str]
) -> None:
    """Raises an error for a file of which nothing was taken and nothing was known."""
    if total.messages + total.episodes + total.semantic_memories + total.known + total.edited:
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


def _refuse_misread(
    conversation: Conversation, read: list[dict[str, Any]], left: list[LeftOut]
) -> None:
    """Raises an error for a conversation most of whose records have another form."""
    faults = [one for one in left if one.is_unknown]
    taken = len(read) + len(conversation.statements)
    if len(faults) > max(taken, 1) and not conversation.first:
        raise InvalidInputError(
            f"most of `{shown(conversation.name)}` is not understood, "
            f"{len(faults):,} of {len(faults) + taken:,} records; "
            f"{faults[0].place}: {faults[0].why}",
            hint=EXPECTED,
            line=faults[0].line,
        )


def _policy(memory: OpenStore, secrets: str | None) -> str:
    """What becomes of secrets in a file of another program."""
    return secrets or policy_of(memory._config.secrets, from_program=True)


def add(
    memory: OpenStore,
    user: str,
    conversation: Conversation,
    progress: ProgressCallback | None = None,
    secrets: str | None = None,
) -> tuple[ImportReport, AddResult, LeftOut | None]:
    """Adds the messages and the facts of a conversation; says what in it was not understood."""
    messages, left, notes = checked(conversation)
    _refuse_misread(conversation, messages, [*conversation.left_out, *left])
    policy = _policy(memory, secrets)
    added = memory._engine.add_messages(user, messages, None, policy, progress)
    hidden = added.secrets
    new = known = 0
    for statement in conversation.statements:
        began = datetime.now(UTC)
        text, masked = hide(statement.text, policy)
        try:
            fact = forming.remember(
                memory, user, text, valid_from=since(statement), metadata=statement.metadata
            )
        except InvalidInputError as error:
            place = f"line {statement.line}" if statement.line else f"`{shown(statement.text)}`"
            left.append(LeftOut(place, error.message, is_fault=True))
            continue
        hidden += masked
        new, known = (new + 1, known) if fact.updated_at >= began else (new, known + 1)
    left = [*conversation.left_out, *left]
    report = ImportReport(
        messages=added.messages_added,
        episodes=len(added.episodes),
        semantic_memories=new,
        known=added.duplicates + known,
        edited=added.edited,
        skipped=len(left),
        secrets=hidden,
        left_out=tuple(map(str, left)),
        notes=tuple(dict.fromkeys((*conversation.notes, *notes))),
    )
    return report, added, next((one for one in left if one.is_fault), None)
