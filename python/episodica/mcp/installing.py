"""Enters the server in the settings of a client, and takes it out again.

A change is planned first, so that it can be shown. Comments, order and indentation of the settings
stay; a change that would alter anything else is refused. The earlier text is kept in a file next to
the settings until the change is undone.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import InvalidInputError, MissingExtraError, StoreIOError

_KEPT = ".before-episodica"
# What has no end goes to the end of the text, so that it is searched once.
_NEITHER_TEXT_NOR_COMMENT = r'("(?:[^"\\]|\\.?)*+"?)|'
_COMMENT = re.compile(_NEITHER_TEXT_NOR_COMMENT + r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING_COMMA = re.compile(_NEITHER_TEXT_NOR_COMMENT + r",(?=\s*[}\]])", re.DOTALL)
_BLANKS = re.compile(r"\s*")
_decoder = json.JSONDecoder()

Entry = Mapping[str, Any]


class Client(NamedTuple):
    """Where a client keeps its settings, and in which table its servers are."""

    title: str
    table: str
    folder_variable: str | None
    folder: str
    file_name: str
    project_file: str | None = None
    fields: Entry = MappingProxyType({})

    @property
    def is_toml(self) -> bool:
        """Whether the settings are TOML; else they are JSON, perhaps with comments."""
        return self.file_name.endswith(".toml")

    def file(self, project: Path | None) -> Path:
        """The file with the settings, of the user or of a project."""
        if project is None:
            named = os.environ.get(self.folder_variable) if self.folder_variable else None
            return (Path(named) if named else Path.home() / self.folder) / self.file_name
        if self.project_file is None:
            raise InvalidInputError(
                f"{self.title} has no settings of projects", hint="leave `--project` out"
            )
        return project / self.project_file


CLIENTS = {
    "claude-code": Client(
        *("Claude Code", "mcpServers", "CLAUDE_CONFIG_DIR", "", ".claude.json", ".mcp.json"),
        {"type": "stdio"},
    ),
    "codex": Client("Codex", "mcp_servers", "CODEX_HOME", ".codex", "config.toml"),
    "cursor": Client("Cursor", "mcpServers", None, ".cursor", "mcp.json", ".cursor/mcp.json"),
    "vscode": Client(
        *("Visual Studio Code", "servers", "XDG_CONFIG_HOME", ".config", "Code/User/mcp.json"),
        *(".vscode/mcp.json", {"type": "stdio"}),
    ),
}


@dataclass(frozen=True)
class Change:
    """A change of one file: the texts before and after, and the text to keep for an undo.

    ``None`` stands for a missing file, and for a text that need not be kept any more.
    """

    file: Path
    before: str | None
    after: str | None
    keep: str | None

    @property
    def empty(self) -> bool:
        """Whether the file already has the wanted text."""
        return self.before == self.after

    def diff(self) -> str:
        """The change in the unified format."""
        (old, old_name), (new, new_name) = (
            ((text or "").splitlines(), "/dev/null" if text is None else str(self.file))
            for text in (self.before, self.after)
        )
        return "\n".join(difflib.unified_diff(old, new, old_name, new_name, lineterm=""))

    def write(self) -> None:
        """Makes the change, all of it or nothing."""
        if _read(self.file) != self.before:
            raise InvalidInputError(
                f"the file was changed meanwhile: `{self.file}`", hint="run the command again"
            )
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            if self.keep is not None:
                _replace(_kept(self.file), self.keep, self.file)
            if self.after is None:
                self.file.unlink(missing_ok=True)
            else:
                _replace(self.file, self.after, self.file)
            if self.keep is None:
                _kept(self.file).unlink(missing_ok=True)
        except OSError as error:
            raise _failure("write", self.file, error) from error


def entry_for(client: Client, store: str, user: str, options: Mapping[str, str]) -> dict[str, Any]:
    """The entry that starts the server; the path of a store becomes absolute."""
    where = store if "://" in store else str(Path(store).expanduser().absolute())
    args = ["-m", "episodica", "mcp"]
    for option, value in {"--store": where, "--user": user, **options}.items():
        # A value with a dash in front would pass for an option.
        args += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return {**client.fields, "command": sys.executable, "args": args}


def installation(client: Client, file: Path, name: str, entry: Entry) -> Change:
    """The change that enters a server."""
    file = file.expanduser().resolve()
    before = _read(file)
    # Undoing several installations restores the text before the first.
    first = (before or "") if (kept := _undone(client, file, before, name)) is None else kept
    return Change(file, before, changed(client, file, before or "", name, entry), first)


def removal(client: Client, file: Path, name: str) -> Change:
    """The change that undoes an installation."""
    file = file.expanduser().resolve()
    before = _read(file)
    if (kept := _undone(client, file, before, name)) is not None:
        return Change(file, before, kept or None, None)
    earlier = servers_of(client, file, _read(_kept(file)) or "").get(name)
    after = None if before is None else changed(client, file, before, name, earlier)
    if after == before:
        raise InvalidInputError(f"`{name}` is not in the settings: `{file}`")
    return Change(file, before, after, None)


def _undone(client: Client, file: Path, text: str | None, name: str) -> str | None:
    """The text before the installation, from the kept copy; empty if there was no file.

    ``None`` without a copy, or if the file was changed since: then adding the server's entry to
    the copy does not give ``text``.
    """
    kept = _read(_kept(file))
    if text is None or kept is None:
        return None
    entry = servers_of(client, file, text).get(name)
    is_whole = isinstance(entry, dict) and changed(client, file, kept, name, entry) == text
    return kept if is_whole else None


def servers_of(client: Client, file: Path, text: str) -> dict[str, Any]:
    """The entries of all servers in the text of a file."""
    try:
        data = _parsed(client, text)
        servers = data.get(client.table, {}) if isinstance(data, dict) else data
    except (ValueError, RecursionError) as error:
        raise _refusal(f"the settings can't be read: {error}", file) from error
    if not isinstance(servers, dict):
        raise _refusal(f"`{client.table}` of the settings is not an object", file)
    return servers


def changed(client: Client, file: Path, text: str, name: str, entry: Entry | None) -> str:
    """The text of a file with the entry of a server set, or removed for ``None``."""
    wanted = dict(servers_of(client, file, text))
    if wanted.get(name) == (None if entry is None else dict(entry)):
        return text
    edit = _toml_changed if client.is_toml else _json_changed
    result = edit(text, client.table, name, entry)
    wanted = {**wanted, name: dict(entry or {})}
    if entry is None:
        del wanted[name]
    before, after = ({**_parsed(client, one), client.table: wanted} for one in (text, result))
    if before != after or servers_of(client, file, result) != wanted:
        raise _refusal(f"`{client.table}.{name}` can't be changed safely", file)
    return result


def _parsed(client: Client, text: str) -> Any:
    if client.is_toml:
        return tomllib.loads(text)
    return json.loads(_plain(text)) if text.strip() else {}


def _plain(text: str) -> str:
    """JSON without comments and trailing commas, every other character in its place."""
    for pattern in (_COMMENT, _TRAILING_COMMA):
        text = pattern.sub(lambda one: one[1] or re.sub(r"[^\n]", " ", one[0]), text)
    return text


def _members(plain: str, brace: int) -> Iterator[tuple[str, int, int, int]]:
    """Key, start, start of the value, and end of each member of the object at ``brace``."""

    def token(at: int) -> int:
        found = _BLANKS.match(plain, at)
        return found.end() if found else at

    at = token(brace + 1)
    while plain[at] != "}":
        key, colon = _decoder.raw_decode(plain, at)
        value = token(token(colon) + 1)
        end = _decoder.raw_decode(plain, value)[1]
        yield key, at, value, end
        at = token(end)
        at = token(at + 1) if plain[at] == "," else at


def _json_changed(text: str, table: str, name: str, entry: Entry | None) -> str:
    text = text if text.strip() else "{}\n"
    plain = _plain(text)
    brace = plain.index("{")
    outer = {key: place for key, *place in _members(plain, brace)}
    if table not in outer:
        return _with_member(text, plain, brace, table, {name: entry})
    brace = outer[table][1]
    inner = {key: place for key, *place in _members(plain, brace)}
    if name not in inner:
        return _with_member(text, plain, brace, name, entry)
    start, value, end = inner[name]
    if entry is not None:
        return text[:value] + json.dumps(entry, ensure_ascii=False) + text[end:]
    before, rest = text[:start].rstrip(), text[end:]
    # One comma goes with the member: the one after it, else the one before it.
    if rest.lstrip().startswith(","):
        rest = rest.lstrip()[1:]
    else:
        before = before.removesuffix(",")
    return before + rest


def _with_member(text: str, plain: str, brace: int, key: str, value: Any) -> str:
    """The text with a new first member in the object at ``brace``."""
    line = text[text.rfind("\n", 0, brace) + 1 : brace]
    outside = line[: len(line) - len(line.lstrip())]
    first = re.match(r"\s*\n([ \t]+)\S", plain[brace + 1 :])
    indent = first[1] if first and first[1] != outside else outside + "  "
    unit = indent.removeprefix(outside) or "  "
    written = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", f"\n{indent}")
    rest = text[brace + 1 :]
    is_empty = plain[brace + 1 :].lstrip().startswith("}")
    if not re.match(r"[ \t]*\r?\n", rest):
        rest = f"\n{outside if is_empty else indent}{rest.lstrip()}"
    comma = "" if is_empty else ","
    return f"{text[: brace + 1]}\n{indent}{json.dumps(key)}: {written}{comma}{rest}"


def _toml_changed(text: str, table: str, name: str, entry: Entry | None) -> str:
    try:
        import tomlkit
    except ImportError as error:
        raise MissingExtraError(
            "these settings need the package `tomlkit`", hint="pip install 'episodica[mcp]'"
        ) from error
    document: Any = tomlkit.parse(text)
    servers = document.setdefault(table, tomlkit.table(is_super_table=True))
    if entry is None:
        del servers[name]
    else:
        servers[name] = entry
    result: str = tomlkit.dumps(document)
    return result


def _refusal(message: str, file: Path) -> InvalidInputError:
    hint = "repair the file, or enter the server by hand"
    return InvalidInputError(
        f"{message} (nothing was changed): `{file}`", hint=hint, path=str(file)
    )


def _kept(file: Path) -> Path:
    return file.with_name(file.name + _KEPT)


def _read(file: Path) -> str | None:
    try:
        if file.exists() and not file.is_file():
            raise InvalidInputError(f"this is not a file: `{file}`", path=str(file))
        with file.open(encoding="utf-8", newline="") as opened:
            return opened.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _refusal("the settings are not UTF-8", file) from error
    except OSError as error:
        raise _failure("read", file, error) from error


def _replace(file: Path, text: str, like: Path) -> None:
    """Replaces a file atomically, with the permissions of ``like``, else for the owner only."""
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
    message = f"can't {verb} the settings: {error.strerror}: `{file}`"
    return StoreIOError(message, path=str(file), errno=error.errno)
