"""Scores of one question, their intervals, and how well scores tell answerable questions apart.

Rankings have the best first; ``evidence`` is the ids of the messages that prove the answer.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.datasets import Question
from evaluation.datasets.gatemem import patterns_found

KS = (5, 10, 20)
DEPTH = 50
# Tokens of the small context in which old and new statement are looked for.
STALE_BUDGET = 400

Z_95 = 1.959963984540054
RESAMPLES = 2000
SEED = 20240101

_ARTICLES = {"a", "an", "the", "and"}
# Words that do not matter for whether a context contains the answer.
_FUNCTION_WORDS = _ARTICLES | set(
    re.findall(
        r"\w+",
        "of in on at to for with by from as is are was were be been it its he she they them his "
        "her their this that or not no yes",
    )
)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: ids of messages, best first, and the score of the best."""

    messages: list[str] | None
    top: float | None = None
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Packed:
    """A context, and the ids of the messages that it contains."""

    text: str
    tokens: int
    whole: list[str]
    quoted: list[str]  # in full or in part
    cited: list[str]  # as sources of its facts


def recall(ranked: Iterable[str], evidence: Iterable[str]) -> float:
    """Share of the evidence among some ids."""
    wanted = set(evidence)
    return len(wanted & set(ranked)) / len(wanted)


def flat(text: str) -> str:
    """A text with single spaces."""
    return " ".join(text.split())


def unmarked(text: str) -> str:
    """A flat text without what stands in brackets: contexts resolve dates there."""
    return re.sub(r" ?\[[^\[\]]*\]", "", flat(text))


def stands_in(content: str, text: str) -> bool:
    """Whether an unmarked text has a sentence or line of a message; a claimed id is not enough."""
    pieces = re.split(r"\n+|(?<=[.!?。！？])\s*", content)  # noqa: RUF001
    return any(unmarked(one) in text for one in pieces if unmarked(one))


def scores_of(
    question: Question, found: Found, contexts: Mapping[str, Packed], session_of: Mapping[str, str]
) -> dict[str, float]:
    """All scores of a question that its data allows; scores that a system can't have are absent."""
    made: dict[str, float] = {}
    gold = question.messages
    if found.messages is not None and gold:
        made |= {f"recall@{k}": recall(found.messages[:k], gold) for k in KS}
        made["all@10"] = float(set(gold) <= set(found.messages[:10]))
        made["any@10"] = float(bool(set(gold) & set(found.messages[:10])))
    if found.messages is not None and question.sessions:
        sessions = list(dict.fromkeys(session_of[one] for one in found.messages))[:5]
        made["session_recall@5"] = recall(sessions, question.sessions)
        made["session_all@5"] = float(set(question.sessions) <= set(sessions))
    for name, context in contexts.items():
        if gold:
            made[f"coverage@{name}"] = recall(context.whole, gold)
            made[f"quoted@{name}"] = recall(context.quoted, gold)
            made[f"any_quoted@{name}"] = float(bool(set(gold) & set(context.quoted)))
        if (
            question.answerable
            and (share := word_recall(context.text, question.answer)) is not None
        ):
            made[f"answer_words@{name}"] = share
        if question.parts:
            made[f"parts@{name}"] = float(patterns_found(question.parts, context.text))
        if question.leaks:
            made[f"leak_{question.category}@{name}"] = leaks(question.leaks, context.text)
    if gold and len(contexts) > 1:
        made["monotony"] = float(_monotone(contexts, gold))
    small = contexts.get(str(STALE_BUDGET)) or contexts.get("all")
    if question.updates[0] and small:
        old, new = map(set, question.updates)
        shown = {*small.quoted, *small.cited}
        made["stale"] = float(bool(shown & (old - new)) and not shown & (new - old))
    return made


def _monotone(contexts: Mapping[str, Packed], gold: Iterable[str]) -> bool:
    """Whether no larger budget loses evidence that a smaller budget had."""
    held = [set(one.quoted) & set(gold) for one in contexts.values()]
    return all(before <= after for before, after in itertools.pairwise(held))


