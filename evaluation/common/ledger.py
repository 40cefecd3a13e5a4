"""Tokens and seconds by phase: build, search, answer, judge.

What a figure cost stands beside the figure.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from typing import Any

PHASES = ("build", "search", "answer", "judge")


def phase(rows: Iterable[dict[str, Any]], *, seconds: str = "seconds") -> dict[str, Any]:
    """Sums over rows, and the usual percentiles of their seconds."""
    kept = list(rows)
    times = sorted(row[seconds] for row in kept if row.get(seconds) is not None)
    totals = {
        name: sum(row.get(name) or 0 for row in kept)
        for name in ("calls", "prompt_tokens", "completion_tokens")
    }
    return {
        "items": len(kept),
        **totals,
        "seconds": round(sum(times), 3),
        "p50_ms": round(1000 * statistics.median(times), 2) if times else None,
        "p95_ms": round(1000 * times[int(0.95 * (len(times) - 1))], 2) if times else None,
    }


def summary(
    build: list[dict[str, Any]],
    search: list[dict[str, Any]],
    answer: list[dict[str, Any]],
    judge: list[dict[str, Any]],
) -> Any:
    """The ledger of one system, with the tokens that its contexts hold."""
    tokens = [row["context_tokens"] for row in search if row.get("context_tokens") is not None]
    return {
        "build": {**phase(build), "messages": sum(row.get("messages", 0) for row in build)},
        "search": {
            **phase(search, seconds="search_seconds"),
            "context_seconds": round(sum(row.get("context_seconds") or 0 for row in search), 3),
            "mean_context_tokens": round(statistics.fmean(tokens), 1) if tokens else None,
        },
        "answer": phase(answer),
        "judge": phase(judge),
    }
