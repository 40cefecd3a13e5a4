"""Which of some people a name means: the whole name, or a word of it that only one of them has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# An unreadable letter is a part of the name.
_BETWEEN = re.compile(r"[^\w'\u2019\ufffd-]+")


def people_named(name: str, people: Iterable[str]) -> list[str]:
    """The speakers of a name: one if it is clear, several if it is not, or none.

    A whole name goes before a part of it. Letters are compared without case, and however accents
    are written.

    >>> people_named("tom", ["Tom Becker", "Ida Lund"])
    ['Tom Becker']
    >>> people_named("lund", ["Tom Lund", "Ida Lund"])
    ['Tom Lund', 'Ida Lund']
    """
    told = _in_words(name)
    known = {_in_words(person): person for person in people}
    if told in known:
        return [known[told]]
    return [person for words, person in known.items() if told.strip() and told in words]


def _in_words(name: str) -> str:
    """The words of a name, with a space before and after each."""
    plain = unicodedata.normalize("NFC", name).casefold()
    return f" {_BETWEEN.sub(' ', plain).strip()} "
