"""Profiles: the facts about a user that were not ended, by category.

A view over the facts: nothing is stored. Sentences of a model or of the application come first,
then quotations, the newest first. An earlier quotation about the same thing, or in nearly the same
words, stands below the newest one. Facts about other people, and facts that a category has no room
for, are left out; the memory keeps them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from . import _native
from .errors import InvalidInputError
from .headings import NOTE, WORDS, language_of
from .inputs import checks
from .inputs.names import NAMELESS
from .people import people_named
from .records import SemanticMemory
from .reports import Event
from .value import Value, clip, jsonable, longest
from .visible import visible

# Cortex-Mem's categories and their limits; the least important facts are left out.
LIMITS: dict[str, int] = {
    "personal_info": 50,
    "work_history": 100,
    "preference": 200,
    "relationship": 50,
    "goal": 50,
}
_MOST_NOTES = 100
# Labels of a user without a name.
_UNNAMED = {"user", "the user", "用户"}
# Two facts say the same if they share at least this share of their words.
_SAME = 0.7
# The most characters of a former text and of a quotation; the most former texts of a line.
_FORMER = 120
_QUOTED = 400
_MOST_FORMER = 3


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProfileLine(Value):
    """A fact of a profile, and its history.

    Attributes
    ----------
    fact : SemanticMemory
        The fact.
    history : tuple of Event
        What happened to it, oldest first: ``ADD``, ``UPDATE`` and ``MERGE`` with the text before,
        ``SUPERSEDE`` with the fact that it ended.
    earlier : tuple of SemanticMemory
        Earlier quotations about the same thing or in nearly the same words, newest first.
    """

    fact: SemanticMemory
    history: tuple[Event, ...] = ()
    earlier: tuple[SemanticMemory, ...] = ()

    @property
    def content(self) -> str:
        """The fact in words."""
        return self.fact.content

    @property
    def former(self) -> tuple[str, ...]:
        """The facts that this fact superseded, newest first."""
        texts = [one.previous for one in reversed(self.history) if one.previous is not None]
        return tuple(text for text in dict.fromkeys(texts) if text != self.content)

    def to_dict(self) -> dict[str, Any]:
        """The line as plain JSON types.

        Returns
        -------
        dict of str to Any
            Id, URI, text, date, weights, source messages and history of the fact.

        Examples
        --------
        >>> fact = memory.remember("eve", "Eve plays go.", valid_from="2024-03-08")
        >>> next(iter(memory.profile("eve"))).to_dict()["valid_from"][:10]
        '2024-03-08'
        """
        fact = self.fact
        return {
            "id": fact.memory_id,
            "uri": fact.uri,
            "content": fact.content,
            "valid_from": fact.valid_from.isoformat(),
            "importance": fact.importance,
            "confidence": fact.confidence,
            "source_messages": list(fact.source_messages),
            "history": jsonable(self.history),
            "earlier": [fact.memory_id for fact in self.earlier],
        }

    def __repr__(self) -> str:
        return f"<ProfileLine {clip(self.content)!r}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Profile(Value):
    """What is known about a user: ``memory.profile(user)``.

    No fact of it was ended by a model, the user or the application. Without a model a quotation
    says what was true on its day.

    Attributes
    ----------
    user_id : str
        The user.
    sections : dict of str to tuple of ProfileLine
        The facts by category, the newest first. Categories without facts are left out.
    left_out : dict of str to int
        How many facts a category had no room for.
    language : str
        The language of the headings: ``"en"``, ``"zh"``, ``"de"``, ``"fr"`` or ``"es"``.
    name : str
        The user's name in the messages; else the id.
    """

    user_id: str
    sections: dict[str, tuple[ProfileLine, ...]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    language: str = "en"
    name: str = ""

    @property
    def facts(self) -> tuple[SemanticMemory, ...]:
        """The facts of all categories."""
        return tuple(line.fact for line in self)

    def __iter__(self) -> Iterator[ProfileLine]:
        return (line for lines in self.sections.values() for line in lines)

    def __len__(self) -> int:
        return sum(map(len, self.sections.values()))

    def to_markdown(self, max_tokens: int | None = None, *, history: bool = False) -> str:
        """The profile as Markdown.

        Parameters
        ----------
        max_tokens
            Maximum length in tokens of o200k_base, never exceeded: the least important facts are
            left out. ``None``: all facts.
        history
            Include the facts that each fact superseded.

        Returns
        -------
        str
            Headings and a line for each fact; empty if nothing is known or nothing fits.

        Raises
        ------
        InvalidInputError
            For ``max_tokens`` below 1.

        Examples
        --------
        >>> hobby = {"kind": "preference", "valid_from": "2024-03-08"}
        >>> fact = memory.remember("dan", "Dan plays chess.", **hobby)
        >>> print(memory.profile("dan").to_markdown(max_tokens=100))
        # dan
        <BLANKLINE>
        ## Preferences
        <BLANKLINE>
        - Dan plays chess. (since 2024-03-08)
        <BLANKLINE>
        """
        ranked = self._ranked()
        if max_tokens is None:
            return self._written(ranked, history)
        checks.whole(max_tokens, "max_tokens", 1)
        return self._written(ranked[: self._fits(ranked, max_tokens, history)], history)

    def _fitting(self, max_tokens: int) -> Profile:
        """The profile without its least important facts, so that its Markdown fits."""
        ranked = self._ranked()
        chosen = {line.fact.memory_id for line in ranked[: self._fits(ranked, max_tokens, False)]}
        sections, left_out = {}, dict(self.left_out)
        for category, lines in self.sections.items():
            kept = tuple(line for line in lines if line.fact.memory_id in chosen)
            if kept:
                sections[category] = kept
            if len(kept) < len(lines):
                left_out[category] = left_out.get(category, 0) + len(lines) - len(kept)
        return Profile(self.user_id, sections, left_out, self.language, self.name)

    def _ranked(self) -> list[ProfileLine]:
        """All lines. The first lines stay when there is little room."""
        return sorted(self, key=lambda line: _rank(line.fact))

    def _fits(self, ranked: list[ProfileLine], max_tokens: int, history: bool) -> int:
        def fits(count: int) -> bool:
            return _native.count_tokens(self._written(ranked[:count], history)) <= max_tokens

        return longest(len(ranked), fits) or 0

    def _written(self, lines: Iterable[ProfileLine], history: bool) -> str:
        chosen = {line.fact.memory_id for line in lines}
        if not chosen:
            return ""
        parts = [f"# {_inline(self.name or self.user_id)}\n"]
        for category, section in self.sections.items():
            told = [line for line in section if line.fact.memory_id in chosen]
            if told:
                parts.append(f"\n## {WORDS[self.language].headings[category]}\n\n")
                parts += (self._line(line, history) for line in told)
        return "".join(parts)

    def _line(self, line: ProfileLine, history: bool) -> str:
        former = [_inline(clip(text, _FORMER)) for text in line.former] if history else []
        if line.fact.quote is None:
            words = WORDS[self.language]
            before = words.before.format(text=" / ".join(former)) if former else ""
            since = words.since.format(date=_date(line.fact.valid_from), before=before)
            return f"- {_inline(line.content)}{since}\n"
        told = f"- {_quoted(line.fact)}\n"
        for fact in line.earlier[:_MOST_FORMER]:
            told += f"  {WORDS[self.language].earlier} {_quoted(fact)}\n"
        return told

    def to_json(self, *, indent: int | None = None) -> str:
        """The profile as JSON text.

        Parameters
        ----------
        indent
            Spaces per level; ``None`` for one line.

        Returns
        -------
        str
            What :meth:`to_dict` returns.

        Raises
        ------
        InvalidInputError
            For a negative ``indent``.

        Examples
        --------
        >>> import json
        >>> fact = memory.remember("fay", "Fay plays chess.", kind="preference")
        >>> list(json.loads(memory.profile("fay").to_json())["sections"])
        ['preference']
        """
        if indent is not None and indent < 0:
            raise InvalidInputError(f"indent must be 0 or more, not `{indent}`")
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def __str__(self) -> str:
        return visible(self.to_markdown(), lines=True)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(lines)} {name}" for name, lines in self.sections.items())
        return f"<Profile of {clip(self.user_id)!r}: {counts or 'nothing is known'}>"


def profile_of(
    user: str,
    speaker: str,
    facts: Iterable[SemanticMemory],
    revisions: Mapping[str, list[SemanticMemory]],
    language: str | None = None,
    limits: Mapping[str, int] = LIMITS,
    followed: Mapping[str, Set[str]] = MappingProxyType({}),
    own: Set[str] = frozenset(),
    of: str | None = None,
) -> Profile:
    """The profile of a user, whose messages are mostly from ``speaker``, or ``of`` another person.

    ``own`` has the user's names that were stated.

    ``facts`` has current and superseded facts, ``revisions`` has all revisions of the facts that
    were changed, oldest first, ``followed`` the facts that were said later about the same thing,
    by the id of the earlier one.
    """
    current: list[SemanticMemory] = []
    ended: dict[str, list[SemanticMemory]] = {}
    facts = list(facts)
    for fact in facts:
        if fact.is_current and (fact.kind in limits or _is_note(fact)):
            current.append(fact)
        elif fact.superseded_by is not None:
            ended.setdefault(fact.superseded_by, []).append(fact)
    whom = _Whom(facts)
    names = whom.names(of) if of else _names_of(user, speaker, own, current, whom)
    rooms = {**limits, NOTE: _MOST_NOTES}
    kept: dict[str, list[SemanticMemory]] = {kind: [] for kind in rooms}
    left_out: dict[str, int] = {}
    chosen = [
        fact
        for fact in current
        if whom.person(fact) in names or (not of and not fact.subject and _is_note(fact))
    ]
    stated = {fact.quote.casefold() for fact in chosen if fact.quote}
    for fact in sorted(chosen, key=_rank):
        # A fact that was stated twice is told once; a quotation has its dates.
        if fact.quote is None and fact.content.casefold() in stated:
            continue
        stated.add(fact.content.casefold())
        category = fact.kind if fact.kind in limits else NOTE
        if len(kept[category]) < rooms[category]:
            kept[category].append(fact)
        else:
            left_out[category] = left_out.get(category, 0) + 1
    sections = {
        kind: tuple(
            ProfileLine(first, _history(user, first, ended, revisions), tuple(earlier))
            for first, *earlier in _groups(found, followed)
        )
        for kind, found in kept.items()
        if found
    }
    told = [line.content for lines in sections.values() for line in lines]
    named = next((fact.speaker for fact in current if fact.speaker and _person(fact) in names), "")
    name = named if named and named.casefold() not in _UNNAMED else of or user
    return Profile(user, sections, left_out, language or language_of(told), name)


def _groups(
    facts: Iterable[SemanticMemory], followed: Mapping[str, Set[str]]
) -> list[list[SemanticMemory]]:
    """The facts as a profile shows them: each with its earlier ones.

    These are about the same thing, or in nearly the same words.
    """
    groups: list[list[SemanticMemory]] = []
    said: list[set[str]] = []
    for fact in sorted(facts, key=_order):
        words = _words(fact)
        same = (
            at
            for at, other in enumerate(said)
            if fact.quote is not None
            and groups[at][0].quote is not None
            and (
                len(words & other) >= _SAME * len(words | other)
                or any(one.memory_id in followed.get(fact.memory_id, ()) for one in groups[at])
            )
        )
        at = next(same, None)
        if at is None:
            groups.append([fact])
            said.append(words)
        elif fact.quote != groups[at][-1].quote:
            groups[at].append(fact)
    return groups


def _is_note(fact: SemanticMemory) -> bool:
    """Whether a fact was stated directly, and not about an agent."""
    return (
        fact.kind != "procedure"
        and fact.provenance.get("method") == "user"
        and not fact.provenance.get("prompt_version")
        and fact.metadata.get("about") != "agent"
    )


def _person(fact: SemanticMemory) -> str:
    """The person that a fact is about; "Alice's sister" counts as Alice."""
    return fact.subject.split("'s ")[0].casefold()


class _Whom:
    """The speakers by their names: "Tom" is Tom Becker where no other Tom speaks."""

    def __init__(self, facts: Iterable[SemanticMemory]) -> None:
        speakers = {fact.speaker for fact in facts if fact.speaker}
        self._speakers = {name for name in speakers if not name.startswith(NAMELESS)}
        self._known: dict[str, set[str]] = {}

    def names(self, name: str) -> set[str]:
        """The name, and that of the only speaker that has it."""
        if name not in self._known:
            meant = people_named(name, self._speakers)
            only = {meant[0].casefold()} if len(meant) == 1 else set()
            self._known[name] = {name.casefold()} | only
        return self._known[name]

    def person(self, fact: SemanticMemory) -> str:
        """The person that a fact is about, by the name of the speaker."""
        person = _person(fact)
        if fact.quote is not None:
            return person
        return max(self.names(person), key=lambda name: (name != person, name))


def _names_of(
    user: str, speaker: str, stated: Set[str], facts: Iterable[SemanticMemory], whom: _Whom
) -> set[str]:
    """The names of the user: the id and a name that was stated, else the main speaker's name.

    A speaker that the id names goes before the main one. Without messages, the name with most
    facts of a model. An account without a name is never the user.
    """
    own = {user.casefold(), *_UNNAMED}
    if stated:
        return own | {name.casefold() for name in stated}
    own |= whom.names(user)
    facts = [fact for fact in facts if not _person(fact).startswith(NAMELESS.casefold())]
    counts = Counter(_person(fact) for fact in facts if fact.made_by != "application")
    known = own & counts.keys()
    main = {speaker.casefold()} & counts.keys()
    return own | (known or main or {name for name, _ in counts.most_common(1)})


def is_own_name(user: str, fact: SemanticMemory) -> bool:
    """Whether a fact states how the user is called in the messages."""
    is_of_user = fact.attribute == "name" and fact.subject.casefold() == user.casefold()
    return is_of_user and fact.quote is None and bool(fact.value) and fact.is_current


def _words(fact: SemanticMemory) -> set[str]:
    """The words of a fact without the name; of unspaced scripts the pairs of characters."""
    runs = re.findall(r"\w+", fact.content.casefold().replace(_person(fact), ""))
    words = {run for run in runs if run.isascii()}
    return words | {run[at : at + 2] for run in runs if not run.isascii() for at in range(len(run))}


def _order(fact: SemanticMemory) -> tuple[bool, float, str]:
    """Sentences before quotations, the newest first."""
    return (fact.quote is not None, -fact.valid_from.timestamp(), fact.memory_id)


def _quoted(fact: SemanticMemory) -> str:
    """The day and the words of a quotation, with resolved dates and without the speaker."""
    said = fact.said_at or fact.valid_from
    words = fact.content
    if fact.speaker:
        words = re.sub(r"^.{0,200}?[:：] ?(?=[\"“])", "", words, count=1)  # noqa: RUF001
    return f"{_date(said)}: {_inline(clip(words, _QUOTED))}"


def _rank(fact: SemanticMemory) -> tuple[float, float, float, str]:
    """Most important first, then surest, then newest."""
    newest = -fact.valid_from.timestamp()
    return (-fact.importance, -fact.confidence, newest, fact.memory_id)


def _history(
    user: str,
    fact: SemanticMemory,
    ended: Mapping[str, list[SemanticMemory]],
    revisions: Mapping[str, list[SemanticMemory]],
) -> tuple[Event, ...]:
    events: list[Event] = []
    seen: set[str] = set()
    pending = [fact]
    while pending:
        now = pending.pop()
        if now.memory_id in seen:
            continue
        seen.add(now.memory_id)
        events += _changes(
            user, [one for one in revisions.get(now.memory_id, ()) if one != now], now
        )
        for old in ended.get(now.memory_id, ()):
            pending.append(old)
            events.append(
                Event(
                    old.updated_at,
                    user,
                    "SUPERSEDE",
                    now.memory_id,
                    now.content,
                    old.content,
                    old.memory_id,
                    now.source_messages,
                )
            )
    return tuple(sorted(events, key=lambda event: event.at))


def _changes(user: str, earlier: list[SemanticMemory], now: SemanticMemory) -> Iterator[Event]:
    before: SemanticMemory | None = None
    for one in (*earlier, now):
        if before is None:
            change, previous = "ADD", None
        elif one.content != before.content:
            change, previous = "UPDATE", before.content
        elif len(one.source_messages) > len(before.source_messages):
            change, previous = "MERGE", before.content
        else:
            before = one
            continue
        at = one.created_at if before is None else one.updated_at
        yield Event(
            at, user, change, one.memory_id, one.content, previous, evidence=one.source_messages
        )
        before = one


def _date(moment: datetime) -> str:
    return moment.date().isoformat()


def _inline(text: str) -> str:
    """A text on one line, which can't begin a heading or another item."""
    return visible(" ".join(text.split()))
