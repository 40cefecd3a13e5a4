"""Writes docs/reference/command_line.md: every command and option, from the parser itself.

    python tools/cli_reference.py           writes the page
    python tools/cli_reference.py --check   exit status 1 if the page differs from the parser

Needs the built package.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "command_line.md"
HEAD = """# Commands

<!-- Written by tools/cli_reference.py from the parser: change that, then run it. -->

Each `episodica COMMAND` with its options and their defaults; `episodica COMMAND --help` explains
them, [the guide](../guide/command_line.md) has examples. Arguments in brackets may be left out,
`USER` if the store has only one. An `ID` may be a URI, a `QUERY` or a `FILE` to read `-`: standard
input.

## Options of every command

"""
SHARED = """
## Options of several commands

*Filters* are `--since`, `--until`, `--session`, `--agent` and `--where`.

"""
FILTERS = ["--since", "--until", "--session", "--agent", "--where"]
# From this number of commands on, an option is described once for all of them.
MANY = 2
# A longer list of choices is cut in the lines of commands.
MAX_CHOICES = 70


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
    names = {form for one in common for form in one.option_strings}
    common = [one for one in common if one.dest not in ("help", "version")]
    taken = [one for command in parsers(commands) for one in arguments(command, names)]
    many: dict[str, str] = {}  # by name: the most common meaning
    named = {row(one): name(one) for one in taken}
    for text, count in Counter(map(row, taken)).most_common():
        if count >= MANY and text.startswith("* `-"):
            many.setdefault(named[text], text)
    parts = [HEAD, *map(row, common), SHARED, *(many[one] for one in sorted(many))]
    return "".join([*parts, *sections(commands, "", names, set(many.values()))])


def parsers(commands: argparse._SubParsersAction[Any]) -> Iterator[argparse.ArgumentParser]:
    """The parsers of the commands and of their subcommands."""
    for command in (commands.choices[one] for one in sorted(commands.choices)):
        yield command
        for one in command._actions:
            if isinstance(one, argparse._SubParsersAction):
                yield from parsers(one)


def arguments(command: argparse.ArgumentParser, common: set[str]) -> list[argparse.Action]:
    """What a command takes besides the options of every command."""
    return [
        one
        for one in command._actions
        if one.help != argparse.SUPPRESS
        and not common.intersection(one.option_strings)
        and not isinstance(one, argparse._SubParsersAction)
    ]


def sections(
    commands: argparse._SubParsersAction[Any], before: str, common: set[str], shared: set[str]
) -> Iterator[str]:
    """The commands, each followed by its subcommands."""
    helps = {one.dest: one.help or "" for one in commands._choices_actions}
    for called in sorted(commands.choices):
        command, title = commands.choices[called], f"{before}{called}"
        inner = [one for one in command._actions if isinstance(one, argparse._SubParsersAction)]
        taken = arguments(command, common)
        options = [one for one in taken if one.option_strings]
        own = [brief(one) for one in options if row(one) not in shared]
        also = [name(one) for one in options if row(one) in shared]
        text = (command.description or helps[called]).removesuffix(".")
        text = f"{text[:1].upper()}{text[1:]}."
        if set(FILTERS) <= set(also):
            also = [*(one for one in also if one not in FILTERS), "filters"]
        own += ["*filters*" if one == "filters" else f"`{one}`" for one in also]
        line = f"\n{', '.join(own)}\n" if own else ""
        yield f"\n## `{heading(title, command, taken)}`\n\n{text}\n{line}"
        for one in inner:
            yield from sections(one, f"{title} ", common, shared)


def heading(title: str, command: argparse.ArgumentParser, actions: list[argparse.Action]) -> str:
    """The command and its arguments, without options."""
    if command.usage:
        return command.usage.partition(" ")[2].replace(" [options]", "")
    return " ".join([title, *(name(one) for one in actions if not one.option_strings)])


def row(one: argparse.Action) -> str:
    """The line of an argument or option in a list."""
    value = f" {metavar(one)}" if one.option_strings and one.nargs != 0 else ""
    names = ", ".join(f"`{form}{value}`" for form in one.option_strings or [name(one)])
    return f"* {names}: {one.help or 'the user; may be left out if the store has only one'}\n"


def brief(one: argparse.Action) -> str:
    """An option with its default; a long list of choices is cut."""
    value = f" {metavar(one)}" if one.nargs != 0 else ""
    if len(value) > MAX_CHOICES:
        value = value.partition(",")[0] + ",…}"
    default = re.search(r"\((default[^()]*)\)", one.help or "")
    return f"`{name(one)}{value}`{f' ({default[1]})' if default else ''}"


def name(one: argparse.Action) -> str:
    """The longest form of an option; an argument, in brackets if it may be left out."""
    if one.option_strings:
        return one.option_strings[-1]
    return f"[{metavar(one)}]" if one.nargs == "?" else metavar(one)


def metavar(action: argparse.Action) -> str:
    """The placeholder of the value: a word, or the choices."""
    if action.metavar:
        return str(action.metavar)
    return "{" + ",".join(map(str, action.choices or [action.dest.upper()])) + "}"


if __name__ == "__main__":
    raise SystemExit(main())
