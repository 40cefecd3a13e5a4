"""Tables of messages: CSV and TSV with a head that names the columns."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from ..dates import written_together
from ..errors import InvalidInputError
from ..inputs.names import place_of, renamed, role_of_speaker
from . import dates
from .conversation import NO_WORDS, Conversation, Talk
from .source import Source

# Names of columns that only tables have, and our names for them.
_MORE = {"channel": "session_id", "contents": "content", "datum": "timestamp"}
_NO_KEYS: Mapping[str, str] = MappingProxyType({})
# The most words in the name of a column.
_MOST_WORDS = 3
_DELIMITERS = ",;\t|"
# Excel names the delimiter on the first line.
_SEPARATOR = re.compile(r"sep=(.)\r?\n?", re.IGNORECASE)
# A cell may be as long as a message.
_LONGEST_CELL = 64 << 20
# The most dates that are looked at to find out whether the day comes first.
_DATES = 10_000
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
# Spreadsheets count days since 1899: these are the years 1954 to 2119. Other numbers are seconds
# since 1970, or from `_THOUSANDTHS` on milliseconds.
_SERIAL = (20_000, 80_000)
_EXCEL = datetime(1899, 12, 30, tzinfo=UTC)
_THOUSANDTHS = 10**11


def is_table(head: str, keys: Mapping[str, str] = _NO_KEYS) -> bool:
    """Whether the first line of a file names the columns of messages.

    ``keys`` has our names of columns that have others.
    """
    head = _SEPARATOR.sub("", head.lstrip("\ufeff \r\n"), count=1)
    line = head.partition("\n")[0].rstrip("\r")
    cells = _cells(line, _delimiter(line))
    found = {place[0] for cell in cells if (place := place_of(_name(cell, keys)))}
    return len(cells) > 1 and "content" in found and bool(found & {"role", "name", "timestamp"})


def may_be_table(line: str) -> bool:
    """Whether a line may be the head of a table with columns of other names."""
    cells = _cells(line, _delimiter(line))
    return len(cells) > 1 and all(0 < len(cell.split()) <= _MOST_WORDS for cell in cells)


def table(source: Source) -> Iterator[Conversation]:
    """The messages of a table, in parts of some thousands."""
    known = (
        renamed(row)[0]
        for row, _ in itertools.islice(rows(source), _DATES)
        if isinstance(row, dict)
    )
    times = [str(row["timestamp"]) for row in known if row.get("timestamp")]
    order = dates.order_of(times)
    talk = Talk(source.name)
    talk.is_local = not any(map(dates.has_zone, times))
    if not order.is_told:
        talk.note(dates.untold(order))
    for row, line in rows(source):
        if not isinstance(row, dict):
            talk.leave(row, line, is_fault=True)
            continue
        if not str(renamed(row)[0].get("content") or "").strip():
            talk.leave(NO_WORDS, line)
            continue
        talk.add(_message(row, order.day_first), line)
        if talk.is_full:
            yield talk.conversation()
    yield talk.conversation()


def _message(row: dict[str, Any], day_first: bool) -> dict[str, Any]:
    own, rest = renamed(row)
    message = {key: value for key, value in own.items() if value}
    # The name `Bot` gives the speaker a role; the speaker also keeps the name.
    called = (row[key] for key in row if (place := place_of(key)) and place[0] == "name")
    message.setdefault("name", next(called, None) or None)
    # Not yet a message's id: it may only number the rows of this table.
    message["id"] = message.pop("message_id", None)
    if not message.get("role"):
        message["role"] = role_of_speaker(message["name"] or "")
    if message.get("timestamp"):
        message["timestamp"] = _moment(str(message["timestamp"]), day_first)
    if rest:
        message["metadata"] = rest
    return message


def _moment(given: str, day_first: bool) -> str | float:
    """A date as people write it, as spreadsheets count days, or in seconds since 1970."""
    if together := written_together(given):
        return together.isoformat()
    if _NUMBER.fullmatch(given):
        number = float(given.replace(",", "."))
        if _SERIAL[0] <= number <= _SERIAL[1]:
            return (_EXCEL + timedelta(seconds=round(number * 86_400))).isoformat()
        return number / 1000 if number >= _THOUSANDTHS else number
    moment = dates.parse(given, day_first)
    return given if moment is None else moment.isoformat()


def rows(source: Source) -> Iterator[tuple[dict[str, Any] | str, int]]:
    """Each row as a mapping from column names, or its error; and the line number."""
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        text = source.text()
        head, skipped = text.readline(), 0
        separator = _SEPARATOR.fullmatch(head)
        while head and (not head.strip() or _SEPARATOR.fullmatch(head)):
            head, skipped = text.readline(), skipped + 1
        delimiter = separator[1] if separator else _delimiter(head)
        names = [_name(cell, source.keys) for cell in _cells(head.rstrip("\n"), delimiter)]
        if not any((place := place_of(name)) and place[0] == "content" for name in names):
            raise InvalidInputError(
                "the table has no column with the text of messages",
                hint="call the columns role or name, content, timestamp, session_id",
                line=1,
            )
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        before_row = 1 + skipped
        for cells in _each(reader):
            line, before_row = before_row + 1, reader.line_num + 1 + skipped
            if isinstance(cells, str):
                yield cells, line
            elif any(cell.strip() for cell in cells):
                yield _row(names, cells), line
    finally:
        csv.field_size_limit(before)


def _each(reader: Iterator[list[str]]) -> Iterator[list[str] | str]:
    """The rows, or why a line can't be a row. The reader goes on with the next line."""
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"not a row of a table: {error}"


def _row(names: list[str], cells: list[str]) -> dict[str, Any] | str:
    """The cells by the names of their columns, or their error."""
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) > len(names):
        return f"the row has {len(cells)} cells, the head {len(names)}"
    row: dict[str, Any] = {}
    for name, cell in zip(names, cells, strict=False):
        is_words = (place := place_of(name)) is not None and place[0] == "content"
        row[name if name not in row else f"{name} again"] = cell if is_words else cell.strip()
    return row


def _name(cell: str, keys: Mapping[str, str]) -> str:
    """The name of a column; ``unnamed`` if the cell is empty."""
    name = keys.get(cell.strip(), cell.strip())
    return _MORE.get(name.lower(), name) or "unnamed"


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _cells(line: str, delimiter: str) -> list[str]:
    with suppress(csv.Error):
        return next(csv.reader([line], delimiter=delimiter), [])
    return []
