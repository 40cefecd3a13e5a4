"""Puts errors into the words of the command line: ``--top-k`` instead of ``top_k``."""

from __future__ import annotations

import re

from ..errors import EpisodicaError

# The option that sets each argument of the package.
_OPTIONS = {
    "agent_id": "--agent",
    "facts": "--facts",
    "format": "--format",
    "kind": "--kind",
    "limit": "--limit",
    "max_tokens": "--max-tokens",
    "metadata": "--metadata",
    "method": "--method",
    "session_id": "--session",
    "since": "--since",
    "tenant": "--tenant",
    "threshold": "--threshold",
    "timezone": "--timezone",
    "top_k": "--top-k",
    "until": "--until",
    "user_id": "--user",
    "valid_from": "--valid-from",
    "where": "--where",
}
_ARGUMENT = re.compile(rf"^(?:{'|'.join(_OPTIONS)})(?= |\b[.:])")
_INNER = re.compile(r"(?<=than )(?:since|until)(?=:)|`(user_id|limit|top_k)`")
# Calls of the package in hints, and the commands that make them.
_CALLS = re.compile(r"`memory\.(\w+)\(user_id\)`")
_COMMANDS = {"semantic_memories": "facts", "rebuild_indices": "rebuild"}
_USERS = "leave the user out: the file names its own"


def in_words_of_the_line(error: EpisodicaError) -> EpisodicaError:
    """The error as text for a terminal."""
    message = _ARGUMENT.sub(lambda found: _OPTIONS[found[0]], error.message)
    message = _INNER.sub(lambda found: _OPTIONS[found[0].strip("`")], message)
    if message != error.message:
        error.args = (message, *error.args[1:])
    if error.hint:
        hint = _CALLS.sub(
            lambda found: f"`episodica {_COMMANDS.get(found[1], found[1])} USER`", error.hint
        )
        error.hint = "leave `--user` out: the file names its own" if hint == _USERS else hint
    return error
