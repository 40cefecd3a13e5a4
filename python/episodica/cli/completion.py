"""``episodica completion SHELL``: a script that lets bash, zsh or fish complete commands, options and their values.

Made from the parser itself, so it knows what the command line knows. Paths are completed where a file or directory is meant.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote

SHELLS = ("bash", "zsh", "fish")
_FILES, _FOLDERS = "FILE", "PATH"


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its names, what it does, and what comes after it (``None``: nothing)."""

    names: tuple[str, ...]
    summary: str
    value: str | None
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """One command with its options, and what its arguments may be: names, or files."""

    name: str
    summary: str
    options: tuple[Option, ...]
    choices: tuple[str, ...]
    files: bool


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The script for a shell."""
    top = tuple(_options(parser))
    commands = tuple(_commands(parser))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](parser.prog, top, commands)


def _commands(parser: argparse.ArgumentParser) -> Iterator[Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {one.dest: one.help or "" for one in action._choices_actions}
            for name, sub in action.choices.items():
                arguments = [one for one in sub._actions if not one.option_strings]
                choices = tuple(str(choice) for one in arguments for choice in one.choices or ())
                yield Command(
                    name,
                    summaries[name],
                    tuple(_options(sub)),
                    choices,
                    any(one.metavar == _FILES for one in arguments),
                )


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            value = None if action.nargs == 0 else str(action.metavar or action.dest.upper())
            yield Option(
                tuple(action.option_strings),
                (action.help or "").partition(" (")[0],
                value,
                tuple(map(str, action.choices or ())),
            )


def _bash(program: str, top: tuple[Option, ...], commands: tuple[Command, ...]) -> str:
    every = list(dict.fromkeys(option for one in commands for option in one.options)) + list(top)
    valued = sorted({name for option in every if option.value for name in option.names})
    values: dict[str, str] = {}
    for option in every:
        if option.value:
            reply = (
                'mapfile -t COMPREPLY < <(compgen -W "' + " ".join(option.choices) + '" -- "$cur")'
                if option.choices
                else "COMPREPLY=()"
            )
            if option.value in (_FOLDERS, _FILES):
                reply = f'compopt -o filenames; mapfile -t COMPREPLY < <(compgen -{"d" if option.value == _FOLDERS else "f"} -- "$cur")'
            values["|".join(option.names)] = reply
    lines = [
        f"# Completion of {program} for bash: source <({program} completion bash)",
        "_episodica() {",
    ]
    lines += [
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" command="" words="" i'
    ]
    lines += ["    for ((i = 1; i < COMP_CWORD; i++)); do", '        case "${COMP_WORDS[i]}" in']
    lines += [
        f'            {"|".join(one.name for one in commands)}) command="${{COMP_WORDS[i]}}"; break ;;'
    ]
    lines += [
        f"            {'|'.join(valued)}) ((i++)) ;;",
        "        esac",
        "    done",
        '    case "$prev" in',
    ]
    lines += [f"        {names}) {reply}; return ;;" for names, reply in values.items()]
    lines += ["    esac", '    case "$command" in']
    lines += [
        f'        "") words="{" ".join([*(one.name for one in commands), *(name for option in top for name in option.names)])}" ;;'
    ]
    for one in commands:
        words = " ".join([*one.choices, *(name for option in one.options for name in option.names)])
        lines.append(f'        {one.name}) words="{words}" ;;')
    lines += ["    esac"]
    files = "|".join(one.name for one in commands if one.files)
    lines += [f'    if [[ "$cur" != -* && "$command" =~ ^({files})$ ]]; then']
    lines += [
        '        compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur")',
        "    else",
    ]
    lines += [
        '        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")',
        "    fi",
        "}",
        f"complete -F _episodica {program}",
        "",
    ]
    return "\n".join(lines)


def _zsh(program: str, top: tuple[Option, ...], commands: tuple[Command, ...]) -> str:
    lines = [
        f"#compdef {program}",
        f"# Completion of {program} for zsh: source <({program} completion zsh)",
        "_episodica() {",
    ]
    lines += ["    local -a commands=("]
    lines += [f"        {quote(f'{one.name}:{_colonless(one.summary)}')}" for one in commands]
    lines += [
        "    )",
        "    local context state state_descr line",
        "    local -A opt_args",
        "    _arguments -C \\",
    ]
    lines += [f"        {spec} \\" for option in top for spec in _zsh_option(option)]
    lines += [
        "        '1: :->command' '*:: :->rest'",
        '    case "$state" in',
        "        command) _describe command commands ;;",
    ]
    lines += ['        rest) case "$words[1]" in']
    for one in commands:
        specs = [spec for option in one.options for spec in _zsh_option(option)]
        rest = "_files" if one.files else f"({' '.join(one.choices)})" if one.choices else " "
        lines += [f"            {one.name}) _arguments {' '.join(specs)} {quote(f'*: :{rest}')} ;;"]
    lines += [
        "        esac ;;",
        "    esac",
        "}",
        f"if (( $+functions[compdef] )); then compdef _episodica {program}; fi",
        "",
    ]
    return "\n".join(lines)


def _zsh_option(option: Option) -> Iterator[str]:
    after = ""
    if option.value:
        what = {_FOLDERS: "_directories", _FILES: "_files"}.get(
            option.value, f"({' '.join(option.choices)})" if option.choices else " "
        )
        after = f":{option.value.lower()}:{what}"
    for name in option.names:
        yield quote(f"{name}[{_colonless(option.summary)}]{after}")


def _colonless(text: str) -> str:
    return text.replace(":", "\\:").replace("[", "(").replace("]", ")")


def _fish(program: str, top: tuple[Option, ...], commands: tuple[Command, ...]) -> str:
    names = " ".join(one.name for one in commands)
    lines = [
        f"# Completion of {program} for fish: {program} completion fish | source",
        f"complete -c {program} -f",
    ]
    none = f"not __fish_seen_subcommand_from {names}"
    lines += [
        f"complete -c {program} -n {quote(none)} -a {one.name} -d {quote(one.summary)}"
        for one in commands
    ]
    lines += [_fish_option(program, none, option) for option in top]
    for one in commands:
        seen = f"__fish_seen_subcommand_from {one.name}"
        lines += [_fish_option(program, seen, option) for option in one.options]
        if one.choices:
            lines.append(
                f"complete -c {program} -n {quote(seen)} -a {quote(' '.join(one.choices))}"
            )
        if one.files:
            lines.append(f"complete -c {program} -n {quote(seen)} -F")
    return "\n".join([*lines, ""])


def _fish_option(program: str, when: str, option: Option) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    )
    value = ""
    if option.value:
        value = f" -x -a {quote(' '.join(option.choices))}" if option.choices else " -x"
        if option.value in (_FOLDERS, _FILES):
            value = (
                " -x -a '(__fish_complete_directories)'" if option.value == _FOLDERS else " -r -F"
            )
    return f"complete -c {program} -n {quote(when)} {names}{value} -d {quote(option.summary)}"
