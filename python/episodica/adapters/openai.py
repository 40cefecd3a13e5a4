"""A client of OpenAI's API, or of any server that speaks it, that remembers.

Needs no extra: the package of the client is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .shared.connection import Connection, Where
from .shared.content import INSTRUCTING
from .shared.middleware import Proxy, remembering, rewrapped
from .shared.protocol import Protocol, Reply, plain, since_answer
from .shared.turns import Middleware, Name

__all__ = ["wrap"]

Client = TypeVar("Client")


def wrap(
    client: Client,
    memory: Where,
    user: Name,
    *,
    session_id: Name | None = None,
    max_tokens: int = 1000,
    recall: int | None = None,
    **search: Any,
) -> Client:
    """A client that adds contexts to its prompts and remembers its turns.

    This applies to ``create``, ``parse`` and ``stream`` of ``chat.completions`` and of
    ``responses``, of ``OpenAI`` and ``AsyncOpenAI``. A context for the user's question is added to
    the prompt, and the turn is remembered when the answer is complete. A streamed call stores the
    question when the stream begins. When the stream ends, breaks, is left or is cancelled, it
    stores the part of the answer that arrived. Asking again after a broken stream does not store
    the question twice. A call that fails stores nothing. All other calls pass through unchanged, as
    does ``with_raw_response``.

    Parameters
    ----------
    client
        The SDK's client; it does not change.
    memory
        A path, an open system, or an ``AsyncMemorySystem``.
    user
        The user of the memory: an id, or a function that returns an id at each call, for clients
        that serve many users.
    session_id
        The session of the messages: an id, or such a function.
    recall
        Most tokens of all that one conversation is given, such as 4000. Each line is then given
        once, before the question that first needs it, and put there again in later calls, so that
        the prompt before a new question stays byte for byte. Every call must have the conversation
        from its beginning. ``max_tokens`` is not used.
    max_tokens, **search
        As for :meth:`MemorySystem.context`, or with ``recall`` for :meth:`MemorySystem.recall`.
    """
    middleware = Middleware(Connection(memory), user, session_id, max_tokens, recall, search)
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
        while place < len(messages) and plain(messages[place]).get("role") in INSTRUCTING:
            place += 1
        messages.insert(place, {"role": "system", "content": context})
        return {**call, "messages": messages}

    def answer(self, response: Any) -> dict[str, Any]:
        """The first choice."""
        choices = response.choices
        message = plain(choices[0].message) if choices else {}
        return {**{key: message.get(key) for key in _ANSWERED}, "role": "assistant"}

    def reply(self) -> Reply:
        """Pieces of the first choice."""
        return _ChatReply()


# The keys of a model's message that are remembered.
_ANSWERED = (
    *("content", "refusal", "audio", "tool_calls", "function_call"),
    *("reasoning_content", "reasoning"),
)


class _ChatReply(Reply):
    def __init__(self) -> None:
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}

    def add(self, piece: Any) -> None:
        for choice in getattr(piece, "choices", None) or ():
            if getattr(choice, "index", 0):
                continue
            delta = plain(choice.delta) or {}
            self._text.append(delta.get("content") or delta.get("refusal") or "")
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            self._thoughts.append(thought if isinstance(thought, str) else "")
            for call in delta.get("tool_calls") or ():
                told = self._calls.setdefault(call.get("index") or 0, {"name": "", "arguments": ""})
                function = call.get("function") or {}
                for key in told:
                    told[key] += function.get(key) or ""

    def message(self) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": "".join(self._text),
            "reasoning_content": "".join(self._thoughts),
            "tool_calls": [{"function": call} for call in self._calls.values()],
        }


class Responses(Protocol):
    """``responses``."""

    messages = "input"
    part = "input_text"
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

    def answer(self, response: Any) -> dict[str, Any]:
        """All messages, tool calls and thoughts of the output."""
        parts: list[Any] = []
        for item in plain(response.output):
            if item.get("type") == "message":
                parts += item.get("content") or ()
            elif item.get("type") in _DONE:
                parts.append(item)
        return {"role": "assistant", "content": parts}

    def reply(self) -> Reply:
        """Events of the stream."""
        return _ResponseReply(self)


# Roles and types of items that a model makes; then the types that report its actions or thoughts.
_SPOKEN = frozenset(("assistant", "function_call", "reasoning", "custom_tool_call"))
_DONE = frozenset(("function_call", "custom_tool_call", "reasoning"))


class _ResponseReply(Reply):
    def __init__(self, protocol: Responses) -> None:
        self._protocol = protocol
        self._deltas: list[str] = []
        self._whole: dict[str, Any] | None = None

    def add(self, piece: Any) -> None:
        kind = getattr(piece, "type", "")
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._deltas.append(piece.delta)
        elif kind in ("response.completed", "response.incomplete"):
            self._whole = self._protocol.answer(piece.response)

    def message(self) -> dict[str, Any]:
        return self._whole or {"role": "assistant", "content": "".join(self._deltas)}
