"""Settings that are not given by keyword: a TOML file, then the environment, which wins."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..hints import nearest_hint
from ..regular import read_regular
from .names import NESTED, OPTIONAL, SECTIONS, check_names, type_name

_PREFIX = "EPISODICA_"
# Variables that are not settings: the folder for caches of stores in databases, the settings file,
# the command line's store and tenant.
_OTHER_VARIABLES = ("CACHE", "CONFIG", "STORE", "TENANT")
# Variables of the project's own tests, of the HTTP service and of the MCP server.
_OTHER_PREFIXES = ("TEST_", "SERVER_", "MCP_")
_LARGEST_FILE = 1 << 20
# The table of the HTTP service in the file.
_SERVER = "server"
_FLAGS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


def from_sources(
    settings: type,
    sections: Mapping[str, type],
    path: str | os.PathLike[str] | None,
    env: Mapping[str, str],
) -> dict[str, Any]:
    """The settings that the file and the environment name."""
    source = path if path is not None else env.get(_PREFIX + "CONFIG")
    values = _from_toml(settings, Path(source).expanduser()) if source else {}
    for name, value in _from_environment(settings, sections, env).items():
        if isinstance(value, Mapping) and isinstance(values.get(name), Mapping):
            value = {**values[name], **value}
        values[name] = value
    return values


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a settings file."""
    import tomllib

    try:
        return tomllib.loads(read_regular(path, _LARGEST_FILE).decode("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read the settings in `{path}`: {error.strerror}", path=str(path)
        ) from error
    except RecursionError as error:
        raise ConfigError(
            f"the settings are nested too deeply in `{path}`", path=str(path)
        ) from error
    except ValueError as error:
        raise ConfigError(f"the settings are not valid TOML in `{path}`", path=str(path)) from error


def _from_toml(settings: type, path: Path) -> dict[str, Any]:
    values = read_toml(path)
    values.pop(_SERVER, None)
    check_names(values, (one.name for one in fields(settings)), path)
    for section in SECTIONS:
        _refuse_keys(values.get(section), section, path)
    return values


def _refuse_keys(values: object, place: str, path: Path) -> None:
    """Refuses keys, a fallback's too: files are copied, shared and committed."""
    if not isinstance(values, Mapping):
        return
    if "api_key" in values:
        own = f"{_PREFIX}{place.upper()}_API_KEY or " if "." not in place else ""
        hint = f"put it into {own}OPENAI_API_KEY"
        raise ConfigError(
            f"a key does not belong into a file: `{place}.api_key` in `{path}`",
            hint=hint,
            path=str(path),
        )
    _refuse_keys(values.get("fallback"), f"{place}.fallback", path)


def _from_environment(
    settings: type, sections: Mapping[str, type], environment: Mapping[str, str]
) -> dict[str, Any]:
    top = {one.name: one for one in fields(settings) if one.name not in SECTIONS}
    parts = {
        f"{section}_{one.name}": (section, one)
        for section, cls in sections.items()
        for one in fields(cls)
        if one.name not in NESTED
    }
    values: dict[str, Any] = {}
    named = ""
    for variable, text in environment.items():
        name = variable.removeprefix(_PREFIX).lower()
        if (
            not variable.startswith(_PREFIX)
            or name.upper() in _OTHER_VARIABLES
            or name.upper().startswith(_OTHER_PREFIXES)
        ):
            continue
        if name == "embedding":
            named = text.strip()
        elif name in top:
            values[name] = _parse(text, top[name].default, variable)
        elif name in parts:
            section, part = parts[name]
            example = OPTIONAL.get(part.name, part.default)
            values.setdefault(section, {})[part.name] = _parse(text, example, variable)
        else:
            known = (*top, "embedding", *parts, *_OTHER_VARIABLES)
            hint = nearest_hint(name, (one.upper() for one in known), _PREFIX)
            raise ConfigError(f"unknown environment variable: `{variable}`", hint=hint)
    if named and "embedding" in values:
        other = next(iter(values["embedding"])).upper()
        raise ConfigError(
            f"{_PREFIX}EMBEDDING and {_PREFIX}EMBEDDING_{other} can't be combined",
            hint=f"{_PREFIX}EMBEDDING names the whole model, like `ollama:nomic-embed-text`",
        )
    return {**values, "embedding": named} if named else values


def _parse(text: str, example: Any, variable: str) -> Any:
    """A variable's text as a value of the type of ``example``."""
    readers: dict[type, Callable[[str], Any]] = {
        bool: lambda word: _FLAGS[word.lower()],
        int: int,
        float: float,
        tuple: lambda words: tuple(float(word) for word in words.split(",")),
    }
    try:
        return readers.get(type(example), str)(text.strip())
    except (ValueError, KeyError):
        raise ConfigError(f"{variable} is no {type_name(example)}: `{text}`") from None
