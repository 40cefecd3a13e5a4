"""Progress: a bar that goes away, callbacks, silence off a terminal."""

from __future__ import annotations

import io
import sys
import types

import pytest

from episodica import InvalidInputError
from episodica.progress import NotebookBar, ProgressBar, Reporter


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
    seen: list[tuple[str, int, int]] = []

    def callback(step: str, done: int, total: int) -> None:
        seen.append((step, done, total))

    with Reporter(callback) as told:
        assert told is not None
        told("messages", 1, 2)
        assert seen == [("messages", 1, 2)]
    for silent in (
        None,
        False,
        True,
    ):  # True is silent here, because pytest's stderr is no terminal
        with Reporter(silent) as told:
            assert told is None
    with pytest.raises(InvalidInputError, match="progress must be True or a callable, not `str`"):
        Reporter("yes")  # type: ignore[arg-type]


class Handle:
    """Stands for what a notebook shows."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        assert self.shown == []
        self.shown.append(data["text/html"])
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data["text/html"])


def test_a_notebook_gets_a_bar_of_its_own_that_goes_away() -> None:
    handle = Handle()
    bar = NotebookBar(handle.display)
    for done in range(1000):
        bar("<step>", done, 1000)
    bar("<step>", 1000, 1000)
    bar("learning", 3, 0)
    bar.clear()
    bar.clear()
    assert len(handle.shown) < 100
    assert "&lt;step&gt; 0 of 1,000" in handle.shown[0]
    assert any('max="1000" value="1000"' in html for html in handle.shown)
    assert handle.shown[-1] == ""
    NotebookBar(handle.display).clear()


def test_which_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Handle()
    shell = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(
        sys.modules, "IPython.display", types.SimpleNamespace(display=handle.display)
    )
    with Reporter(True) as told:
        assert told is None  # IPython on something that is no terminal
    shell.kernel = object()
    with Reporter(True) as told:
        assert told is not None
        told("indexing", 1, 2)
    assert "indexing 1 of 2" in handle.shown[0]
    assert handle.shown[-1] == ""
