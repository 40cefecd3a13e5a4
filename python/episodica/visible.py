"""Texts as people may see them: characters that act instead of being seen become escapes.

A terminal obeys escape sequences, and characters that change the writing direction make a line
read as something else. Every place that shows a text calls :func:`visible`: reprs, notebooks,
charts, the command line, errors and logs. What programs get (``content``, ``Context.text``) stays
as it was said.
"""

from __future__ import annotations

import json
import re

# Controls (C0 and C1), separators of lines, what changes the writing direction, annotations, lone
# surrogates, and tags, which hide letters. Only the flags of England, Scotland and Wales, which are
# made of tags, stay.
_FLAG = "\U0001f3f4[\U000e0061-\U000e007a]{1,6}\U000e007f"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
_ACTING = f"\x7f-\x9f\u2028\u2029{_DIRECTIONS}\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f"
_IN_LINE = re.compile(f"({_FLAG})|[\x00-\x1f{_ACTING}]")
_IN_LINES = re.compile(f"({_FLAG})|(\r\n)|[\x00-\x08\x0b-\x1f{_ACTING}]")
_IN_JSON = re.compile(f"[{_ACTING}]")

# The day of a relative date in brackets: " [9 March 2026]".
_DAYS = re.compile(r" ?\[[^\[\]]{0,40}\d{4}[^\[\]]{0,300}\]")


def without_days(text: str) -> str:
    """``text`` without the bracketed days of its relative dates, as it was said.

    >>> without_days("I start next Monday [9 March 2026].")
    'I start next Monday.'
    """
    return _DAYS.sub("", text)


def visible(text: str, *, lines: bool = False) -> str:
    r"""``text`` with an escape for every character that controls a display, but is not shown.

    With ``lines``, line feeds and tabs stay.

    >>> visible("\x1b]52;c;aGk=\x07 \u202eabc\n")
    '\\x1b]52;c;aGk=\\x07 \\u202eabc\\n'
    """
    if text.isascii() and text.isprintable():
        return text
    if lines:
        return _IN_LINES.sub(lambda one: one[1] or ("\n" if one[2] else _escape(one[0])), text)
    return _IN_LINE.sub(lambda one: one[1] or _escape(one[0]), text)


def escaped(text: str) -> str:
    """``text`` as it stands in HTML and its attributes."""
    from html import escape

    return escape(text)


def visible_json(document: str) -> str:
    """A JSON document that says the same in characters that are all visible."""
    return _IN_JSON.sub(lambda one: json.dumps(one[0])[1:-1], document)


def _escape(char: str) -> str:
    return ascii(char)[1:-1]
