"""Fits the constants of ``src/episodica-core/src/score/relevance.rs`` on labelled questions.

    python -m evaluation.fit_relevance locomo.json

Reads a file in LoCoMo's format. Each question is asked of its own conversation and every third one
of another conversation, too. A hit is labelled right if it holds a message that the question cites
as evidence; nothing is right for adversarial questions (category 5) and for the wrong conversation.
For each kind, logistic regression over the raw score and the best message's raw score gives the
constants; facts take the raw score alone, which spares a search for facts the ranking of messages.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from episodica import Hit, MemorySystem

DEPTHS = {"message": 30, "semantic": 30, "episodic": 15}
ADVERSARIAL = 5
ROUNDS, PENALTY = 100, 1e-4


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
    if hit.kind == "semantic":
        return bool(evidence & set(hit.record.source_messages))
    return any(message.message_id in evidence for message in hit.messages)


def rows_of(samples: list[dict[str, Any]]) -> dict[str, list[tuple[float, float, bool]]]:
    """By kind: raw score, raw score of the best message, label."""
    rows = defaultdict(list)
    with tempfile.TemporaryDirectory() as store, MemorySystem(store) as memory:
        for sample in samples:
            memory.add_messages(sample["sample_id"], list(messages_of(sample["conversation"])))
            memory.flush(sample["sample_id"])
        memory.wait()
        users = [sample["sample_id"] for sample in samples]
        for place, sample in enumerate(samples):
            for number, qa in enumerate(sample["qa"]):
                cited = re.findall(r"D\d+:\d+", str(qa.get("evidence")))
                evidence = set() if qa["category"] == ADVERSARIAL else set(cited)
                if qa["category"] != ADVERSARIAL and not evidence:
                    continue
                asked = [(users[place], evidence)]
                if number % 3 == 0 and len(users) > 1:
                    asked.append((users[(place + 1) % len(users)], set()))
                for user, right in asked:
                    hits = memory.search(user, qa["question"], top_k=DEPTHS)
                    best = max((hit.scores["raw"] for hit in hits.messages), default=0.0)
                    for hit in hits:
                        rows[hit.kind].append((hit.scores["raw"], best, is_right(hit, right)))
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", type=Path)
    samples = json.loads(parser.parse_args().dataset.read_text("utf-8"))
    names = {"message": "MESSAGE", "semantic": "FACT", "episodic": "EPISODE"}
    for kind, rows in rows_of(samples).items():
        table = np.array(rows, dtype=float)
        features = table[:, :1] if kind == "semantic" else table[:, :2]
        raw, *best, constant = fit(features, table[:, 2])
        print(
            f"const {names[kind]}: Logistic = Logistic {{ raw: {raw:.3f}, "
            f"best: {sum(best):.3f}, constant: {constant:.3f} }};  // {len(rows)} hits"
        )


if __name__ == "__main__":
    main()
