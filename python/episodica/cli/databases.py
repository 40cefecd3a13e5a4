"""Stores in a database: making and checking their tables, and copying stores to and from them."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _native
from ..config.endpoint import public_url
from ..errors import InvalidInputError, UnsupportedFormatError
from ..inputs import checks as check
from ..place import cache_directory, is_address
from ..progress import Reporter
from .output import Output, counted
from .stores import store_of


def add_arguments(store: argparse.ArgumentParser, copy: argparse.ArgumentParser) -> None:
    """Adds the arguments of both commands."""
    store.add_argument(
        "verb",
        choices=("init", "migrate", "check"),
        help="make the tables, bring them up to date, or look at server and tables",
    )
    copy.add_argument("source", metavar="SOURCE", help="a store: a directory, or an address")
    copy.add_argument("target", metavar="TARGET", help="where to: a directory, or an address")
    copy.add_argument("--user", metavar="U", help="only this user")


def store(args: argparse.Namespace, out: Output) -> int:
    """Works on the tables of a store in a database."""
    place = store_of(args)
    if not is_address(place):
        raise InvalidInputError(
            "this is about stores in a database",
            hint="name one: `episodica --store postgresql://host/database store check`",
        )
    found = _native.database_state(place)
    if args.verb != "check":
        if args.verb == "migrate" and not found["schema_version"]:
            raise UnsupportedFormatError(
                "the database has no store", hint="make one with `episodica store init`"
            )
        _native.database_migrate(place)
        found = _native.database_state(place)
    problems = _problems(found)
    out.tree({"store": public_url(place), **found, "problems": problems})
    return 1 if problems else 0


def _problems(found: dict[str, Any]) -> list[str]:
    problems = [
        f"{name} is off: what was acknowledged may be lost" for name in found["unsafe_settings"]
    ]
    if found["is_standby"]:
        problems.append("the server is a standby: it can be read, not written")
    version, newest = found["schema_version"], found["newest_schema_version"]
    if not version:
        problems.append("there are no tables: `episodica store init` makes them")
    elif version < newest:
        problems.append(f"the tables have version {version}: `episodica store migrate`")
    elif version > newest:
        problems.append(f"the tables have version {version}: update episodica")
    return problems


def copy(args: argparse.Namespace, out: Output) -> int:
    """Copies a store, all tenants, or one user of it; goes on where an earlier copy stopped."""
    source, target = check.store_place(args.source), check.store_place(args.target)
    owner = None if args.user is None else (args.tenant, check.user(args.user))
    with Reporter(True) as callback:
        users, lines, known, size = _native.copy_store(
            source, target, cache_directory(), owner, callback
        )
    if out.as_json:
        out.json({"users": users, "lines": lines, "known_lines": known, "bytes": size})
    else:
        out.note(
            f"{counted(users, 'user')}, {counted(lines, 'line')} copied ({size:,} bytes), "
            f"{known:,} were there; every line was compared"
        )
    return 0
