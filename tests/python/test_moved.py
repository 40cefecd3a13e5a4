"""A store that is moved while it is open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from episodica import MemorySystem, StoreIOError


def test_a_store_that_is_moved_while_open_leaves_nothing_at_its_old_place(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    memory = MemorySystem(old)
    memory.add_messages("al", [{"role": "user", "content": "I live in Paris."}])
    memory.flush("al")
    old.rename(new)
    for user in ("al", "bo"):
        with pytest.raises(StoreIOError):
            memory.add_messages(user, [{"role": "user", "content": "I moved."}])
    for change in (
        lambda: memory.remember("al", "I live in Lyon."),
        lambda: memory.delete_user_data("al"),
        lambda: memory.rebuild_indices("al"),
        lambda: memory.compact("al"),
    ):
        with suppress(StoreIOError):
            change()
    memory.close()
    assert not old.exists(), sorted(old.rglob("*"))
    with MemorySystem(new) as again:
        assert [one.content for one in again.messages("al")] == ["I live in Paris."]
