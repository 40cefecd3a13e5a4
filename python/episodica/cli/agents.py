"""``episodica mcp``: serves a memory to agents, and enters it in the settings of their clients."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from ..aio import AsyncMemorySystem
from ..errors import InvalidInputError
from ..mcp.installing import CLIENTS, Change, entry_for, installation, removal
from .output import Output
from .parser import option
from .service import add_keys_file, keys_of, limits_of, needed
from .stores import settings_of, store_of

TRANSPORTS = ("stdio", "http")


def add_arguments(
    parser: argparse.ArgumentParser,
) -> tuple[argparse.ArgumentParser, argparse.Action]:
    """Adds the arguments; returns the parser of ``install``, and the argument that is a file."""
    option(
        parser,
        "--user U",
        "the user whose memory agents see (default $EPISODICA_MCP_USER, or over HTTP a key's)",
    )
    option(
        parser,
        "--transport",
        "stdio for the client that starts it, http for several clients (default stdio)",
        choices=TRANSPORTS,
        default="stdio",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="where to listen (default 127.0.0.1); beyond this machine only with keys",
    )
    option(parser, "--port N", "(default 8765)", default=8765)
    add_keys_file(parser)
    option(
        parser,
        "--max-tokens N",
        "maximum length of an answer, unless a call asks for another (default 1000)",
        default=1000,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=False)
    entering = actions.add_parser(
        "install",
        help="enter the server in the settings of a client",
        description="Enter the server in the settings of a client. Shows the change first.",
    )
    entering.set_defaults(command=install)
    entering.add_argument("client", choices=tuple(CLIENTS), help="the client")
    option(entering, "--user U", "the user whose memory the client sees", default=argparse.SUPPRESS)
    option(entering, "--project", "for the project in this directory only")
    entering.add_argument(
        "--name", default="episodica", help="the server's name there (default episodica)"
    )
    file = option(entering, "--file FILE", "the client's settings, if elsewhere")
    option(entering, "--undo", "restore the settings")
    option(entering, "--yes", "do not ask")
    return entering, file


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


def install(args: argparse.Namespace, out: Output) -> int:
    """Shows a change of a client's settings, and makes it if that is wanted."""
    client = CLIENTS[args.client]
    project = Path.cwd() if args.project else None
    file = Path(args.file) if args.file else client.file(project)
    if args.undo:
        change = removal(client, file, args.name)
    else:
        options = {}
        if args.tenant != "default":
            options["--tenant"] = args.tenant
        if args.timezone is not None:
            options["--timezone"] = args.timezone
        entry = entry_for(client, store_of(args), _user(args), options)
        change = installation(client, file, args.name, entry)
    written = not change.empty and _wanted(args, out, change)
    if written:
        change.write()
    _report(change, written, out)
    return 0 if written or change.empty else 1


def _wanted(args: argparse.Namespace, out: Output, change: Change) -> bool:
    if not out.as_json:
        out.line(change.diff())
    if args.yes:
        return True
    if not sys.stdin.isatty():
        return False
    out.ask(f"Write {change.file}? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _report(change: Change, written: bool, out: Output) -> None:
    if out.as_json:
        out.json({"file": str(change.file), "diff": change.diff(), "written": written})
    if change.empty:
        out.note(f"{change.file} is as it should be")
    elif written:
        out.note(f"{change.file} is {'removed' if change.after is None else 'written'}")
    else:
        out.note("nothing was written; `--yes` writes without asking")


def _named(args: argparse.Namespace) -> str | None:
    return args.user or os.environ.get("EPISODICA_MCP_USER") or None


def _user(args: argparse.Namespace) -> str:
    user = _named(args)
    if user is None:
        raise InvalidInputError(
            "whose memory?", hint="name the user with `--user`, or in EPISODICA_MCP_USER"
        )
    return user
