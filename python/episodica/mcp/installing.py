"""Enters the server in the settings of a client, and takes it out again.

A change is planned first, so that it can be shown. What the settings were is kept in a file beside
them until the change is undone.
"""

from __future__ import annotations

import difflib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError, StoreIOError
from .clients import Client
from .configs import changed, entry_of

_KEPT = ".before-episodica"
# Settings of more than this are something else.
_LARGEST = 32 << 20


@dataclass(frozen=True)
class Change:
    """A change of one file.

    Attributes
    ----------
    file : Path
        The file; links are followed, so that they stay.
    before, after : str or None
        Its text; ``None`` where there is no file.
    keep : str or None
        What to keep for the way back; ``None`` to forget it.
    """

    file: Path
    before: str | None
    after: str | None
    keep: str | None

    @property
    def empty(self) -> bool:
        """Whether the file says already what it should."""
        return self.before == self.after

    def diff(self) -> str:
        """The change as people read it."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            "/dev/null" if self.before is None else str(self.file),
            "/dev/null" if self.after is None else str(self.file),
            lineterm="",
        )
        return "\n".join(lines)

    def write(self) -> None:
        """Makes the change, all of it or nothing.

        Raises
        ------
        InvalidInputError
            If the file was changed since it was read.
        StoreIOError
            If it can't be written.
        """
        if _read(self.file) != self.before:
            raise InvalidInputError(
                f"the file was changed meanwhile: `{self.file}`", hint="run the command again"
            )
        kept = _kept(self.file)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            if self.keep is not None:
                _replace(kept, self.keep, self.file)
            if self.after is None:
                self.file.unlink(missing_ok=True)
            else:
                _replace(self.file, self.after, self.file)
            if self.keep is None:
                kept.unlink(missing_ok=True)
        except OSError as error:
            raise _failure("write", self.file, error) from error


def entry_for(client: Client, store: str, user: str, options: Mapping[str, str]) -> dict[str, Any]:
    """The entry that starts the server.

    Parameters
    ----------
    client
        The client.
    store
        Path or URL of the store; a path becomes absolute, as clients start servers anywhere.
    user
        Whose memories the client sees.
    options
        Further options of ``episodica mcp`` and their values.
    """
    where = store if "://" in store else str(Path(store).expanduser().absolute())
    given = {"--store": where, "--user": user, **options}
    args = ["-m", "episodica", "mcp"]
    for option, value in given.items():
        # A value with a dash in front would pass for an option.
        args += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return {**client.fields, "command": sys.executable, "args": args}


def installation(client: Client, file: Path, name: str, entry: Mapping[str, Any]) -> Change:
    """The change that enters a server.

    Raises
    ------
    InvalidInputError
        If the settings can't be read, or can't be changed safely.
    """
    file = _resolved(file)
    before = _read(file)
    after = _edited(client, file, before or "", name, entry)
    return Change(file, before, after, _note(before, after, _noted(file), name))


def removal(client: Client, file: Path, name: str) -> Change:
    """The change that undoes an installation.

    The settings become what they were; where they were changed since, only the entry does.

    Raises
    ------
    InvalidInputError
        If there is nothing to undo, or as for :func:`installation`.
    """
    file = _resolved(file)
    before, note = _read(file), _noted(file)
    if note is not None and note["after"] == before:
        return Change(file, before, note["before"], None)
    earlier = None
    if note is not None and note["name"] == name:
        earlier = entry_of(note["before"] or "", client.form, client.table, name)
    after = None if before is None else _edited(client, file, before, name, earlier)
    if after == before:
        raise InvalidInputError(f"`{name}` is not in the settings: `{file}`")
    return Change(file, before, after, None)


def _edited(
    client: Client, file: Path, text: str, name: str, entry: Mapping[str, Any] | None
) -> str:
    try:
        return changed(text, client.form, client.table, name, entry)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error.message} (nothing was changed): `{file}`",
            hint=error.hint or "repair the file, or enter the server by hand",
            path=str(file),
        ) from error


def _note(before: str | None, after: str, known: Mapping[str, Any] | None, name: str) -> str:
    """What to keep for the way back: through earlier installations, to what was before these."""
    first = known["before"] if known is not None and known["after"] == before else before
    return json.dumps({"name": name, "before": first, "after": after}, ensure_ascii=False)


def _noted(file: Path) -> dict[str, Any] | None:
    text = _read(_kept(file))
    try:
        note = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    whole = isinstance(note, dict) and {"name", "before", "after"} <= note.keys()
    return note if whole else None


def _kept(file: Path) -> Path:
    return file.with_name(file.name + _KEPT)


def _resolved(file: Path) -> Path:
    try:
        return file.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise StoreIOError(f"can't resolve the path: `{file}`", path=str(file)) from error


def _read(file: Path) -> str | None:
    try:
        if file.exists() and not file.is_file():
            raise InvalidInputError(f"this is not a file: `{file}`", path=str(file))
        if file.stat().st_size > _LARGEST:
            raise InvalidInputError(f"the settings are too large: `{file}`", path=str(file))
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"the settings are not UTF-8 (nothing was changed): `{file}`", path=str(file)
        ) from error
    except OSError as error:
        raise _failure("read", file, error) from error


def _replace(file: Path, text: str, like: Path) -> None:
    """Replaces a file at once, with the rights of ``like``, else for the owner only."""
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o600
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        new.chmod(mode)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _failure(verb: str, file: Path, error: OSError) -> StoreIOError:
    return StoreIOError(
        f"can't {verb} the settings: {error.strerror}: `{file}`",
        path=str(file),
        errno=error.errno,
    )
