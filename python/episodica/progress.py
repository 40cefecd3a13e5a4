"""Progress of long work: a bar on a terminal or in a notebook, or a callback."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO, TypeAlias

from .awaiting import Awaiter
from .errors import InvalidInputError
from .signatures import misfit
from .visible import escaped

ProgressCallback: TypeAlias = Callable[[str, int, int], None]
Progress: TypeAlias = bool | Callable[[str, int, int], object] | None
"""``True``: a bar in a notebook or on a terminal. A callable takes ``(step, done, total)``."""

_CELLS = 24
# Notebooks get each picture of a bar as a message: a few in a second are enough.
_NOTEBOOK_INTERVAL_SECONDS = 0.1


class ProgressBar:
    """Draws ``step  [####----]  done/total`` on one line and erases it at the end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._shown = ""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Redraws the bar."""
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
        """Erases the line."""
        if self._shown:
            self._stream.write(f"\r{'':<{len(self._shown)}}\r")
            self._stream.flush()
            self._shown = ""

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()


class NotebookBar:
    """Shows ``step  [ progress ]  done/total`` below the cell, and removes it at the end."""

    def __init__(self, show: Callable[..., Any]) -> None:
        self._show = show
        self._handle: Any = None
        self._drawn = -_NOTEBOOK_INTERVAL_SECONDS

    def __call__(self, step: str, done: int, total: int) -> None:
        """Redraws the bar, at most ten times a second."""
        now = time.monotonic()
        if now - self._drawn < _NOTEBOOK_INTERVAL_SECONDS and done != total:
            return
        self._drawn = now
        extent = f'max="{total}" value="{min(done, total)}"' if total else ""
        count = f"{done:,} of {total:,}" if total else f"{done:,}"
        self._draw(
            f'<progress {extent} style="width:20em;vertical-align:middle"></progress> '
            f"{escaped(step)} {count}"
        )

    def _draw(self, html: str) -> None:
        data = {"text/html": html, "text/plain": ""}
        if self._handle is None:
            self._handle = self._show(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)

    def clear(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            self._draw("")
            self._handle = None


def _notebook_display() -> Callable[..., Any] | None:
    """``IPython.display.display`` inside a notebook, else ``None``."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    show: Callable[..., Any] = display
    return show


class Reporter:
    """The value of ``progress=`` as the callback that the engine takes.

    A context manager, so that the bar is removed at the end.
    """

    def __init__(self, progress: Progress, awaiter: Awaiter | None = None) -> None:
        self._bar: ProgressBar | NotebookBar | None = None
        self.callback: ProgressCallback | None = None
        if progress is True:
            show = _notebook_display()
            if show is not None:
                self.callback = self._bar = NotebookBar(show)
            elif sys.stderr.isatty():
                self.callback = self._bar = ProgressBar()
        elif callable(progress):
            if (reason := misfit(progress, "", 0, 0)) is not None:
                raise InvalidInputError(
                    f"progress can't be called with a step and two numbers: {reason}"
                )
            self.callback = (awaiter or Awaiter()).bound("progress", progress)
        elif progress not in (None, False):
            raise InvalidInputError(
                f"progress must be True or a callable, not `{type(progress).__name__}`"
            )

    def __enter__(self) -> ProgressCallback | None:
        return self.callback

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.clear()
