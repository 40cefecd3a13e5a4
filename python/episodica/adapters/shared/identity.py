"""Ids of messages that come without an id."""

from __future__ import annotations

import hashlib
import json


def following(before: str, *said: object) -> str:
    """The id of a message that says ``said`` after the message with the id ``before``.

    The same messages in the same order get the same ids, so adding them again adds nothing; the
    same words in another place get another id.

    >>> first = following("", "user", "Yes.")
    >>> following("", "user", "Yes.") == first != following(first, "user", "Yes.")
    True
    """
    return hashlib.sha256(json.dumps([before, *said], default=repr).encode()).hexdigest()
