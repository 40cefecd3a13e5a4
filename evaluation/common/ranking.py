"""Retrieval metrics over ranked ids.

Every function takes the ranking best first and the set of ids that prove the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def recall(ranked: Sequence[str], evidence: Iterable[str], k: int) -> float:
    """Share of the evidence among the first ``k``."""
    wanted = set(evidence)
    return len(wanted & set(ranked[:k])) / len(wanted)


def group_recall(groups: Sequence[Iterable[str]], evidence: Iterable[str], k: int) -> float:
    """Share of the evidence inside the first ``k`` groups, such as the messages of episodes."""
    wanted = set(evidence)
    found = {one for group in groups[:k] for one in group}
    return len(wanted & found) / len(wanted)


def all_found(ranked: Sequence[str], evidence: Iterable[str], k: int) -> float:
    """1 if the whole evidence is among the first ``k``, else 0."""
    return float(set(evidence) <= set(ranked[:k]))


def ndcg(ranked: Sequence[str], evidence: Iterable[str], k: int) -> float:
    """Normalised discounted cumulative gain, binary relevance: 1 if all evidence comes first."""
    wanted = set(evidence)
    gain = sum(1 / math.log2(place + 1) for place, one in enumerate(ranked[:k], 1) if one in wanted)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(wanted)) + 1))
    return gain / ideal


def reciprocal_rank(ranked: Sequence[str], evidence: Iterable[str], k: int) -> float:
    """1 / place of the first piece of evidence among the first ``k``, else 0."""
    wanted = set(evidence)
    return next((1 / place for place, one in enumerate(ranked[:k], 1) if one in wanted), 0.0)


def coverage(inside: Iterable[str], evidence: Iterable[str]) -> float:
    """Share of the evidence whose own words stand in a context."""
    wanted = set(evidence)
    return len(wanted & set(inside)) / len(wanted)


def verbatim(text: str, contents: dict[str, str]) -> list[str]:
    """The ids of the messages whose whole content stands in ``text``, whitespace aside.

    Claims of a system are not enough.
    """
    flat = " ".join(text.split())
    return [one for one, content in contents.items() if " ".join(content.split()) in flat]
