"""Where each chat API keeps messages, prompt and answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from .content import INSTRUCTING, words
from .recalling import with_lines


class Reply(ABC):
    """An answer that arrives in pieces."""

    @abstractmethod
    def add(self, piece: Any) -> None:
        """Takes the next piece."""

    @abstractmethod
    def message(self) -> dict[str, Any]:
        """The answer as far as it has arrived, as a message of the assistant."""


class Protocol(ABC):
    """A resource of an API, such as ``chat.completions``."""

    messages = "messages"
    """Argument with the messages."""
    part = "text"
    """Type of a part of a message that is a text."""
    final: str
    """Attribute or method of a stream helper that gives the whole answer.

    An attribute gives it as far as it has arrived; a method waits for the rest.
    """

    @abstractmethod
    def said(self, call: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages of a call since the model last spoke, as a memory takes them."""

    @abstractmethod
    def with_context(self, call: Mapping[str, Any], context: str) -> dict[str, Any]:
        """A copy of the call with a context in its prompt."""

    @abstractmethod
    def answer(self, response: Any) -> dict[str, Any]:
        """A whole answer as a message of the assistant, with its thinking and its calls."""

    @abstractmethod
    def reply(self) -> Reply:
        """Collects a streamed answer."""

    def question(self, call: Mapping[str, Any]) -> str:
        """What the user asks in a call; empty if the model is only given results of tools."""
        asked = [message for message in self.said(call) if message["role"] == "user"]
        return str(asked[-1]["content"]) if asked else ""

    def turns(self, call: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Role and words of every message of a call."""
        sent = call.get(self.messages) or ()
        return [("user", sent)] if isinstance(sent, str) else list(map(_turn, sent))

    def with_lines(self, call: Mapping[str, Any], lines: Mapping[int, str]) -> dict[str, Any]:
        """A copy of the call with lines before the words of messages, by their numbers."""
        sent = call.get(self.messages) or ()
        if isinstance(sent, str):
            return {**call, self.messages: with_lines(sent, lines[0])} if lines else {**call}
        messages = list(sent)
        for number, text in lines.items():
            message = plain(messages[number])
            content = with_lines(message.get("content"), text, self.part)
            messages[number] = {**message, "content": content}
        return {**call, self.messages: messages}


def since_answer(messages: Iterable[Any], spoken: frozenset[str]) -> list[dict[str, Any]]:
    """The messages after the model's last message, without prompts and without empty messages.

    ``spoken`` names the kinds (roles or types) of what the model says.
    """
    latest: list[dict[str, Any]] = []
    for message in map(plain, messages):
        role = str(message.get("role") or message.get("type") or "user")
        if role in spoken:
            latest = []
            continue
        content = words(message)
        if role == "user" and _is_result(message.get("content")):
            role = "tool"
        if content and role not in INSTRUCTING:
            named = {"name": message["name"]} if message.get("name") else {}
            latest.append({"role": _ROLES.get(role, role), "content": content, **named})
    return latest


def _turn(message: Any) -> tuple[str, str]:
    message = plain(message)
    role = str(message.get("role") or message.get("type") or "user")
    is_result = role == "user" and _is_result(message.get("content"))
    return ("tool" if is_result else _ROLES.get(role, role)), words(message)


_ROLES = {"function_call_output": "tool", "message": "user"}


def _is_result(content: Any) -> bool:
    """Whether a message contains only results of tools."""
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and part.get("type") == "tool_result" for part in content)
    )


def plain(value: Any) -> Any:
    """An SDK's object as plain Python values."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "__dict__"):
        return {key: plain(item) for key, item in vars(value).items()}
    return value
