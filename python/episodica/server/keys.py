"""Keys of the service: made, listed, revoked, checked.

A key is ``epi_ID_SECRET``. The file holds the SHA-256 of the secret, which has 256 random bits, so
a slow hash would add nothing. The file is read again when it changes, so that a revoked key ends
at once in every worker. Knows nothing of HTTP.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from ..errors import ConfigError, EpisodicaError, InvalidInputError, StoreIOError
from ..hints import nearest_hint, shown
from ..inputs import checks
from ..regular import read_regular
from .audit import Audit

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SCOPES = ("read", "write", "erase", "admin")
_PREFIX = "epi"
_EVERYBODY = "*"
_SPAN = re.compile(r"([0-9]{1,6})([dh])")
_UNITS = {"d": "days", "h": "hours"}
# Seconds between two notes of the use of a key.
_NOTED_SECONDS = 60.0
# The size of some 50,000 keys.
_LARGEST_FILE = 16 << 20


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its secret: ``id`` is its public half, ``hash`` the SHA-256 of the secret."""

    id: str
    hash: str
    tenant: str
    user: str  # or "*"
    scopes: tuple[str, ...]
    name: str = ""
    rate_per_minute: int | None = None  # None: the limit of the service
    created_at: str = ""
    revoked_at: str | None = None
    expires_at: str | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the key is neither revoked nor past its end."""
        return self.revoked_at is None and (self.expires_at is None or _now() < self.expires_at)

    def opens(self, user: str) -> bool:
        """Whether the key opens this user's data."""
        return self.user in (_EVERYBODY, user)

    def shown(self) -> dict[str, Any]:
        """The key for people, without the hash."""
        return {name: value for name, value in asdict(self).items() if name != "hash"}


