"""Rerankers: models that read a question and a text together and judge better which answers it.

``MemorySystem(reranker=...)`` takes a callable. A search lets it reorder its first :data:`DEPTH`
hits. A reranker that fails leaves the order of the search, and the
results say so under ``degraded``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from .errors import ConfigError
from .results import Hit, SearchResults
from .signatures import misfit

Reranker: TypeAlias = Callable[[str, list[str]], Iterable[float]]

# The most hits that are judged, and characters of each: a cross-encoder reads a few hundred tokens.
DEPTH = 50
MAX_CHARS = 4_000


def checked_reranker(reranker: object) -> Reranker | None:
    """A reranker as it was given; ``None`` stays ``None``."""
    if reranker is None:
        return None
    hint = "it gets the question and a list of texts, and returns a score for each"
    if not callable(reranker):
        raise ConfigError(
            f"reranker must be a callable, not `{type(reranker).__name__}`", hint=hint
        )
    if (reason := misfit(reranker, "", [])) is not None:
        raise ConfigError(f"reranker can't be called with two arguments: {reason}", hint=hint)
    return reranker


def widened(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a search that finds enough for a reranker to choose from."""
    per_kind = [(kind, max(DEPTH, most)) for kind, most in options["per_kind"]]
    top_k = max(DEPTH, options["top_k"], *(most for _, most in per_kind))
    return {**options, "top_k": top_k, "per_kind": per_kind}


def rerank(found: SearchResults, reranker: Reranker, options: Mapping[str, Any]) -> SearchResults:
    """The best hits by the judgement of a reranker, as many as the options of the search allow."""
    hits, notes = list(found), list(found.degraded)
    first = hits[:DEPTH]
    try:
        scores = _finite(reranker(found.query, [_text(hit) for hit in first]), len(first))
    except Exception as error:  # noqa: BLE001 (the search has its answer whatever a model raises)
        notes.append(f"reranker: {type(error).__name__}: {error}")
    else:
        judged = [
            replace(hit, scores={**hit.scores, "rerank": score})
            for hit, score in zip(first, scores, strict=True)
        ]
        judged.sort(key=lambda hit: -hit.scores["rerank"])
        hits[:DEPTH] = judged
    kept = _cut(hits, options)
    ranked = [replace(hit, rank=rank) for rank, hit in enumerate(kept, 1)]
    return SearchResults(ranked, query=found.query, intent=found.intent, degraded=notes)


def _finite(scores: Iterable[float], count: int) -> list[float]:
    values = [float(score) for score in scores]
    if len(values) != count:
        raise ValueError(f"{len(values)} scores for {count} texts")
    if not all(map(math.isfinite, values)):
        raise ValueError("a score is not finite")
    return values


def _text(hit: Hit) -> str:
    """The text of a hit to judge: a message with its speaker, an episode with its title."""
    if hit.kind == "message" and hit.messages:
        text = f"{hit.messages[0].speaker}: {hit.content}"
    else:
        text = f"{hit.title}\n{hit.content}" if hit.title else hit.content
    return text[:MAX_CHARS]


def _cut(hits: Sequence[Hit], options: Mapping[str, Any]) -> list[Hit]:
    left = dict(options["per_kind"])
    kept = []
    for hit in hits:
        if left.get(hit.kind, 1) > 0:
            kept.append(hit)
            if hit.kind in left:
                left[hit.kind] -= 1
    return kept[: options["top_k"]]
