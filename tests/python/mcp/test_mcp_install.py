"""``episodica mcp install``: the entry with which a client starts the server."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from episodica.cli.agents import CLIENTS
from episodica.cli.arguments import CommandLine

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", ["episodica", 'my "memory"'])
def test_the_entry_starts_the_server(cli: Cli, tmp_path: Path, client: str, name: str) -> None:
    place = tmp_path / 'a store "ü"'
    done = cli("mcp", "install", client, "--name", name, "--user=-x", "--store", place)
    assert done.returncode == 0, done.stderr
    assert CLIENTS[client].file in done.stderr
    read = tomllib.loads if client == "codex" else json.loads
    [(table, servers)] = read(done.stdout).items()
    assert table == CLIENTS[client].table
    entry = servers[name]
    assert entry["command"] == sys.executable
    assert entry["args"][:2] == ["-m", "episodica"]
    started = CommandLine().parser.parse_args(entry["args"][2:])
    assert (started.user, started.store) == ("-x", str(place))


def test_tenant_and_zone_are_in_the_entry_and_a_path_is_absolute(cli: Cli) -> None:
    where = ("--store", "here", "--tenant", "acme", "--timezone", "Europe/Paris")
    done = cli("mcp", "install", "codex", "--user", "ann", *where, "--json")
    args = json.loads(done.stdout)["mcp_servers"]["episodica"]["args"]
    started = CommandLine().parser.parse_args(args[2:])
    assert (started.tenant, started.timezone) == ("acme", "Europe/Paris")
    assert Path(started.store).is_absolute()


def test_no_user_and_a_wrong_client(cli: Cli) -> None:
    done = cli("mcp", "install", "cursor")
    assert done.returncode == 1
    assert "whose memory?" in done.stderr
    wrong = cli("mcp", "install", "curser", "--user", "ann")
    assert wrong.returncode == 2
    assert "did you mean `cursor`?" in wrong.stderr
