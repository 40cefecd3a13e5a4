"""Sets and removes one server in the text of a client's settings, and leaves the rest as it is.

Comments, order and indentation stay, so settings are changed as texts and not written anew. Every
result is read again and compared with what it should say; if it says anything else, the change is
refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from ..errors import InvalidInputError

Form = Literal["json", "toml"]
Entry = Mapping[str, Any]

_BLANK = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)
_decoder = json.JSONDecoder()


def entry_of(text: str, form: Form, table: str, name: str) -> Any:
    """The entry of a server; ``None`` without one.

    Raises
    ------
    InvalidInputError
        If the text is not in its form, or has something else in the place of the servers.
    """
    return _servers(_read(text, form), table).get(name)


def changed(text: str, form: Form, table: str, name: str, entry: Entry | None) -> str:
    """The text with the entry of a server set, or removed for ``None``.

    Raises
    ------
    InvalidInputError
        As for :func:`entry_of`, and if the text is written in a way that can't be changed safely.
    """
    before = _read(text, form)
    servers = dict(_servers(before, table))
    if servers.get(name) == (None if entry is None else dict(entry)):
        return text
    wanted = dict(before)
    if entry is None:
        del servers[name]
    else:
        servers[name] = dict(entry)
    wanted[table] = servers
    edit = _json_changed if form == "json" else _toml_changed
    result = edit(text, table, name, entry)
    after = _read(result, form)
    if after != wanted and not (not servers and {table: {}, **after} == wanted):
        raise InvalidInputError(
            f"the settings are written in a way that can't be changed safely: `{table}.{name}`",
            hint="change the entry by hand",
        )
    return result


def _read(text: str, form: Form) -> dict[str, Any]:
    try:
        if form == "toml":
            return tomllib.loads(text)
        data = json.loads(_plain(text)) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        told = f"{error}" or "nested too deeply"
        raise InvalidInputError(f"the settings are not {form.upper()}: {told}") from error
    if not isinstance(data, dict):
        raise InvalidInputError("the settings are not a JSON object")
    return data


def _servers(data: Mapping[str, Any], table: str) -> dict[str, Any]:
    servers = data.get(table, {})
    if not isinstance(servers, dict):
        raise InvalidInputError(f"`{table}` of the settings is not an object")
    return servers


# JSON


class _Member(NamedTuple):
    """Where a member of an object is: its key, its value, and the comma after it, if any."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None


def _blank(match: re.Match[str]) -> str:
    """Spaces in the place of a match, but for line feeds and strings."""
    return match[1] or re.sub(r"[^\n]", " ", match[0])


def _plain(text: str) -> str:
    """JSON without comments and trailing commas, every character else in its place."""
    return _TRAILING_COMMA.sub(_blank, _uncommented(text))


def _uncommented(text: str) -> str:
    return _BLANK.sub(_blank, text)


def _members(text: str, start: int) -> tuple[list[_Member], int]:
    """The members of the object that starts at ``start``, and the place of its closing brace."""
    members: list[_Member] = []
    plain, bare = _plain(text), _uncommented(text)
    at = _skip(plain, start + 1)
    while plain[at] != "}":
        first = at
        key, at = _decoder.raw_decode(plain, at)
        value = _skip(plain, _skip(plain, at) + 1)
        _, end = _decoder.raw_decode(plain, value)
        after = _skip(bare, end)
        comma = after if bare[after] == "," else None
        members.append(_Member(key, first, value, end, comma))
        at = _skip(plain, end if comma is None else comma + 1)
    return members, at


def _skip(text: str, at: int) -> int:
    while text[at].isspace():
        at += 1
    return at


