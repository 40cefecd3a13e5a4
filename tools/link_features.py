"""Features of two sentences for `train_links.py`.

`src/episodica-core/src/generate/links` computes the same; a test compares the two.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from itertools import pairwise

from compact_numpy import ids, pieces

# Pieces of the encoder's vocabulary with a higher score than minus this say nothing about a topic.
COMMON = 8.0
MAX_CHARS = 2_000
# Number of pieces from the beginning of a sentence that its heads read.
HEAD_PIECES = 96
# Sentences that share less rarity than this are not compared; the package asks for 3, and that
# the later one says more.
LEAST_SHARED = 1.0
# What a later sentence has to say beyond the earlier one, in rarity, to say more.
SAYS_MORE = 0.5
NUMBER = re.compile(r"[0-9]+(?:[.,:][0-9]+)*")

PAIR = (
    "shared",
    "shared_of_earlier",
    "shared_of_later",
    "rarest",
    "second_rarest",
    "third_rarest",
    "number_same",
    "number_differs",
    "number_new",
    "says_more",
    "neighbours_of_earlier",
    "neighbours_of_later",
)


@functools.cache
def rarity_table() -> list[float]:
    """How much each piece says: 0 for common ones and numbers, about 6 for the rarest."""
    return [
        0.0 if any(char in "0123456789" for char in piece) else max(0.0, -score - COMMON)
        for piece, (_, score) in pieces().items()
    ]


@functools.lru_cache(200_000)
def sequence(text: str) -> tuple[int, ...]:
    """The pieces of a sentence in order."""
    return tuple(ids(text[:MAX_CHARS]))


def of_heads(text: str) -> set[int]:
    """The distinct pieces that the heads of a sentence read."""
    return set(sequence(text)[:HEAD_PIECES])


@functools.lru_cache(200_000)
def rarities(text: str) -> dict[int, float]:
    """The distinct pieces of a sentence that say something, each with its rarity."""
    table = rarity_table()
    return {piece: table[piece] for piece in set(sequence(text)) if table[piece] > 0}


@functools.lru_cache(200_000)
def rarity(text: str) -> float:
    """The sum of a sentence's rarities, at least 1."""
    return max(sum(rarities(text).values()), 1.0)


@functools.lru_cache(200_000)
def neighbours(text: str) -> frozenset[tuple[int, int]]:
    """The pieces that follow one another."""
    return frozenset(pairwise(sequence(text)))


@functools.lru_cache(200_000)
def numbers(text: str) -> frozenset[str]:
    return frozenset(NUMBER.findall(unicodedata.normalize("NFKC", text)))


def compare(earlier: str, later: str) -> list[float] | None:
    """The features `PAIR`; None if the sentences share too little to be compared."""
    a, b = rarities(earlier), rarities(later)
    shared = sorted((a[piece] for piece in a.keys() & b.keys()), reverse=True)
    total = sum(shared)
    if total < LEAST_SHARED:
        return None
    rarest, second, third = (*shared, 0.0, 0.0)[:3]
    old, new = numbers(earlier), numbers(later)
    is_other_number = bool(old and new - old)
    both = len(neighbours(earlier) & neighbours(later))
    return [
        min(total, 20.0) / 10,
        total / rarity(earlier),
        total / rarity(later),
        rarest / 5,
        second / 5,
        third / 5,
        float(bool(old & new)),
        float(is_other_number),
        float(bool(new and not old)),
        float(rarity(later) - total >= SAYS_MORE or is_other_number),
        both / max(len(neighbours(earlier)), 1),
        both / max(len(neighbours(later)), 1),
    ]
