"""What values look like in a notebook: a title and a table, every text in it escaped and cut.

``_repr_html_`` of the values calls ``value.to_html``, where this module registers its functions.
Colours are mixed from that of the surrounding text, so a table fits any theme; the tags are
semantic, so a viewer that strips styles still shows readable text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import islice
from typing import Any

from .listings import Records
from .records import Episode, Message, SemanticMemory
from .results import Context, Explanation, Hit, SearchResults
from .status import Report, leaves
from .value import Value, clip, day, to_html
from .visible import escaped, visible

_MAX_ROWS = 20
_MAX_CELL = 240
_MAX_TEXT = 6000
# A score has about ten terms; a longer tree is cut.
_MAX_TERMS = 100
# The second and third class keep notebooks from reading dollar signs as formulas.
_CLASSES = "episodica mathjax_ignore tex2jax_ignore"
_STYLE = """\
.episodica table{border-collapse:collapse;color:inherit}\
.episodica tr{background:none!important}\
.episodica td,.episodica th{padding:.2em .9em .2em 0;text-align:start;vertical-align:top;\
border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);overflow-wrap:break-word}\
.episodica pre{max-height:28em;overflow:auto;white-space:pre-wrap}"""
_OUTDATED = "<em>outdated</em>"

_Columns = Mapping[str, Callable[[Any], object]]

# The columns of a table of values of a type; other values have one for each of their fields.
_COLUMNS: dict[type, _Columns] = {
    Message: {
        "date": lambda one: one.timestamp,
        "speaker": lambda one: one.speaker,
        "agent": lambda one: one.agent_id,
        "message": lambda one: one.content,
    },
    Episode: {
        "date": lambda one: one.timestamp,
        "messages": lambda one: one.message_count,
        "title": lambda one: one.title,
    },
    SemanticMemory: {
        "since": lambda one: one.valid_from if one.is_dated else "",
        "kind": lambda one: one.kind,
        "fact": lambda one: one,
    },
    Hit: {
        "": lambda one: one.rank,
        "kind": lambda one: one.kind,
        "score": lambda one: f"{one.score:.4f}",
        "date": lambda one: one.timestamp,
        "found": lambda one: one,
    },
}


@to_html.register(Value)
def _value_to_html(value: Value) -> str:
    said = "" if getattr(value, "is_current", True) else f" {_cell(value)}"
    return _page(type(value).__name__, _table_of(value), said)


@to_html.register(SearchResults)
def _results_to_html(results: SearchResults) -> str:
    missing = f" (without {', '.join(results.degraded)})" if results.degraded else ""
    return _page((results.query or "search") + missing, _listed(list(results), Hit))


@to_html.register(Context)
def _context_to_html(context: Context) -> str:
    return _page(f"context of {context.token_count:,} tokens", _text(context.text))


@to_html.register(Records)
def _records_to_html(listing: Records[Any]) -> str:
    records = list(islice(listing._preview(), _MAX_ROWS + 1))
    more = "<p>and more</p>" if len(records) > _MAX_ROWS else ""
    return _page(listing._name, _listed(records[:_MAX_ROWS], listing._type) + more)


@to_html.register(Report)
def _report_to_html(report: Report) -> str:
    """Names and numbers; nested names by their whole path."""
    named = [(name.replace("_", " "), value) for name, value in leaves(report, " · ")]
    return _page(report._title, _pairs(named))


def _page(title: str, body: str, note: str = "") -> str:
    head = f"<p><strong>{_plain(title)}</strong>{note}</p>"
    return f'<div class="{_CLASSES}"><style>{_STYLE}</style>{head}{body}</div>'


def _table_of(value: Value) -> str:
    """The fields of a value that say something; a tree of scores, term by term."""
    if isinstance(value, Explanation):
        return _tree(value)
    named = ((one.name, getattr(value, one.name)) for one in fields(value))  # type: ignore[arg-type]
    return _pairs([(name, one) for name, one in named if one not in (None, "", (), {})])


def _pairs(named: Sequence[tuple[str, object]]) -> str:
    shown = [(_plain(name), _cell(value)) for name, value in named[: 3 * _MAX_ROWS]]
    return _table((), shown, len(named))


def _listed(values: Sequence[Any], kind: type) -> str:
    """A row for each value."""
    if not values:
        return "<p>none</p>"
    columns = _COLUMNS.get(kind) or {one.name: _field(one.name) for one in fields(kind)}
    rows = [[_cell(read(one)) for read in columns.values()] for one in values[:_MAX_ROWS]]
    return _table(list(columns), rows, len(values))


def _field(name: str) -> Callable[[Any], object]:
    return lambda value: getattr(value, name)


def _tree(tree: Explanation) -> str:
    """The terms of a score, each under the sum that it belongs to."""
    rows: list[Sequence[str]] = []
    pending, total = [(0, tree)], 0
    while pending:
        depth, one = pending.pop()
        total += 1
        if len(rows) < _MAX_TERMS:
            name = "&emsp;" * min(depth, 12) + _plain(one.name)
            rows.append((name, f"{one.value:.4f}", _plain(one.detail)))
        pending += [(depth + 1, child) for child in reversed(one.children)]
    return _table(("term", "value", "how"), rows, total)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], total: int) -> str:
    """Rows of cells that are HTML already."""
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    names = "".join(f"<th>{_plain(name)}</th>" for name in head)
    top = f"<thead><tr>{names}</tr></thead>" if names else ""
    rest = f"<p>and {total - len(lines):,} more</p>" if total > len(lines) else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{top}<tbody>{body}</tbody></table>{rest}"


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return day(value)
    if isinstance(value, (Hit, SemanticMemory)):
        title = value.title if isinstance(value, Hit) else ""
        text = _plain(f"{title}: {value.content}" if title else value.content)
        return text if value.is_current else f"<s>{text}</s> {_OUTDATED}"
    if isinstance(value, Value):
        return _table_of(value)
    if isinstance(value, (tuple, list)) and value and isinstance(value[0], Value):
        return _listed(value, type(value[0]))
    if isinstance(value, (tuple, list)):
        rest = f" and {len(value) - _MAX_ROWS:,} more" if len(value) > _MAX_ROWS else ""
        return _plain(", ".join(str(one)[:100] for one in value[:_MAX_ROWS])) + rest
    if isinstance(value, Mapping):
        return _pairs(list(value.items()))
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _plain(str(value))


def _plain(text: str) -> str:
    """``text`` on one line, cut, escaped, with its own writing direction."""
    return f'<bdi dir="auto">{escaped(clip(text, _MAX_CELL))}</bdi>'


def _text(text: str) -> str:
    """Text with its line breaks in a scrolling box."""
    rest = f"\n… and {len(text) - _MAX_TEXT:,} more characters" if len(text) > _MAX_TEXT else ""
    return f'<pre dir="auto">{escaped(visible(text[:_MAX_TEXT] + rest, lines=True))}</pre>'
