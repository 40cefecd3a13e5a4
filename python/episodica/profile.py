"""Profiles: the facts about a user that were not ended, by category.

A view over the facts: nothing is stored. Sentences of a model or of the application come first,
then quotations, the newest first. An earlier quotation about the same thing, or in nearly the same
words, stands below the newest one. Facts about other people, and facts that a category has no room
for, are left out; the memory keeps them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from . import _native
from .errors import InvalidInputError
from .headings import WORDS
from .inputs import checks
from .records import SemanticMemory
from .reports import Event
from .value import Value, clip, jsonable, longest
from .visible import visible, without_days

# The most characters of a former text and of a quotation; the most former texts of a line.
_FORMER = 120
_QUOTED = 400
_MOST_FORMER = 3
# What joins a date and a former text.
_MARKS = "; \uff1b"


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
    later : SemanticMemory or None
        The latest quotation about a part of it.
    """

    fact: SemanticMemory
    history: tuple[Event, ...] = ()
    earlier: tuple[SemanticMemory, ...] = ()
    later: SemanticMemory | None = None

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
            "later": self.later and self.later.memory_id,
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
        return sorted(self, key=lambda line: rank(line.fact))

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
            # A day in its own words tells since when; its `valid_from` may be the day of saying it.
            names_day = without_days(line.content) != line.content
            dated = words.on if names_day or line.fact._is_event else words.since
            since = dated.format(date=_date(line.fact.valid_from), before=before)
            if not line.fact.is_dated:
                since = f" ({before.lstrip(_MARKS)})" if before else ""
            return f"- {_inline(line.content)}{since}\n"
        words = WORDS[self.language]
        later = words.later.format(text=_quoted(line.later)) if line.later else ""
        earlier = (words.earlier.format(text=_quoted(one)) for one in line.earlier[:_MOST_FORMER])
        return "\n".join((f"- {_quoted(line.fact)}{later}", *(f"  {one}" for one in earlier), ""))

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


def _quoted(fact: SemanticMemory) -> str:
    """The day and the words of a quotation, with resolved dates and without the speaker."""
    said = fact.said_at or fact.valid_from
    words = fact.content
    if fact.speaker:
        words = re.sub(r"^.{0,200}?[:：] ?(?=[\"“])", "", words, count=1)  # noqa: RUF001
    return f"{_date(said)}: {_inline(clip(words, _QUOTED))}"


def rank(fact: SemanticMemory) -> tuple[float, float, float, str]:
    """Most important first, then surest, then newest."""
    newest = -fact.valid_from.timestamp()
    return (-fact.importance, -fact.confidence, newest, fact.memory_id)


def _date(moment: datetime) -> str:
    return moment.date().isoformat()


def _inline(text: str) -> str:
    """A text on one line, which can't begin a heading or another item."""
    return visible(" ".join(text.split()))
