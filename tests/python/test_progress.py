"""Progress: a bar that goes away, callbacks, silence off a terminal."""

from __future__ import annotations

import io

import pytest

from episodica import InvalidInputError
from episodica._progress import ProgressBar, Reporter


def test_the_bar_draws_one_line_and_wipes_it() -> None:
    stream = io.StringIO()
    with ProgressBar(stream) as bar:
        bar("indexing", 5, 10)
        bar("indexing", 5, 10)
        bar("learning", 3, 0)
    first, second, wiped, end = stream.getvalue().split("\r")[1:]
    assert first == "indexing     [############------------] 5/10"
    assert second.rstrip() == "learning     3"
    assert len(second) == len(first)
    assert wiped.strip() == end == ""


def test_what_progress_may_be() -> None:
    def callback(step: str, done: int, total: int) -> None: ...

    with Reporter(callback) as told:
        assert told is callback
    for silent in (None, False, True):  # True is silent here, because pytest's stderr is no terminal
        with Reporter(silent) as told:
            assert told is None
    with pytest.raises(InvalidInputError, match="progress must be True or a callable, not `str`"):
        Reporter("yes")  # type: ignore[arg-type]
