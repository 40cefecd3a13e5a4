"""Fits the constants of ``src/episodica-core/src/score/relevance.rs`` on labelled questions.

    python -m evaluation fit locomo=locomo.json beam=100K languages=evaluation/data/languages

Reads sets by their names, as the other commands do, and gives each the same weight. Each question
is asked of its own conversation, and every third question also of the next conversation, where it
has no right answer.

The first fit gives the probability that a question is answered: a logistic regression over four
signs. The second fit gives the probability that a hit is right, which means that it contains a
message cited as evidence: a regression over the logarithm of the first probability, with one weight
for every kind, and the hit's distance to the best hit of its kind. Before the constants, the
command prints two measurements by set on the half of the questions that a fit has not seen (each
half in turn): how well the best relevance separates answerable questions from others (AUROC), and a
reliability table of each kind.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from episodica import Hit, MemorySystem, SemanticMemory
from evaluation.datasets import Question, load
from evaluation.measures import separation

DEPTHS = {"message": 30, "episodic": 10, "semantic": 20}
SIGNS = ("gap", "statement", "evidence", "size")
# As in the engine: the compared scores of messages and facts, the sizes that count.
CONTENT, FACT, SIZES = ("words", "tokens", "vector"), ("words", "vector", "subject"), (100, 600)
BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 1.0)
THRESHOLD = 0.1
ROUNDS, PENALTY = 60, 1e-5


@dataclass
class Asked:
    """A question to a user, with the results of the search."""

    name: str
    half: int
    answerable: bool
    stranger: bool
    signs: list[float]
    hits: dict[str, list[tuple[float, bool]]]


def rows_of(name: str, path: Path) -> list[Asked]:
    """Asks every question of its user, and every third question also of another user."""
    talks = load(name, path).conversations
    rows = []
    with tempfile.TemporaryDirectory() as store, MemorySystem(store) as memory:
        for talk in talks:
            memory.add_messages(talk.user, talk.messages)
            memory.flush(talk.user)
        memory.wait()
        for place, talk in enumerate(talks):
            others = talks[(place + 1) % len(talks)]
            for number, question in enumerate(talk.questions):
                if question.answerable and not question.messages:
                    continue
                size = len(talk.messages)
                rows.append(_asked(memory, name, talk.user, size, question, question.messages))
                if number % 3 == 0 and others is not talk:
                    rows.append(
                        _asked(memory, name, others.user, len(others.messages), question, None)
                    )
    return rows


def _asked(
    memory: MemorySystem,
    name: str,
    user: str,
    size: int,
    question: Question,
    evidence: Sequence[str] | None,
) -> Asked:
    """Asks a question: signs as in ``relevance.rs``, and each hit's raw score and label.

    ``evidence`` is ``None`` if the question is not about this user.
    """
    options: dict[str, Any] = {"now": question.now}
    messages = memory.search(user, question.text, kinds=["message"], top_k=1000, **options)
    found = {"message": list(messages[: DEPTHS["message"]])}
    for kind in ("episodic", "semantic"):
        hits = memory.search(user, question.text, kinds=[kind], top_k=DEPTHS[kind], **options)
        found[kind] = list(hits)
    scores = [hit.scores for hit in messages]
    content = [sum(one.get(term, 0.0) for term in CONTENT) for one in scores]
    named = [value for value, one in zip(content, scores, strict=True) if "speaker" in one]
    facts = [sum(hit.scores.get(term, 0.0) for term in FACT) for hit in found["semantic"]]
    signs = [
        max(content) - max(named) if named else 0.0,
        scores[0].get("statement", 0.0) if scores else 0.0,
        max([0.0, *facts, *(one.get("words", 0.0) for one in scores)]),
        math.log(min(max(size, SIZES[0]), SIZES[1])),
    ]
    cited = set(evidence or ())
    labelled = {
        kind: [(hit.scores["raw"], _is_right(hit, cited)) for hit in part]
        for kind, part in found.items()
    }
    half = hashlib.sha256(question.text.encode()).digest()[0] % 2
    return Asked(name, half, bool(cited), evidence is None, signs, labelled)


def _is_right(hit: Hit, cited: set[str]) -> bool:
    """Whether the hit contains a message that is evidence, or was learned from one."""
    if isinstance(hit.record, SemanticMemory):
        return not cited.isdisjoint(hit.record.source_messages)
    return any(message.message_id in cited for message in hit.messages)


def weights_of(rows: list[Asked]) -> np.ndarray:
    """Weights with which each set counts the same."""
    sizes = Counter(row.name for row in rows)
    return np.array([1 / sizes[row.name] for row in rows])


def fit(features: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted logistic regression by Newton's method."""
    found = np.zeros(features.shape[1])
    weights = weights / weights.sum()
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-features @ found))
        slope = features.T @ (weights * (likely - labels)) + PENALTY * found
        bend = (features * (weights * likely * (1 - likely))[:, None]).T @ features
        found -= np.linalg.solve(bend + PENALTY * np.eye(len(found)), slope)
    return found


