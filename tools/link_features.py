"""Features of two sentences for `train_links.py`.

`src/episodica-core/src/generate/links` computes the same; a test compares the two.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import numpy as np

import compact_numpy
from compact_numpy import ASSETS, ids, pieces

RARITIES = ASSETS / "rarities.bin"

# Pieces of the encoder's vocabulary with a higher score than minus this say nothing about a topic,
# nor do those that stand in more than `exp(-OFTEN)` of the labelled sentences of a language.
COMMON, OFTEN = 8.0, 3.5
# Times that a piece has to be seen in a language, and labelled sentences that a language needs.
LEAST_SEEN, LEAST_SENTENCES = 4, 300
# Bytes of the table for a rarity of 1.
OF_BYTE = 32
MAX_CHARS = 2_000
# Number of pieces from the beginning of a sentence that its heads read.
HEAD_PIECES = 96
# Sentences that share less rarity than this are not compared; the package asks that the later one
# says more, too.
LEAST_SHARED = 2.5
# Rarity of a number for each digit or mark, and at most.
OF_DIGIT, OF_NUMBER = 1.5, 4.0
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
    "number_replaced",
    "cosine",
    "nearly_equal",
)


def rarities_of(sentences: dict[str, list[str]]) -> bytes:
    """How much each piece says, a byte each: 0 for common ones and numbers.

    A piece is as common as in the language, of those in which `sentences` has enough, that uses it
    most: the vocabulary's own scores are of all languages together.
    """
    most: dict[int, float] = {}
    for texts in sentences.values():
        if len(texts) >= LEAST_SENTENCES:
            seen = Counter(piece for text in texts for piece in set(sequence(text)))
            for piece, number in seen.items():
                if number >= LEAST_SEEN:
                    most[piece] = max(most.get(piece, 0.0), (number - 2) / len(texts))
    table = []
    for piece, (at, score) in pieces().items():
        rarity = max(0.0, -score - COMMON)
        if any(char in "0123456789" for char in piece):
            rarity = 0.0
        if at in most:
            rarity = min(rarity, max(0.0, -math.log(most[at]) - OFTEN))
        table.append(min(round(rarity * OF_BYTE), 255))
    return bytes(table)


@functools.cache
def rarity_table() -> list[float]:
    """How much each piece says: 0 for common ones and numbers, about 6 for the rarest."""
    return [byte / OF_BYTE for byte in RARITIES.read_bytes()]


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
    """The sum of a sentence's rarities and numbers, at least 1."""
    said = sum(rarities(text).values()) + sum(map(rarity_of_number, numbers(text)))
    return max(said, 1.0)


def rarity_of_number(number: str) -> float:
    """What a number of two characters or more says."""
    return min(OF_DIGIT * len(number), OF_NUMBER) if len(number) > 1 else 0.0


@functools.lru_cache(200_000)
def vector(text: str) -> np.ndarray:
    return compact_numpy.vector(text[:MAX_CHARS])


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
    old, new = numbers(earlier), numbers(later)
    said = [a[piece] for piece in a.keys() & b.keys()]
    shared = sorted([*said, *map(rarity_of_number, old & new)], reverse=True)
    total = sum(shared)
    if total < LEAST_SHARED:
        return None
    rarest, second, third = (*shared, 0.0, 0.0)[:3]
    is_other_number = bool(old and new - old)
    cosine = float(vector(earlier) @ vector(later))
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
        float(bool(old & new) and is_other_number),
        cosine,
        0.0 if is_other_number else 4 * max(cosine - 0.75, 0.0),
    ]
