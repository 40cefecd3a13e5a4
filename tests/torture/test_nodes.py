"""Several machines on one database: killed, stopped and cut off, while the server is killed too."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from postgres import Bouncer, Server, reachable_folder, running
from workers import Worker, agree, check, files, script

pytestmark = pytest.mark.skipif(
    "EPISODICA_TEST_POSTGRES" not in os.environ, reason="needs PostgreSQL: `make test-postgres`"
)
NODES = 4
# Messages that must be acknowledged, and seconds to wait for them.
ENOUGH = 10
PATIENCE = 60


@pytest.fixture
def server() -> Iterator[Server]:
    with reachable_folder() as folder, running(folder / "primary") as made:
        yield made


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("through", ["directly", "a pooler"])
def test_nodes_lose_nothing(
    through: str,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rounds: Callable[[int, int], int],
    counts: Callable[..., None],
) -> None:
    """Acknowledged messages stay, once and in order; deleted ones are in no row and no cache."""
    bouncer = Bouncer(server) if through == "a pooler" else None
    store = server.address(bouncer.port if bouncer else None, deadline_seconds="30")
    told = tmp_path / "history"
    history = script.History(str(told))
    monkeypatch.setenv("EPISODICA_CACHE", str(tmp_path / "caches-own"))
    chance = random.Random(11)
    made = 0

    def start(at: int) -> Worker:
        nonlocal made
        made += 1
        # Each node has a directory of its own, as each machine has.
        cache = str(tmp_path / f"caches-{at}")
        return Worker(store, told, f"w{made}", made, EPISODICA_CACHE=cache)

    alive = [start(at) for at in range(NODES)]
    workers = list(alive)
    done: Counter[str] = Counter()
    began = time.monotonic()
    seconds = rounds(6, 240)

    def acknowledged() -> int:
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
        return sum(line.startswith("+ ") for line in lines)

    # On a busy machine the nodes need longer to start than they live.
    while (passed := time.monotonic() - began) < seconds or (
        acknowledged() < ENOUGH and passed < seconds + PATIENCE
    ):
        time.sleep(0.3)
        at = chance.randrange(NODES)
        [what] = chance.choices(["server", "sessions", "kill", "stop"], [10, 20, 35, 35])
        if what in {"kill", "stop"} and not alive[at].ready.is_set():
            continue
        done[what] += 1
        if what == "server":
            server.kill()
            server.start()
        elif what == "sessions":
            server.end_sessions()
        elif what == "kill":
            alive[at].kill()
            history.say("x", script.ERASED, alive[at].name)
            alive[at] = start(at)
            workers.append(alive[at])
        else:
            alive[at].signal(signal.SIGSTOP)
            time.sleep(chance.random() / 2)
            alive[at].signal(signal.SIGCONT)
    agree(store, alive, workers)

    def kept() -> Iterator[bytes]:
        yield server.dump().encode()
        yield from files(*tmp_path.glob("caches-*"))

    losses = check(store, told, workers, kept)
    part = "nodes" if bouncer is None else "nodes_pooled"
    counts(
        part,
        acknowledged=acknowledged(),
        kills=done["kill"],
        stops=done["stop"],
        server_kills=done["server"],
        ended_sessions=done["sessions"],
        losses=losses,
    )
    if bouncer is not None:
        bouncer.stop()
    assert losses == 0
    assert acknowledged() >= ENOUGH