def signs_of(rows: list[Asked]) -> np.ndarray:
    """The signs of each question, and a constant."""
    return np.array([[*row.signs, 1.0] for row in rows])


def fit_answered(rows: list[Asked]) -> np.ndarray:
    """The weights of the signs."""
    labels = np.array([row.answerable for row in rows], dtype=float)
    return fit(signs_of(rows), labels, weights_of(rows))


def table(rows: list[Asked], answered: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each hit its features, its label, its weight and the number of its question.

    Features are the first step's logarithm, then a distance and a constant for each kind.
    """
    likely = -np.log1p(np.exp(-signs_of(rows) @ answered))
    each = weights_of(rows)
    lines, labels, weights, numbers = [], [], [], []
    for number, row in enumerate(rows):
        for place, kind in enumerate(DEPTHS):
            hits = row.hits[kind]
            best = max((raw for raw, _ in hits), default=0.0)
            for raw, right in hits:
                line = [likely[number], *[0.0] * (2 * len(DEPTHS))]
                line[1 + 2 * place : 3 + 2 * place] = raw - best, 1.0
                lines.append(line)
                labels.append(float(right))
                weights.append(each[number] / len(hits))
                numbers.append(number)
    return np.array(lines), np.array(labels), np.array(weights), np.array(numbers)


def fit_hits(rows: list[Asked], answered: np.ndarray) -> np.ndarray:
    """The weights of the second step."""
    features, labels, weights, _ = table(rows, answered)
    return fit(features, labels, weights)


def held_out(rows: list[Asked]) -> None:
    """Prints AUROC and reliability on the half that a fit has not seen, by set."""
    parts = []
    for half in (0, 1):
        seen = [row for row in rows if row.half != half]
        answered = fit_answered(seen)
        new = [row for row in rows if row.half == half]
        features, labels, _, numbers = table(new, answered)
        likely = 1 / (1 + np.exp(-features @ fit_hits(seen, answered)))
        parts += [
            (new[number], kind, value, right)
            for number, line, value, right in zip(numbers, features, likely, labels, strict=True)
            for kind, has in zip(DEPTHS, line[2::2], strict=True)
            if has
        ]
    for name in dict.fromkeys(row.name for row in rows):
        tops: dict[int, float] = {}
        for row, _, value, _ in parts:
            if row.name == name:
                tops[id(row)] = max(tops.get(id(row), 0.0), value)
        own = [row for row in rows if row.name == name]
        top = {
            sort: [tops.get(id(row), 0.0) for row in own if (row.answerable, row.stranger) == sort]
            for sort in ((True, False), (False, False), (False, True))
        }
        right, wrong, strange = top.values()
        print(f"{name}: AUROC, unanswerable {_shown(right, wrong)}, other {_shown(right, strange)}")
        for kind in DEPTHS:
            both = np.array([one[2:] for one in parts if one[0].name == name and one[1] == kind])
            for low, high in itertools.pairwise(BINS):
                part = both[(both[:, 0] >= low) & (both[:, 0] < high)]
                if len(part):
                    mean, share = part.mean(axis=0)
                    print(f"  {kind} {low}-{high}: {len(part)} hits, mean {mean:.3f}, {share:.3f}")
            kept = both[both[:, 1] > 0][:, 0] >= THRESHOLD
            print(f"  {kind}: {kept.mean():.3f} of {len(kept)} right hits reach {THRESHOLD}")


def _shown(right: list[float], wrong: list[float]) -> str:
    value = separation(right, wrong)
    return "n/a" if value is None else f"{value:.3f} ({len(right)}, {len(wrong)})"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("data", nargs="+", metavar="SET=PATH", help="sets and their files")


def run(args: argparse.Namespace) -> int:
    """The command."""
    rows = []
    for entry in args.data:
        name, _, path = entry.partition("=")
        rows += rows_of(name, Path(path))
    held_out(rows)
    answered = fit_answered(rows)
    names = [*SIGNS, "constant"]
    print("answered:", dict(zip(names, answered.round(3).tolist(), strict=True)))
    doubt, *rest = fit_hits(rows, answered).round(3).tolist()
    print("doubt:", doubt)
    for kind, slope, constant in zip(DEPTHS, rest[::2], rest[1::2], strict=True):
        print(f"{kind}: slope {slope}, constant {constant}")
    return 0
