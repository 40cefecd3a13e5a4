"""Calls and tokens, in the shapes in which Nemori's scripts ask for them.

Called by :mod:`episodica.compat.nemori` only.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...status import Usage


@dataclass
class Stats:
    """Nemori's statistics of an orchestrator."""

    total_requests: int = 0
    total_tokens: int = 0
    total_prompt_tokens: int = 0
    total_completion_tokens: int = 0
    total_errors: int = 0
    avg_latency_ms: float = 0.0
    requests_by_phase: dict[str, int] = field(default_factory=dict)
    tokens_by_phase: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, usage: Usage) -> Stats:
        """The statistics of what a memory has spent since it was opened."""
        spent = {phase: cost.to_dict() for phase, cost in usage.by_phase.items()}
        return cls(
            usage.calls,
            usage.prompt_tokens + usage.completion_tokens,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.failures,
            1000 * usage.seconds / usage.calls if usage.calls else 0.0,
            {phase: cost["calls"] for phase, cost in spent.items()},
            {
                phase: cost["prompt_tokens"] + cost["completion_tokens"]
                for phase, cost in spent.items()
            },
        )


class TokenCounter:
    """Nemori's counter of tokens: what the closed memories of this process have spent."""

    _lock: ClassVar[threading.Lock] = threading.Lock()
    _spent: ClassVar[defaultdict[str, Counter[str]]] = defaultdict(Counter)

    @classmethod
    def add(cls, usage: Usage) -> None:
        """Adds what a memory has spent."""
        with cls._lock:
            for phase, cost in usage.by_phase.items():
                counts = cost.to_dict()
                cls._spent[phase].update(
                    calls=counts["calls"],
                    input_tokens=counts["prompt_tokens"],
                    output_tokens=counts["completion_tokens"],
                    total_tokens=counts["prompt_tokens"] + counts["completion_tokens"],
                )

    def get_summary(self) -> dict[str, Any]:
        """Calls and tokens of each step, and their sum under ``TOTAL``."""
        with self._lock:
            total: Counter[str] = Counter(calls=0, input_tokens=0, output_tokens=0, total_tokens=0)
            for counts in self._spent.values():
                total.update(counts)
            return {**{name: dict(one) for name, one in self._spent.items()}, "TOTAL": dict(total)}

    def print_summary(self, title: str = "Token Usage Summary") -> None:
        """Prints a line for each step."""
        lines = [
            f"{name:12} {counts['calls']:8,} calls {counts['input_tokens']:12,} tokens in "
            f"{counts['output_tokens']:12,} tokens out"
            for name, counts in self.get_summary().items()
        ]
        sys.stdout.write("\n".join(["", title, *lines, ""]))

    def reset(self) -> None:
        """Sets the counts of tokens to 0."""
        with self._lock:
            self._spent.clear()
