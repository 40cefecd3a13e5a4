"""Without disk space, rights or handles: a clear exception, nothing lost, then recovery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from episodica import MemorySystem

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")

# Each script prints a JSON object with the acknowledged messages and the exception.
FULL = """
import json, os, resource
from episodica import EpisodicaError, MemorySystem, StoreIOError
kept, met = [], None
with MemorySystem("store") as memory:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    number = 0
    while met is None:
        try:
            text = f"number {number} " + "x" * 9_000
            message = {"role": "user", "content": text, "message_id": str(number)}
            memory.add_messages("alice", [message])
            kept.append(number)
        except StoreIOError as error:
            met = [type(error).__name__, str(error), os.strerror(error.errno), error.path]
        number += 1
    assert len(list(memory.messages("alice"))) >= len(kept)
    assert memory.search("alice", "number 3", kinds=("message",))
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    memory.add_messages("alice", [{"role": "user", "content": "room again", "message_id": "last"}])
    kept.append("last")
print(json.dumps({"kept": kept, "met": met}))
"""

HANDLES = """
import json, os, resource
from episodica import MemorySystem, StoreIOError
def numbered(number):
    return {"role": "user", "content": f"number {number}", "message_id": str(number)}
kept, met = [], []
with MemorySystem("store") as memory:
    memory.add_messages("u0", [{"role": "user", "content": "the first", "message_id": "0"}])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken, hard))
    for number in range(1, 6):
        try:
            memory.add_messages(f"u{number}", [numbered(number)])
            kept.append(number)
        except StoreIOError as error:
            met.append([str(error), str(error.__cause__)])
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for number in range(1, 6):
        memory.add_messages(f"u{number}", [numbered(number)])
        kept.append(number)
    assert memory.verify().errors == 0
print(json.dumps({"kept": kept, "met": met}))
"""

USERS = """
import json, os, resource, sys
from episodica import MemorySystem
handles, most, users = map(int, sys.argv[1:])
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (handles, hard))
def logs():
    links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return sum(os.readlink(link).endswith(".jsonl") for link in links if os.path.lexists(link))
settings = {"max_open_files": most} if most else {}
highest = 0
with MemorySystem("store", **settings) as memory:
    for turn in range(2):
        for user in range(users):
            text = f"turn {turn} of town{user}"
            memory.add_messages(f"u{user}", [{"role": "user", "content": text}])
            highest = max(highest, logs())
    for user in range(users):
        hits = memory.search(f"u{user}", f"town{user}", kinds=("message",))
        assert sorted(hit.content for hit in hits) == [f"turn {n} of town{user}" for n in (0, 1)]
        memory.delete(f"u{user}", hits[0].id)
    highest = max(highest, logs())
    assert memory.verify().errors == 0
with MemorySystem("store") as memory:
    assert all(len(list(memory.messages(f"u{user}"))) == 1 for user in range(users))
print(json.dumps({"highest": highest}))
"""

READ_ONLY = """
import json, logging, os
from episodica import LightweightSearchSystem, MemoryConfig, MemorySystem, StoreIOError
MemoryConfig.load()
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
met = []
try:
    MemorySystem("store")
except StoreIOError as error:
    met = [str(error), error.hint]
with LightweightSearchSystem("store") as reader:
    found = [hit.content for hit in reader.search("alice", "Lyon", kinds=("message",))]
print(json.dumps({"met": met, "found": found}))
"""

MANY = """
import json, sys
from episodica import MemorySystem
count = int(sys.argv[1])
with MemorySystem("store", memory_budget_bytes=300_000) as memory:
    most = 0
    for number in range(count):
        text = f"user number {number} lives in town{number}"
        memory.add_messages(f"u{number}", [{"role": "user", "content": text}])
        most = max(most, memory.stats()["memory_bytes"])
    for number in range(0, count, 17):
        hits = memory.search(f"u{number}", f"town{number}", kinds=("message",))
        assert hits[0].content.endswith(f"town{number}"), number
    stats = memory.stats()
print(json.dumps({"most": most, "evictions": stats["evictions"], "users": stats["users"]}))
"""

CROWD = """
import json, sys
from pathlib import Path
from episodica import LightweightSearchSystem, MemorySystem
step, users, budget = sys.argv[1], *map(int, sys.argv[2:])
def find(memory, number):
    hits = memory.search(f"u{number}", f"town{number}", kinds=("message",))
    assert hits[0].content == f"I live in town{number}."