def leaks(targets: Iterable[str], text: str) -> float:
    """1 if a text contains one of the targets as whole words, ignoring case and line breaks."""
    lower = flat(text).lower()
    patterns = (rf"(?<!\w){re.escape(flat(one).lower())}(?!\w)" for one in targets)
    return float(any(re.search(pattern, lower) for pattern in patterns))


def words(text: str) -> list[str]:
    """Lower-case words without punctuation and articles, as usual in question answering."""
    plain = text.lower().replace("'", "").replace("\u2019", "")
    return [word for word in re.findall(r"\w+", plain) if word not in _ARTICLES]


def f1(answer: str, gold: str) -> float:
    """F1 of the words, each counted as often as it occurs; 1 if both texts have none."""
    mine, theirs = Counter(words(answer)), Counter(words(gold))
    if not mine and not theirs:
        return 1.0
    common = (mine & theirs).total()
    return 2 * common / (mine.total() + theirs.total())


def word_recall(context: str, gold: str) -> float | None:
    """Share of the gold answer's content words in a context; ``None`` if it has no such words.

    It says whether the words could be read there, not whether the context states the answer.
    """
    wanted = {word for word in words(gold) if word not in _FUNCTION_WORDS}
    return len(wanted & set(words(context))) / len(wanted) if wanted else None


def separation(right: Sequence[float], wrong: Sequence[float]) -> float | None:
    """Chance that a value of ``right`` exceeds one of ``wrong``, ties counted half: the AUROC."""
    if not len(right) or not len(wrong):
        return None
    first, second = np.array(right)[:, None], np.array(wrong)[None]
    return float(((first > second) + 0.5 * (first == second)).mean())


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval over ``n`` questions; ``None`` if there are none."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, rounded to 6 digits."""
        three = (self.mean, self.low, self.high)
        rounded = [None if one is None else round(one, 6) for one in three]
        return dict(zip(("mean", "low", "high"), rounded, strict=True)) | {"n": self.n}


def wilson(successes: float, n: int) -> Estimate:
    """Wilson's score interval of ``successes`` out of ``n``."""
    if not n:
        return Estimate(None, None, None, 0)
    share, square = successes / n, Z_95**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), n)


def bootstrap(values: Sequence[float], seed: int = SEED) -> Estimate:
    """Percentile bootstrap of the mean, questions drawn with replacement; the same each time."""
    if not values:
        return Estimate(None, None, None, 0)
    sample = np.asarray(values, dtype=float)
    random = np.random.default_rng(seed)
    draws = (random.integers(0, len(sample), (100, len(sample))) for _ in range(RESAMPLES // 100))
    means = np.concatenate([sample[one].mean(axis=1) for one in draws])
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(float(sample.mean()), float(low), float(high), len(sample))


def estimate(values: Sequence[float]) -> Estimate:
    """Wilson's interval if all values are 0 or 1, else the bootstrap's."""
    if all(value in (0, 1) for value in values):
        return wilson(sum(values), len(values))
    return bootstrap(values)


def paired(first: Mapping[str, float], second: Mapping[str, float]) -> Estimate:
    """Mean of ``second - first`` over the questions that both have, with a bootstrap interval."""
    return bootstrap([second[key] - first[key] for key in first if key in second])


def separated(right: Sequence[float], wrong: Sequence[float]) -> Estimate:
    """The AUROC with a bootstrap interval over the questions of both groups."""
    mean = separation(right, wrong)
    if mean is None:
        return Estimate(None, None, None, 0)
    random = np.random.default_rng(SEED)
    drawn = sorted(
        separation(random.choice(right, len(right)), random.choice(wrong, len(wrong))) or 0.0
        for _ in range(RESAMPLES // 10)
    )
    low, high = drawn[len(drawn) // 40], drawn[-1 - len(drawn) // 40]
    return Estimate(mean, low, high, len(right) + len(wrong))
