"""What commands have in common: the store, the user and the filters that their arguments name."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError, StoreIOError
from ..hints import meant, near, shown
from ..place import is_address
from ..system import AnyMemory, LightweightSearchSystem, MemorySystem

# The most users that an error names.
_SHOWN_USERS = 5


def store_of(args: argparse.Namespace) -> str:
    """The store that the command works on."""
    return args.store or os.environ.get("EPISODICA_STORE") or "memories"


def settings_of(args: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command names; other settings come from the environment."""
    return {} if args.timezone is None else {"timezone": args.timezone}


@contextmanager
def opened(args: argparse.Namespace) -> Iterator[LightweightSearchSystem]:
    """Opens the store for reading; another process may write to it."""
    check_store(args)
    given: dict[str, Any] = settings_of(args)
    with LightweightSearchSystem(store_of(args), tenant=args.tenant, **given) as memory:
        yield memory


@contextmanager
def writing(args: argparse.Namespace, create: bool = False) -> Iterator[MemorySystem]:
    """Opens the store for writing; makes it only for commands that add something."""
    if not create:
        check_store(args)
    with MemorySystem(store_of(args), tenant=args.tenant, **settings_of(args)) as memory:
        yield memory


def check_store(args: argparse.Namespace) -> None:
    """Refuses a store that does not exist: its name is probably misspelled."""
    store = store_of(args)
    path = Path(store).expanduser()
    if not is_address(store) and not path.exists():
        raise StoreIOError(
            f"there is no store: `{path}`",
            hint="name another with `--store`, or make one with `episodica ingest`",
            path=str(path),
            errno=2,
        )


def fact_filters_of(args: argparse.Namespace) -> dict[str, Any]:
    """The filters of a search, including the filters on facts."""
    facts = {
        "fact_kinds": args.fact_kind,
        "min_importance": args.min_importance,
        "about": args.about,
    }
    return {**filters_of(args), **facts}


def filters_of(args: argparse.Namespace) -> dict[str, Any]:
    """The filters of a search or listing."""
    return {
        "since": args.since,
        "until": args.until,
        "session_id": args.session,
        "agent_id": args.agent,
        "where": where_of(args.where),
    }


def where_of(given: Sequence[str] | None) -> dict[str, Any] | None:
    """The filter of all ``--where``: each is ``KEY=VALUE`` (VALUE as JSON or text) or an object."""
    found: dict[str, Any] = {}
    for text in given or ():
        if text.lstrip().startswith("{"):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise InvalidInputError(f"where is not a JSON object: `{shown(text)}`") from error
            parts = value.items()
        else:
            key, mark, written = text.partition("=")
            if not mark or not key.strip():
                raise InvalidInputError(
                    f"where is not like KEY=VALUE: `{shown(text)}`",
                    hint="""write `--where channel=sms` or `--where '{"channel": "sms"}'`""",
                )
            parts = {key.strip(): _value(written)}.items()
        for key, value in parts:
            if key in found:
                raise InvalidInputError(f"where names a key twice: `{shown(key)}`")
            found[key] = value
    return found or None


def _value(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return written


def user_and_query(args: argparse.Namespace, memory: AnyMemory) -> tuple[str, str]:
    """The user and the query of ``USER QUERY…``.

    Without USER, the user is that of ``--user`` or the store's only one. With one user in the
    store, all words are the query, unless the first word names the user. A query in quotes after
    another word shows that the word was meant for a user.
    """
    words: list[str] = args.words
    if args.user is not None:
        return known(args.user, memory), text_of(words)
    users = memory.users()
    if len(words) == 1 and words[0] in users:
        raise InvalidInputError(
            f"which query? `{shown(words[0])}` is a user",
            hint=f"write the query after the user, or `--user {shown(words[0])}` before it",
        )
    # Chinese and Japanese write no spaces.
    is_quoted = any(" " in word or max(word) >= "\u3000" for word in words[1:] if word)
    if len(users) == 1 and len(words) > 1 and not is_quoted and not near(words[0], users):
        told = f"no user is called `{shown(words[0])}`: all words are the query, to `{users[0]}`"
        sys.stderr.write(told + "\n")
        return users[0], text_of(words)
    if len(words) == 1:
        return only_user(memory), text_of(words)
    return known(words[0], memory), text_of(words[1:])


def user_and_fact(args: argparse.Namespace, memory: AnyMemory) -> tuple[str, str]:
    """The user and the fact of ``[USER] FACT…``; a single word is a fact of the only user."""
    words: list[str] = args.words
    if args.user is not None:
        return args.user, text_of(words)
    if len(words) > 1:
        return words[0], text_of(words[1:])
    if words[0] in memory.users():
        raise InvalidInputError(f"which fact? `{shown(words[0])}` is a user")
    return only_user(memory), text_of(words)


def text_of(words: Sequence[str]) -> str:
    """The words as one text; a single ``-`` is standard input."""
    if list(words) != ["-"]:
        return " ".join(words)
    text = sys.stdin.read().strip()
    if not text:
        raise InvalidInputError("standard input is empty")
    return text


def user_of(args: argparse.Namespace, memory: AnyMemory) -> str:
    """The named user, or the store's only one."""
    return optional_user(args, memory) or only_user(memory)


def optional_user(args: argparse.Namespace, memory: AnyMemory) -> str | None:
    """The named user, or ``None`` for all users."""
    named = getattr(args, "user_id", None) or getattr(args, "user", None)
    return known(named, memory) if named else None


def known(user: str, memory: AnyMemory) -> str:
    """The user, if the store has them."""
    users = memory.users()
    if user not in users:
        hint = meant(user, users) or _users_hint(users)
        raise InvalidInputError(f"no such user: `{shown(user)}`", hint=hint)
    return user


def only_user(memory: AnyMemory) -> str:
    """The store's only user."""
    users = memory.users()
    if len(users) != 1:
        raise InvalidInputError("which user?", hint=_users_hint(users))
    return users[0]


def _users_hint(users: list[str]) -> str:
    more = ", …" if len(users) > _SHOWN_USERS else ""
    named = ", ".join(f"`{shown(user)}`" for user in users[:_SHOWN_USERS])
    return f"the store has {named}{more}" if users else "the store has no users yet"
