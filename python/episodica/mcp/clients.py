"""The clients that ``episodica mcp install`` knows: where their settings are, and their form."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import InvalidInputError


@dataclass(frozen=True)
class Client:
    """One client.

    Attributes
    ----------
    name : str
        Its name on the command line.
    title : str
        Its name for people.
    form : str
        ``"json"`` (comments and trailing commas are understood) or ``"toml"``.
    table : str
        The name of the object that holds the servers.
    fields : mapping
        What an entry has beside the command.
    user_file : callable
        The file with the user's own settings.
    project_file : str or None
        The file below a project's directory; ``None`` where there is none.
    """

    name: str
    title: str
    form: Literal["json", "toml"]
    table: str
    fields: Mapping[str, Any]
    user_file: Callable[[], Path]
    project_file: str | None

    def file(self, project: Path | None) -> Path:
        """The file with the settings, of the user or of a project.

        Raises
        ------
        InvalidInputError
            For a project, if the client has only settings of users.
        """
        if project is None:
            return self.user_file()
        if self.project_file is None:
            raise InvalidInputError(
                f"{self.title} has no settings of projects", hint="leave `--project` out"
            )
        return project / self.project_file


def _folder(variable: str, default: str) -> Path:
    named = os.environ.get(variable)
    return Path(named) if named else Path.home() / default


CLIENTS = {
    client.name: client
    for client in (
        Client(
            "claude-code",
            "Claude Code",
            "json",
            "mcpServers",
            {"type": "stdio"},
            lambda: _folder("CLAUDE_CONFIG_DIR", "") / ".claude.json",
            ".mcp.json",
        ),
        Client(
            "codex",
            "Codex",
            "toml",
            "mcp_servers",
            {},
            lambda: _folder("CODEX_HOME", ".codex") / "config.toml",
            None,
        ),
        Client(
            "cursor",
            "Cursor",
            "json",
            "mcpServers",
            {},
            lambda: Path.home() / ".cursor" / "mcp.json",
            ".cursor/mcp.json",
        ),
        Client(
            "vscode",
            "Visual Studio Code",
            "json",
            "servers",
            {"type": "stdio"},
            lambda: _folder("XDG_CONFIG_HOME", ".config") / "Code" / "User" / "mcp.json",
            ".vscode/mcp.json",
        ),
    )
}
