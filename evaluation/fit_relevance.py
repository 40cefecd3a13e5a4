"""Fits the constants of ``src/episodica-core/src/score/relevance.rs`` on labelled questions.

    python -m evaluation fit locomo.json evaluation/data/languages/*.json

Reads files in LoCoMo's format. Each question is asked of its own conversation, and every third
question also of another conversation. Adversarial questions (category 5) and questions to another
conversation have no right answer.

The first fit gives the probability that a question is answered: a logistic regression over six
features. The second fit gives the probability that a hit is right, which means that it contains a
message cited as evidence: a regression over the hit's raw score and the logarithm of the first
probability. Before the constants, the command prints two measurements on conversations that a fit
has not seen (each conversation in turn): how well the relevance of the best message separates
answerable questions from others (AUROC), and a reliability table.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from episodica import Hit, MemorySystem
from evaluation.datasets import Conversation
from evaluation.datasets.locomo import load
from evaluation.measures import separation

DEPTHS = {"message": 30, "episodic": 10}
# As in the engine: the compared scores of messages, the sizes that count, the weight of `words`.
CONTENT, SIZES, WORDS_WEIGHT = ("words", "tokens", "vector"), (100, 600), 3.0
BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
ROUNDS, PENALTY = 100, 1e-5


def is_right(hit: Hit, evidence: set[str]) -> bool:
    """Whether the hit contains a message that is evidence."""
    return any(message.message_id in evidence for message in hit.messages)


@dataclass
class Asked:
    """A question to a user, with the results of the search."""

    group: str
    answerable: bool
    adversarial: bool
    signs: list[float]
    hits: dict[str, list[tuple[float, bool]]]


def ask(memory: MemorySystem, user: str, question: str, evidence: set[str]) -> Asked:
    """Asks a question: features as in ``relevance.rs``, and each hit's raw score and label."""
    messages = memory.search(user, question, kinds=["message"], top_k=1000)
    facts = memory.search(user, question, kinds=["semantic"], top_k=20)
    scores = [hit.scores for hit in messages]
    content = [sum(one.get(term, 0.0) for term in CONTENT) for one in scores]
    named = [value for value, one in zip(content, scores, strict=True) if "speaker" in one]
    size = min(max(len(scores), SIZES[0]), SIZES[1])
    signs = [
        scores[0]["raw"],
        max(content) - max(named) if named else 0.0,
        scores[0].get("statement", 0.0),
        max(one.get("words", 0.0) for one in scores) / WORDS_WEIGHT,
        max(
            (one.scores.get("words", 0.0) + one.scores.get("subject", 0.0) for one in facts),
            default=0.0,
        ),
        math.log(size),
    ]
    found = {"message": messages[: DEPTHS["message"]]}
    found["episodic"] = memory.search(user, question, kinds=["episodic"], top_k=DEPTHS["episodic"])
    hits = {
        kind: [(hit.scores["raw"], is_right(hit, evidence)) for hit in part]
        for kind, part in found.items()
    }
    return Asked(user, bool(evidence), False, signs, hits)


def rows_of(talks: list[Conversation]) -> list[Asked]:
    """Asks every question of its user, and every third question also of another user."""
    rows = []
    with tempfile.TemporaryDirectory() as store, MemorySystem(store) as memory:
        for talk in talks:
            memory.add_messages(talk.user, talk.messages)
            memory.flush(talk.user)
        memory.wait()
        for place, talk in enumerate(talks):
            for number, question in enumerate(talk.questions):
                if question.answerable and not question.messages:
                    continue
                rows.append(ask(memory, talk.user, question.text, set(question.messages)))
                rows[-1].adversarial = not question.answerable
                if number % 3 == 0 and len(talks) > 1:
                    other = talks[(place + 1) % len(talks)].user
                    rows.append(ask(memory, other, question.text, set()))
    return rows


def fit(features: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method; the last weight is the constant."""
    features = np.c_[features, np.ones(len(features))]
    weights = np.zeros(features.shape[1])
    for _ in range(ROUNDS):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (likely - labels) / len(labels) + PENALTY * weights
        bend = (features * (likely * (1 - likely))[:, None]).T @ features / len(labels)
        weights -= np.linalg.solve(bend + PENALTY * np.eye(len(weights)), slope)
    return weights


def fit_answered(rows: list[Asked]) -> np.ndarray:
    """The weights of the features."""
    labels = np.array([row.answerable for row in rows], dtype=float)
    return fit(np.array([row.signs for row in rows]), labels)


def likely(row: Asked, weights: np.ndarray) -> float:
    """Logarithm of the probability that the question is answered."""
    return -float(np.log1p(np.exp(-(np.array([*row.signs, 1.0]) @ weights))))


def table(rows: list[Asked], kind: str, weights: np.ndarray) -> np.ndarray:
    """For each hit its raw score (for messages, below the best), the probability, the label."""
    lines = []
    for row in rows:
        first = row.signs[0] if kind == "message" else 0.0
        chance = likely(row, weights)
        lines += [(raw - first, chance, right) for raw, right in row.hits[kind]]
    return np.array(lines, dtype=float)


def held_out(rows: list[Asked]) -> None:
    """Prints AUROC and reliability on conversations that the fit has not seen."""
    tops, hits = [], []
    for group in sorted({row.group for row in rows}):
        seen = [row for row in rows if row.group != group]
        new = [row for row in rows if row.group == group]
        weights = fit_answered(seen)
        known = table(seen, "message", weights)
        of_hits = fit(known[:, :2], known[:, 2])
        tops += [(row, likely(row, weights)) for row in new]
        unseen = table(new, "message", weights)
        odds = np.c_[unseen[:, :2], np.ones(len(unseen))] @ of_hits
        hits.append(np.c_[1 / (1 + np.exp(-odds)), unseen[:, 2]])
    right = [value for row, value in tops if row.answerable]
    adversarial = [value for row, value in tops if row.adversarial]
    wrong = [value for row, value in tops if not row.answerable and not row.adversarial]
    sorts = {"unanswerable questions": adversarial, "questions to the wrong user": wrong}
    for name, others in {**sorts, "both": adversarial + wrong}.items():
        print(f"AUROC, {name}: {separation(right, others) if others else float('nan'):.3f}")
    both = np.concatenate(hits)
    for low, high in itertools.pairwise(BINS):
        part = both[(both[:, 0] >= low) & (both[:, 0] < high)]
        if len(part):
            mean, share = part.mean(axis=0)
            print(f"relevance {low}-{high}: {len(part)} hits, mean {mean:.3f}, right {share:.3f}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("data", type=Path, nargs="+", help="files in LoCoMo's format")


def run(args: argparse.Namespace) -> int:
    """The command."""
    rows = rows_of([talk for path in args.data for talk in load(path).conversations])
    held_out(rows)
    weights = fit_answered(rows)
    names = ["best", "gap", "statement", "words", "fact", "size", "constant"]
    print("answered:", dict(zip(names, weights.round(3).tolist(), strict=True)))
    for kind in DEPTHS:
        lines = table(rows, kind, weights)
        print(f"{kind}:", fit(lines[:, :2], lines[:, 2]).round(3).tolist(), f"{len(lines)} hits")
    return 0
