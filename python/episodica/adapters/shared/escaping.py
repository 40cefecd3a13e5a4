"""Turns names of other frameworks, which are sequences of texts, into user ids, and back.

A sequence of labels becomes ``root:label/label``; no two sequences become the same id. An id that
would be too long is replaced by its hash, from which the labels can't be read back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

# Bytes of UTF-8 that a user id may have.
_MAX_BYTES = 512


def join(root: str, labels: Iterable[str]) -> str:
    """The id of a sequence of labels under ``root``.

    >>> join("app", ("a", "b/c", ""))
    'app:a/b%2Fc/%'
    """
    text = f"{root}:" + "/".join(map(_escape, labels))
    if len(text.encode("utf-8", "surrogatepass")) <= _MAX_BYTES:
        return text
    return f"{root}#{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def split(root: str, text: str) -> tuple[str, ...] | None:
    """The labels that :func:`join` made ``text`` of; ``None`` if they can't be told from it.

    >>> split("app", "app:a/b%2Fc/%")
    ('a', 'b/c', '')
    """
    if not text.startswith(f"{root}:"):
        return None
    rest = text[len(root) + 1 :]
    return tuple(map(_unescape, rest.split("/"))) if rest else ()


def is_hashed(root: str, text: str) -> bool:
    """Whether ``text`` names its labels by their hash."""
    return text.startswith(f"{root}#")


def _escape(label: str) -> str:
    return label.replace("%", "%25").replace("/", "%2F") or "%"


def _unescape(text: str) -> str:
    return "" if text == "%" else text.replace("%2F", "/").replace("%25", "%")
