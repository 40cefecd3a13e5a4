"""Writes the documentation of the settings from the engine's own table.

    python tools/settings.py           writes the fields of ``MemoryConfig`` and the reference page
    python tools/settings.py --check   exit status 1 if they differ from the table

Only the table (``src/episodica-core/src/config/memory.rs``) states the name, type, default, bounds
and meaning of a setting. Needs the built package.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from episodica import _native

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "python" / "episodica" / "config" / "settings.py"
PAGE = ROOT / "docs" / "reference" / "settings.md"
# The settings' fields in the class.
FIELDS = re.compile(
    r'(class MemoryConfig\b.*?    """\n\n)(.*?)(    llm: LLMConfig \| None)', re.DOTALL
)
TYPES = {"boolean": "bool", "integer": "int", "number": "float", "text": "str | None"}
HEAD = """# Settings

<!-- Written by tools/settings.py from the engine's table of settings: change that, then run it. -->

A setting is a keyword of `MemorySystem`, a field of `MemoryConfig`, an environment variable
(`EPISODICA_BUFFER_SIZE_MAX`) or a line of a TOML file: [which of them wins](../guide/settings.md).

"""
TAIL = """
`llm` and `embedding` hold an `LLMConfig` and an `EmbeddingConfig`: tables `[llm]` and `[embedding]`
in a TOML file, `EPISODICA_LLM_...` and `EPISODICA_EMBEDDING_...` in the environment. One string
names an [embedding model](../guide/settings.md#vectors), too.

`keep_thinking` (bool, default `False`) keeps the thinking of a model (parts of type `thinking` or
`reasoning`, `reasoning_content`, `<think>`) as its words. Otherwise every way in leaves it out and
says so in `AddResult.notes`.

::: episodica.MemoryConfig
    options: {filters: ["!^_"]}

::: episodica.EmbeddingConfig

::: episodica.LLMConfig
"""


def main() -> int:
    table = _native.settings()["memory"]
    written = {SOURCE: source(table, SOURCE.read_text(encoding="utf-8")), PAGE: page(table)}
    if "--check" in sys.argv[1:]:
        return int(any(file.read_text(encoding="utf-8") != text for file, text in written.items()))
    for file, text in written.items():
        file.write_text(text, encoding="utf-8")
    return 0


def source(table: list[dict[str, Any]], text: str) -> str:
    """The module of ``MemoryConfig`` with the table's fields."""
    fields = "".join(
        f"    {row['name']}: {python_type(row)} = {python_value(row)}\n" for row in table
    )
    made, count = FIELDS.subn(lambda found: f"{found[1]}{fields}{found[3]}", text)
    if count != 1:
        raise SystemExit(f"MemoryConfig does not have the expected form in {SOURCE}")
    ruff = [str(Path(sys.executable).with_name("ruff")), "format", "--quiet", "-"]
    command = [*ruff, "--stdin-filename", str(SOURCE)]
    done = subprocess.run(command, input=made, capture_output=True, text=True, check=True)
    return done.stdout


def grouped(text: str) -> str:
    """Numbers above 9,999 with commas."""
    return re.sub(r"\d{5,}", lambda found: f"{int(found[0]):,}", text)


def python_type(row: dict[str, Any]) -> str:
    if row["kind"] == "choice":
        return f"Literal[{', '.join(map(repr, row['choices']))}]"
    if row["kind"] == "numbers":
        return f"tuple[{', '.join(['float'] * len(row['default']))}]"
    return TYPES[row["kind"]]


def shown_values(row: dict[str, Any]) -> str:
    """The type and bounds as shown to users."""
    if row["kind"] == "choice":
        return ", ".join(f"`{word}`" for word in row["choices"])
    if row["kind"] == "boolean":
        return "bool"
    if row["kind"] == "text":
        return "str or `None`"
    numbers = row["kind"] == "numbers"
    kind = f"{len(row['default'])} float" if numbers else TYPES[row["kind"]]
    bounds = re.sub(r"^between (\S+) and ", r"\1 to ", grouped(row["allowed"]))
    return f"{kind}, {bounds}"


def python_value(row: dict[str, Any]) -> str:
    default = row["default"]
    if row["kind"] == "numbers":
        return repr(tuple(default))
    return f"{default:_}" if row["kind"] == "integer" else repr(default)


def page(table: list[dict[str, Any]]) -> str:
    """The reference page."""
    return HEAD + "".join(map(line, table)) + TAIL


def line(row: dict[str, Any]) -> str:
    """The setting as an item of the page's list."""
    values = f"{shown_values(row)}; default `{python_value(row)}`"
    return f"* `{row['name']}` ({values}): {row['documentation']}\n"


if __name__ == "__main__":
    raise SystemExit(main())
