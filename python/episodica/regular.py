"""Reads whole files: only regular files, and only up to a size."""

from __future__ import annotations

import errno
import os
import stat


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file. Opening a FIFO or a device neither waits nor reads."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"more than {most} bytes")
    return data
