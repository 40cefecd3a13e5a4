"""``episodica completion SHELL``: a script that completes commands, options and their values."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from ..errors import MissingExtraError

SHELLS = ("bash", "zsh", "fish")


def script(
    shell: str,
    parser: argparse.ArgumentParser,
    files: Iterable[argparse.Action] = (),
    folders: Iterable[argparse.Action] = (),
) -> str:
    """The script for a shell."""
    try:
        import shtab
    except ImportError as error:
        raise MissingExtraError(
            "completion scripts need shtab", hint="pip install 'episodica[completion]'"
        ) from error
    for actions, complete in ((files, shtab.FILE), (folders, shtab.DIRECTORY)):
        for action in actions:
            action.complete = complete  # type: ignore[attr-defined]
    made: str = shtab.complete(parser, shell=shell)
    return made
