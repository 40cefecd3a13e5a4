"""Compares the content words of a question and its evidence, roughly, in any language.

A test keeps the questions paraphrases, and the tables report questions that share no word with
their evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# A word in a larger share of a file's questions only asks ("which", 什么) and describes nothing.
ASKING = 0.1
_WORD = re.compile(r"\w+")
_HAN = re.compile(r"[\u3400-\u9fff]+")
_KATAKANA = re.compile(r"[\u30a0-\u30ff]{2,}")
_HANGUL = re.compile(r"[\uac00-\ud7af]{2,}")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# In other scripts only the first letters of a word count, so that most inflections are equal.
_SHORTEST, _STEM, _HANGUL_STEM = 4, 5, 2


def content(text: str, names: Iterable[str]) -> set[str]:
    """Content words without names and words with digits; for Chinese, pairs of characters."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    found: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if any(letter.isdigit() for letter in word):
            continue
        if not _CJK.search(word):
            found |= {word[:_STEM]} if len(word) >= _SHORTEST else set()
            continue
        for run in _HAN.findall(word):
            found |= {run[at : at + 2] for at in range(max(1, len(run) - 1))}
        found |= set(_KATAKANA.findall(word))
        found |= {run[:_HANGUL_STEM] for run in _HANGUL.findall(word)}
    return found


def asking(questions: Iterable[str], names: Iterable[str]) -> set[str]:
    """The words in too many of a file's questions to describe anything."""
    sets = [content(question, names) for question in questions]
    counts = Counter(word for words in sets for word in words)
    return {word for word, count in counts.items() if count > ASKING * len(sets)}


def shared(question: str, evidence: str, names: Iterable[str], common: set[str]) -> float:
    """Share of the question's content words that its evidence has, too."""
    names = list(names)
    words = content(question, names) - common
    return len(words & content(evidence, names)) / len(words) if words else 0.0
