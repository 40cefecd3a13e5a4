"""Writes docs/reference/command_line.md: every command and option, from the parser itself.

    python tools/cli_reference.py           writes the page
    python tools/cli_reference.py --check   exit status 1 if the page differs from the parser

Needs the built package.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command_line.md"
HEAD = """# Commands

<!-- Written by tools/cli_reference.py from the parser: change that, then run it. -->

Every command of `episodica`. [The guide](../guide/command_line.md) shows them at work. Each exits
with 0 for success, 1 for a failure, and 2 for wrong arguments.

## Options of every command

They may stand before or after the command.

"""


def main() -> int:
    os.environ.pop("EPISODICA_TENANT", None)
    text = page()
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text)
    PAGE.write_text(text, encoding="utf-8")
    return 0


def page() -> str:
    """The whole page."""
    from episodica.cli.arguments import CommandLine

    parser = CommandLine().parser
    [commands] = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    common = [one for one in parser._actions if one is not commands]
    names = {name for one in common for name in one.option_strings}
    parts = [HEAD, table(common)]
    return "".join([*parts, *sections(commands, "", names)])


def sections(
    commands: argparse._SubParsersAction[Any], before: str, common: set[str]
) -> Iterator[str]:
    """The commands, each followed by its subcommands."""
    helps = {one.dest: one.help or "" for one in commands._choices_actions}
    for name in sorted(commands.choices):
        command, title = commands.choices[name], f"{before}{name}"
        mine = [one for one in command._actions if not common.intersection(one.option_strings)]
        inner = [one for one in mine if isinstance(one, argparse._SubParsersAction)]
        own = [one for one in mine if one not in inner]
        text = command.description or f"{helps[name][:1].upper()}{helps[name][1:]}."
        line = command.usage or usage(title, own)
        yield f"\n## {title}\n\n{text}\n\n```text\n{line}\n```\n"
        if own:
            yield f"\n{table(own)}"
        for one in inner:
            yield from sections(one, f"{title} ", common)


def usage(name: str, actions: Iterable[argparse.Action]) -> str:
    """One line: the command, ``[options]`` if it has options, and its arguments."""
    actions = [one for one in actions if one.help != argparse.SUPPRESS]
    words = ["episodica", name]
    if any(one.option_strings for one in actions):
        words.append("[options]")
    for one in actions:
        if not one.option_strings:
            shown = metavar(one)
            words.append(f"[{shown}]" if one.nargs == "?" else shown)
    return " ".join(words)


def table(actions: Iterable[argparse.Action]) -> str:
    """A row for each argument and option."""
    rows = ["| Argument | Meaning |\n|---|---|\n"]
    for one in actions:
        if one.help == argparse.SUPPRESS:
            continue
        names = ", ".join(f"`{name}`" for name in one.option_strings) or f"`{metavar(one)}`"
        value = f" `{metavar(one)}`" if one.option_strings and one.nargs != 0 else ""
        text = (one.help or "the user; may be left out if the store has only one").replace(
            "|", "\\|"
        )
        rows.append(f"| {names}{value} | {text} |\n")
    return "".join(rows)


def metavar(action: argparse.Action) -> str:
    """The placeholder of the value: a word, or the choices."""
    if action.metavar:
        return str(action.metavar)
    return "{" + ",".join(map(str, action.choices or [action.dest.upper()])) + "}"


if __name__ == "__main__":
    raise SystemExit(main())
