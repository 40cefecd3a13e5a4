"""A client of OpenAI's API, or of any server that speaks it, that remembers.

Needs no extra: the package of the client is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .shared.connection import Connection, Where
from .shared.content import words
from .shared.middleware import Middleware, Name, Proxy, remembering, rewrapped
from .shared.protocol import Protocol, Reply, plain, since_answer

__all__ = ["wrap"]

Client = TypeVar("Client")


def wrap(
    client: Client,
    memory: Where,
    user: Name,
    *,
    session_id: Name | None = None,
    max_tokens: int = 1000,
    **search: Any,
) -> Client:
    """A client whose chat completions and responses are remembered and get contexts.

    This applies to ``create``, ``parse`` and ``stream`` of ``chat.completions`` and of
    ``responses``, of ``OpenAI`` and ``AsyncOpenAI``. A context for the user's question is added to
    the prompt, and the turn is remembered when the answer is complete. A call that fails leaves
    nothing behind. All other calls pass through unchanged, ``with_raw_response`` too.

    Parameters
    ----------
    client
        The SDK's client; it does not change.
    memory
        A path, an open system, or an ``AsyncMemorySystem``.
    user
        Whose memory: an id, or a function that returns it at each call, for clients that serve
        many.
    session_id
        The session of the messages, likewise.
    max_tokens, **search
        As for :meth:`MemorySystem.context`.
    """
    middleware = Middleware(Connection(memory), user, session_id, max_tokens, search)
    return cast("Client", _wrapped(client, middleware))


def _wrapped(client: Any, middleware: Middleware) -> Proxy:
    replaced: dict[str, Any] = {}
    chat = getattr(client, "chat", None)
    if chat is not None:
        completions = remembering(chat.completions, middleware, ChatCompletions())
        replaced["chat"] = Proxy(chat, {"completions": completions})
    responses = getattr(client, "responses", None)
    if responses is not None:
        replaced["responses"] = remembering(responses, middleware, Responses())
    replaced |= rewrapped(client, lambda again: _wrapped(again, middleware))
    return Proxy(client, replaced)


class ChatCompletions(Protocol):
    """``chat.completions``."""

    final = "current_completion_snapshot"

    def said(self, call: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages since the model last spoke."""
        return since_answer(call.get("messages") or (), frozenset(("assistant",)))

    def with_context(self, call: Mapping[str, Any], context: str) -> dict[str, Any]:
        """The context as a system message after the existing ones."""
        messages = list(call["messages"])
        place = 0
        while place < len(messages) and plain(messages[place]).get("role") in _PROMPTS:
            place += 1
        messages.insert(place, {"role": "system", "content": context})
        return {**call, "messages": messages}

    def answer(self, response: Any) -> str:
        """The first choice."""
        choices = response.choices
        return _message_text(plain(choices[0].message)) if choices else ""

    def reply(self) -> Reply:
        """Pieces of the first choice."""
        return _ChatReply()


_PROMPTS = ("system", "developer")


def _message_text(message: Mapping[str, Any]) -> str:
    calls = [words(call.get("function")) for call in message.get("tool_calls") or ()]
    return "\n".join(filter(None, [words(message), *calls]))


class _ChatReply(Reply):
    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: dict[int, list[str]] = {}

    def add(self, piece: Any) -> None:
        for choice in piece.choices or ():
            if getattr(choice, "index", 0):
                continue
            delta = plain(choice.delta) or {}
            self._text.append(delta.get("content") or delta.get("refusal") or "")
            for call in delta.get("tool_calls") or ():
                name, arguments = self._calls.setdefault(call.get("index") or 0, ["", ""])
                function = call.get("function") or {}
                self._calls[call.get("index") or 0] = [
                    name + (function.get("name") or ""),
                    arguments + (function.get("arguments") or ""),
                ]

    def text(self) -> str:
        calls = (
            words({"name": name, "arguments": arguments})
            for name, arguments in self._calls.values()
        )
        return "\n".join(filter(None, ["".join(self._text), *calls]))


class Responses(Protocol):
    """``responses``."""

    final = "get_final_response"

    def said(self, call: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The input items since the model last spoke."""
        asked = call.get("input")
        if isinstance(asked, str):
            return [{"role": "user", "content": asked}] if asked.strip() else []
        return since_answer(asked or (), _SPOKEN)

    def with_context(self, call: Mapping[str, Any], context: str) -> dict[str, Any]:
        """The context after the instructions."""
        instructions = call.get("instructions")
        before = [instructions] if isinstance(instructions, str) else []
        return {**call, "instructions": "\n\n".join([*before, context])}

    def answer(self, response: Any) -> str:
        """All messages and tool calls of the output."""
        return words([item for item in plain(response.output) if item.get("type") in _SAID])

    def reply(self) -> Reply:
        """Events of the stream."""
        return _ResponseReply(self)


# Items that a model makes; those of them that tell what it said or did.
_SPOKEN = frozenset(("assistant", "function_call", "reasoning", "custom_tool_call"))
_SAID = frozenset(("message", "function_call"))


class _ResponseReply(Reply):
    def __init__(self, protocol: Responses) -> None:
        self._protocol = protocol
        self._deltas: list[str] = []
        self._whole: str | None = None

    def add(self, piece: Any) -> None:
        kind = getattr(piece, "type", "")
        if kind == "response.output_text.delta":
            self._deltas.append(piece.delta)
        elif kind in ("response.completed", "response.incomplete"):
            self._whole = self._protocol.answer(piece.response)

    def text(self) -> str:
        return "".join(self._deltas) if self._whole is None else self._whole
