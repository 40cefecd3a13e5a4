"""Folders for a while. What a killed process leaves, the next one that starts removes.

A process locks a file in its folder, and the system lets go of the lock however the process ends.
The number of the process would not do: in containers every service has the same.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_PREFIXES = ("episodica-import-", "episodica-metrics-")
_LOCK = ".in-use"


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A folder that exists within this context."""
    made = tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)
    with made as folder, Path(folder, _LOCK).open("wb") as lock:
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(folder)


def sweep() -> None:
    """Removes the folders whose processes are gone."""
    if sys.platform == "win32":
        return
    for prefix in _PREFIXES:
        for path in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
            with suppress(OSError):
                if _is_left(path):
                    shutil.rmtree(path, ignore_errors=True)


def _is_left(path: Path) -> bool:
    """Whether no process uses a folder any more. One without a lock is about to be used."""
    if sys.platform == "win32" or path.is_symlink() or path.stat().st_uid != os.geteuid():
        return False
    with os.fdopen(os.open(path / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
