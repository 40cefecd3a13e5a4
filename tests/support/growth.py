"""How the cost of a call grows with its input, and inputs that make expressions cost much.

An input is a piece that is repeated. For an expression the pieces follow from its own parts, so
that each repetition in it meets texts that it goes over, and that fail only at their end.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

# The steepest growth that counts as linear: an exponent of the size.
STEEPEST = 1.2
# Seconds that the smallest of several inputs takes at least before an exponent is computed, and the
# most attempts: noise only makes a measurement longer.
_MEASURABLE = 0.004
_ATTEMPTS = 5
# Factors of the smallest size, and growth and seconds of which noise is not the reason.
_STEPS = (1, 2, 4, 16)
_SURE, _LONG = 1.6, 0.1
# Seconds for each character that no expression takes, also on a busy machine.
_SLOWEST = 2e-5

# Pieces that many scanners treat specially, alone and in pairs.
PIECES = (
    *("a", "Z", "1", " ", "\t", "\n", "\r\n", ".", ",", ":", ";", "-", "_", "/", "\\", "|", "*"),
    *('"', "'", "`", "(", ")", "[", "]", "{", "}", "<", ">", "=", "#", "@", "+", "~", "!", "?"),
    *('\\"', '""', "[[", "[]", '{"', '["', "<a", "</", "<!--", "```", "a ", " a", "a:", ": ", "1:"),
    *("1 ", "a\n", " \n", "- ", "1.", "\u3000", "猫", "é", "“", "「", "\ufeff", "\u200e", "a1 "),
)

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
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
    found = dict.fromkeys(one for one in _pumps(list(read), "") if one[1])
    return list(islice(found, 200))


def _pumps(nodes: list[Any], before: str) -> Iterator[tuple[str, str, str]]:
    """For each repetition in a sequence: what leads to it, what it takes, and ends that fail."""
    for number, (kind, value) in enumerate(nodes):
        lead = before + _sample(nodes[:number])
        if kind in _REPEATS:
            yield from _repetitions(lead, value, _sample(nodes[number + 1 :]))
        for inner in _inner(kind, value):
            yield from _pumps(list(inner), lead)
    whole = before + _sample(nodes)
    for length in {*range(1, min(len(whole), 6)), len(whole)}:
        yield "", whole[:length], "\0"


def _repetitions(lead: str, value: Any, after: str) -> Iterator[tuple[str, str, str]]:
    least, most, inner = value
    for one in filter(None, _samples(list(inner))):
        if least > 1:
            # All but the last of what it needs.
            yield "", one * (least - 1) + "\0", ""
        if most > 1:
            yield lead, one, "\0"
            yield lead, one, after
            yield "", lead + one, "\0"
            yield "", one + after[:1], "\0"
    yield "", lead, "\0"


def _inner(kind: Any, value: Any) -> list[Any]:
    """The sequences within a part."""
    if kind in _REPEATS:
        return [value[2]]
    if kind is sre.BRANCH:
        return list(value[1])
    if kind is sre.SUBPATTERN:
        return [value[3]]
    return [value] if kind is sre.ATOMIC_GROUP else []


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
        yield from map(_sample, value[1])
    elif kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
        yield from _samples(list(value[3] if kind is sre.SUBPATTERN else value))
    elif kind in _REPEATS:
        yield from (one * max(1, min(value[0], 8)) for one in _samples(list(value[2])))


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


@dataclass(frozen=True)
class Growth:
    """The exponent with which a cost grows, and the seconds of rising sizes up to ``size``."""

    exponent: float
    seconds: tuple[float, ...]
    size: int

    @property
    def is_steep(self) -> bool:
        """Whether the cost grows faster than the size, or is linear but far too high."""
        return self.exponent > STEEPEST or self.seconds[-1] / self.size > _SLOWEST

    def __str__(self) -> str:
        shown = ", ".join(f"{one:.3f}" for one in self.seconds)
        return f"exponent {self.exponent:.2f}: {shown} s up to {self.size:,}"


def growth(prepare: Callable[[int], Callable[[], object]], size: int, limit: int) -> Growth:
    """How the cost of what ``prepare(size)`` returns grows.

    Sizes grow, from ``size``, until the cost can be measured, and then up to sixteen times that. If
    it can't be measured up to the ``limit``, the exponent is 0.
    """
    while (first := _seconds(prepare, size)) < _MEASURABLE:
        if size >= limit:
            return Growth(0.0, (first,), size)
        size = min(4 * size, limit)
    best = [first] + [math.inf] * (len(_STEPS) - 1)
    grown = Growth(0.0, (first,), size)
    for _ in range(_ATTEMPTS):
        for number, step in enumerate(_STEPS):
            best[number] = min(best[number], _seconds(prepare, size * step))
            steep = math.log(best[number] / best[0], step) if number else 0.0
            grown = Growth(steep, tuple(best[: number + 1]), size * step)
            # Where noise is not the reason, a longer text would only cost more.
            if best[number] > _LONG and (steep > _SURE or (grown.is_steep and not number)):
                return grown
        if not grown.is_steep:
            break
    return grown


def _seconds(prepare: Callable[[int], Callable[[], object]], size: int) -> float:
    """The processor's time of a call. Its input is made before."""
    act = prepare(size)
    started = time.process_time()
    act()
    return time.process_time() - started