def _json_changed(text: str, table: str, name: str, entry: Entry | None) -> str:
    if not text.strip():
        text = "{}\n"
    root = _skip(_plain(text), 0)
    members, end = _members(text, root)
    outer = next((one for one in reversed(members) if one.key == table), None)
    unit = _indentation(text, root, members) or "  "
    if outer is None:
        return _with_member(text, members, end, root, table, {name: entry}, unit)
    inner, inner_end = _members(text, outer.value)
    known = next((one for one in reversed(inner) if one.key == name), None)
    if entry is None:
        return text if known is None else _without_member(text, inner, known, outer.value)
    if known is not None:
        indent = _indentation(text, outer.value, inner) or unit * 2
        return text[: known.value] + _written(entry, unit, indent) + text[known.end :]
    return _with_member(text, inner, inner_end, outer.value, name, entry, unit)


def _with_member(
    text: str, members: list[_Member], end: int, start: int, key: str, value: Any, unit: str
) -> str:
    """The text with a new last member in the object from ``start`` to ``end``."""
    outside = re.match(r"[ \t]*", text[text.rfind("\n", 0, start) + 1 :])
    closing = outside[0] if outside else ""
    indent = _indentation(text, start, members) or closing + unit
    content = text[:end].rstrip()
    rest = text[len(content) : end]
    member = f"\n{indent}{json.dumps(key)}: {_written(value, unit, indent)}"
    rest = rest if "\n" in rest else f"\n{closing}"
    if members and members[-1].comma is None:
        last = members[-1].end
        content = f"{content[:last]},{content[last:]}"
    return f"{content}{member}{rest}{text[end:]}"


def _without_member(text: str, members: list[_Member], gone: _Member, start: int) -> str:
    """The text without a member, the white space before it and one comma."""
    place = members.index(gone)
    before = len(text[: gone.start].rstrip())
    end = gone.end if gone.comma is None else gone.comma + 1
    kept = text[:before]
    if gone.comma is None and place:
        comma = members[place - 1].comma
        if comma is not None:
            kept = kept[:comma] + kept[comma + 1 :]
    rest = text[end:]
    if len(members) == 1 and before == start + 1 and rest.lstrip().startswith("}"):
        rest = rest.lstrip()
    return kept + rest


def _indentation(text: str, start: int, members: list[_Member]) -> str | None:
    """The white space before the first member, if it stands on a line of its own."""
    if not members:
        return None
    line = text[text.rfind("\n", 0, members[0].start) + 1 : members[0].start]
    return line if "\n" in text[start : members[0].start] and not line.strip() else None


def _written(value: Any, unit: str, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
    return f"\n{indent}".join(lines)


# TOML


def _toml_changed(text: str, table: str, name: str, entry: Entry | None) -> str:
    block = "" if entry is None else _toml_block(table, name, entry)
    lines = text.splitlines(keepends=True)
    header = rf"\s*\[\s*{_key(table)}\s*\.\s*{_key(name)}\s*(\.[^\]]*)?\]\s*(#.*)?$"
    starts = [n for n, line in enumerate(lines) if re.match(header, line.rstrip("\r\n"))]
    if not starts:
        separator = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return text + separator + block
    first, last = starts[0], starts[-1] + 1
    while last < len(lines) and not re.match(r"\s*\[", lines[last]):
        last += 1
    # Comments and empty lines before the next table belong to it.
    while last > starts[-1] + 1 and re.match(r"\s*(#.*)?$", lines[last - 1].rstrip("\r\n")):
        last -= 1
    rest = lines[last:]
    if not block:
        while first and not lines[first - 1].strip() and (not rest or not rest[0].strip()):
            first -= 1
    return "".join(lines[:first]) + block + "".join(rest)


def _key(name: str) -> str:
    return rf"[\"']?{re.escape(name)}[\"']?"


def _toml_block(table: str, name: str, entry: Entry) -> str:
    key = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else json.dumps(name)
    rows = [
        f"{field} = {json.dumps(value, ensure_ascii=False)}\n" for field, value in entry.items()
    ]
    return f"[{table}.{key}]\n{''.join(rows)}"
