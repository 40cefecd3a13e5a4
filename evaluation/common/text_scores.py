"""Scores that compare an answer's words with the gold answer's.

Cheap, exact, and blind to meaning.
"""

from __future__ import annotations

import math
import re
from collections import Counter

# A typographic apostrophe is one too.
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*|[^\w\s]")
_ARTICLES = {"a", "an", "the", "and"}
# Words that say nothing about whether a context holds the answer.
# fmt: off
_FUNCTION_WORDS = _ARTICLES | {
    "of", "in", "on", "at", "to", "for", "with", "by", "from", "as", "is", "are", "was", "were",
    "be", "been", "it", "its", "he", "she", "they", "them", "his", "her", "their", "this", "that",
    "or", "not", "no", "yes",
}
# fmt: on


def words(text: str) -> list[str]:
    """Lower-case words without punctuation and articles, as usual in question answering."""
    return [
        word
        for word in re.findall(r"\w+", text.lower().replace("'", "").replace("\u2019", ""))
        if word not in _ARTICLES
    ]


def _f1(common: int, predicted: int, gold: int) -> float:
    if not common:
        return 0.0
    precision, recall = common / predicted, common / gold
    return 2 * precision * recall / (precision + recall)


def f1_multiset(answer: str, gold: str) -> float:
    """F1 of the words, each counted as often as it occurs; 1 when both are empty."""
    mine, theirs = Counter(words(answer)), Counter(words(gold))
    if not mine and not theirs:
        return 1.0
    return _f1((mine & theirs).total(), mine.total(), theirs.total())


def f1_set(answer: str, gold: str) -> float:
    """F1 of word sets (``. , ! ?`` removed): what LoCoMo scripts publish as ``f1_score``."""
    mine, theirs = (set(re.sub(r"[.,!?]", " ", text.lower()).split()) for text in (answer, gold))
    if not mine and not theirs:
        return 1.0
    return _f1(len(mine & theirs), len(mine), len(theirs))


def bleu1(answer: str, gold: str) -> float:
    """BLEU-1 over lower-case words and punctuation, with brevity penalty, without smoothing."""
    mine, theirs = _WORD.findall(answer.lower()), _WORD.findall(gold.lower())
    if not mine or not theirs:
        return 0.0
    precision = (Counter(mine) & Counter(theirs)).total() / len(mine)
    return precision * min(1.0, math.exp(1 - len(theirs) / len(mine)))


def token_recall(context: str, gold: str) -> float | None:
    """Share of the gold answer's content words in a context; ``None`` without such words.

    Says whether the answer's words could have been read, not that the context says what the answer
    says.
    """
    wanted = {word for word in words(gold) if word not in _FUNCTION_WORDS}
    return len(wanted & set(words(context))) / len(wanted) if wanted else None
