"""Puts errors into the words of the command line: ``--top-k`` instead of ``top_k``."""

from __future__ import annotations

import re

from ..errors import EpisodicaError

# An argument of the package that an option of the same name sets, at the start of a message.
_ARGUMENT = re.compile(
    r"^(?:agent_id|facts|format|kind|limit|max_tokens|metadata|method|session_id|since|tenant"
    r"|threshold|timezone|top_k|until|user_id|valid_from|where)(?= |\b[.:])"
)
_INNER = re.compile(r"(?<=than )(?:since|until)(?=:)|`(user_id|limit|top_k)`")
# Calls of the package in hints, and the commands that make them.
_CALLS = re.compile(r"`memory\.(\w+)\(user_id\)`")
_COMMANDS = {"semantic_memories": "facts", "rebuild_indices": "rebuild"}
_USERS = "leave the user out: the file names its own"


def in_words_of_the_line(error: EpisodicaError) -> EpisodicaError:
    """The error as text for a terminal."""
    message = _INNER.sub(_option, _ARGUMENT.sub(_option, error.message))
    if message != error.message:
        error.args = (message, *error.args[1:])
    if error.hint:
        hint = _CALLS.sub(
            lambda found: f"`episodica {_COMMANDS.get(found[1], found[1])} USER`", error.hint
        )
        error.hint = "leave `--user` out: the file names its own" if hint == _USERS else hint
    return error


def _option(found: re.Match[str]) -> str:
    """The option of an argument: ``--top-k`` of ``top_k``, ``--user`` of ``user_id``."""
    return f"--{found[0].strip('`').removesuffix('_id').replace('_', '-')}"
