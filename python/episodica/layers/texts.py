"""The layers of a record as text: L0 an abstract, L1 an overview, L2 the whole record."""

from __future__ import annotations

from collections.abc import Iterable

from .. import _native
from ..records import Episode, Message, Record, SemanticMemory
from ..value import day, longest
from .values import Entry

# Tokens of o200k_base that an abstract and an overview have at most.
MAX_ABSTRACT, MAX_OVERVIEW = 100, 2_000


def text_of(record: Record, layer: str) -> str:
    """A layer of a record."""
    if isinstance(record, Episode):
        return _episode(record, layer)
    if isinstance(record, Message):
        return _cut(record.content, MAX_ABSTRACT) if layer == "L0" else _said(record)
    if layer == "L0":
        return _cut(record.content, MAX_ABSTRACT)
    return _fact(record)


def of_folder(entries: Iterable[Entry], layer: str) -> str:
    """A layer of a folder: its entries."""
    found = list(entries)
    if layer == "L0":
        titles = "; ".join(entry.title or entry.name for entry in found)
        noun = "entry" if len(found) == 1 else "entries"
        return _cut(f"{len(found)} {noun}: {titles}" if found else "empty", MAX_ABSTRACT)
    lines = [f"- {entry.name}{f': {entry.title}' if entry.title else ''}" for entry in found]
    text = "\n".join(lines)
    return text if layer == "L2" else _cut(text, MAX_OVERVIEW)


def _episode(episode: Episode, layer: str) -> str:
    if layer == "L0":
        return _cut(f"{episode.title}\n\n{episode.summary}".strip(), MAX_ABSTRACT)
    if layer == "L1":
        return episode.content
    return "\n\n".join(map(_said, episode.original_messages))


def _said(message: Message) -> str:
    return f"[{day(message.timestamp)}] {message.speaker}: {message.content}"


def _fact(fact: SemanticMemory) -> str:
    since = f", {fact._begins}" if fact._begins else ""
    until = f", until {day(fact.valid_to)[:10]}" if fact.valid_to else ""
    return f"{fact.content}\n\n({fact.kind}{since}{until}, confidence {fact.confidence:g})"


def _cut(text: str, most: int) -> str:
    """The beginning of a text, within a number of tokens."""
    if _native.count_tokens(text) <= most:
        return text
    fits = longest(len(text) - 1, lambda n: _native.count_tokens(f"{text[:n]}…") <= most)
    return f"{text[: fits or 0]}…"
