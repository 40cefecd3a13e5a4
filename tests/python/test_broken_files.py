"""Each file beside the logs, broken in every way, while every operation runs.

A log is the truth, and everything else can be lost: nothing that stands in the place of another
file may keep anyone from deleting, be followed elsewhere, or hold up a call.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from episodica import CorruptStoreError, LightweightSearchSystem, MemorySystem

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no FIFO")

WORD = "kwazulu"
# Files that hold the store together: broken while the store is closed, they refuse by name.
LOCKS = ("append", "caches", "forming", "generation")
DERIVED = [
    "segments/ann.segment",
    "segments/ann.segment.tmp",
    "messages/ann_messages.jsonl.quarantine.jsonl",
    "uses/ann_uses.jsonl",
    "failed_index/ann_failed.jsonl",
    "traces/ann_trace.jsonl",
    "llm_cache/ann_answers.jsonl",
    "intents/0.json",
    "requests",
    "requests/20000.jsonl",
    ".reserve",
]


def fill(path: Path) -> None:
    path.mkdir()
    (path / "of somebody").write_text("x")


BREAKS: dict[str, Callable[[Path, Path], object]] = {
    "garbage": lambda path, _: path.write_bytes(b"garbage\n" * 50),
    "empty": lambda path, _: path.write_bytes(b""),
    "folder": lambda path, _: path.mkdir(),
    "full folder": lambda path, _: fill(path),
    "fifo": lambda path, _: os.mkfifo(path),
    "link": lambda path, outside: path.symlink_to(outside / "kept"),
    "dangling link": lambda path, outside: path.symlink_to(outside / "nothing"),
    "link to a folder": lambda path, outside: path.symlink_to(outside),
    "read-only": lambda path, _: (path.write_bytes(b"{}\n"), path.chmod(0o400)),
}
OPERATIONS: dict[str, Callable[[MemorySystem], object]] = {
    "add": lambda memory: memory.add_messages("ann", f"One more {WORD} tale."),
    "search": lambda memory: memory.search("ann", "Lyon"),
    "context": lambda memory: memory.context("ann", "Lyon"),
    "delete": lambda memory: memory.delete("ann", "m1").messages,
    "flush": lambda memory: memory.flush("ann"),
    "verify": lambda memory: memory.verify(),
    "delete user": lambda memory: memory.delete_user_data("ann"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two users with all kinds of files."""
    root = tmp_path_factory.mktemp("whole") / "store"
    with MemorySystem(root, trace=True, snapshot_threshold=1) as memory:
        for user in ("ann", "ben"):
            memory.add_messages(
                user,
                [
                    {"role": "user", "content": f"{WORD} {n} moved to Lyon.", "message_id": f"m{n}"}
                    for n in range(4)
                ],
            )
            memory.flush(user)
            memory.search(user, "Lyon")
    return root


@pytest.fixture
def places(whole: Path, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A copy of the store, and a folder outside, which nobody may touch."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    root = tmp_path / "store"
    shutil.copytree(whole, root)
    yield root, outside
    assert [file.name for file in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "kept"


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)


def traces(root: Path) -> list[str]:
    """The files with a word of the deleted user."""
    return [
        file.name
        for file in root.rglob("*")
        if file.is_file() and not file.name.startswith("ben") and WORD in file.read_text("latin-1")
    ]


@pytest.mark.parametrize("way", BREAKS)
@pytest.mark.parametrize("name", DERIVED)
def test_nothing_beside_the_logs_stops_an_operation(
    name: str, way: str, places: tuple[Path, Path]
) -> None:
    root, outside = places
    path = root / name
    breaks_open = (DERIVED.index(name) + [*BREAKS].index(way)) % 2

    def broken() -> None:
        clear(path)
        BREAKS[way](path, outside)

    if not breaks_open:
        broken()
    with MemorySystem(root, trace=True, snapshot_threshold=1) as memory:
        memory.search("ann", "Lyon")
        if breaks_open:
            broken()
        for operation in OPERATIONS.values():
            operation(memory)
    assert traces(root) == []
    with LightweightSearchSystem(root) as reader:
        assert reader.users() == ["ben"]
        assert len(reader.messages("ben")) == 4


@pytest.mark.parametrize("way", ["folder", "full folder", "fifo", "link", "dangling link"])
@pytest.mark.parametrize("ending", LOCKS)
def test_a_broken_lock_is_named_and_nobody_waits(
    ending: str, way: str, places: tuple[Path, Path]
) -> None:
    """Two processes can't both replace a lock safely: a person moves away what stands there."""
    root, outside = places
    for lock in {file.with_suffix(f".{ending}") for file in (root / "locks").iterdir()}:
        clear(lock)
        BREAKS[way](lock, outside)
    memory = MemorySystem(root)
    refusals = []
    for operation in (*OPERATIONS.values(), lambda one: one.close()):
        try:
            operation(memory)
        except CorruptStoreError as error:
            refusals.append((error.path, error.hint))
    assert all(f".{ending}" in str(path) and hint for path, hint in refusals)
    with LightweightSearchSystem(root) as reader:
        broken = [one for one in reader.verify().problems if ending in one.path]
        assert broken
        assert all(one.remedy for one in broken)
        assert any(ending in one.path for one in reader._engine.check_files())


def test_what_a_folder_of_somebody_holds_stays(places: tuple[Path, Path]) -> None:
    root, _ = places
    path = root / "traces" / "ann_trace.jsonl"
    clear(path)
    fill(path)
    with MemorySystem(root) as memory:
        assert memory.delete("ann", "m1").messages == 1
        memory.delete_user_data("ann")
        [problem] = memory.verify().problems
    assert problem.path == str(path)
    assert "move it away" in problem.remedy
    assert (path / "of somebody").read_text() == "x"
