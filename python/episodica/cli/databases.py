"""Stores in a database: their tables, rights and nodes, and copying stores to and from them."""

from __future__ import annotations

import argparse
from typing import Any

from .. import _native
from ..config.endpoint import public_url
from ..errors import InvalidInputError, UnsupportedFormatError
from ..hints import first_of
from ..inputs import checks as check
from ..place import cache_directory, is_address
from ..progress import Reporter
from ..system import MemorySystem
from ..visible import visible
from .output import Output, counted
from .parser import option
from .stores import store_of

# The most users that a note names.
_NAMED = 12
# Copies of deleted texts that no command reaches. docs/guide/postgresql.md says what to do.
BEYOND_REACH = (
    "the write-ahead log that was archived or sent to a standby",
    "backups of the database, and snapshots of its disks",
    "caches of other machines, until they open the store again",
    "free blocks of the server's disk",
)


def add_store_arguments(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Adds the verbs of `episodica store`; returns their parsers."""
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    made = [
        verbs.add_parser(name, help=text, description=text)
        for name, text in (
            ("init", "create the tables"),
            ("migrate", "bring the tables up to the version of this package"),
            ("check", "look at the server and the tables"),
            ("grant", "let a role of the database read the tenant"),
            ("revoke", "end a role's right to read the tenant"),
            ("purge", "rewrite the tables without deleted rows"),
        )
    ]
    for verb in made[3:5]:
        verb.add_argument("role", metavar="ROLE", help="a role of the database")
    return made


def add_copy_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `episodica copy`."""
    place = "a directory, or a database's address"
    parser.add_argument("source", metavar="SOURCE", help=f"a store: {place}")
    parser.add_argument("target", metavar="TARGET", help=f"the copy: {place}")
    option(parser, "--user U", "only this user")
    option(parser, "--prune", "delete the users of the target that the source does not have")


def store(args: argparse.Namespace, out: Output) -> int:
    """Works on the tables of a store in a database."""
    place = _address(args)
    if args.verb in {"grant", "revoke"}:
        _native.database_grant(place, args.role, args.tenant, args.verb == "revoke")
        change = "may no longer read" if args.verb == "revoke" else "may read"
        out.note(f"{args.role} {change} the tenant {args.tenant}")
        return 0
    if args.verb == "purge":
        _purge(place, out)
        return 0
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


def _address(args: argparse.Namespace) -> str:
    place = store_of(args)
    if not is_address(place):
        raise InvalidInputError(
            "this is about stores in a database",
            hint="name one: `episodica --store postgresql://host/database store check`",
        )
    return place


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


def _purge(place: str, out: Output) -> None:
    tables, before, after, moved_on = _native.database_purge(place)
    proven = [f"{counted(len(tables), 'table')} written anew without what was deleted"]
    beyond = list(BEYOND_REACH)
    if moved_on:
        proven.append("the write-ahead log moved on, past what was deleted")
    else:
        beyond.insert(0, "the server's own write-ahead log: this role may not move it on")
    out.tree(
        {
            "store": public_url(place),
            "bytes_before": before,
            "bytes_after": after,
            "proven": proven,
            "beyond_reach": beyond,
        }
    )


def nodes(args: argparse.Namespace, out: Output) -> None:
    """Lists the processes that have the store open for writing."""
    found = _native.database_nodes(_address(args))
    out.listing(
        found,
        ("host", "process", "version", "opened", "heard of"),
        lambda node: (
            node["host"] or "?",
            node["pid"],
            node["version"],
            node["opened_at"],
            f"{node['silent_seconds']:.0f} s ago" + (" (silent)" if node["is_silent"] else ""),
        ),
    )


def copy(args: argparse.Namespace, out: Output) -> int:
    """Copies all tenants of a store, or one user; continues where an earlier copy stopped.

    1 if the target has users that the source does not have.
    """
    if args.prune and args.user is not None:
        raise InvalidInputError("--prune is about all users: it takes no --user")
    source, target = check.store_place(args.source), check.store_place(args.target)
    owner = None if args.user is None else (args.tenant, check.user(args.user))
    with Reporter(True) as callback:
        users, lines, known, size, others = _native.copy_store(
            source, target, cache_directory(), owner, callback
        )
    for tenant, user in others if args.prune else ():
        with MemorySystem(target, tenant=tenant) as memory:
            memory.delete_user_data(user)
    if out.as_json:
        only_there = [{"tenant": tenant, "user_id": user} for tenant, user in others]
        counts = {"users": users, "lines": lines, "known_lines": known, "bytes": size}
        out.json({**counts, "only_in_target": only_there, "pruned": args.prune})
    else:
        out.note(
            f"{counted(users, 'user')}, {counted(lines, 'line')} copied ({size:,} bytes), "
            f"{known:,} were there; every line was compared"
        )
        if others:
            named = first_of([visible(user) for _, user in others], _NAMED)
            remedy = (
                "They were deleted there"
                if args.prune
                else "If they were deleted in the source after an earlier copy, `--prune` deletes "
                "them in the target, too"
            )
            out.note(f"only in the target: {named}. {remedy}")
    return 1 if others and not args.prune else 0
