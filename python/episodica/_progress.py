"""Progress of long work: a bar on a terminal, or a callback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO, TypeAlias

from ._errors import InvalidInputError

ProgressCallback: TypeAlias = Callable[[str, int, int], None]
Progress: TypeAlias = bool | ProgressCallback | None
"""``None`` or ``False``: silent. ``True``: a bar on stderr, if that is a terminal. A callable gets ``(step, done, total)``."""

_CELLS = 24


class ProgressBar:
    """Draws ``step  [####----]  done/total`` on one line and wipes it at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = ""

    def __call__(self, step: str, done: int, total: int) -> None:
        if total:
            filled = _CELLS * min(done, total) // total
            text = f"{step:<12} [{'#' * filled}{'-' * (_CELLS - filled)}] {done:,}/{total:,}"
        else:
            text = f"{step:<12} {done:,}"
        if text != self._shown:
            self._stream.write(f"\r{text:<{len(self._shown)}}")
            self._stream.flush()
            self._shown = text

    def clear(self) -> None:
        """Wipes the line."""
        if self._shown:
            self._stream.write(f"\r{'':<{len(self._shown)}}\r")
            self._stream.flush()
            self._shown = ""

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


class Reporter:
    """What ``progress=`` asked for, as the callback that the engine takes; a context manager, so that the bar goes away."""

    def __init__(self, progress: Progress) -> None:
        self._bar: ProgressBar | None = None
        self.callback: ProgressCallback | None = None
        if progress is True:
            if sys.stderr.isatty():
                self.callback = self._bar = ProgressBar()
        elif callable(progress):
            self.callback = progress
        elif progress not in (None, False):
            raise InvalidInputError(f"progress must be True or a callable, not `{type(progress).__name__}`")

    def __enter__(self) -> ProgressCallback | None:
        return self.callback

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.clear()
