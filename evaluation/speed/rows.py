"""The performance targets (budgets) in their order, and the form of the measured rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

# Most budgets are for a store of 100,000 messages, which has some 10,000 episodes and 20,000 facts.
FULL = 100_000
MILLION = 1_000_000
CROWD = 100_000

# Section of the figures that don't depend on the size of a store.
ONCE = "once"
USERS = "users"
SIZES = "sizes"


@dataclass(frozen=True, slots=True)
class Row:
    """A measured figure.

    ``key`` names the figure, the same in every run; ``cpu`` is its processor time, ``detail`` has
    the numbers from which it was computed.
    """

    key: str
    name: str
    value: float
    unit: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    cpu: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the JSON file."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on a row, due at the size ``due``, or at each size that was measured (``None``)."""

    key: str
    row: str
    name: str
    limit: float
    unit: str
    most: bool
    part: str
    due: int | None

    def met(self, value: float) -> bool:
        """Whether the figure is within the limit."""
        return value <= self.limit if self.most else value >= self.limit

    def bound(self) -> str:
        """The limit as text."""
        return f"{'≤' if self.most else '≥'} {plain(self.limit)} {self.unit}".rstrip()


# key, row | limited figure | limit, unit | section of the row, and the size for which the limit is
_BUDGETS = """
search_p50 search|hybrid search, episodes and facts, p50|<= 2 ms|sizes 100k
search_p99 search_p99|hybrid search, episodes and facts, p99|<= 8 ms|sizes 100k
search_messages_p50 search_messages|hybrid search, with messages too, p50|<= 6 ms|sizes 100k
context_p50 context|context of 2,000 tokens, p50|<= 8 ms|sizes 100k
episode_p50 episode|storing one episode, synced, beyond the disk's own syncs, p50|<= 3 ms|sizes 100k
episode_any_size episode|the same at whichever size takes longest: it does not grow|<= 3 ms|sizes
cold_open cold_open|opening in a new process, to the first answer|<= 150 ms|sizes 100k
resident resident|resident memory of that process after 20 searches|<= 250 MB|sizes 100k
million_search search_messages|hybrid search, with messages too, p50, one million|<= 8 ms|sizes 1m
million_recall recall|recall@10 of vector search against exact, one million messages|>= .95|sizes 1m
users_resident users_resident|highest resident memory, users of 100 messages|<= 512 MB|users 100k
users_cold users_cold|first search of a user who is not in memory, p50|<= 5 ms|users 100k
ingest_batches ingest_batches|adding messages in batches, median of batches|>= 20000 /s|sizes 100k
ingest_one_user ingest_one_user|adding single messages from 16 threads, one user|>= 5000 /s|once
ingest_many_users ingest_many_users|the same, 16 users|>= 5000 /s|once
ingest_kept ingest_kept|rate of a million's last tenth against the first|>= .95 x|sizes 1m
tail_other tail_other|p99 of searches while another user's messages are added|<= 3 x|sizes 100k
tail_same tail_same|p99 of searches while the same user's messages are added|<= 3 x|sizes 100k
threads threads|searches of two threads against one|>= 1.8 x|sizes 100k
writers writers|additions of eight processes against one|>= 3 x|sizes 100k
followed followed|a search after another process has added a message|<= 2 ms|sizes 100k
tail_writers tail_writers|p99 of searches beside seven writing processes|<= 4 x|sizes 100k
killed_open killed_open|opening after a process was killed, to the first answer|<= 250 ms|sizes 100k
killed_open_million killed_open|the same, one million messages|<= 1500 ms|sizes 1m
"""


def _budget(line: str) -> Budget:
    keys, name, bound, where = (part.split(" ") for part in line.split("|"))
    unit = bound[2] if len(bound) > 2 else ""
    due = size(where[1]) if len(where) > 1 else None
    most = bound[0] == "<="
    return Budget(keys[0], keys[1], " ".join(name), float(bound[1]), unit, most, where[0], due)


def plain(value: float) -> str:
    """A number with the digits that it has: 1.8, 0.95, 20,000."""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def shown(value: float) -> str:
    """A measured number with three significant digits; a count in full."""
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(decimals, 4)}f}"


def short(count: int) -> str:
    """A size in short form: 100k, 1m."""
    for unit, name in ((1_000_000, "m"), (1_000, "k")):
        if count >= unit and count % (unit // 10) == 0:
            return f"{plain(count / unit)}{name}"
    return f"{count}"


def size(text: str) -> int:
    """``100k`` as a number."""
    units = {"k": 1_000, "m": 1_000_000}
    last = text[-1:].lower()
    return round(float(text[:-1]) * units[last]) if last in units else int(text)


BUDGETS = tuple(map(_budget, _BUDGETS.strip().splitlines()))


def judged(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every budget with its measured value, in order.

    ``value`` is the value at the size of the budget, or at the largest measured size (``at``).
    ``met`` is ``None`` if the budget's size was not measured, ``value`` is ``None`` if nothing was
    measured.
    """
    return [_judge(budget, result) for budget in BUDGETS]


def _judge(budget: Budget, result: Mapping[str, Any]) -> dict[str, Any]:
    found = _found(budget, result)
    verdict = {"key": budget.key, "name": budget.name, "bound": budget.bound(), "due": budget.due}
    if not found:
        return {**verdict, "value": None, "at": None, "met": None, "unit": budget.unit}
    if budget.due is None:
        worst = max if budget.most else min
        at = worst(found, key=lambda count: found[count]["value"])
    else:
        at = budget.due if budget.due in found else max(found)
    value = found[at]["value"]
    met = budget.met(value) if budget.due in (None, at) else None
    return {**verdict, "value": value, "at": at, "met": met, "unit": budget.unit}


def _found(budget: Budget, result: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    """The rows that a budget limits, by the size at which they were measured."""
    if budget.part == SIZES:
        parts = {int(count): part["rows"] for count, part in result.get(SIZES, {}).items()}
    else:
        part = result.get(budget.part)
        parts = {part["count"]: part["rows"]} if part else {}
    return {count: row for count, rows in parts.items() for row in rows if row["key"] == budget.row}
