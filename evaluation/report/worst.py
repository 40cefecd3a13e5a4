"""The questions that went worst: what would have proved the answer, and what was found instead."""

from __future__ import annotations

from typing import Any

from evaluation.common.dataset import Dataset

MOST = 25
SHOWN_MESSAGES = 10


def worst(
    dataset: Dataset, rows: list[dict[str, Any]], scored: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The worst questions by retrieval, then by answer, with their evidence and hits."""
    texts = {
        (one.user, message["message_id"]): _line(message)
        for one in dataset.conversations
        for message in one.messages
    }
    ranked = sorted(
        (row for row in rows if row["scores"].get("corrected")),
        key=lambda row: _badness(row, scored),
    )
    return [
        _entry(row, texts, scored.get(row["key"]))
        for row in ranked[:MOST]
        if _badness(row, scored) < (1.0, 1.0, 1.0)
    ]


def _badness(row: dict[str, Any], scored: dict[str, dict[str, Any]]) -> tuple[float, float, float]:
    scores = row["scores"]["corrected"]
    answer = scored.get(row["key"], {}).get("corrected", {})
    recall = scores.get(
        "message_recall@10",
        scores.get("session_recall@10", scores.get("message_coverage@everything", 0.0)),
    )
    quality = answer.get("llm_score_strict")
    return recall, 1.0 if quality is None else quality, scores.get("message_ndcg@10", 0.0)


def _entry(
    row: dict[str, Any], texts: dict[tuple[str, str], str], scored: dict[str, Any] | None
) -> dict[str, Any]:
    gold = row["gold"]["corrected"]
    ranking = row.get("ranked_messages") or []
    places = {one: place for place, one in enumerate(ranking, 1)}
    return {
        "key": row["key"],
        "category": row["category_name"],
        "question": row["question"],
        "answer": gold["answer"],
        "response": scored["response"] if scored else "",
        "recall": _badness(row, {})[0],
        "evidence": [
            (one, places.get(one), texts.get((row["user"], one), "")) for one in gold["messages"]
        ],
        "sessions": gold["sessions"],
        "retrieved": [
            (one, one in gold["messages"], texts.get((row["user"], one), ""))
            for one in ranking[:SHOWN_MESSAGES]
        ],
        "failure": row["failure"] or (scored or {}).get("failure"),
    }


def _line(message: dict[str, Any]) -> str:
    speaker = message.get("name") or message["role"]
    return f"[{message['timestamp'][:10]}] {speaker}: {message['content']}"
