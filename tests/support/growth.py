"""How the cost of a call grows with its input, and inputs that make expressions cost much.

An input is a piece that is repeated. For an expression the pieces follow from its own parts, so
that each repetition in it meets texts that it goes over, and that fail only at their end.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

# The steepest growth that counts as linear: an exponent of the size.
STEEPEST = 1.2
# Seconds that the smallest of three inputs takes at least before an exponent is computed, and the
# most attempts: noise only makes a measurement longer.
_MEASURABLE = 0.004
_ATTEMPTS = 5
_SURE = 1.6

# Pieces that many scanners treat specially, alone and in pairs.
PIECES = (
    *("a", "Z", "1", " ", "\t", "\n", "\r\n", ".", ",", ":", ";", "-", "_", "/", "\\", "|", "*"),
    *('"', "'", "`", "(", ")", "[", "]", "{", "}", "<", ">", "=", "#", "@", "+", "~", "!", "?"),
    *('\\"', '""', "[[", "[]", '{"', '["', "<a", "</", "<!--", "```", "a ", " a", "a:", ": ", "1:"),
    *("1 ", "a\n", " \n", "- ", "1.", "\u3000", "猫", "é", "“", "「", "\ufeff", "\u200e", "a1 "),
)

_SAMPLES = {
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_WORD: " ",
}


def pieces_of(pattern: re.Pattern[Any]) -> list[tuple[str, str, str]]:
    """Beginnings, pieces to repeat and ends that suit the parts of an expression."""
    text = pattern.pattern
    read = parser.parse(text.decode("latin-1") if isinstance(text, bytes) else text, pattern.flags)
    found = dict.fromkeys(_pumps(list(read), ""))
    return list(islice(found, 200))


def _pumps(nodes: list[Any], before: str) -> Iterator[tuple[str, str, str]]:
    """For each repetition in a sequence: what leads to it, what it takes, and ends that fail."""
    for number, (kind, value) in enumerate(nodes):
        lead = before + _sample(nodes[:number])
        after = _sample(nodes[number + 1 :])
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, inner = value
            for one in _samples(list(inner)):
                if most > 1 and one:
                    yield lead, one, "\0"
                    yield lead, one, after
                    yield "", lead + one, "\0"
                    yield "", one + after[:1], "\0"
            yield "", lead, "\0"
            yield from _pumps(list(inner), lead)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                yield from _pumps(list(branch), lead)
        elif kind is sre.SUBPATTERN:
            yield from _pumps(list(value[3]), lead)
        elif kind is sre.ATOMIC_GROUP:
            yield from _pumps(list(value), lead)
    whole = before + _sample(nodes)
    for length in range(1, min(len(whole), 6)):
        yield "", whole[:length], "\0"
    yield "", whole, "\0"


def _sample(nodes: Iterable[Any]) -> str:
    """A short text that a sequence matches, roughly."""
    return "".join(next(iter(_texts(kind, value)), "") for kind, value in nodes)


def _samples(nodes: list[Any]) -> Iterator[str]:
    """Some texts that a sequence matches: each way of its first part that varies."""
    for number, (kind, value) in enumerate(nodes):
        ways = list(islice(_texts(kind, value), 4))
        if len(ways) > 1:
            rest = _sample(nodes[number + 1 :])
            yield from (_sample(nodes[:number]) + way + rest for way in ways)
            return
    yield _sample(nodes)


def _texts(kind: Any, value: Any) -> Iterator[str]:
    if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN):
        yield from _members(list(value) if kind is sre.IN else [(kind, value)])
    elif kind is sre.ANY:
        yield from "a <"
    elif kind is sre.BRANCH:
        for branch in value[1]:
            yield _sample(branch)
    elif kind is sre.SUBPATTERN:
        yield from _samples(list(value[3]))
    elif kind is sre.ATOMIC_GROUP:
        yield from _samples(list(value))
    elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        least, _, inner = value
        for one in _samples(list(inner)):
            yield one * max(1, min(least, 8))


def _members(items: list[Any]) -> Iterator[str]:
    if items[0][0] is sre.NEGATE:
        excluded = list(_members(items[1:])) if items[1:] else []
        yield from (one for one in "a <1" if one not in excluded)
        return
    for kind, value in items:
        if kind is sre.LITERAL:
            yield chr(value)
        elif kind is sre.NOT_LITERAL:
            yield from (one for one in "a <" if one != chr(value))
        elif kind is sre.RANGE:
            yield chr(value[0])
        elif kind is sre.CATEGORY:
            yield _SAMPLES[value]


def repeated(piece: tuple[str, str, str], size: int) -> str:
    """A beginning, a piece repeated up to a size, and an end."""
    before, unit, after = piece
    return before + unit * max(1, size // len(unit)) + after


def exponent(call: Callable[[int], object], size: int, limit: int) -> tuple[float, list[float]]:
    """The exponent with which the cost of ``call(size)`` grows, and its last three times.

    Sizes double, from ``size``, until the cost can be measured. Below that it is 0: up to the
    ``limit`` nothing was to be seen.
    """
    while (first := seconds(call, size)) < _MEASURABLE:
        size *= 2
        if size > limit:
            return 0.0, [first]
    best = [first, math.inf, math.inf]
    for _ in range(_ATTEMPTS):
        for step in range(3):
            best[step] = min(best[step], seconds(call, size << step))
        steep = math.log2(best[2] / best[0]) / 2
        if not STEEPEST < steep < _SURE:
            break
    return steep, best


def seconds(call: Callable[[int], object], size: int) -> float:
    """The processor's time of a call. Its input is made before."""
    act = call(size)
    started = time.process_time()
    act()  # type: ignore[operator]
    return time.process_time() - started
