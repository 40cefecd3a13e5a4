"""Fits the constants of ``src/episodica-core/src/score/relevance.rs`` on labelled questions.

    python -m evaluation.fit_relevance locomo.json evaluation/data/languages/*.json

Reads files in LoCoMo's format. Each question is asked of its own conversation and every third one
of another conversation, too. Nothing is right for adversarial questions (category 5) and for the
wrong conversation.

First the probability that a question is answered, by logistic regression over six signs; then that
a hit is right, which holds a message that the question cites as evidence, over its raw score and
the logarithm of the first. What is printed before the constants was measured on conversations that
the fit had not seen, each in turn: how well the relevance of the best message separates answerable
questions from others (AUROC), and a reliability table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from episodica import Hit, MemorySystem

DEPTHS = {"message": 30, "episodic": 10}
# As in the engine: what is compared of messages, the sizes that count, the weight of `words`.
CONTENT, SIZES, WORDS_WEIGHT = ("words", "tokens", "vector"), (100, 600), 3.0
BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
ADVERSARIAL = 5
ROUNDS, PENALTY = 100, 1e-5


def messages_of(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The turns of a conversation, a few seconds apart, with their ids."""
    for number in range(1, len(conversation)):
        turns = conversation.get(f"session_{number}") or []
        when = conversation.get(f"session_{number}_date_time")
        if when is None:
            continue
        start = datetime.strptime(" ".join(when.split()), "%I:%M %p on %d %B, %Y")
        for offset, turn in enumerate(turns):
            time = start.replace(tzinfo=UTC) + timedelta(seconds=5 * offset)
            yield {
                "role": "user",
                "name": turn["speaker"],
                "content": turn["text"] + caption_of(turn),
                "timestamp": time,
                "session_id": f"session_{number}",
                "message_id": turn["dia_id"],
            }


def caption_of(turn: dict[str, Any]) -> str:
    """What a shared picture shows, as the end of the message."""
    return f" [Image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""


def is_right(hit: Hit, evidence: set[str]) -> bool:
    """Whether the hit holds a message that is evidence."""
    return any(message.message_id in evidence for message in hit.messages)


@dataclass
class Asked:
    """A question put to a user, with what the search said."""

    group: str
    answerable: bool
    adversarial: bool
    signs: list[float]
    hits: dict[str, list[tuple[float, bool]]]


def ask(memory: MemorySystem, user: str, question: str, evidence: set[str]) -> Asked:
    """Asks; ``signs`` as in ``relevance.rs``, ``hits`` by kind their raw scores and labels."""
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


def rows_of(samples: list[dict[str, Any]]) -> list[Asked]:
    """Every question, put to its user and every third to another."""
    rows = []
    with tempfile.TemporaryDirectory() as store, MemorySystem(store) as memory:
        for sample in samples:
            memory.add_messages(sample["sample_id"], list(messages_of(sample["conversation"])))
            memory.flush(sample["sample_id"])
        memory.wait()
        users = [sample["sample_id"] for sample in samples]
        for place, sample in enumerate(samples):
            for number, qa in enumerate(sample["qa"]):
                adversarial = qa["category"] == ADVERSARIAL
                evidence = set(re.findall(r"D\d+:\d+", str(qa.get("evidence"))))
                if not adversarial and not evidence:
                    continue
                right = set() if adversarial else evidence
                rows.append(ask(memory, users[place], qa["question"], right))
                rows[-1].adversarial = adversarial
                if number % 3 == 0 and len(users) > 1:
                    other = users[(place + 1) % len(users)]
                    rows.append(ask(memory, other, qa["question"], set()))
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
    """The weights of the signs."""
    labels = np.array([row.answerable for row in rows], dtype=float)
    return fit(np.array([row.signs for row in rows]), labels)


def likely(row: Asked, weights: np.ndarray) -> float:
    """Logarithm of the probability that the question is answered."""
    return -float(np.log1p(np.exp(-(np.array([*row.signs, 1.0]) @ weights))))


def table(rows: list[Asked], kind: str, weights: np.ndarray) -> np.ndarray:
    """Of every hit its raw score (of messages, below the best), the chance, and the label."""
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
    print(f"AUROC, unanswerable questions: {separation(right, adversarial):.3f}")
    print(f"AUROC, questions to the wrong user: {separation(right, wrong):.3f}")
    print(f"AUROC, both: {separation(right, adversarial + wrong):.3f}")
    both = np.concatenate(hits)
    for low, high in itertools.pairwise(BINS):
        part = both[(both[:, 0] >= low) & (both[:, 0] < high)]
        if len(part):
            mean, share = part.mean(axis=0)
            print(f"relevance {low}-{high}: {len(part)} hits, mean {mean:.3f}, right {share:.3f}")


def separation(right: list[float], wrong: list[float]) -> float:
    """Chance that a value of the first exceeds one of the second, ties half."""
    first, second = np.array(right)[:, None], np.array(wrong)[None]
    return float(((first > second) + 0.5 * (first == second)).mean()) if wrong else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path, nargs="+")
    samples = []
    for path in parser.parse_args().datasets:
        content = json.loads(path.read_text("utf-8"))
        samples += content if isinstance(content, list) else [content]
    rows = rows_of(samples)
    held_out(rows)
    weights = fit_answered(rows)
    names = ["best", "gap", "statement", "words", "fact", "size", "constant"]
    print("answered:", dict(zip(names, weights.round(3).tolist(), strict=True)))
    for kind in DEPTHS:
        lines = table(rows, kind, weights)
        print(f"{kind}:", fit(lines[:, :2], lines[:, 2]).round(3).tolist(), f"{len(lines)} hits")


if __name__ == "__main__":
    main()
