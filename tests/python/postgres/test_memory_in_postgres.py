"""The public API on a store in PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from episodica import (
    AsyncMemorySystem,
    ConfigError,
    EpisodicaError,
    InvalidInputError,
    LightweightSearchSystem,
    MemorySystem,
    StoreUnavailableError,
)
from episodica.server.app import create_app
from episodica.server.settings import ServerSettings


def said(number: int, text: str = "The weather is fine") -> dict[str, Any]:
    return {
        "role": "user",
        "name": "Alice",
        "content": f"{text}, number {number}.",
        "timestamp": f"2024-03-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00Z",
    }


def contents(memory: MemorySystem | LightweightSearchSystem, user: str = "alice") -> list[str]:
    return [message.content for message in memory.messages(user)]


def test_what_is_added_is_found_by_all_who_open_the_store(lyon: MemorySystem, address: str) -> None:
    hits = lyon.search("alice", "Where did Alice move?")
    assert "Lyon" in hits[0].content
    context = lyon.context("alice", "Where did Alice move?")
    assert "Lyon" in context.text
    with LightweightSearchSystem(address) as reader:
        again = reader.search("alice", "Where did Alice move?")
        assert [(hit.id, hit.score) for hit in again] == [(hit.id, hit.score) for hit in hits]
        assert reader.context("alice", "Where did Alice move?").text == context.text
    with MemorySystem(address) as other:
        assert other.users() == ["alice"]
        assert other.episodes("alice")[0] == lyon.episodes("alice")[0]


def test_the_scores_are_those_of_a_folder(
    memory: MemorySystem, tmp_path: Path, talk: list[dict[str, Any]]
) -> None:
    talk += [said(number) for number in range(60)]
    found = []
    with MemorySystem(tmp_path / "folder") as folder:
        for one in (memory, folder):
            one.add_messages("alice", talk)
            one.flush("alice")
            hits = one.search("alice", "Who moved to Lyon?", top_k=20)
            found.append([(hit.kind, hit.content, hit.score) for hit in hits])
    assert found[0] == found[1]


def test_the_second_opening_reads_what_the_first_wrote(address: str) -> None:
    for opening in range(3):
        with MemorySystem(address, snapshot_threshold=50) as memory:
            assert len(memory.messages("alice")) == 70 * opening
            memory.add_messages(
                "alice", [said(number) for number in range(70 * opening, 70 * opening + 70)]
            )
            memory.flush("alice")
            assert memory.verify().errors == 0
    caches = list(Path(os.environ["EPISODICA_CACHE"]).rglob("alice.segment"))
    assert len(caches) == 1, "a segment is in the directory of the caches"


def test_update_delete_and_history(lyon: MemorySystem, address: str) -> None:
    fact = lyon.remember("alice", "Alice likes tea.")
    newer = lyon.update("alice", fact.memory_id, "Alice likes coffee.")
    assert newer.content == "Alice likes coffee."
    assert lyon.history("alice", newer.memory_id)[0].content == "Alice likes tea."
    first = next(iter(lyon.messages("alice")))
    report = lyon.delete("alice", first.message_id)
    assert report.messages == 1
    assert contents(lyon) == ["How do you like it there?"]
    with MemorySystem(address) as other:
        assert contents(other) == ["How do you like it there?"]
        assert other.verify().errors == 0


def test_an_edit_reaches_every_node_and_a_deletion_all_its_versions(
    lyon: MemorySystem, address: str
) -> None:
    first = next(iter(lyon.messages("alice")))
    edited = {**first.to_dict(), "content": "I moved to Quimper last Friday."}
    with MemorySystem(address) as there, LightweightSearchSystem(address) as reader:
        assert there.add_messages("alice", [edited]).edited == 1
        for memory in (there, lyon, reader):
            assert contents(memory)[0] == edited["content"]
            facts = [one.content for one in memory.semantic_memories("alice")]
            assert any("Quimper" in one for one in facts)
            assert not any("Lyon" in one for one in facts)
            assert [one.content for one in memory.history("alice", first.message_id)] == [
                first.content,
                edited["content"],
            ]
        assert lyon.add_messages("alice", [first.to_dict()]).duplicates == 1
        lyon.delete("alice", first.message_id)
        assert there.history("alice", first.message_id) == []
    with LightweightSearchSystem(address) as reader:
        assert contents(reader) == ["How do you like it there?"]
        assert reader.verify().errors == 0


def test_an_erased_user_is_gone_from_rows_and_caches(lyon: MemorySystem, address: str) -> None:
    lyon.close()
    with MemorySystem(address) as memory:
        assert memory.delete_user_data("alice").messages == 2
        assert memory.users() == []
        assert contents(memory) == []
    caches = Path(os.environ["EPISODICA_CACHE"])
    left = [file for file in caches.rglob("*") if file.is_file() and b"Lyon" in file.read_bytes()]
    assert left == []


def test_what_another_node_erased_leaves_the_caches_of_this_one(
    address: str, tmp_path: Path, talk: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with MemorySystem(address, snapshot_threshold=2, trace=True) as here:
        here.add_messages("alice", talk)
        here.flush("alice")
    caches = tmp_path / "caches"
    assert list(caches.rglob("alice.segment"))
    monkeypatch.setenv("EPISODICA_CACHE", str(tmp_path / "elsewhere"))
    with MemorySystem(address) as there:
        there.delete("alice", next(iter(there.messages("alice"))).message_id)
    monkeypatch.setenv("EPISODICA_CACHE", str(caches))
    with MemorySystem(address):
        assert not list(caches.rglob("alice*.segment"))


def test_two_processes_write_one_user(memory: MemorySystem, address: str) -> None:
    code = (
        "import sys; from episodica import MemorySystem\n"
        "with MemorySystem(sys.argv[1]) as memory:\n"
        "    for n in range(25):\n"
        "        said = {'role': 'user', 'content': f'{sys.argv[2]} {n}'}\n"
        "        memory.add_messages('alice', [said])\n"
    )
    env = {**os.environ}
    children = [
        subprocess.Popen([sys.executable, "-c", code, address, name], env=env) for name in "abc"
    ]
    for number in range(25):
        memory.add_messages("alice", [{"role": "user", "content": f"own {number}"}])
    assert [child.wait(120) for child in children] == [0, 0, 0]
    found = contents(memory)
    assert len(found) == len(set(found)) == 100
    for name in ("a", "b", "c", "own"):
        assert [text for text in found if text.startswith(f"{name} ")] == [
            f"{name} {number}" for number in range(25)
        ]
    numbers = [message.seq for message in memory.messages("alice")]
    assert numbers == sorted(set(numbers))
    memory.flush("alice")
    assert memory.verify().errors == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_connects_anew(lyon: MemorySystem) -> None:
    child = os.fork()
    if child == 0:
        try:
            lyon.add_messages("alice", [{"role": "user", "content": "From the child."}])
        except EpisodicaError:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert contents(lyon)[-1] == "From the child."


def test_a_coroutine_does_the_same(address: str, talk: list[dict[str, Any]]) -> None:
    async def work() -> str:
        async with AsyncMemorySystem(address) as memory:
            await memory.add_messages("alice", talk)
            return (await memory.search("alice", "Where did Alice move?"))[0].content

    assert "Lyon" in asyncio.run(work())


def test_tenants_do_not_meet(
    memory: MemorySystem, address: str, talk: list[dict[str, Any]]
) -> None:
    with MemorySystem(address, tenant="other") as other:
        other.add_messages("alice", talk)
        assert memory.users() == []
        assert len(memory.search("alice", "Lyon")) == 0
        assert other.users() == ["alice"]


def test_events_and_their_cursor(lyon: MemorySystem) -> None:
    events = lyon.events()
    assert [event.change for event in events][:3] == ["MESSAGE", "MESSAGE", "EPISODE"]
    lyon.add_messages("alice", [said(1)])
    more = lyon.events(events.cursor)
    assert next(iter(more)).change == "MESSAGE"
    first = next(iter(lyon.messages("alice")))
    cursor = lyon.events(more.cursor).cursor
    lyon.delete("alice", first.message_id)
    assert "DELETE" in [event.change for event in lyon.events(cursor)]


def test_health_says_what_the_store_stands_on(memory: MemorySystem, address: str) -> None:
    store = memory.health().store
    assert (store.backend, store.failure, store.problems) == ("postgresql", None, 0)
    assert store.server_version
    assert store.path.endswith(address.partition("?")[2])
    with pytest.raises(InvalidInputError, match="no directory"):
        _ = memory.path
    assert "postgres@" not in repr(memory)


def test_a_backup_is_a_folder_with_the_same_lines(lyon: MemorySystem, tmp_path: Path) -> None:
    report = lyon.backup(tmp_path / "copy")
    assert report.users == 1
    with MemorySystem(tmp_path / "copy") as copy:
        assert contents(copy) == contents(lyon)
        assert copy.verify().errors == 0
    for kind in ("messages", "episodes"):
        assert (tmp_path / "copy" / kind / f"alice_{kind}.jsonl").stat().st_size > 100


def test_errors_name_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPISODICA_CACHE", str(tmp_path))
    with pytest.raises(StoreUnavailableError) as away:
        MemorySystem("postgresql://me:secret@127.0.0.1:1/none?deadline_seconds=0.2")
    assert "secret" not in str(away.value)
    with pytest.raises(ConfigError, match="pool_size"):
        MemorySystem("postgresql://me@127.0.0.1/none?pool_size=0")
    with pytest.raises(InvalidInputError, match="address"):
        MemorySystem("mysql://me@127.0.0.1/none")


def test_the_command_line_takes_an_address(
    lyon: MemorySystem, address: str, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = cli("--store", address, "search", "alice", "Where did Alice move?")
    assert done.returncode == 0, done.stderr
    assert "Lyon" in done.stdout


async def test_the_service_serves_it(address: str) -> None:
    app = create_app(ServerSettings(store=address))
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
    ):
        said = {"messages": [{"role": "user", "content": "I moved to Lyon."}]}
        added = await client.post("/v1/users/alice/messages", json=said)
        assert added.status_code == 201, added.text
        found = await client.post("/v1/users/alice/search", json={"query": "Lyon"})
        assert "Lyon" in found.text
        assert (await client.get("/ready")).status_code == 200
    with MemorySystem(address) as memory:
        assert contents(memory) == ["I moved to Lyon."]


def test_what_the_guide_shows_runs(
    address: str, tmp_path: Path, cli: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    with MemorySystem(tmp_path / "memories") as folder:
        folder.add_messages("bob", [{"role": "user", "content": "I have a boat."}])
    page = Path(__file__).parents[3] / "docs" / "guide" / "postgresql.md"
    text = page.read_text(encoding="utf-8")
    text = text.replace("postgresql://app@db.example/memories", address)
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)[:2])
    copy = blocks["sh"].splitlines()[1].split()
    assert copy[0] == "episodica"
    assert cli(*copy[1:]).returncode == 0
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(blocks["python"], names)
    assert "Lyon" in shown.getvalue()
    assert names["memory"].users() == ["alice", "bob"]
    names["memory"].close()
