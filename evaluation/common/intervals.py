"""95 % intervals: Wilson for proportions, bootstrap for means and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Z_95 = 1.959963984540054
RESAMPLES = 2000
SEED = 20240101


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval and the number of questions behind it.

    Without questions the mean is ``None``.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, rounded to 6 digits."""
        rounded = (
            None if one is None else round(one, 6) for one in (self.mean, self.low, self.high)
        )
        return dict(zip(("mean", "low", "high"), rounded, strict=True)) | {"n": self.n}


NOTHING = Estimate(None, None, None, 0)


def wilson(successes: float, n: int) -> Estimate:
    """Wilson's score interval of ``successes`` out of ``n``."""
    if not n:
        return NOTHING
    share, square = successes / n, Z_95**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = Z_95 * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half), n)


def bootstrap(values: Sequence[float], seed: int = SEED) -> Estimate:
    """Percentile bootstrap of the mean, questions drawn with replacement.

    The same values give the same interval.
    """
    if not values:
        return NOTHING
    sample = np.asarray(values, dtype=float)
    random = np.random.default_rng(seed)
    means = np.concatenate(
        [
            sample[random.integers(0, len(sample), (100, len(sample)))].mean(axis=1)
            for _ in range(RESAMPLES // 100)
        ]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    return Estimate(float(sample.mean()), float(low), float(high), len(sample))


def estimate(values: Sequence[float]) -> Estimate:
    """Wilson's interval when all values are 0 or 1, the bootstrap's otherwise."""
    if all(value in (0, 1) for value in values):
        return wilson(sum(values), len(values))
    return bootstrap(values)


def paired(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """Mean of ``second - first`` over the same questions, with a bootstrap interval."""
    return bootstrap([b - a for a, b in zip(first, second, strict=True)])
