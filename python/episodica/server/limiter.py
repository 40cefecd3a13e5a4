"""How often a key may ask. Knows no framework."""

from __future__ import annotations

from collections import OrderedDict

# Keys whose use is counted.
_COUNTED = 10_000
# Seconds of requests that may come at once.
_BURST_SECONDS = 10.0


class Limiter:
    """One bucket of requests per key."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, id: str, per_minute: int, now: float) -> float:
        """Seconds to wait; 0 if the request may go on."""
        if per_minute <= 0:
            return 0.0
        rate = per_minute / 60.0
        room = max(1.0, rate * _BURST_SECONDS)
        left, then = self._buckets.pop(id, (room, now))
        left = min(room, left + (now - then) * rate)
        wait = 0.0 if left >= 1.0 else (1.0 - left) / rate
        self._buckets[id] = (left - 1.0 if not wait else left, now)
        if len(self._buckets) > _COUNTED:
            self._buckets.popitem(last=False)
        return wait