class KeyRing:
    """The keys in a file."""

    def __init__(self, path: Path, needs_keys_for_audit: bool = False) -> None:
        self.path = path
        self.audit = Audit(path, needs_keys_for_audit)
        # When the use of each key was noted last.
        self._noted: dict[str, float] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}
        # A file that lost its keys must not open the service to all callers.
        self._is_needed = False
        # Why the file of this stamp has no keys.
        self._failure: EpisodicaError | None = None

    def all(self) -> list[Key]:
        """Every key, oldest first, revoked ones too."""
        self._refresh()
        return list(self._keys.values())

    def __bool__(self) -> bool:
        """Whether there are keys, or were since the start, so that requests need one."""
        self._refresh()
        self._is_needed |= bool(self._keys)
        return self._is_needed

    @property
    def is_readable(self) -> bool:
        """Whether the file of keys, if there is one, has keys."""
        try:
            self._refresh()
        except EpisodicaError:
            return False
        return True

    def version(self) -> object:
        """A value that changes whenever a key is made, is revoked or ends."""
        self._refresh()
        return self._stamp, sum(key.is_valid for key in self._keys.values())

    def holds(self, id: str) -> bool:
        """Whether the key with this id is valid now."""
        self._refresh()
        key = self._keys.get(id)
        return key is not None and key.is_valid

    def last_used_at(self, id: str) -> str | None:
        """When a key was used last, to a minute; ``None``: never."""
        try:
            seconds = (self._uses / id).stat().st_mtime
        except OSError:
            return None
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

    @property
    def _uses(self) -> Path:
        """A folder with one file per used key; the file's time is the time of the last use."""
        return self.path.with_name(f"{self.path.name}.used")

    def _note_use(self, id: str) -> None:
        now = time.monotonic()
        if now - self._noted.get(id, -_NOTED_SECONDS) < _NOTED_SECONDS:
            return
        self._noted[id] = now
        # Keys work even if the directory can't be written to.
        with suppress(OSError):
            self._uses.mkdir(mode=0o700, exist_ok=True)
            (self._uses / id).touch(mode=0o600)

    def find(self, text: str) -> Key | None:
        """The key with this text, unless it is unknown, revoked or past its end."""
        self._refresh()
        prefix, _, rest = text.partition("_")
        key_id, _, secret = rest.partition("_")
        key = self._keys.get(key_id)
        given = _hash(secret)
        # Compared even for an unknown id, so that the time does not tell which ids exist.
        same = hmac.compare_digest(given, key.hash if key else _hash("unknown"))
        if key is None or not same or prefix != _PREFIX or not key.is_valid:
            return None
        self._note_use(key.id)
        return key

    def create(
        self,
        *,
        tenant: str = "default",
        user: str = _EVERYBODY,
        scopes: Iterable[str] = ("read", "write"),
        name: str = "",
        rate_per_minute: int | None = None,
        expires: str | None = None,
    ) -> tuple[str, Key]:
        """Makes a key; returns its text, which can't be shown again, and the key.

        ``expires`` is a number of days or hours (``90d``, ``12h``) or a date.
        """
        for what, value in (("tenant", tenant), ("user", user)):
            if not checks.text(value, what):
                raise InvalidInputError(f"the {what} of a key is empty")
        wanted = tuple(dict.fromkeys(scopes))
        for scope in wanted:
            if scope not in SCOPES:
                raise InvalidInputError(
                    f"unknown scope: `{shown(scope)}`",
                    hint=nearest_hint(scope, SCOPES) or f"scopes are {', '.join(SCOPES)}",
                )
        if not wanted:
            raise InvalidInputError("a key needs a scope", hint=f"of {', '.join(SCOPES)}")
        if "admin" in wanted and user != _EVERYBODY:
            raise InvalidInputError("the scope `admin` is for keys of all users")
        if rate_per_minute is not None:
            checks.whole(rate_per_minute, "rate_per_minute", 1)
        end = None if expires is None else _end(expires)
        secret = secrets.token_urlsafe(32)
        with self._changing() as keys:
            key_id = secrets.token_hex(6)
            own = (key_id, _hash(secret), tenant, user, wanted, name, rate_per_minute, _now())
            key = Key(*own, expires_at=end)
            keys[key_id] = key
        self.audit.key("key created", key_id, tenant)
        return f"{_PREFIX}_{key_id}_{secret}", key

    def revoke(self, id: str) -> Key:
        """Ends a key at once."""
        with self._changing() as keys:
            if id not in keys:
                raise InvalidInputError(
                    f"no such key: `{shown(id)}`", hint="`episodica keys list` shows their ids"
                )
            keys[id] = replace(keys[id], revoked_at=keys[id].revoked_at or _now())
        self.audit.key("key revoked", id, keys[id].tenant)
        return keys[id]

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Key]]:
        """The keys for a block that changes them; written at its end, by one process at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = self.path.with_name(f"{self.path.name}.lock")
            with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600), "w") as file:
                _lock(file)
                self._stamp = None
                self._refresh()
                yield self._keys
                self._write()
        except OSError as error:
            raise StoreIOError(
                f"cannot write the keys in `{self.path}`", path=str(self.path), errno=error.errno
            ) from error

    def _write(self) -> None:
        new = self.path.with_name(f"{self.path.name}.new")
        text = json.dumps([asdict(key) for key in self._keys.values()], indent=1)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)
        self._stamp = None

    def _refresh(self) -> None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            # Known keys stay: a missing file must not open the service to all callers.
            self._stamp = None
            return
        except OSError as error:
            raise self._unreadable(error) from error
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if stamp != self._stamp:
            self._failure = None
            try:
                self._keys = _read(self.path)
            except OSError as error:
                self._failure = self._unreadable(error)
            except (ValueError, TypeError, KeyError, RecursionError):
                self._failure = ConfigError(
                    f"not a file of keys: `{self.path}`", path=str(self.path)
                )
            self._stamp = stamp
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    def _unreadable(self, error: OSError) -> StoreIOError:
        return StoreIOError(
            f"cannot read the keys in `{self.path}`", path=str(self.path), errno=error.errno
        )


def _read(path: Path) -> dict[str, Key]:
    """The keys in a file, by their ids."""
    keys: dict[str, Key] = {}
    found = json.loads(read_regular(path, _LARGEST_FILE))
    if not isinstance(found, list):
        raise TypeError("not a list of keys")
    for one in found:
        key = Key(**{**one, "scopes": tuple(one["scopes"])})
        optional = (key.revoked_at, key.expires_at)
        texts = (key.id, key.hash, key.tenant, key.user, key.name, key.created_at, *key.scopes)
        if not all(isinstance(text, str) for text in (*texts, *filter(None, optional))):
            raise TypeError("a field of a key is not a text")
        if type(key.rate_per_minute) not in (int, type(None)):
            raise TypeError("the rate of a key is not a number")
        keys[key.id] = key
    return keys


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _end(text: str) -> str:
    found = _SPAN.fullmatch(text)
    try:
        if found:
            end = datetime.now(UTC) + timedelta(**{_UNITS[found[2]]: int(found[1])})
        else:
            end = datetime.fromisoformat(text)
            end = end.replace(tzinfo=end.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInputError(
            f"not an end: `{shown(text)}`", hint="say `90d`, `12h`, or a date like `2030-01-31`"
        ) from None
    if end <= datetime.now(UTC):
        raise InvalidInputError(f"the key would have ended already: `{shown(text)}`")
    return end.isoformat(timespec="seconds")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _lock(file: IO[str]) -> None:
    """Waits until no other process holds the file's lock; closing the file releases it."""
    if sys.platform == "win32":
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX)
