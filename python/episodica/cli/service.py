"""The commands of the HTTP service: running it, and its keys."""

from __future__ import annotations

import argparse
import importlib
import sys
import threading
import webbrowser
from typing import Any

from ..errors import MissingExtraError
from ..server.keys import SCOPES, KeyRing
from ..server.settings import ServerSettings
from .output import Output
from .parser import option
from .stores import check_store, store_of

# The user of a key for all users.
_ALL = "*"


_SETTINGS = ("host", "port", "uds", "workers", "read_only", "keys", "config", "timezone")


def settings_of(args: argparse.Namespace, names: tuple[str, ...] = _SETTINGS) -> ServerSettings:
    """The service's settings; arguments win over environment and file."""
    given = {name: getattr(args, name, None) for name in names}
    store = store_of(args)
    return ServerSettings.load(
        {**given, "store": None if store == "memories" else store, "tenant": _tenant(args)}
    )


def _tenant(args: argparse.Namespace) -> str | None:
    return None if args.tenant == "default" else args.tenant


def limits_of(args: argparse.Namespace) -> ServerSettings:
    """The service's settings but for the arguments that only `serve` has."""
    return settings_of(args, ("keys", "config"))


def keys_of(args: argparse.Namespace) -> KeyRing:
    """The keys of the store."""
    settings = limits_of(args)
    return KeyRing(settings.keys_path, settings.needs_keys_for_audit)


def serve(args: argparse.Namespace, _: Output) -> int:
    """Serves the store over HTTP until it is stopped."""
    settings = settings_of(args)
    status: int = needed("server.run", "server").serve(settings)
    return status


def explore(args: argparse.Namespace, out: Output) -> int:
    """Serves the explorer of the store on this machine and opens a browser."""
    check_store(args)
    settings = ServerSettings.load(
        {
            "store": store_of(args),
            "tenant": args.tenant,
            "config": args.config,
            "host": "127.0.0.1",
            "port": args.port,
            "uds": "",
            "workers": 1,
            "rate_per_minute": 0,
            "metrics": False,
        }
    )

    def announce(address: str) -> None:
        if not out.printed_json({"address": address}):
            out.line(address)
            out.note("the address works once, within ten minutes; Ctrl-C ends the explorer")
        sys.stdout.flush()
        if args.browser:
            # In a thread: some browsers return only when they are closed.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    status: int = needed("server.run", "server").explore(settings, announce)
    return status


def needed(module: str, extra: str) -> Any:
    """A module of the package whose own imports come with an extra."""
    try:
        return importlib.import_module(f"episodica.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "episodica":
            raise
        raise MissingExtraError(
            f"the service needs the package `{error.name}`",
            hint=f"pip install 'episodica[{extra}]'",
        ) from error


def create_key(args: argparse.Namespace, out: Output) -> None:
    """Makes a key and prints it: it can't be shown again."""
    ring = keys_of(args)
    text, key = ring.create(
        tenant=args.tenant,
        user=args.user,
        scopes=args.scopes.split(","),
        name=args.name,
        rate_per_minute=args.rate,
        expires=args.expires,
    )
    if not out.printed_json({"key": text, **key.shown()}):
        out.line(text)
        who = "all users" if key.user == _ALL else f"user {key.user}"
        out.note(
            f"key {key.id}: {who} of tenant {key.tenant}, {', '.join(key.scopes)}; "
            f"{f'until {key.expires_at}; ' if key.expires_at else ''}"
            "it is not shown again"
        )


def list_keys(args: argparse.Namespace, out: Output) -> None:
    """Lists the keys without their secrets."""
    ring = keys_of(args)
    keys = [{**key.shown(), "last_used_at": ring.last_used_at(key.id)} for key in ring.all()]
    times = ("created_at", "revoked_at", "expires_at", "last_used_at")
    out.listing(
        keys,
        ("key", "name", "tenant", "user", "scopes", "created", "revoked", "ends", "last use"),
        lambda key: (
            *(key[name] or "-" for name in ("id", "name", "tenant", "user")),
            ",".join(key["scopes"]),
            *(key[name] or "-" for name in times),
        ),
    )


def revoke_key(args: argparse.Namespace, out: Output) -> None:
    """Ends a key at once."""
    key = keys_of(args).revoke(args.id)
    out.note(f"key {key.id} is revoked")


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``serve``."""
    option(parser, "--host H", "address (default 127.0.0.1)")
    option(parser, "--port N", "port (default 8077)")
    option(parser, "--uds PATH", "a Unix socket instead of a port")
    option(parser, "--workers N", "processes (default 1)")
    option(parser, "--read-only", "write nothing: for a store on a read-only disk", default=None)
    option(parser, "--config FILE", "settings (TOML), the service's under `[server]`")
    add_keys_file(parser)


def add_ui_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``ui``."""
    option(parser, "--port N", "port (default: a free one)", default=0)
    option(parser, "--no-browser", "only print the address", dest="browser", action="store_false")
    option(parser, "--config FILE", "settings (TOML)")


def add_keys_file(parser: argparse.ArgumentParser) -> None:
    """The argument that names the file of keys."""
    option(parser, "--keys FILE", "the keys (default: STORE.keys.json, next to the store)")


def add_keys_arguments(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """The arguments of ``keys create``, ``keys list`` and ``keys revoke``; their parsers."""
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    create = verbs.add_parser("create", help="make a key and print it")
    option(create, "--user U", "only this user (default: all)", default=_ALL)
    scopes = f"with commas: {', '.join(SCOPES)}"
    option(create, "--scopes LIST", scopes, default="read,write")
    option(create, "--name TEXT", "a note for people", default="")
    option(create, "--rate N", "requests per minute")
    option(create, "--expires WHEN", "when it ends: `90d`, `12h`, or a date (default: none)")
    create.set_defaults(command=create_key)
    listing = verbs.add_parser("list", help="list the keys without their secrets")
    listing.set_defaults(command=list_keys)
    revoke = verbs.add_parser("revoke", help="end a key at once")
    revoke.add_argument("id", metavar="KEY", help="the key's id, as `list` shows it")
    revoke.set_defaults(command=revoke_key)
    for verb in (create, listing, revoke):
        add_keys_file(verb)
    return [create, listing, revoke]
