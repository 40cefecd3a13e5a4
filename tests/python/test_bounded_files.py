"""Files that have no end, or that are not files, are errors at once."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import ConfigError, InvalidInputError, MemoryConfig, MemorySystem
from episodica.readers import Source
from episodica.readers import source as reading


def within(seconds: float, work: Callable[[], Any]) -> Any:
    """The result of a call that must not hang."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 (raised where it is awaited)
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert results, "the call hangs"
    if isinstance(results[0], Exception):
        raise results[0]
    return results[0]


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs and devices")
def test_settings_are_a_file_with_an_end(tmp_path: Path) -> None:
    fifo, large, deep = (tmp_path / name for name in ("fifo", "large", "deep"))
    os.mkfifo(fifo)
    large.write_text("#" * (2 << 20))
    deep.write_text("a = " + 100_000 * "[")
    for path, word in (
        (fifo, "regular"),
        (Path("/dev/zero"), "regular"),
        (tmp_path, "cannot read"),
        (large, "more than"),
        (deep, "nested"),
    ):
        with pytest.raises(ConfigError, match=word):
            within(10, lambda path=path: MemoryConfig.load(path))


@pytest.mark.skipif(sys.platform == "win32", reason="needs FIFOs")
def test_a_fifo_among_the_files_of_a_tree_is_passed_over(store: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    with MemorySystem(store) as memory:
        memory.add_messages("alice", [{"role": "user", "content": "I live in Paris."}])
        memory.flush("alice")
        memory.export("alice", tree, format="tree")
        os.mkfifo(tree / "facts.md")
        assert within(20, lambda: memory.import_(tree, "alice")).known > 0


def test_a_line_without_an_end_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_LONGEST_LINE", 1_000)
    path = tmp_path / "chat.txt"
    path.write_text("short\n" + "x" * 1_000 + "\n" + "y" * 50_000)
    with Source(path) as source, pytest.raises(InvalidInputError, match="line 3 has more than"):
        list(source.lines())
