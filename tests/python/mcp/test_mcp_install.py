"""``episodica mcp install``: what it writes into settings, and what it leaves alone."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError
from episodica.cli.arguments import CommandLine
from episodica.mcp.installing import CLIENTS, changed, entry_for, servers_of

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

CLAUDE = """{
  "numStartups": 412,
  "oauthAccount": {"emailAddress": "ann@example.org", "accountUuid": "0-1"},
  "projects": {
    "/home/ann/work": {"allowedTools": [], "mcpServers": {"episodica": {"command": "other"}}}
  },
  "mcpServers": {
    "github": {
      "type": "http",
      "url": "https://example.org/mcp//x",
      "headers": {"Authorization": "Bearer abc, /* no comment */ // neither"}
    }
  },
  "theme": "dark — ünï"
}
"""
CODEX = """# my settings
model = "gpt-5"  # the good one
notify = [
  "a",
]

[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]

[mcp_servers.docs.env]
KEY = "secret"

# profiles
[profiles.fast]
model = "small"
"""
VSCODE = """// Servers for everybody
{
\t"inputs": [
\t\t{ "type": "promptString", "id": "key", "description": "Key, please", "password": true, },
\t],
\t"servers": {
\t\t/* the browser */
\t\t"playwright": {
\t\t\t"command": "npx",
\t\t\t"args": ["@playwright/mcp@latest"], // newest
\t\t}, // last one
\t\t// "off": {},
\t},
}
"""
SETTINGS = {
    "claude-code": (".claude.json", CLAUDE),
    "codex": (".codex/config.toml", CODEX),
    "cursor": (".cursor/mcp.json", '{"mcpServers":{"a":{"command":"x"}}}'),
    "vscode": (".config/Code/User/mcp.json", VSCODE),
}


def written(tmp_path: Path, client: str) -> tuple[Path, str]:
    name, text = SETTINGS[client]
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")
    return file, text


def entry_in(file: Path, client: str, name: str = "episodica") -> Any:
    return servers_of(CLIENTS[client], file, file.read_text(encoding="utf-8")).get(name)


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_installed_and_undone_to_the_byte(cli: Cli, tmp_path: Path, client: str) -> None:
    file, text = written(tmp_path, client)
    file.chmod(0o640)
    shown = cli("mcp", "install", client, "--user", "ann", "--store", "memories")
    assert shown.returncode == 1
    assert "+" in shown.stdout
    assert "nothing was written" in shown.stderr
    assert file.read_text(encoding="utf-8") == text
    done = cli("mcp", "install", client, "--user", "ann", "--store", "memories", "--yes")
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown.stdout
    entry = entry_in(file, client)
    assert entry["command"] == sys.executable
    store = str(tmp_path / "memories")
    assert entry["args"] == ["-m", "episodica", "mcp", "--store", store, "--user", "ann"]
    assert entry.get("type") == ("stdio" if client in ("claude-code", "vscode") else None)
    kept = [line for line in text.splitlines() if line.strip() not in ("{", "}", "")]
    if client != "cursor":
        after = file.read_text(encoding="utf-8")
        assert [line for line in kept if line.rstrip(",}") not in after] == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    again = cli("mcp", "install", client, "--user", "ann", "--store", "memories", "--yes")
    assert (again.returncode, again.stdout.strip()) == (0, "")
    undone = cli("mcp", "install", client, "--undo", "--yes")
    assert undone.returncode == 0, undone.stderr
    assert file.read_text(encoding="utf-8") == text
    assert [one.name for one in file.parent.iterdir() if "episodica" in one.name] == []
    twice = cli("mcp", "install", client, "--undo", "--yes")
    assert twice.returncode == 1
    assert "is not in the settings" in twice.stderr


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_a_client_without_settings(cli: Cli, tmp_path: Path, client: str) -> None:
    done = cli("mcp", "install", client, "--user", "ann", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    file = Path(told["file"])
    assert file == tmp_path / SETTINGS[client][0]
    assert told["written"] is True
    assert entry_in(file, client)["command"] == sys.executable
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cli("mcp", "install", client, "--undo", "--yes").returncode == 0
    assert not file.exists()


def without_space(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_undoing_keeps_what_was_changed_since(cli: Cli, tmp_path: Path, client: str) -> None:
    file, _ = written(tmp_path, client)
    known = CLIENTS[client]
    assert cli("mcp", "install", client, "--user", "ann", "--yes").returncode == 0
    text = file.read_text(encoding="utf-8")
    later = changed(known, file, text, "later", {"command": "y", "args": []})
    file.write_text(later, encoding="utf-8", newline="")
    assert cli("mcp", "install", client, "--undo", "--yes").returncode == 0
    assert entry_in(file, client) is None
    assert entry_in(file, client, "later") == {"command": "y", "args": []}
    original = SETTINGS[client][1]
    expected = changed(known, file, original, "later", {"command": "y", "args": []})
    assert without_space(file.read_text(encoding="utf-8")) == without_space(expected)


def test_undoing_puts_an_earlier_entry_back(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    text = '{\n  "mcpServers": {\n    "episodica": {"command": "mine"}\n  }\n}\n'
    file.write_text(text, encoding="utf-8")
    for user in ("ann", "bob"):
        assert cli("mcp", "install", "cursor", "--user", user, "--yes").returncode == 0
        assert entry_in(file, "cursor")["args"][-1] == user
    assert cli("mcp", "install", "cursor", "--undo", "--yes").returncode == 0
    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("cursor", b'{"mcpServers": {'),
        ("cursor", b"[]"),
        ("cursor", b'{"mcpServers": []}'),
        ("cursor", b'{"mcpServers": {"episodica": "x"}, "mcpServers": 5}'),
        ("cursor", b"\xff\xfe{}"),
        ("cursor", b"[" * 100_000),
        ("cursor", b'{"a": "/* open'),
        ("cursor", b"NaN NaN"),
        ("vscode", b"// only a comment"),
        ("claude-code", b'{"a": 1,, "b": 2}'),
        ("codex", b"mcp_servers = 5\n"),
        ("codex", b"[mcp_servers.docs\n"),
    ],
)
def test_settings_that_cannot_be_changed_stay(
    cli: Cli, tmp_path: Path, client: str, content: bytes
) -> None:
    file = tmp_path / SETTINGS[client][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    done = cli("mcp", "install", client, "--user", "ann", "--yes")
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert "Traceback" not in done.stderr
    assert file.read_bytes() == content
    assert [one.name for one in file.parent.iterdir() if one.name.startswith(file.name)] == [
        file.name
    ]


def test_links_and_projects(cli: Cli, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}", encoding="utf-8")
    (tmp_path / ".cursor").mkdir()
    link = tmp_path / ".cursor" / "mcp.json"
    link.symlink_to(real)
    assert cli("mcp", "install", "cursor", "--user", "ann", "--yes").returncode == 0
    assert link.is_symlink()
    assert entry_in(real, "cursor")["args"][-1] == "ann"
    for client, name in (("claude-code", ".mcp.json"), ("vscode", ".vscode/mcp.json")):
        done = cli("mcp", "install", client, "--project", "--user", "ann", "--yes")
        assert done.returncode == 0, done.stderr
        assert entry_in(tmp_path / name, client)["args"][-1] == "ann"
    refused = cli("mcp", "install", "codex", "--project", "--user", "ann", "--yes")
    assert refused.returncode == 1
    assert "Codex has no settings of projects" in refused.stderr


def test_no_user_and_a_wrong_client(cli: Cli) -> None:
    done = cli("mcp", "install", "cursor", "--yes")
    assert done.returncode == 1
    assert "whose memory?" in done.stderr
    wrong = cli("mcp", "install", "curser", "--user", "ann")
    assert wrong.returncode == 2
    assert "did you mean `cursor`?" in wrong.stderr


def test_a_file_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / ".cursor" / "mcp.json"
    folder.mkdir(parents=True)
    done = cli("mcp", "install", "cursor", "--user", "ann", "--yes")
    assert done.returncode == 1
    assert "this is not a file" in done.stderr
    if os.getuid() != 0:
        folder.rmdir()
        folder.parent.chmod(0o500)
        done = cli("mcp", "install", "cursor", "--user", "ann", "--yes")
        assert "can't write the settings" in done.stderr


ENTRY = {"command": "/usr/bin/python", "args": ["-m", 'a"b\\c', "é"]}
JSON_TEXTS = [
    "",
    "  \n",
    "{}",
    "{\n}\n",
    '{"mcpServers": {}}',
    '{"mcpServers": {\n  }\n}',
    '{"a": 1}',
    '{"a": 1,}',
    '{ // c\n  "a": [1, 2, /* x */ ], // d\n}',
    '{\r\n\t"mcpServers": {\r\n\t\t"b": {}\r\n\t}\r\n}\r\n',
    '{"mcpServers": {"b": {}, "episodica": {"x": "}, //"}, "c": {}}}',
    '{"mcpServers": {"episodica": {}}}',
    '{"mcpServers": {"a": {}, "episodica": {},}}',
    '{"mcpServers": {"a": {} /* , */, // ,\n "b": {} // ,\n}}',
    '{"mcp\\u0053ervers": {"a": {}}}',
]


@pytest.mark.parametrize("text", JSON_TEXTS)
def test_json_says_what_it_should(text: str) -> None:
    client, file = CLIENTS["cursor"], Path("mcp.json")
    with_entry = changed(client, file, text, "episodica", ENTRY)
    assert servers_of(client, file, with_entry)["episodica"] == ENTRY
    comments = [part for part in ("// c", "// d", "/* x */", "/* , */", "// ,\n") if part in text]
    assert all(part in with_entry for part in comments)
    without = servers_of(client, file, changed(client, file, with_entry, "episodica", None))
    before = servers_of(client, file, text)
    before.pop("episodica", None)
    assert without == before
    if "//" not in text and ",}" not in text and "/*" not in text:
        json.loads(with_entry)


TOML_TEXTS = [
    *(CODEX, "", "a = 1", 'x = """\n[a]\n"""\n', "[a]\nb = [\n1,\n]\n"),
    *('mcp_servers = {docs = {command = "x"}}\n', 'a = """\n[mcp_servers.episodica]\n"""\n'),
]


@pytest.mark.parametrize("text", TOML_TEXTS)
@pytest.mark.parametrize("name", ["episodica", "my memory", "a.b"])
def test_toml_says_what_it_should(text: str, name: str) -> None:
    client, file = CLIENTS["codex"], Path("config.toml")
    with_entry = changed(client, file, text, name, ENTRY)
    assert tomllib.loads(with_entry)["mcp_servers"][name] == ENTRY
    other = changed(client, file, with_entry, name, {"command": "b"})
    assert tomllib.loads(other)["mcp_servers"][name] == {"command": "b"}
    without = changed(client, file, other, name, None)
    assert without_space(without).removesuffix("mcp_servers={}") == without_space(text)


def test_a_change_under_way_is_not_overwritten(tmp_path: Path) -> None:
    from episodica.mcp.installing import installation

    file = tmp_path / "mcp.json"
    file.write_text("{}", encoding="utf-8")
    change = installation(CLIENTS["cursor"], file, "episodica", ENTRY)
    file.write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(InvalidInputError, match="changed meanwhile"):
        change.write()
    assert file.read_text(encoding="utf-8") == '{"a": 1}'


def test_a_user_with_a_dash_in_front_is_no_option(tmp_path: Path) -> None:
    entry = entry_for(CLIENTS["cursor"], str(tmp_path / "store"), "-x", {"--tenant": "--t"})
    args = entry["args"][2:]
    read = CommandLine().parser.parse_args(args)
    assert (read.user, read.tenant) == ("-x", "--t")
