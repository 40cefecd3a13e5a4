"""Tables of messages: CSV and TSV with a head that names the columns."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from typing import Any

from ..errors import InvalidInputError
from . import dates
from .conversation import NO_WORDS, Conversation, Talk
from .people import role_of
from .source import Source

# What columns are called, by our word for them.
COLUMNS = {
    "role": ("role",),
    "name": ("name", "speaker", "sender", "author", "from", "user", "username", "who", "nickname"),
    "content": ("content", "text", "message", "body", "value", "utterance", "msg"),
    "timestamp": (
        "timestamp",
        "date",
        "datetime",
        "time",
        "created_at",
        "sent_at",
        "created",
        "create_time",
    ),
    "session_id": (
        "session_id",
        "session",
        "conversation_id",
        "conversation",
        "thread_id",
        "thread",
        "chat_id",
        "chat",
        "channel",
    ),
    "agent_id": ("agent_id", "agent"),
    "message_id": ("message_id", "id", "uuid"),
}
_DELIMITERS = ",;\t|"
# A cell may be as long as a message.
_LONGEST_CELL = 64 << 20
# Dates that are looked at to find out whether the day comes first.
_DATES = 10_000


def is_table(head: str) -> bool:
    """Whether the first line of a file names the columns of messages."""
    line = head.lstrip("\ufeff \r\n").partition("\n")[0]
    found = _columns(_cells(line, _delimiter(line)))
    return len(found) > 1 and "content" in found and bool(found.keys() & {"role", "name"})


def table(source: Source) -> Iterator[Conversation]:
    """The messages of a table, in parts of some thousands."""
    day_first = dates.order_of(
        row["timestamp"] for row, _ in itertools.islice(_rows(source), _DATES) if "timestamp" in row
    )
    part = Talk(source.name)
    for row, line in _rows(source):
        if not row.get("content", "").strip():
            part.leave(NO_WORDS, line)
            continue
        part.add(_message(row, line, day_first), line)
        if part.is_full:
            yield part.conversation()
    yield part.conversation()


def _message(row: dict[str, str], line: int, day_first: bool) -> dict[str, Any]:
    message: dict[str, Any] = {key: value for key, value in row.items() if value}
    message.setdefault("role", role_of(row.get("name", "")))
    given = row.get("timestamp")
    if given:
        moment = dates.parse(given, day_first)
        # What is no date may be seconds since 1970, which `add_messages` understands.
        message["timestamp"] = given if moment is None else moment.isoformat()
    return message


def _rows(source: Source) -> Iterator[tuple[dict[str, str], int]]:
    """Each row by our words for its columns, what has none as metadata, and its line."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        text = source.text()
        head = text.readline()
        while head and not head.strip():
            head = text.readline()
        delimiter = _delimiter(head)
        names = _cells(head.rstrip("\n"), delimiter)
        columns = _columns(names)
        if "content" not in columns:
            raise InvalidInputError(
                "the table has no column with the text of messages",
                hint="call the columns role or name, content, timestamp, session_id",
                line=1,
            )
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        before_row = 1
        for cells in reader:
            line, before_row = before_row + 1, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(names):
                raise InvalidInputError(
                    f"the row has {len(cells)} cells, the head {len(names)}",
                    hint="put cells that hold the delimiter into quotation marks",
                    line=line,
                )
            yield (
                {
                    key: cells[at].strip() if key != "content" else cells[at]
                    for key, at in columns.items()
                    if at < len(cells)
                },
                line,
            )
    except csv.Error as error:
        raise InvalidInputError(f"not a table: {error}", line=reader.line_num + 1) from error
    finally:
        csv.field_size_limit(before)


def _columns(names: list[str]) -> dict[str, int]:
    """The place of each column that we know."""
    written = [name.strip().lower().replace(" ", "_").replace("-", "_") for name in names]
    found: dict[str, int] = {}
    for ours, theirs in COLUMNS.items():
        at = next((written.index(name) for name in theirs if name in written), None)
        if at is not None and at not in found.values():
            found[ours] = at
    return found


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
