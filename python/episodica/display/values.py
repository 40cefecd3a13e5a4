"""What values look like in a notebook: small HTML, every text in it escaped and cut.

``_repr_html_`` of the values calls ``value.to_html``, where this module registers its functions.
Colours and layout are in ``display.html``; terminals get ``repr`` and ``str``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from functools import singledispatch
from itertools import islice
from typing import Any

from ..forgetting import ForgettingReport
from ..layers.values import Entry, Exploration
from ..listings import Records
from ..profile import Profile
from ..records import Episode, Message, Procedure, ProcedureStep, Record, SemanticMemory
from ..reports import AddResult, Event, Events, LearningReport, VerifyReport
from ..results import Context, Explanation, Hit, SearchResults
from ..status import Report, leaves
from ..value import Value, day, to_html
from .html import (
    MAX_PARAGRAPH,
    MAX_ROWS,
    bar,
    folded,
    more,
    page,
    paragraph,
    plain,
    table,
    tags,
    title,
    verbatim,
)

# A score has about ten terms; a longer tree is cut.
_MAX_TERMS = 100


@singledispatch
def body(value: Any) -> str:
    """The value as HTML, without the surrounding frame."""
    return verbatim(repr(value))


@to_html.register(Value)
def _value_to_html(value: Value) -> str:
    return page(body(value))


@body.register(Value)
def _(value: Value) -> str:
    names = [field.name for field in fields(value)]  # type: ignore[arg-type]
    rows = [(name, _cell(getattr(value, name))) for name in names]
    return title(type(value).__name__) + _pairs(rows)


@body.register(Message)
def _(value: Message) -> str:
    return title(value.speaker, f"{day(value.timestamp)}{_origin(value)}") + paragraph(
        value.content
    )


@body.register(Episode)
def _(value: Episode) -> str:
    count = _count(value.message_count, "message")
    note = f"{day(value.timestamp)}{_length(value)} · {count}{_origin(value)}"
    ending = f"Boundary: {value.boundary_reason}." if value.boundary_reason else ""
    return (
        title(value.title, note)
        + paragraph(value.summary)
        + tags(value.topics)
        + (paragraph(ending, "ep-faint") if ending else "")
        + folded("content", paragraph(value.content))
        + folded(
            _count(len(value.original_messages), "message"), _messages(value.original_messages)
        )
    )


@body.register(SemanticMemory)
def _(value: SemanticMemory) -> str:
    content = plain(value.content)
    until = f" until {day(value.valid_to)[:10]}" if value.valid_to else ""
    about = f" · {value.subject}: {value.attribute}" if value.subject and value.attribute else ""
    sources = (
        f" · {_count(len(value.source_messages), 'source message')}"
        if value.source_messages
        else ""
    )
    since = f"since {day(value.valid_from)[:10]}{until}"
    state = f" · archived on {day(value.archived_at)[:10]}" if value.archived_at else ""
    state += f" · until {day(value.expires_at)}" if value.expires_at else ""
    note = f"{value.kind}{about} · {since} · confidence {value.confidence:.2f}{sources}{state}"
    text = f"<strong>{content}</strong>" if value.is_current else _struck(content)
    return f"<p>{text}</p>" + paragraph(note, "ep-faint") + _steps(value.procedure)


def _steps(procedure: Procedure | None) -> str:
    """What an agent did, step by step."""
    if procedure is None or not procedure.steps:
        return ""
    rows = (
        (str(number), plain(step.action, 60), _cell(step.arguments), _came_of(step))
        for number, step in enumerate(procedure.steps[:MAX_ROWS], 1)
    )
    head = ("", "action", "arguments", "result")
    return folded(
        _count(len(procedure.steps), "step"), table(head, rows, len(procedure.steps), "nstt")
    )


def _came_of(step: ProcedureStep) -> str:
    if step.error is None:
        return _cell(step.result)
    return f'<span class="ep-warn">{plain(step.error)}</span>'


@body.register(SearchResults)
def _(value: SearchResults) -> str:
    top = title(
        value.query or "search",
        f"{_count(len(value), 'hit')}{f' · {value.intent}' if value.intent else ''}",
    )
    missing = paragraph(f"without {', '.join(value.degraded)}", "ep-warn") if value.degraded else ""
    if not value:
        return top + missing + paragraph("Nothing was found.", "ep-faint")
    shown = list(value[:MAX_ROWS])
    # Relevances share one axis; scores of single legs may be larger.
    most = max(1.0, *(hit.score for hit in shown))
    rows = (
        (
            str(hit.rank),
            hit.kind,
            f"{hit.score:.4f}",
            bar(hit.score, 0.0, most),
            day(hit.timestamp),
            _found(hit),
        )
        for hit in shown
    )
    return (
        top
        + missing
        + table(("", "kind", "score", "", "date", "found"), rows, len(value), "nsnsst")
    )


@body.register(Hit)
def _(value: Hit) -> str:
    top = title(
        value.title or value.kind,
        f"{value.kind} {value.rank} · {value.score:.4f} · {day(value.timestamp)}",
    )
    messages = (
        ""
        if value.kind == "message"
        else folded(_count(len(value.messages), "message"), _messages(value.messages))
    )
    said = (
        paragraph(value.content)
        if value.is_current
        else f"<p>{_struck(plain(value.content, MAX_PARAGRAPH))}</p>"
    )
    return top + said + messages + _tree(value.explain())


@body.register(Context)
def _(value: Context) -> str:
    messages = f"{_count(len(value.messages), 'message')} verbatim"
    hits = f"of {_count(len(value.hits), 'hit')}"
    note = f"{_count(value.token_count, 'token')} · {messages} · {hits}"
    return (
        title(value.hits.query or "context", note)
        + verbatim(value.text)
        + folded("the messages", _messages(value.messages))
    )


@body.register(Explanation)
def _(value: Explanation) -> str:
    return _tree(value)


@body.register(AddResult)
def _(value: AddResult) -> str:
    counts = [
        (f"{value.messages_added:,}", "added"),
        (f"{value.duplicates:,}", "known before"),
        (f"{value.buffered:,}", "waiting for a boundary"),
        (f"{len(value.episodes):,}", "episodes completed"),
        (f"{value.pending_semantic:,}", "episodes still to learn from"),
    ]
    if value.skipped:
        counts.append((f"{value.skipped:,}", "without words: skipped"))
    made = folded(_count(len(value.episodes), "episode"), tags(value.episodes))
    notes = "".join(paragraph(note, "ep-warn") for note in value.notes)
    return (
        title(f"{_count(value.messages_added, 'message')} remembered")
        + table(("", ""), counts, len(counts), "nt")
        + notes
        + made
    )


@body.register(VerifyReport)
def _(value: VerifyReport) -> str:
    note = f"{value.total:,} checked · {value.indexed:,} indexed · {value.skipped:,} skipped"
    top = title("The store is sound" if value.ok else _count(value.errors, "error"), note)
    rows = (
        (plain(one.path), str(one.line or ""), plain(one.message), plain(one.remedy))
        for one in value.problems[:MAX_ROWS]
    )
    return top + (
        table(("file", "line", "problem", "remedy"), rows, len(value.problems), "tntt")
        if value.problems
        else ""
    )


@body.register(ForgettingReport)
def _(value: ForgettingReport) -> str:
    note = f"{_count(value.exempt, 'fact')} exempt" if value.exempt else ""
    rows = (
        (f"{one.strength:.2f}", f"{one.uses:,}", plain(one.text), plain("; ".join(one.reasons)))
        for one in value.candidates[:MAX_ROWS]
    )
    return title(_count(len(value), "candidate"), note) + (
        table(("strength", "uses", "record", "reasons"), rows, len(value), "nntt") if value else ""
    )


@body.register(LearningReport)
def _(value: LearningReport) -> str:
    note = "" if value.done else "work is pending"
    return title(
        _count(len(value.events), "candidate for a fact", "candidates for facts"), note
    ) + (_events(value.events))


@body.register(Entry)
def _(value: Entry) -> str:
    return title(value.title or value.name or value.uri, value.kind) + verbatim(str(value))


@body.register(Exploration)
def _(value: Exploration) -> str:
    rows = (
        (plain(step.uri), step.layer, f"{step.score:.3f}", "yes" if step.entered else "")
        for step in value.steps[:MAX_ROWS]
    )
    note = _count(len(value.hits), "hit")
    heads = ("place", "layer", "score", "entered")
    return title(value.query, note) + table(heads, rows, len(value.steps), "tsns")


@body.register(Profile)
def _(value: Profile) -> str:
    left = sum(value.left_out.values())
    note = f"{left} more left out" if left else ""
    parts = [title(value._heading("").format(user=value.user_id), note)]
    for category, lines in value.sections.items():
        rows = (
            (day(line.fact.valid_from)[:10], plain(line.content), _former(line.former))
            for line in lines[:MAX_ROWS]
        )
        heads = ("since", value._heading(category), "before")
        parts.append(table(heads, rows, len(lines), "stt"))
    return "".join(parts)


def _former(texts: tuple[str, ...]) -> str:
    return "<br>".join(f"<s>{plain(text)}</s>" for text in texts)


@body.register(Events)
def _(value: Events) -> str:
    note = "" if value.complete else "some users begin anew"
    return title(_count(len(value.events), "change"), note) + _events(value.events)


def _events(events: tuple[Event, ...]) -> str:
    """A row for each event: the user, the change, the text with the text before, the reason."""

    def text(event: Event) -> str:
        before = event.previous if event.previous != event.statement else None
        return plain(event.statement or event.id) + (
            f"<br><s>{plain(before)}</s>" if before else ""
        )

    rows = (
        (plain(event.user_id), event.change, text(event), plain(event.reason))
        for event in events[:MAX_ROWS]
    )
    return table(("user", "change", "text", "reason"), rows, len(events), "sstt") if events else ""


_HEADS: dict[type, tuple[str, str, str]] = {
    Message: ("date", "speaker", "message"),
    Episode: ("date", "length", "title"),
    SemanticMemory: ("since", "kind", "fact"),
}


@to_html.register(Records)
def _records_to_html(listing: Records[Any]) -> str:
    top = title(listing._name)
    records = list(islice(listing._preview(), MAX_ROWS + 1))
    if not records:
        return page(top, paragraph("No records.", "ep-faint"))
    shown = records[:MAX_ROWS]
    rest = paragraph("and more", "ep-faint") if len(records) > MAX_ROWS else ""
    return page(top, table(_HEADS[listing._type], map(_row, shown), len(shown), "sst"), rest)


@body.register(Report)
def _(report: Report) -> str:
    """Names and numbers; nested names by their whole path."""
    rows = [(name.replace("_", " "), _cell(value)) for name, value in leaves(report, " · ")]
    return title(report._title) + _pairs(rows)


def _pairs(rows: list[tuple[str, str]]) -> str:
    shown = rows[: 3 * MAX_ROWS]
    return table(
        ("", ""),
        [(f'<span class="ep-faint">{plain(name)}</span>', cell) for name, cell in shown],
        len(rows),
        "st",
    )


def _cell(value: Any) -> str:
    if value is None or value in ((), {}, [], ""):
        return '<span class="ep-faint">-</span>'
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, (tuple, list)):
        return plain(", ".join(str(item)[:100] for item in value[:MAX_ROWS])) + more(
            len(value) - MAX_ROWS
        )
    return plain(str(value))


def _row(record: Record) -> tuple[str, str, str]:
    if isinstance(record, Message):
        return day(record.timestamp), plain(record.speaker, 40), plain(record.content)
    if isinstance(record, Episode):
        return day(record.timestamp), _count(record.message_count, "message"), plain(record.title)
    text = plain(record.content)
    return (
        day(record.valid_from)[:10],
        plain(record.kind, 40),
        text if record.is_current else _struck(text),
    )


def _messages(messages: tuple[Message, ...]) -> str:
    rows = (
        (day(one.timestamp), plain(one.speaker, 40), plain(one.content, 2000))
        for one in messages[:MAX_ROWS]
    )
    return table(("date", "speaker", "text"), rows, len(messages), "sst") if messages else ""


def _found(hit: Hit) -> str:
    best = hit.messages[0] if hit.messages else None
    if hit.kind == "semantic" or best is None:
        text = plain(hit.content)
        return text if hit.is_current else _struck(text)
    quote = f'<span class="ep-faint">{plain(best.speaker, 40)}:</span> {plain(best.content)}'
    return quote if hit.kind == "message" else f"<strong>{plain(hit.title)}</strong><br>{quote}"


def _tree(tree: Explanation) -> str:
    """The terms of a score, each under the sum that it belongs to."""
    terms = list(_terms(tree, 0))
    values = [value for _, _, value, _ in terms[:_MAX_TERMS]]
    rows = (
        (
            "<span "
            f'style="padding-inline-start:{min(depth, 12) * 1.2:.1f}em">{plain(name, 60)}</span>',
            f"{value:.4f}",
            bar(value, min(values), max(values)),
            f'<span class="ep-faint">{plain(detail)}</span>',
        )
        for depth, name, value, detail in terms[:_MAX_TERMS]
    )
    return table(("term", "value", "", "how"), rows, len(terms), "snst")


def _terms(tree: Explanation, depth: int) -> Iterator[tuple[int, str, float, str]]:
    pending: list[tuple[int, Explanation]] = [(depth, tree)]
    while pending:
        level, one = pending.pop()
        yield level, one.name, one.value, one.detail
        pending += [(level + 1, child) for child in reversed(one.children)]


def _struck(text: str) -> str:
    """The text of an outdated fact, marked in words too for viewers without styles."""
    return f'<s>{text}</s> <span class="ep-warn">outdated</span>'


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def _origin(value: Message | Episode) -> str:
    session = f" · session {value.session_id}" if value.session_id else ""
    agents = (value.agent_id,) if isinstance(value, Message) else value.agent_ids
    return session + "".join(f" · agent {agent}" for agent in agents if agent)


def _length(value: Episode) -> str:
    spent = (value.ended_at or value.timestamp) - value.timestamp
    if spent < timedelta(minutes=1):
        return ""
    minutes = int(spent.total_seconds() // 60)
    if minutes < 60:
        return f", {minutes} min"
    return f", {minutes // 60} h" if minutes < 48 * 60 else f", {minutes // (24 * 60)} days"
