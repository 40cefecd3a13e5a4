"""Limits that hold for the service, whichever of its workers is asked. Knows no framework.

Workers share a small file in memory: a row of counts for each of them, and a bucket of requests for
each key. A worker that was killed leaves its row to the next worker that starts.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import struct
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# The counts in the row of a worker.
COUNTED = ("bytes", "streams", "exports", "forming")
# Name of the file in the folder that workers share.
FILE = "limits"
_WORKERS = 128
_ROW = struct.Struct("=q4q")
_KEYS = 8_192
# Hash of the key, requests left, and when they were counted.
_BUCKET = struct.Struct("=Qdd")
# Buckets among which a key has one; the least recently used makes room.
_NEIGHBOURS = 8
_SIZE = _WORKERS * _ROW.size + (_KEYS + _NEIGHBOURS) * _BUCKET.size
# A key may send the requests of this many seconds at once.
_BURST_SECONDS = 10.0
# The longest wait for the lock: a worker that was stopped while it holds the lock stops no other.
_LOCK_SECONDS = 0.05


class Shared:
    """Counts and buckets of all workers. Without a folder, of a single process."""

    def __init__(self, folder: Path | None = None) -> None:
        self._file: int | None = None
        if folder is None:
            self._memory = mmap.mmap(-1, _SIZE)
        else:
            self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT, 0o600)
            os.ftruncate(self._file, _SIZE)
            self._memory = mmap.mmap(self._file, _SIZE)
        self._row = self._free_row()

    def add(self, name: str, amount: int) -> None:
        """Counts something of this worker."""
        place = self._row * _ROW.size + 8 * (1 + COUNTED.index(name))
        (before,) = struct.unpack_from("=q", self._memory, place)
        struct.pack_into("=q", self._memory, place, before + amount)

    def total(self, name: str) -> int:
        """The sum over the workers that run."""
        index = 1 + COUNTED.index(name)
        found = 0
        for number in range(_WORKERS):
            row = _ROW.unpack_from(self._memory, number * _ROW.size)
            if not row[0]:
                break
            found += row[index] if row[index] and is_running(row[0]) else 0
        return found

    def take(self, id: str, per_minute: int, now: float | None = None) -> float:
        """Seconds that a key has to wait. 0 means that its request may go on, and is counted."""
        if per_minute <= 0:
            return 0.0
        now = time.monotonic() if now is None else now
        rate = per_minute / 60.0
        room = max(1.0, rate * _BURST_SECONDS)
        with self._locked():
            place, (name, left, then) = self._bucket(id, room, now)
            left = min(room, left + max(0.0, now - then) * rate)
            wait = 0.0 if left >= 1.0 else (1.0 - left) / rate
            _BUCKET.pack_into(self._memory, place, name, left if wait else left - 1.0, now)
        return wait

    def _bucket(self, id: str, room: float, now: float) -> tuple[int, tuple[int, float, float]]:
        name = int.from_bytes(hashlib.blake2b(id.encode(), digest_size=8).digest(), "big") | 1
        first = _WORKERS * _ROW.size + (name % _KEYS) * _BUCKET.size
        places = [first + n * _BUCKET.size for n in range(_NEIGHBOURS)]
        found = [(place, _BUCKET.unpack_from(self._memory, place)) for place in places]
        for place, bucket in found:
            if bucket[0] == name:
                return place, bucket
        place, _ = min(found, key=lambda one: (one[1][0] != 0, one[1][2]))
        return place, (name, room, now)

    def _free_row(self) -> int:
        with self._locked():
            for number in range(_WORKERS):
                pid = _ROW.unpack_from(self._memory, number * _ROW.size)[0]
                if not pid or not is_running(pid):
                    _ROW.pack_into(self._memory, number * _ROW.size, os.getpid(), 0, 0, 0, 0)
                    return number
        return _WORKERS - 1

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._file is None or sys.platform == "win32":
            yield
            return
        deadline = time.monotonic() + _LOCK_SECONDS
        while time.monotonic() < deadline:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.0005)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)


class Budget:
    """How much of something is in use: in all, and by each key, which gets only its share."""

    def __init__(
        self, shared: Shared, name: str, most: int, share: float, workers: int = 1
    ) -> None:
        self._shared = shared
        self._name = name
        self._most = most
        self._most_of_one = math.ceil(most * share / workers)
        self._used: Counter[str] = Counter()

    def has_room(self, key: str | None, amount: int = 1) -> bool:
        """Whether `amount` more of the resource may be used. ``None``: a caller without a key."""
        if key is not None and self._used[key] + amount > self._most_of_one:
            return False
        return self._shared.total(self._name) + amount <= self._most

    def take(self, key: str | None, amount: int = 1) -> None:
        """Adds to the use of a resource."""
        self._shared.add(self._name, amount)
        if key is not None:
            self._used[key] += amount

    def give(self, key: str | None, amount: int = 1) -> None:
        """Subtracts from the use of a resource."""
        self._shared.add(self._name, -amount)
        if key is not None:
            self._used[key] -= amount
            if not self._used[key]:
                del self._used[key]


def is_running(pid: int) -> bool:
    """Whether there is a process with this number."""
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
