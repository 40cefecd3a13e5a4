"""Thinking that local models write into their words, between tags."""

from __future__ import annotations

import re

_TAGS = r"think|thinking|thought|reasoning"
# Only at the beginning, so that a text about such tags keeps them.
_OPEN = re.compile(rf"\s*<({_TAGS})>", re.IGNORECASE)
# Templates put the opening tag into the prompt, so that the answer has the closing one alone.
_CLOSE = re.compile(rf"(?:\A|\n)[ \t]*</(?:{_TAGS})>[ \t]*(?:\n|\Z)", re.IGNORECASE)


def without_thinking(text: str) -> tuple[str, str]:
    r"""The thoughts at the beginning of a model's words, and the answer after them.

    An answer that was cut while the model thought says nothing.

    >>> without_thinking("<think>They ski.</think>\n\nGood idea!")
    ('They ski.', 'Good idea!')
    >>> without_thinking("The tag is <think>.")
    ('', 'The tag is <think>.')
    """
    if "<" not in text:
        return "", text
    thought: list[str] = []
    rest = text
    while opened := _OPEN.match(rest):
        inner, closing, said = _parted(rest[opened.end() :], opened[1])
        if not closing and not inner.startswith("\n"):
            break  # a sentence about the tag
        thought.append(inner.strip())
        rest = said.lstrip() if closing else ""
    if not thought and (closed := _CLOSE.search(text)) and not _any_open(text[: closed.start()]):
        return text[: closed.start()].strip(), text[closed.end() :].lstrip()
    return "\n".join(filter(None, thought)), rest if thought else text


def _parted(text: str, tag: str) -> tuple[str, str, str]:
    closing = re.search(rf"</{tag}>", text, re.IGNORECASE)
    if closing is None:
        return text, "", ""
    return text[: closing.start()], closing[0], text[closing.end() :]


def _any_open(text: str) -> bool:
    return re.search(rf"<({_TAGS})>", text, re.IGNORECASE) is not None
