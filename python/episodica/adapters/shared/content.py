"""The words in messages and items of chat APIs: contents, parts, tool calls and results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

# The roles of an application's instructions, which are not memories.
INSTRUCTING = ("system", "developer")
_TEXT_KEYS = ("text", "refusal", "content", "output")
# Parts and items with thoughts of a model, which are not speech.
_THINKING = frozenset(
    ("reasoning", "text_reasoning", "thinking", "redacted_thinking", "reasoning_text")
)


def words(item: Any) -> str:
    """The text of a message, an item, a part, or a list of them.

    >>> words({"role": "user", "content": [{"type": "input_text", "text": "Hello"}]})
    'Hello'
    >>> words({"type": "function_call", "name": "weather", "arguments": "{}"})
    '[tool call: weather({})]'
    """
    if isinstance(item, str):
        return item.strip()
    if isinstance(item, Mapping):
        if item.get("type") in _THINKING:
            return ""
        found = [words(item[key]) for key in _TEXT_KEYS if item.get(key)]
        if "arguments" in item and "name" in item:
            found.append(f"[tool call: {item['name']}({_written(item['arguments'])})]")
        return "\n".join(filter(None, found))
    if isinstance(item, Iterable):
        return "\n".join(filter(None, map(words, item)))
    return ""


def _written(arguments: object) -> str:
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False, default=str)
