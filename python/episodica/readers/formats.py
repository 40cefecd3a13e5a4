"""The formats that can be read, each recognised by its content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

from ..errors import InvalidInputError
from ..hints import nearest_hint, shown
from . import accounts, benchmarks, facts, logs, tables, transcript
from .conversation import Conversation
from .source import Item, Source

# Characters by which a format is recognised.
_HEAD = 1 << 16
EXPORT = "episodica-export"
_EXPECTED = (
    "readable are exports of ChatGPT, Claude and mem0, ShareGPT, LoCoMo (`conversation` with "
    "`session_1`, …), LongMemEval (`haystack_sessions`), messages of chat APIs as JSON or JSONL "
    "(a list of messages, objects with `messages`), CSV with a head, and text with `Name:` on "
    "each line"
)

_Entry: TypeAlias = Callable[[Mapping[str, Any], int, str], Conversation]


@dataclass(frozen=True, slots=True)
class _Json:
    """A format of JSON: how its first value is recognised, and how all are read."""

    recognises: Callable[[Mapping[str, Any]], bool]
    read: Callable[[Iterable[Item], Source], Iterator[Conversation]]


def _each(convert: _Entry) -> Callable[[Iterable[Item], Source], Iterator[Conversation]]:
    """Reads entry by entry; what breaks the format becomes a clear error."""

    def read(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
        for number, item in enumerate(items):
            try:
                yield convert(item.value, number, source.name)
            except KeyError as error:
                raise InvalidInputError(
                    f"conversation {number}: `{shown(error.args[0])}` is missing",
                    hint=_EXPECTED,
                    line=item.line,
                ) from error
            except (TypeError, AttributeError, IndexError) as error:
                raise InvalidInputError(
                    f"conversation {number} has another form than the first",
                    hint=_EXPECTED,
                    line=item.line,
                ) from error
            except InvalidInputError as error:
                raise InvalidInputError(
                    error.message, hint=error.hint, line=item.line
                ) from error.__cause__

    return read


def _is_sharegpt(value: Mapping[str, Any]) -> bool:
    turns = value.get("conversations") or value.get("conversation")
    return isinstance(turns, list) and all(
        isinstance(turn, Mapping) and "from" in turn for turn in turns[:2]
    )


_JSON: dict[str, _Json] = {
    "locomo": _Json(
        lambda value: isinstance(value.get("conversation"), Mapping), _each(benchmarks.locomo)
    ),
    "longmemeval": _Json(lambda value: "haystack_sessions" in value, _each(benchmarks.longmemeval)),
    "chatgpt": _Json(
        lambda value: isinstance(value.get("mapping"), Mapping), _each(accounts.chatgpt)
    ),
    "claude": _Json(
        lambda value: isinstance(value.get("chat_messages"), list), _each(accounts.claude)
    ),
    "sharegpt": _Json(_is_sharegpt, _each(accounts.sharegpt)),
    "mem0": _Json(facts.is_mem0, lambda items, source: facts.mem0(items, source.name)),
    "messages": _Json(
        lambda value: logs.is_message(value) or logs.is_log(value),
        lambda items, source: logs.messages(items, source.name, source.stem),
    ),
}
_TEXT: dict[str, Callable[[Source], Iterator[Conversation]]] = {
    "csv": tables.table,
    "text": transcript.transcript,
}
FORMATS = (*_JSON, *_TEXT)
"""Names of the formats."""


def read_conversations(
    path: str | os.PathLike[str], format: str | None = None
) -> list[Conversation]:
    """Reads a file; see :func:`iter_conversations`."""
    return list(iter_conversations(path, format))


def iter_conversations(
    path: str | os.PathLike[str] | Source, format: str | None = None
) -> Iterator[Conversation]:
    """Reads a file, conversation by conversation; ``-`` is standard input.

    Parameters
    ----------
    path
        The file, or a ZIP archive with ``conversations.json``; or a source that is open already.
    format
        One of ``FORMATS``; by default the content tells.

    Raises
    ------
    StoreIOError
        If the file can't be read.
    InvalidInputError
        If the file has none of the formats, or breaks its format; ``path`` and ``line`` say where.
    """
    if format is not None and format not in FORMATS:
        raise InvalidInputError(
            f"format is unknown: `{shown(format)}`", hint=nearest_hint(format, FORMATS)
        )
    source = path if isinstance(path, Source) else Source(path)
    try:
        with nullcontext() if source.is_open else source:
            try:
                yield from _read(source, format)
            except UnicodeDecodeError as error:
                hint = "save the file as UTF-8"
                raise InvalidInputError(source.broken_line(), hint=hint) from error
    except InvalidInputError as error:
        raise in_file(error, source) from error.__cause__


def in_file(error: InvalidInputError, source: Source) -> InvalidInputError:
    """The error with the name of the file, and its line unless the text has it."""
    if error.path:
        return error
    place = f"`{source.path}`" if not source.is_stdin else source.name
    says_line = error.line is None or f"line {error.line}" in error.message
    where = place if says_line else f"line {error.line} of {place}"
    return InvalidInputError(
        f"{error.message} in {where}", hint=error.hint, path=str(source.path), line=error.line
    )


def _read(source: Source, format: str | None) -> Iterator[Conversation]:
    head = source.text().read(_HEAD)
    if not head.strip():
        raise InvalidInputError("the file is empty", hint=_EXPECTED)
    chosen = format or _text_format(head)
    if chosen in _TEXT:
        yield from _TEXT[chosen](source)
        return
    items = source.items()
    try:
        first = next(items, None)
    except InvalidInputError as error:
        raise InvalidInputError(error.message, hint=_EXPECTED, line=error.line) from error.__cause__
    if first is None:
        raise InvalidInputError("the file holds no conversation", hint=_EXPECTED)
    name = format or _json_format(first.value)
    yield from _JSON[name].read(chain([first], items), source)


def _text_format(head: str) -> str:
    """``csv`` or ``text``; anything else is taken for JSON, whose errors name the line."""
    start = head.lstrip("\ufeff \t\r\n")[:1]
    if start == "{" or (start == "[" and not transcript.is_transcript(head)):
        return "json"
    if tables.is_table(head):
        return "csv"
    return "text" if transcript.is_transcript(head) else "json"


def _json_format(first: object) -> str:
    if not isinstance(first, Mapping):
        raise InvalidInputError(
            f"a list of `{type(first).__name__}` is not a conversation", hint=_EXPECTED
        )
    if first.get("format") == EXPORT:
        raise InvalidInputError(
            "the file is an export of episodica",
            hint="`episodica import` reads it",
        )
    for name, one in _JSON.items():
        if one.recognises(first):
            return name
    keys = ", ".join(f"`{shown(key)}`" for key in list(first)[:6])
    raise InvalidInputError(
        f"an object with the keys {keys or '(none)'} is not a conversation", hint=_EXPECTED
    )
