#!/usr/bin/env python3
"""Runs a command, or the tests of the store in PostgreSQL, with a server of its own.

The server lives in a temporary folder, listens on a free port of the loopback, and is gone at the
end. Debian's packages are installed where they are missing. Under root the servers run as the user
`postgres`, as they refuse root.

    tests/support/postgres.py                 the tests
    tests/support/postgres.py COMMAND…        a command with EPISODICA_TEST_POSTGRES set
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

ROOT = Path(__file__).parents[2]
PACKAGES = ("postgresql", "pgbouncer")
# The public API's own tests, which run on the database a second time.
API_TESTS = (
    "system search messages deleting events forgetting listings procedures profile sessions "
    "superseded tree values timezones agents async many_messages status quotation "
    "lifetime"
)
PATIENCE = 30.0


def binaries() -> Path | None:
    """Where the server's programs are: the newest version of Debian's packages."""
    found = Path("/usr/lib/postgresql").glob("*/bin")
    versions = [path for path in found if path.parent.name.isdigit()]
    return max(versions, key=lambda path: int(path.parent.name), default=None)


def install() -> None:
    """Installs what is missing with Debian's packages."""
    if binaries() and shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin"):
        return
    if shutil.which("apt-get") is None:
        sys.exit(f"please install {' and '.join(PACKAGES)}: there is no apt-get")
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    apt = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    apt += ["-o", "Acquire::Retries=3"]
    for step in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
        subprocess.run(
            [*apt, *step], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True
        )


def free_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def unprivileged() -> list[str]:
    """The words before a command that make it run without root's rights."""
    return ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


def hand_over(*paths: Path) -> None:
    """Makes the servers' user the owner of files, with access for this user only."""
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)
        if os.geteuid() == 0:
            import pwd  # Windows has none.

            user = pwd.getpwnam("postgres")
            os.chown(path, user.pw_uid, user.pw_gid)


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that the servers' user can reach, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="episodica-postgres-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """A new server in a folder, stopped at the end."""
    server = Server(folder).create()
    try:
        server.start()
        yield server
    finally:
        server.stop("immediate")


class Server:
    """A PostgreSQL server in a folder."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        bin_folder = binaries()
        if bin_folder is None:
            raise RuntimeError("PostgreSQL is not installed")
        self.bin = bin_folder
        self.folder = folder
        self.data = folder / "data"
        self.port = port or free_port()
        folder.mkdir(parents=True, exist_ok=True)
        hand_over(folder)

    def run(self, program: str, *arguments: str) -> str:
        """Runs one of the server's programs; returns its output."""
        done = subprocess.run(
            [*unprivileged(), str(self.bin / program), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout}{done.stderr}")
        return done.stdout

    def create(self) -> Server:
        """Makes the data directory of a new server."""
        form = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        self.run("initdb", "-D", str(self.data), *form)
        return self

    def copy_of(self, primary: Server) -> Server:
        """Makes the data directory of a standby."""
        where = ["-D", str(self.data), "-R", "-X", "stream", "-c", "fast"]
        self.run("pg_basebackup", *where, *primary.client)
        return self

    @property
    def client(self) -> list[str]:
        """The options that tell a client program where the server is."""
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]

    def start(self, *settings: str) -> None:
        """Starts the server, and waits until it answers."""
        given = (
            f"port={self.port}",
            f"unix_socket_directories={self.folder}",
            "listen_addresses=127.0.0.1",
            "max_connections=100",
            "shared_buffers=64MB",
            *settings,
        )
        options = " ".join(f"-c {setting}" for setting in given)
        end = time.monotonic() + PATIENCE
        while True:
            try:
                # The output goes to a file: the server would keep a pipe open.
                log = str(self.folder / "log")
                self.run("pg_ctl", "-D", str(self.data), "-w", "-l", log, "-o", options, "start")
            except RuntimeError:
                # After a kill, children of the dead server may still be ending.
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
            else:
                return

    def stop(self, how: str = "fast") -> None:
        """Stops the server if it runs."""
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", str(self.data), "-m", how, "-w", "stop")

    def kill(self) -> None:
        """Kills the server's first process; the others end by themselves."""
        pid = int((self.data / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)

    def promote(self) -> None:
        """Makes a standby the primary."""
        self.run("pg_ctl", "-D", str(self.data), "-w", "promote")

    def end_sessions(self) -> None:
        """Ends all sessions, as a pooler or a firewall does after a time."""
        self.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )

    def sql(self, text: str, database: str = "postgres") -> list[list[str]]:
        """Runs statements; returns the rows of the last statement."""
        form = ["-X", "-q", "-A", "-t", "-F", "\t"]
        said = self.run("psql", *self.client, "-d", database, *form, "-c", text)
        return [line.split("\t") for line in said.splitlines()]

    def dump(self) -> str:
        """All rows, as text."""
        rows = self.run("pg_dump", *self.client, "--data-only", "--inserts", "postgres")
        return "".join(line for line in rows.splitlines(True) if "restrict " not in line)

    def address(self, port: int | None = None, user: str = "postgres", **parameters: str) -> str:
        """The address of a store."""
        query = f"?{urlencode(parameters, quote_via=quote)}" if parameters else ""
        return f"postgresql://{user}@127.0.0.1:{port or self.port}/postgres{query}"


class Bouncer:
    """A PgBouncer in transaction mode before a server."""

    def __init__(self, server: Server) -> None:
        self.port = free_port()
        folder = server.folder
        (folder / "bouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres\n[pgbouncer]\n"
            f"listen_addr = 127.0.0.1\nlisten_port = {self.port}\nunix_socket_dir =\n"
            "auth_type = any\nauth_file =\npool_mode = transaction\ndefault_pool_size = 4\n"
            "admin_users = postgres\nmax_client_conn = 100\n"
            "server_login_retry = 1\n"
            f"logfile = {folder}/bouncer.log\n"
        )
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            raise RuntimeError("PgBouncer is not installed")
        self.process = subprocess.Popen(
            [*unprivileged(), program, str(folder / "bouncer.ini")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + PATIENCE
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if time.monotonic() > end:
                raise RuntimeError((folder / "bouncer.log").read_text())
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends it."""
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)


def main(command: list[str]) -> int:
    """Runs a command with a server; returns the exit status."""
    install()
    tests = [str(ROOT / f"tests/python/test_{name}.py") for name in API_TESTS.split()]
    pytest = [sys.executable, "-m", "pytest", "-q"]
    with reachable_folder() as folder, running(folder / "server") as server:
        environment = {**os.environ, "EPISODICA_TEST_POSTGRES": server.address()}
        if command:
            return subprocess.run(command, env=environment, check=False).returncode
        sequences = "cargo test --release --locked --workspace --test sequences -- --ignored"
        done = subprocess.run(sequences.split(), env=environment, cwd=ROOT, check=False)
        # Both wait for disks and processes most of the time.
        with subprocess.Popen(
            [*pytest, *tests],
            env={**environment, "EPISODICA_TEST_ON_POSTGRES": "1"},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as beside:
            own = [*pytest, "tests/python/postgres", "tests/torture/test_nodes.py"]
            broken = subprocess.run(own, env=environment, cwd=ROOT, check=False)
            said, _ = beside.communicate()
        print(said)
        return done.returncode or broken.returncode or beside.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
