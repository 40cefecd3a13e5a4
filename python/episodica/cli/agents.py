"""``episodica mcp``: serves a memory to agents, and prints what their clients need to start it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any, NamedTuple

from ..aio import AsyncMemorySystem
from ..errors import InvalidInputError
from ..visible import visible_json
from .output import Output
from .parser import option
from .service import add_keys_file, keys_of, limits_of, needed
from .stores import settings_of, store_of

TRANSPORTS = ("stdio", "http")


class Client(NamedTuple):
    """Where a client keeps its settings, and in which table its servers are."""

    file: str
    project_file: str
    table: str


CLIENTS = {
    "claude-code": Client("~/.claude.json", ".mcp.json", "mcpServers"),
    "codex": Client("~/.codex/config.toml", "", "mcp_servers"),
    "cursor": Client("~/.cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": Client("~/.config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
}


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds the arguments; returns the parser of ``install``."""
    user = "the user whose memory agents see (default $EPISODICA_MCP_USER, or over HTTP a key's)"
    option(parser, "--user U", user)
    transport = "stdio for the client that starts it, http for several clients"
    option(parser, "--transport", transport, choices=TRANSPORTS, default="stdio")
    host = "where to listen (default 127.0.0.1); beyond this machine only with keys"
    parser.add_argument("--host", default="127.0.0.1", help=host)
    option(parser, "--port N", "", default=8765)
    add_keys_file(parser)
    length = "maximum length of an answer, unless a call asks for another"
    option(parser, "--max-tokens N", length, default=1000)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=False)
    entering = actions.add_parser(
        "install",
        help="print the entry for the settings of a client",
        description="Print the entry with which a client starts the server, and its file.",
    )
    entering.set_defaults(command=install)
    entering.add_argument("client", choices=tuple(CLIENTS), help="the client")
    option(entering, "--user U", "the user whose memory the client sees", default=argparse.SUPPRESS)
    name = "the server's name there (default episodica)"
    entering.add_argument("--name", default="episodica", help=name)
    return entering


def serve(args: argparse.Namespace, out: Output) -> None:
    """Serves one user's memory by the Model Context Protocol."""
    keys = keys_of(args)
    user = _named(args) if args.transport == "http" and keys else _user(args)
    serving = needed("mcp.serving", "mcp")

    def memory() -> AsyncMemorySystem:
        return AsyncMemorySystem(store_of(args), tenant=args.tenant, **settings_of(args))

    if args.transport == "stdio":
        serving.serve_stdio(memory, user, args.max_tokens, keys.audit)
    else:
        serving.serve_http(
            memory,
            user,
            args.max_tokens,
            host=args.host,
            port=args.port,
            keys=keys,
            settings=limits_of(args),
            announce=lambda address: out.note(
                f"serving {user or 'the users of the keys'} on {address}"
            ),
        )


def install(args: argparse.Namespace, out: Output) -> None:
    """Prints the entry with which a client starts the server."""
    client = CLIENTS[args.client]
    options = {"--store": _absolute(store_of(args)), "--user": _user(args)}
    if args.tenant != "default":
        options["--tenant"] = args.tenant
    if args.timezone is not None:
        options["--timezone"] = args.timezone
    entry = _entry(options)
    if client.file.endswith(".toml") and not out.as_json:
        # A text or a list of texts is the same in TOML as in JSON.
        out.line(f"[{client.table}.{json.dumps(args.name)}]")
        for name, value in entry.items():
            out.line(f"{name} = {visible_json(json.dumps(value, ensure_ascii=False))}")
    else:
        out.json({client.table: {args.name: {"type": "stdio", **entry}}})
    project = f", or {client.project_file} in a project" if client.project_file else ""
    out.note(f"add this to {client.file}{project}")


def _entry(options: dict[str, str]) -> dict[str, Any]:
    args = ["-m", "episodica", "mcp"]
    for name, value in options.items():
        # A value with a dash in front would pass for an option.
        args += [f"{name}={value}"] if value.startswith("-") else [name, value]
    return {"command": sys.executable, "args": args}


def _absolute(store: str) -> str:
    return store if "://" in store else str(Path(store).expanduser().absolute())


def _named(args: argparse.Namespace) -> str | None:
    return args.user or os.environ.get("EPISODICA_MCP_USER") or None


def _user(args: argparse.Namespace) -> str:
    user = _named(args)
    if user is None:
        raise InvalidInputError(
            "whose memory?", hint="name the user with `--user`, or in EPISODICA_MCP_USER"
        )
    return user
