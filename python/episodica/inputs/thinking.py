"""Thinking that local models write into their words, between tags."""

from __future__ import annotations

import re

_TAGS = r"think|thinking|thought|reasoning"
# Only at the beginning, so that a text about such tags keeps them.
_OPEN = re.compile(rf"\s*<({_TAGS})>", re.IGNORECASE)
# Templates put the opening tag into the prompt, so that the answer has the closing one alone.
_CLOSE = re.compile(rf"(?:\A|\n)[ \t]*</(?:{_TAGS})>[ \t]*(?:\n|\Z)", re.IGNORECASE)
_ENDS = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in _TAGS.split("|")}
_ANYWHERE = re.compile(rf"<(?:{_TAGS})>", re.IGNORECASE)


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
    at = 0
    while opened := _OPEN.match(text, at):
        closing = _ENDS[opened[1].lower()].search(text, opened.end())
        if closing is None and not text.startswith("\n", opened.end()):
            break  # a sentence about the tag
        end, at = closing.span() if closing else (len(text), len(text))
        thought.append(text[opened.end() : end].strip())
    if thought:
        return "\n".join(filter(None, thought)), text[at:].lstrip()
    closed = _CLOSE.search(text)
    if closed and not _ANYWHERE.search(text, 0, closed.start()):
        return text[: closed.start()].strip(), text[closed.end() :].lstrip()
    return "", text
