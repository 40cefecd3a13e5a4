"""Names of settings: the sections, what each holds, and the check for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from ..hints import nearest_hint, shown

SECTIONS = ("llm", "embedding")
# Settings that apply before the engine is called; the engine does not know them.
BEFORE_ENGINE = ("keep_thinking",)
# Settings that may be absent, each with an example of its type.
OPTIONAL: dict[str, Any] = {
    "model": "",
    "base_url": "",
    "api_key": "",
    "organization": "",
    "proxy": "",
    "path": "",
    "dimension": 0,
    "max_tokens": 0,
    "timezone": "",
    "context_window": 0,
    "reasoning_effort": "",
}
# Settings that map any names to values; both are sent unchanged with every request.
MAPPINGS = ("headers", "extra")
# Settings that do not fit into a single environment variable.
NESTED = (*MAPPINGS, "fallback")

# Hints for settings of other libraries that this library does not have.
_MISTAKEN = {
    **dict.fromkeys(
        ("store", "storage", "storage_path", "store_path", "db_path", "directory"),
        'the place of the store comes first: `MemorySystem("memories")`',
    ),
    **dict.fromkeys(
        ("user_id", "user"),
        "a store has many users: name one in each call, like "
        '`memory.add_messages("alice", "I moved to Lyon.")`',
    ),
}


def check_names(names: Iterable[str], known: Iterable[str], path: Path | None = None) -> None:
    """Refuses the first of ``names`` that isn't known; ``path`` is the file that holds them."""
    allowed = list(known)
    for name in names:
        if name not in allowed:
            place = f" in `{path}`" if path else ""
            where = str(path) if path else None
            raise ConfigError(
                f"unknown setting: `{shown(name)}`{place}",
                hint=_MISTAKEN.get(name) or nearest_hint(name, allowed),
                path=where,
            )


def type_name(example: Any) -> str:
    """The name of a value's type in a settings file."""
    names = {
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "text",
        tuple: "list of numbers",
    }
    return names.get(type(example), "section")
