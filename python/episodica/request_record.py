"""The record of repeatable requests: which were acknowledged, and which records they stored.

One SQLite file in the store's directory, so that all processes of a service see it, also after a
restart. It has hashes, ids and counts, no texts. Deleting a user deletes the user's rows.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import StoreIOError

if TYPE_CHECKING:
    from sqlite3 import Connection

FILE = "requests.sqlite"
# Seconds to wait for another process that writes.
_PATIENCE = 30.0
_CREATING = threading.Lock()
_TABLE = """
CREATE TABLE IF NOT EXISTS requests (
    user BLOB NOT NULL, request BLOB NOT NULL, body BLOB NOT NULL, outcome TEXT,
    PRIMARY KEY (user, request)
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """The state of a request: the hash of its body, and its outcome once it is stored."""

    body: bytes
    outcome: dict[str, Any] | None


class RequestRecord:
    """The requests of all users of a store."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def claim(self, user: bytes, request: bytes, body: bytes) -> Claim:
        """Notes a request before it is worked on; returns the first note of it."""
        with self._open() as database, database:
            row = (user, request, body)
            database.execute("INSERT OR IGNORE INTO requests VALUES (?, ?, ?, NULL)", row)
            found = database.execute(
                "SELECT body, outcome FROM requests WHERE user = ? AND request = ?", row[:2]
            ).fetchone()
        return Claim(found[0], None if found[1] is None else json.loads(found[1]))

    def finish(self, user: bytes, request: bytes, body: bytes, outcome: dict[str, Any]) -> None:
        """Notes what a request stored. If it ran twice at the same time, the first note counts."""
        with self._open() as database, database:
            database.execute(
                "INSERT INTO requests VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
                "SET outcome = coalesce(outcome, excluded.outcome)",
                (user, request, body, json.dumps(outcome)),
            )

    def forget(self, user: bytes) -> None:
        """Removes the requests of a user."""
        if self._path.exists():
            with self._open() as database, database:
                database.execute("DELETE FROM requests WHERE user = ?", (user,))

    def _create(self) -> None:
        """Makes the file, if it is missing, with a mode that SQLite gives its journal, too.

        An existing file is not opened: closing any descriptor of it would drop the locks that
        SQLite holds on it in other threads of this process.
        """
        with _CREATING, suppress(FileExistsError):
            if not self._path.exists():
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))

    @contextmanager
    def _open(self) -> Iterator[Connection]:
        import sqlite3

        try:
            self._create()
            with closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as database:
                database.execute("PRAGMA secure_delete = ON")
                database.execute("PRAGMA synchronous = FULL")
                database.execute(_TABLE)
                yield database
        except (OSError, sqlite3.Error) as error:
            raise StoreIOError(
                f"cannot use the record of requests in `{self._path}`",
                path=str(self._path),
                errno=getattr(error, "errno", None),
            ) from error


def user_hash(tenant: str, user: str) -> bytes:
    """How the record names a user."""
    return digest(tenant, user)[:16]


def digest(*parts: str) -> bytes:
    """A hash of a list of texts. The lists ``ab, c`` and ``a, bc`` have different hashes."""
    import hashlib

    text = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
