"""How to treat keys, passwords, card and account numbers on their way in."""

from __future__ import annotations

from typing import Any

from .._native import mask_secrets
from ..errors import InvalidInputError

POLICIES = ("mask", "keep", "refuse")
# The texts of a fact that nobody wrote: a name of ours, a date, a hash.
_NOT_SAID = frozenset(("kind", "valid_from", "source"))


def policy_of(setting: str, *, from_program: bool) -> str:
    """The policy of a setting: ``auto`` masks what programs wrote and keeps what people say."""
    if setting != "auto":
        return setting
    return "mask" if from_program else "keep"


def hide(text: str, policy: str, what: str = "the text") -> tuple[str, int]:
    """The text with its secrets masked, and their number.

    Raises an error that names the kind of the first secret if the policy refuses them.
    """
    if policy == "keep":
        return text, 0
    hidden, kinds = mask_secrets(text)
    if kinds and policy == "refuse":
        raise InvalidInputError(
            f"{what} holds a secret, `{kinds[0]}`", hint='leave it out, or pass secrets="mask"'
        )
    return hidden, len(kinds)


def hide_in_fact(fact: dict[str, Any], policy: str) -> dict[str, Any]:
    """A stated fact, as the engine takes it, with the secrets of its texts masked or refused."""
    texts = {
        key: text for key, text in fact.items() if isinstance(text, str) and key not in _NOT_SAID
    }
    return {**fact, **{key: hide(text, policy)[0] for key, text in texts.items()}}
