"""A parser whose errors suggest the nearest known word."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, ClassVar, NoReturn

from ..hints import near, shown

_CHOICE, _CHOICES = "invalid choice: ", " (choose from "
_UNKNOWN = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """An ``ArgumentParser`` that hints at the nearest command, option or value."""

    # The parser of the command whose arguments are read; unknown ones are the first parser's error.
    _reading: ClassVar[Parser | None] = None

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        """Reads arguments, and remembers whose options a hint may name."""
        Parser._reading = self
        return super().parse_known_args(*given, **named)

    def error(self, message: str) -> NoReturn:
        """Prints usage, error and hint; exits with status 2."""
        text, hint = message, None
        _, choice, rest = message.partition(_CHOICE)
        _, unknown, others = message.partition(_UNKNOWN)
        if choice:
            wrong, _, choices = rest.rpartition(_CHOICES)
            wrong = wrong.removeprefix("'").removesuffix("'")
            known = re.findall(r"[\w-]+", choices)
            hint = _did_you_mean(near(wrong, known))
            if message.startswith("argument COMMAND"):
                text = f"unknown command: `{shown(wrong)}`"
                hint = hint or "`episodica --help` lists the commands"
            elif not message.startswith("argument -"):
                # A word in the wrong place is rarely a misspelt choice.
                text = f"not one of {', '.join(f'`{one}`' for one in known)}: `{shown(wrong)}`"
                hint = hint or f"one of them comes first: `{self.prog} {known[0]} {shown(wrong)}`"
        elif unknown:
            given = others.split()
            text = f"unknown arguments: `{shown(' '.join(given))}`"
            name = given[0].partition("=")[0]
            # A hint names only options of this command.
            options = (Parser._reading or self).options()
            hint = _did_you_mean(near(name, options - {name}))
            if not name.startswith("-") and "--output" in options:
                hint = f"name a file with `-o`: `-o {shown(name)}`"
        self.print_usage(sys.stderr)
        hint = hint or f"`{self.prog} --help` shows the arguments"
        self.exit(2, f"{self.prog}: error: {text}\nhint: {hint}\n")

    def options(self) -> set[str]:
        """The long options of this parser and of its commands."""
        found: set[str] = set()
        for action in self._actions:
            found.update(name for name in action.option_strings if name.startswith("--"))
            if isinstance(action, argparse._SubParsersAction):
                for sub in action.choices.values():
                    found |= sub.options()
        return found


class GroupedParser(Parser):
    """A parser whose help lists its many commands in groups."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.groups: list[tuple[str, list[str]]] = []

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The arguments; what is not known is an error of the command that it was given to."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            getattr(found, "parser", self).error(_UNKNOWN + " ".join(rest))
        return found

    def format_help(self) -> str:
        """The help with the commands in their groups, the options after them."""
        commands = next(one for one in self._actions if isinstance(one, argparse._SubParsersAction))
        helps = {one.dest: one for one in commands._choices_actions}
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for title, names in self.groups:
            formatter.start_section(title)
            formatter.add_arguments([helps[name] for name in names if name in helps])
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(self._optionals._group_actions)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def option(
    parser: argparse._ActionsContainer, spec: str, text: str, **more: Any
) -> argparse.Action:
    """Adds an option as its help shows it: `-k --top-k N`, where N is a number, or a flag.

    The help ends with the default, unless the text says something of it.
    """
    names = [word for word in spec.split() if word.startswith("-")]
    value = " ".join(spec.split()[len(names) :])
    default = more.get("default") or argparse.SUPPRESS
    if default != argparse.SUPPRESS and "(default" not in text:
        text = f"{text} (default {default})".lstrip()
    if value:
        more["metavar"] = value
    elif "choices" not in more:
        more.setdefault("action", "store_true")
    if value == "N":
        more.setdefault("type", int)
    return parser.add_argument(*names, help=text, **more)


def repeated(
    parser: argparse._ActionsContainer, spec: str, text: str, **more: Any
) -> argparse.Action:
    """Adds an option that may be given several times."""
    return option(parser, spec, f"{text}; may be repeated", action="append", **more)


def _did_you_mean(names: list[str]) -> str | None:
    return f"did you mean `{names[0]}`?" if names else None
