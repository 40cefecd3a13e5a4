"""``memory_bytes`` is what the allocator has handed out, within 15 %."""

from __future__ import annotations

import ctypes
import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from episodica import MemorySystem

GLIBC = platform.libc_ver()[0] == "glibc" and hasattr(ctypes.CDLL(None), "malloc_info")

# Prints what the engine counts for a user, and what the allocator handed out meanwhile.
CHILD = """
import ctypes, gc, json, re, sys, tempfile
from pathlib import Path
from episodica import MemorySystem

libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p

def allocated():
    gc.collect()
    with tempfile.NamedTemporaryFile() as file:
        stream = ctypes.c_void_p(libc.fopen(file.name.encode(), b"w"))
        libc.malloc_info(0, stream)
        libc.fclose(stream)
        text = Path(file.name).read_text().rpartition("</heap>")[2]
    def size(pattern):
        found = re.search(pattern + r'[^>]* size="(\\d+)"', text)
        return int(found[1]) if found else 0
    idle = size('type="fast"') + size('type="rest"')
    return size('system type="current"') - idle + size('type="mmap"')

with MemorySystem(sys.argv[1]) as memory:
    # What all users share, such as the states of expressions, grows with the first questions.
    for number in range(0, 3_000, 20):
        memory.search("other", f"Who went to town {number}?", kinds=("message", "episodic"))
    before = allocated()
    memory.search("alice", "Where did we sit?")
    opened = allocated() - before, memory.stats("alice").memory_bytes
    for number in range(0, 3_000, 20):
        memory.search("alice", f"What did we do at lake {number}?", kinds=("message", "episodic"))
    used = allocated() - before, memory.stats("alice").memory_bytes
print(json.dumps([opened, used]))
"""


def talk(count: int) -> list[dict[str, object]]:
    return [
        {
            "role": "user" if number % 2 else "assistant",
            "content": f"At lake {number} we sat {number % 13} hours and talked about boat "
            f"{number % 101}. I bought {number % 7} tickets to town{number % 211}.",
            "timestamp": 1_700_000_000 + number * 600,
        }
        for number in range(count)
    ]


@pytest.mark.skipif(not GLIBC, reason="asks the allocator of glibc")
@pytest.mark.parametrize("from_snapshot", [True, False])
def test_what_is_counted_is_what_the_allocator_handed_out(
    from_snapshot: bool, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    with MemorySystem(store) as memory:
        memory.add_messages("alice", talk(6_000))
        memory.add_messages("other", talk(50))
    segments = list((store / "segments").iterdir())
    assert segments
    for segment in segments if not from_snapshot else []:
        segment.unlink()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(store)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for allocated, counted in json.loads(done.stdout):
        assert allocated > 10_000_000
        assert 0.85 * allocated <= counted <= 1.15 * allocated
