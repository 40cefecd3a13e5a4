"""What adapters have in common, without any framework: connections, escaping, items, filters."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from episodica import AsyncMemorySystem, InvalidInputError, MemorySystem, MissingExtraError
from episodica.adapters import Connection
from episodica.adapters.shared.connection import settle
from episodica.adapters.shared.escaping import join, split
from episodica.adapters.shared.filters import matches
from episodica.adapters.shared.items import Draft, ItemTable


def test_adapters_of_one_path_share_a_system_that_closes_with_the_last(store: Path) -> None:
    first, second = Connection(store), Connection(str(store))
    third = Connection(second)
    assert first.memory is second.memory is third.memory
    first.close()
    first.close()
    second.close()
    assert not third.memory.closed
    third.close()
    assert third.memory.closed
    with Connection(store) as again:
        assert again.memory is not third.memory


def test_a_connection_ends_when_its_adapter_is_collected(store: Path) -> None:
    connection = Connection(store)
    memory = connection.memory
    del connection
    gc.collect()
    assert memory.closed


def test_a_system_that_somebody_closed_is_opened_again(store: Path) -> None:
    first = Connection(store)
    first.memory.close()
    second = Connection(store)
    first.close()
    assert not second.memory.closed
    second.close()
    assert second.memory.closed


async def test_an_open_system_is_used_as_it_is(store: Path) -> None:
    with MemorySystem(store) as memory:
        connection = Connection(memory)
        assert connection.memory is memory
        connection.close()
        assert not memory.closed
    async with AsyncMemorySystem(store) as beside:
        connection = Connection(beside)
        connection.memory.add_messages("alice", [{"role": "user", "content": "Hello"}])
        connection.close()
        assert [message.content async for message in beside.messages("alice")] == ["Hello"]


def test_other_types_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="where must be a path or a memory system"):
        Connection(3)  # type: ignore[arg-type]


async def test_a_cancelled_change_is_complete_when_its_caller_learns_of_it() -> None:
    begun, done = threading.Event(), threading.Event()

    def change() -> None:
        begun.set()
        done.wait(5)

    task = asyncio.create_task(settle(change))
    await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.sleep(0.01)
    assert not task.done()
    done.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_failed_change_raises_its_error() -> None:
    def fail() -> None:
        raise InvalidInputError("no")

    with pytest.raises(InvalidInputError, match="no"):
        await settle(fail)


@given(st.lists(st.text(max_size=8), max_size=5), st.lists(st.text(max_size=8), max_size=5))
def test_no_two_sequences_of_labels_share_an_id(one: list[str], other: list[str]) -> None:
    assert split("app", join("app", one)) == tuple(one)
    assert (join("app", one) == join("app", other)) == (one == other)


def test_an_id_is_never_longer_than_a_user_id_may_be(memory: MemorySystem) -> None:
    long = [join("app", ["é" * 300]), join("app", ["é" * 300, ""]), join("app", ["é" * 301])]
    assert len(set(long)) == 3
    for user in long:
        memory.add_messages(user, [{"role": "user", "content": "Hello"}])
    assert sorted(memory.users()) == sorted(long)
    assert split("app", long[0]) is None
    assert split("app", "other:a") is None


def test_filters() -> None:
    value = {"n": 3, "s": "x", "list": [1, {"a": 2}], "deep": {"n": 1}}
    for admitted in (
        None,
        {},
        {"n": 3, "s": "x"},
        {"n": {"$gt": 2, "$lte": 3}},
        {"list": [1, {"a": {"$gte": 2}}]},
        {"deep": {"n": {"$ne": 2}}},
        {"absent": None},
        {"s": {"$eq": "x"}},
    ):
        assert matches(value, admitted), admitted
    for refused in (
        {"n": 4},
        {"s": {"$gt": 2}},
        {"absent": {"$lt": 1}},
        {"list": [1]},
        {"deep": {"n": 2}},
        {"s": {"n": 1}},
    ):
        assert not matches(value, refused), refused


def test_two_tables_over_one_memory_see_each_others_items(memory: MemorySystem) -> None:
    one, other = ItemTable(memory, "app"), ItemTable(memory, "app")
    apart = ItemTable(memory, "ap")
    one.write(("p:", "q"), {"k": Draft({"x": 1}, ["a cat"])})
    apart.write(("p:", "q"), {"k": Draft({"x": 2})})
    assert other.get(("p:", "q"), "k").value == {"x": 1}  # type: ignore[union-attr]
    assert [item.value for item, _ in other.search(("p:", "q"), "cat")] == [{"x": 1}]
    assert list(apart.search(("p:", "q"), "cat")) == []
    other.write(("p:", "q"), {"k": None})
    assert one.get(("p:", "q"), "k") is None
    assert one.namespaces() == []
    assert apart.namespaces() == [("p:", "q")]


def test_an_adapter_without_its_framework_names_the_command_that_installs_it() -> None:
    with pytest.raises(MissingExtraError, match="langgraph needs the package") as caught:
        __import__("episodica.adapters.langgraph")
    assert caught.value.hint == "pip install 'episodica[langgraph]'"


def test_nothing_is_imported_before_it_is_used() -> None:
    code = "import episodica, sys; sys.exit(any('adapters' in name for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
