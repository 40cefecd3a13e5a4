"""Scores of one question's retrieval, under each gold key.

Every metric's name says its granularity and its k or budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import ranking
from .dataset import KEYS, Gold, Question
from .systems import Packed, Retrieved
from .text_scores import token_recall

MESSAGE_KS = (5, 10, 20, 50)
GROUP_KS = (1, 3, 5, 10)
BUDGETS = (400, 500, 1000, 2000, 3000)
NDCG_K = 10
DEPTH = max(MESSAGE_KS)


def metric_names() -> list[str]:
    """All metrics of this level, in the order of reports."""
    return [
        *(f"message_recall@{k}" for k in MESSAGE_KS),
        f"message_all@{NDCG_K}",
        f"message_ndcg@{NDCG_K}",
        f"message_mrr@{DEPTH}",
        *(f"episode_recall@{k}" for k in GROUP_KS),
        *(f"session_recall@{k}" for k in GROUP_KS),
        *(f"session_all@{k}" for k in GROUP_KS),
        f"session_ndcg@{NDCG_K}",
        *(f"message_coverage@{budget}" for budget in BUDGETS),
        *(f"answer_token_recall@{budget}" for budget in BUDGETS),
        "message_coverage@everything",
        "answer_token_recall@everything",
    ]


def score(
    question: Question,
    retrieved: Retrieved,
    contexts: Mapping[int | str, Packed],
    session_of: Mapping[str, str],
) -> dict[str, Any]:
    """The scores under each key that has evidence; a metric that a system can't have is absent."""
    return {
        key: _score(question.gold[key], retrieved, contexts, session_of)
        for key in KEYS
        if is_scored(question, key)
    }


def is_scored(question: Question, key: str) -> bool:
    """Whether retrieval can be scored: there is an answer, and existing messages prove it."""
    return question.kind == "answerable" and bool(
        question.gold[key].messages or question.gold[key].sessions
    )


def failed(question: Question, system_metrics: Iterable[str]) -> dict[str, Any]:
    """A failed question's scores: wrong in everything that the system is measured by."""
    return {key: dict.fromkeys(system_metrics, 0.0) for key in KEYS if is_scored(question, key)}


def sessions_of(messages: Iterable[str], session_of: Mapping[str, str]) -> list[str]:
    """The sessions of ranked messages, each where its best message stands."""
    return list(dict.fromkeys(session_of[one] for one in messages))


def _score(
    gold: Gold,
    retrieved: Retrieved,
    contexts: Mapping[int | str, Packed],
    session_of: Mapping[str, str],
) -> dict[str, float]:
    scores: dict[str, float] = {}
    if retrieved.messages is not None:
        if gold.messages:
            scores |= {
                f"message_recall@{k}": ranking.recall(retrieved.messages, gold.messages, k)
                for k in MESSAGE_KS
            }
            scores[f"message_all@{NDCG_K}"] = ranking.all_found(
                retrieved.messages, gold.messages, NDCG_K
            )
            scores[f"message_ndcg@{NDCG_K}"] = ranking.ndcg(
                retrieved.messages, gold.messages, NDCG_K
            )
            scores[f"message_mrr@{DEPTH}"] = ranking.reciprocal_rank(
                retrieved.messages, gold.messages, DEPTH
            )
        sessions = sessions_of(retrieved.messages, session_of)
        if gold.sessions:
            scores |= {
                f"session_recall@{k}": ranking.recall(sessions, gold.sessions, k) for k in GROUP_KS
            }
            scores |= {
                f"session_all@{k}": ranking.all_found(sessions, gold.sessions, k) for k in GROUP_KS
            }
            scores[f"session_ndcg@{NDCG_K}"] = ranking.ndcg(sessions, gold.sessions, NDCG_K)
    if retrieved.episodes is not None and gold.messages:
        scores |= {
            f"episode_recall@{k}": ranking.group_recall(retrieved.episodes, gold.messages, k)
            for k in GROUP_KS
        }
    for budget, context in contexts.items():
        if gold.messages:
            scores[f"message_coverage@{budget}"] = ranking.coverage(context.inside, gold.messages)
        share = token_recall(context.text, gold.answer)
        if share is not None:
            scores[f"answer_token_recall@{budget}"] = share
    return scores
