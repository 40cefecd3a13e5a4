"""Small, escaped HTML for notebooks. Colours are left to the notebook's theme."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

from ._value import Value, clip, day
from ._values import Episode, Message, SemanticMemory

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_ROWS = 20


def to_html(value: Any) -> str:
    """The value as a fragment of HTML, every text in it escaped."""
    from ._results import Context, Explanation, Hit, SearchResults

    if isinstance(value, SearchResults):
        rows = [(hit.rank, hit.kind, f"{hit.score:.4f}", day(hit.timestamp), hit.title or hit.content) for hit in value[:_MAX_ROWS]]
        return _titled(repr(value), _table(("rank", "kind", "score", "date", "text"), rows, len(value)))
    if isinstance(value, Hit):
        return _titled(f"{value.kind} {value.score:.4f} {value.title}", _messages(value.messages) or _paragraph(value.content))
    if isinstance(value, Context):
        return _titled(f"{value.token_count} tokens, {len(value.messages)} messages", f"<pre>{escape(value.text)}</pre>")
    if isinstance(value, Explanation):
        return f"<pre>{escape(str(value))}</pre>"
    if isinstance(value, Message):
        return _paragraph(f"{day(value.timestamp)} {value.speaker}: {value.content}")
    if isinstance(value, Episode):
        body = _paragraph(value.summary or value.content) + _messages(value.original_messages)
        return _titled(f"{day(value.timestamp)} {value.title}", body)
    if isinstance(value, SemanticMemory):
        until = f" until {day(value.valid_to)}" if value.valid_to else ""
        return _titled(value.content, _paragraph(f"{value.kind}, since {day(value.valid_from)}{until}"))
    if isinstance(value, Value):
        items = [(field.name, getattr(value, field.name)) for field in fields(value)]  # type: ignore[arg-type]
        return _titled(type(value).__name__, _table(("", ""), items, len(items)))
    return f"<pre>{escape(repr(value))}</pre>"


def _messages(messages: tuple[Message, ...]) -> str:
    if not messages:
        return ""
    rows = [(day(message.timestamp), message.speaker, message.content) for message in messages[:_MAX_ROWS]]
    return _table(("date", "speaker", "text"), rows, len(messages))


def _paragraph(text: str) -> str:
    return f"<p>{escape(clip(text, 1000))}</p>"


def _titled(title: str, body: str) -> str:
    return f"<div><strong>{escape(clip(title, 200))}</strong>{body}</div>"


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]], total: int) -> str:
    cells = "".join("<tr>" + "".join(f"<td>{escape(clip(str(cell), 200))}</td>" for cell in row) + "</tr>" for row in rows)
    titles = "".join(f"<th>{escape(name)}</th>" for name in head)
    more = f"<p>and {total - _MAX_ROWS} more</p>" if total > _MAX_ROWS else ""
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>{more}"