if step == "write":
    with MemorySystem("store", memory_budget_bytes=budget) as memory:
        for number in range(users):
            said = {"role": "user", "content": f"I live in town{number}.", "message_id": "1"}
            memory.add_messages(f"u{number}", [said])
            if number % 100 == 99:
                find(memory, number // 2)
        stats = memory.stats()
else:
    with LightweightSearchSystem("store", memory_budget_bytes=budget) as memory:
        for number in range(users):
            find(memory, number)
        stats = memory.stats()
status = Path("/proc/self/status").read_text()
peak = next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))
sums = {name: stats[name] for name in ("users", "memory_bytes")}
print(json.dumps({**sums, "peak": int(peak) << 10}))
"""


def run(script: str, place: Path, *args: object) -> dict[str, object]:
    command = [sys.executable, "-c", script, *map(str, args)]
    done = subprocess.run(
        command, cwd=place, capture_output=True, text=True, timeout=1_700, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@POSIX
def test_a_full_disk(tmp_path: Path, store: Path) -> None:
    said = run(FULL, tmp_path)
    name, text, cause, path = said["met"]
    assert name == "StoreIOError"
    assert "alice" in path
    assert "cannot" in text
    assert "too large" in cause.lower()
    with MemorySystem(store) as memory:
        there = {message.message_id for message in memory.messages("alice")}
        assert {str(one) for one in said["kept"]} <= there
        assert memory.verify().errors == 0


@POSIX
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts its handles in /proc")
def test_no_file_handles_left(tmp_path: Path, store: Path) -> None:
    said = run(HANDLES, tmp_path)
    # Kept files are closed again, so every user may be served; an exception names its cause.
    assert all("too many open files" in cause.lower() for _, cause in said["met"])
    with MemorySystem(store) as memory:
        for number in range(6):
            assert [message.message_id for message in memory.messages(f"u{number}")] == [
                str(number)
            ]


@POSIX
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts its handles in /proc")
@pytest.mark.parametrize(("handles", "most", "kept"), [(64, 0, 16), (1_024, 5, 5), (64, 500, 16)])
def test_more_users_than_file_handles(
    tmp_path: Path, handles: int, most: int, kept: int, counts: Callable[..., None]
) -> None:
    """At most ``max_open_files`` logs stay open, and at most a quarter of the handles."""
    said = run(USERS, tmp_path, handles, most, 200)
    assert 0 < said["highest"] <= kept
    counts("handles", users=200, losses=0)


@POSIX
def test_a_read_only_directory(tmp_path: Path, store: Path) -> None:
    with MemorySystem(store) as memory:
        memory.add_messages("alice", [{"role": "user", "content": "I moved to Lyon."}])
    # Root may write everywhere. So the script run by root changes to another user, who must reach
    # the store.
    for place in (tmp_path, *tmp_path.parents):
        if os.geteuid() == 0 and Path(tempfile.gettempdir()) in place.parents:
            place.chmod(0o711)
    tmp_path.chmod(0o755)
    for directory, _, files in os.walk(store):
        Path(directory).chmod(0o555)
        for file in files:
            (Path(directory) / file).chmod(0o444)
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    try:
        said = run(READ_ONLY, tmp_path)
    finally:
        for directory, _, _ in os.walk(store):
            Path(directory).chmod(0o755)
    assert "LightweightSearchSystem" in said["met"][1]
    assert said["found"] == ["I moved to Lyon."]
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


def test_more_users_than_the_budget_has_room_for(
    tmp_path: Path, rounds: Callable[[int, int], int]
) -> None:
    said = run(MANY, tmp_path, rounds(300, 3_000))
    assert said["users"] == rounds(300, 3_000)
    assert said["evictions"] > 100
    # The user opened last is closed at the earliest when the next user is opened.
    assert said["most"] < 350_000


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.timeout(1_800)
def test_a_hundred_thousand_users(
    tmp_path: Path, rounds: Callable[[int, int], int], counts: Callable[..., None]
) -> None:
    """Writes to all users in turn, then reads them; the whole process keeps within the budget."""
    users, budget = rounds(500, 100_000), rounds(4_000_000, 512 << 20)
    steps = [run(CROWD, tmp_path, step, users, budget) for step in ("write", "read")]
    assert [said["users"] for said in steps] == [users, users]
    assert all(said["memory_bytes"] <= budget for said in steps)
    # An empty process needs some memory too, which a small budget does not include.
    peak = max(said["peak"] for said in steps)
    assert peak <= max(budget, 200 << 20), "more memory than the budget allows"
    counts("users", users=users, megabytes_at_most=peak >> 20, losses=0)
