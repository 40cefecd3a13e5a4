"""The budgets of speed, in their order, and what rows of figures look like; no measuring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# A store of 100,000 messages has some 10,000 episodes and 20,000 facts: what most budgets are
# for.
FULL = 100_000
MILLION = 1_000_000
CROWD = 100_000

# What is independent of any store's size stands under this name.
ONCE = "once"
USERS = "users"
SIZES = "sizes"


@dataclass(frozen=True, slots=True)
class Row:
    """A figure.

    ``key`` says what it is, the same in every run; ``cpu`` is its processor time, ``detail`` what
    stands behind it.
    """

    key: str
    name: str
    value: float
    unit: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    cpu: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the JSON file."""
        return {
            "key": self.key,
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "cpu": self.cpu,
            "detail": dict(self.detail),
        }


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on a figure.

    Parameters
    ----------
    key
        Its own.
    row
        The row that it limits.
    name
        What is limited, in words.
    most
        Whether the figure may not be above the limit, or not below it.
    part
        In which part of the result the row stands: ``sizes``, ``users`` or ``once``.
    due
        At which size it is due; a run without that size only shows what it measured at others.
        ``None`` = at each.
    """

    key: str
    row: str
    name: str
    limit: float
    unit: str
    most: bool = True
    part: str = SIZES
    due: int | None = FULL

    def met(self, value: float) -> bool:
        """Whether the figure keeps it."""
        return value <= self.limit if self.most else value >= self.limit

    def bound(self) -> str:
        """The limit, to read."""
        return f"{'≤' if self.most else '≥'} {plain(self.limit)} {self.unit}".rstrip()

    def worst(self, values: Sequence[float]) -> float:
        """The figure that keeps it least."""
        return max(values) if self.most else min(values)


BUDGETS = (
    Budget("search_p50", "search", "hybrid search, episodes and facts, p50", 2, "ms"),
    Budget("search_p99", "search_p99", "hybrid search, episodes and facts, p99", 8, "ms"),
    Budget(
        "search_messages_p50", "search_messages", "hybrid search, with messages too, p50", 6, "ms"
    ),
    Budget("context_p50", "context", "context of 2,000 tokens, p50", 8, "ms"),
    Budget(
        "episode_p50",
        "episode",
        "storing one episode, synced, beyond the disk's own syncs, p50",
        3,
        "ms",
    ),
    Budget(
        "episode_any_size",
        "episode",
        "the same at whichever size takes longest: it does not grow",
        3,
        "ms",
        due=None,
    ),
    Budget("cold_open", "cold_open", "opening in a new process, to the first answer", 150, "ms"),
    Budget("resident", "resident", "resident memory of that process after 20 searches", 250, "MB"),
    Budget(
        "million_search",
        "search_messages",
        "hybrid search, with messages too, p50, one million messages",
        8,
        "ms",
        due=MILLION,
    ),
    Budget(
        "million_recall",
        "recall",
        "recall@10 of vector search against exact, one million messages",
        0.95,
        "",
        False,
        due=MILLION,
    ),
    Budget(
        "users_resident",
        "users_resident",
        "highest resident memory, 100,000 users of 100 messages",
        512,
        "MB",
        part=USERS,
        due=CROWD,
    ),
    Budget(
        "users_cold",
        "users_cold",
        "first search of a user who is not in memory, p50",
        5,
        "ms",
        part=USERS,
        due=CROWD,
    ),
    Budget(
        "ingest_batches",
        "ingest_batches",
        "adding messages in batches, median of batches",
        20_000,
        "/s",
        False,
    ),
    Budget(
        "ingest_one_user",
        "ingest_one_user",
        "adding single messages from 16 threads, one user",
        5_000,
        "/s",
        False,
        ONCE,
        None,
    ),
    Budget(
        "ingest_many_users",
        "ingest_many_users",
        "adding single messages from 16 threads, 16 users",
        5_000,
        "/s",
        False,
        ONCE,
        None,
    ),
    Budget(
        "ingest_kept",
        "ingest_kept",
        "rate of the last tenth of a million messages against the first",
        0.95,
        "x",
        False,
        due=MILLION,
    ),
    Budget(
        "tail_other",
        "tail_other",
        "p99 of searches while another user's messages are added, against idle",
        3,
        "x",
    ),
    Budget(
        "tail_same",
        "tail_same",
        "p99 of searches while the same user's messages are added, against idle",
        3,
        "x",
    ),
    Budget(
        "call_native",
        "call_native",
        "a bare native call that does nothing",
        1,
        "us",
        part=ONCE,
        due=None,
    ),
    Budget(
        "call_public",
        "call_public",
        "a call of the public API that does nothing",
        1,
        "us",
        part=ONCE,
        due=None,
    ),
    Budget(
        "hits_built",
        "hits_built",
        "hits built in Python by a search before one is looked at",
        0,
        "",
        part=ONCE,
        due=None,
    ),
    Budget("threads", "threads", "searches of two threads against one", 1.8, "x", False),
    Budget("writers", "writers", "additions of eight processes against one", 3, "x", False),
    Budget(
        "followed",
        "followed",
        "a search after another process has added a message, beyond one without",
        2,
        "ms",
    ),
    Budget(
        "tail_writers",
        "tail_writers",
        "p99 of searches beside seven writing processes, against idle",
        4,
        "x",
    ),
    Budget(
        "killed_open",
        "killed_open",
        "opening after a process was killed, to the first answer",
        250,
        "ms",
    ),
    Budget(
        "killed_open_million",
        "killed_open",
        "the same, one million messages",
        1_500,
        "ms",
        due=MILLION,
    ),
)


def plain(value: float) -> str:
    """A number with the digits that it has: 1.8, 0.95, 20,000."""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def shown(value: float) -> str:
    """A measured number, to three digits that mean something; a count as it is."""
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 4)}f}"


def short(count: int) -> str:
    """A size as one writes it: 100k, 1m."""
    for unit, name in ((1_000_000, "m"), (1_000, "k")):
        if count >= unit and count % (unit // 10) == 0:
            return f"{plain(count / unit)}{name}"
    return f"{count}"


def size(text: str) -> int:
    """``100k`` as a number."""
    units = {"k": 1_000, "m": 1_000_000}
    last = text[-1:].lower()
    return round(float(text[:-1]) * units[last]) if last in units else int(text)


def judged(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every budget with its measured value, in their order.

    ``value`` is the one at the size that is due, else at the largest that was measured (``at``);
    ``met`` is ``None`` where the budget was not due, and ``value`` is where nothing was measured.
    ``everywhere`` holds the values of all sizes.
    """
    return [_judge(budget, result) for budget in BUDGETS]


