"""What becomes of a store while its database is killed, away, full, old, or gone back."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import Bouncer, Server, hand_over

from episodica import (
    ConfigError,
    EpisodicaError,
    LightweightSearchSystem,
    MemorySystem,
    ReadOnlyStoreError,
    StoreIOError,
    StoreRolledBackError,
    StoreUnavailableError,
    UnsupportedFormatError,
)


def say(memory: MemorySystem, number: int) -> None:
    memory.add_messages(
        "alice",
        [{"role": "user", "content": f"Word {number}.", "timestamp": 1_700_000_000 + number}],
    )


def numbers(memory: MemorySystem | LightweightSearchSystem) -> list[int]:
    return [int(message.content[5:-1]) for message in memory.messages("alice")]


class Cutting:
    """A proxy before a server; cuts the connection when an append is answered, if told to."""

    def __init__(self, port: int) -> None:
        self.server = port
        self.is_cutting = False
        # The clients that wait for the answer to an append: others only read.
        self.appending: set[socket.socket] = set()
        self.cuts = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.sockets: list[socket.socket] = []
        self.threads: list[threading.Thread] = []
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.server))
            self.sockets += [client, server]
            for pair in ((client, server, False), (server, client, True)):
                thread = threading.Thread(target=self._pass_on, args=pair, daemon=True)
                thread.start()
                self.threads.append(thread)

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        try:
            while data := source.recv(65_536):
                if not is_answer and self.is_cutting and b".log (" in data:
                    self.is_cutting = False
                    self.appending.add(source)
                elif is_answer and target in self.appending:
                    self.appending.discard(target)
                    self.cuts += 1
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        for end in self.sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        for end in (self.listener, *self.sockets):
            end.close()


@pytest.fixture
def cutting(server: Server) -> Iterator[Cutting]:
    made = Cutting(server.port)
    yield made
    made.close()


def test_a_lost_answer_is_settled(server: Server, cutting: Cutting) -> None:
    """The append is done and its answer lost: the message is there once, and the call returns."""
    with MemorySystem(server.address(cutting.port)) as memory:
        say(memory, 0)
        for number in range(1, 20):
            cutting.is_cutting = True
            say(memory, number)
        memory.flush("alice")
        assert cutting.cuts >= 19
        assert numbers(memory) == list(range(20))
        assert memory.verify().errors == 0
    fences = server.sql("SELECT fence FROM episodica.users")
    assert int(fences[0][0]) >= 19, "each lost answer is settled by a fence"


def test_a_server_that_is_killed_comes_back(server: Server) -> None:
    with MemorySystem(server.address(deadline_seconds="60")) as memory:
        stop = threading.Event()

        def kill_now_and_then() -> None:
            for _ in range(8):
                if stop.wait(0.3):
                    return
                server.kill()
                server.start()

        killer = threading.Thread(target=kill_now_and_then)
        killer.start()
        for number in range(200):
            say(memory, number)
        stop.set()
        killer.join()
        assert numbers(memory) == list(range(200))
        memory.flush("alice")
    with MemorySystem(server.address()) as again:
        assert numbers(again) == list(range(200))
        assert again.verify().errors == 0


def test_while_the_database_is_away(server: Server) -> None:
    """Writing fails with a clear error, reading goes on in memory if asked to, and both recover."""
    patient = server.address(deadline_seconds="3")
    going_on = server.address(deadline_seconds="3", reads_when_away="true")
    with MemorySystem(patient) as memory, MemorySystem(going_on) as other:
        say(memory, 0)
        assert numbers(other) == [0]
        assert len(memory.search("alice", "word")) == len(other.search("alice", "word")) == 1
        server.stop("immediate")
        for one in (memory, other):
            with pytest.raises(StoreUnavailableError):
                say(one, 1)
        with pytest.raises(StoreUnavailableError):
            memory.search("alice", "word")
        assert len(other.search("alice", "word")) == 1
        assert numbers(other) == [0]
        with pytest.raises(StoreUnavailableError):
            other.search("bob", "word")
        health = memory.health()
        assert "store" in health.failing
        assert health.store.failure
        server.start()
        for one, number in ((memory, 1), (other, 2)):
            say(one, number)
        assert numbers(memory) == [0, 1, 2]
        assert memory.health().store.failure is None


def test_a_standby_that_lacks_acknowledged_messages_is_noticed(
    server: Server, folder: Path
) -> None:
    standby = Server(folder / "standby").copy_of(server)
    standby.start()
    both = (
        f"postgresql://postgres@127.0.0.1:{server.port},127.0.0.1:{standby.port}/postgres"
        "?target_session_attrs=read-write&deadline_seconds=20"
    )
    try:
        with MemorySystem(both) as memory:
            say(memory, 0)
            seen = server.sql("SELECT pg_current_wal_lsn()")[0][0]
            arrived = f"SELECT pg_last_wal_replay_lsn() >= '{seen}'"
            while standby.sql(arrived) != [["t"]]:
                pass
            with LightweightSearchSystem(standby.address()) as reader:
                assert numbers(reader) == [0]
            with pytest.raises(StoreUnavailableError, match="standby"):
                MemorySystem(standby.address(deadline_seconds="5"))
            standby.stop()
            say(memory, 1)
            say(memory, 2)
            server.stop("immediate")
            standby.start()
            standby.promote()
            with pytest.raises(StoreRolledBackError) as gone_back:
                say(memory, 3)
            assert "alice" in str(gone_back.value)
            # Nothing was overwritten; from here on the database counts.
            assert numbers(memory) == [0]
            say(memory, 4)
            assert numbers(memory) == [0, 4]
        with MemorySystem(both) as again:
            assert numbers(again) == [0, 4]
            assert again.verify().errors == 0
    finally:
        standby.stop("immediate")


def test_behind_a_pooler_in_transaction_mode(server: Server) -> None:
    bouncer = Bouncer(server)
    try:
        with (
            MemorySystem(server.address(bouncer.port)) as memory,
            MemorySystem(server.address(bouncer.port)) as other,
        ):
            for number in range(30):
                say((memory, other)[number % 2], number)
                if number % 7 == 0:
                    server.end_sessions()
            assert numbers(memory) == list(range(30))
            memory.flush("alice")
            memory.delete("alice", next(iter(memory.messages("alice"))).message_id)
            assert numbers(other) == list(range(1, 30))
            assert memory.delete_user_data("alice").messages == 29
            assert other.users() == []
    finally:
        bouncer.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk(server: Server, folder: Path) -> None:
    small = folder / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m,mode=777", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this machine mounts nothing")
    try:
        hand_over(small)
        server.sql(f"CREATE TABLESPACE small LOCATION '{small}'")
        address = server.address(options="-c default_tablespace=small")
        with MemorySystem(address) as memory:
            added = 0

            def fill() -> None:
                nonlocal added
                while True:
                    text = f"Word {added}." + os.urandom(20_000).hex()
                    memory.add_messages("alice", [{"role": "user", "content": text}])
                    added += 1

            with pytest.raises(StoreIOError, match="room"):
                fill()
            assert added > 10
            assert len(memory.messages("alice")) == added
            # The later lines are written anew; without room for them nothing is changed.
            first = memory.messages("alice")[0].message_id
            with pytest.raises(StoreIOError, match="room"):
                memory.delete("alice", first)
            assert len(memory.messages("alice")) == added
            assert memory.messages("alice")[0].message_id == first
            memory.delete_user_data("alice")
            more = ["mount", "-o", "remount,size=64m", str(small)]
            subprocess.run(more, check=True)
            say(memory, 0)
            assert numbers(memory) == [0]
            assert memory.verify().errors == 0
    finally:
        server.stop("immediate")
        subprocess.run(["umount", str(small)], check=True)


def test_two_versions_of_the_package(server: Server) -> None:
    with MemorySystem(server.address()) as memory:
        say(memory, 0)
    server.sql("UPDATE episodica.meta SET version = version + 1")
    before = server.dump()
    for opened in (MemorySystem, LightweightSearchSystem):
        with pytest.raises(UnsupportedFormatError, match="update episodica"):
            opened(server.address())
    assert server.dump() == before


def test_a_server_that_may_lose_what_it_acknowledged_is_refused(server: Server) -> None:
    server.stop()
    server.start("fsync=off")
    with pytest.raises(ConfigError, match="fsync"):
        MemorySystem(server.address())


def test_a_role_without_rights_is_told_so(server: Server) -> None:
    server.sql("CREATE ROLE nobody LOGIN")
    server.sql("REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
    with pytest.raises(UnsupportedFormatError, match="no store"):
        MemorySystem(server.address(user="nobody"))
    with MemorySystem(server.address()) as memory:
        say(memory, 0)
    with pytest.raises(ReadOnlyStoreError):
        MemorySystem(server.address(user="nobody"))


def test_encrypted_connections(server: Server, folder: Path, tmp_path: Path) -> None:
    def certificate(name: str, where: Path) -> Path:
        where.mkdir()
        files = f"-keyout {where}/key.pem -out {where}/cert.pem"
        subject = (
            f"-subj /CN={name} -addext subjectAltName=DNS:{name} "
            "-addext basicConstraints=critical,CA:FALSE"
        )
        command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 {files} {subject}"
        subprocess.run(command.split(), check=True, capture_output=True)
        return where / "cert.pem"

    own = certificate("localhost", folder / "own")
    root = tmp_path / "root.pem"
    root.write_bytes(own.read_bytes())
    other = certificate("localhost", tmp_path / "other")
    hand_over(folder / "own", own, own.with_name("key.pem"))
    server.stop()
    server.start("ssl=on", f"ssl_cert_file={own}", f"ssl_key_file={own.with_name('key.pem')}")
    encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl"
    address = server.address().replace("127.0.0.1", "localhost")
    with MemorySystem(f"{address}?sslmode=verify-full&sslrootcert={root}") as memory:
        say(memory, 0)
        assert int(server.sql(encrypted)[0][0]) >= 1
    with MemorySystem(f"{address}?sslmode=require") as memory:
        assert numbers(memory) == [0]
    for wrong in (
        f"{address}?sslmode=verify-full&sslrootcert={other}",
        f"{server.address()}?sslmode=verify-full&sslrootcert={root}",
        f"{address}?sslmode=verify-full",
    ):
        with pytest.raises(StoreUnavailableError) as refused:
            MemorySystem(f"{wrong}&deadline_seconds=0.5")
        assert isinstance(refused.value, EpisodicaError)
    with pytest.raises(ConfigError, match="sslrootcert"):
        MemorySystem(f"{address}?sslmode=verify-full&sslrootcert={tmp_path}/none")