def _judge(budget: Budget, result: Mapping[str, Any]) -> dict[str, Any]:
    found = _found(budget, result)
    verdict: dict[str, Any] = {
        "key": budget.key,
        "row": budget.row,
        "name": budget.name,
        "limit": budget.limit,
        "unit": budget.unit,
        "most": budget.most,
        "due": budget.due,
        "value": None,
        "at": None,
        "met": None,
        "cpu": None,
        "everywhere": {str(count): row["value"] for count, row in found.items()},
    }
    if not found:
        return verdict
    if budget.due is None:
        at = max(
            found,
            key=lambda count: (
                found[count]["value"] if budget.most else -found[count]["value"],
                count,
            ),
        )
    else:
        at = budget.due if budget.due in found else max(found)
    value = found[at]["value"]
    due = budget.due in (None, at)
    return {
        **verdict,
        "value": value,
        "at": at,
        "met": budget.met(value) if due else None,
        "cpu": found[at]["cpu"],
    }


def _found(budget: Budget, result: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The rows that a budget limits, by the size at which they were measured."""
    if budget.part == SIZES:
        parts = {int(count): part["rows"] for count, part in result.get(SIZES, {}).items()}
    else:
        part = result.get(budget.part)
        parts = {part["count"]: part["rows"]} if part else {}
    return {count: row for count, rows in parts.items() for row in rows if row["key"] == budget.row}
