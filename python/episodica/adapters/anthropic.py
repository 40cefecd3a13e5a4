"""A client of Anthropic's API that remembers.

Needs no extra: the package of the client is enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from .shared.connection import Connection, Where
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
    """A client that adds contexts to its prompts and remembers its messages.

    This applies to ``messages.create``, ``parse`` and ``stream`` of ``Anthropic`` and
    ``AsyncAnthropic``. The context is added to ``system``. All other calls pass through unchanged.
    Parameters are those of :func:`episodica.adapters.openai.wrap`.
    """
    middleware = Middleware(Connection(memory), user, session_id, max_tokens, recall, search)
    return cast("Client", _wrapped(client, middleware))


def _wrapped(client: Any, middleware: Middleware) -> Proxy:
    messages = remembering(client.messages, middleware, Messages())
    again = rewrapped(client, lambda made: _wrapped(made, middleware))
    return Proxy(client, {"messages": messages, **again})


class Messages(Protocol):
    """``messages``."""

    final = "current_message_snapshot"

    def said(self, call: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The messages since the model last spoke. Tool results are in messages of the user."""
        return since_answer(call.get("messages") or (), frozenset(("assistant",)))

    def with_context(self, call: Mapping[str, Any], context: str) -> dict[str, Any]:
        """The context after the system prompt, which may be a text or a list of blocks."""
        system = call.get("system")
        if isinstance(system, str):
            return {**call, "system": f"{system}\n\n{context}"}
        blocks = list(system) if isinstance(system, (list, tuple)) else []
        return {**call, "system": [*blocks, {"type": "text", "text": context}]}

    def answer(self, response: Any) -> dict[str, Any]:
        """All blocks of the answer."""
        return {"role": "assistant", "content": plain(response.content)}

    def reply(self) -> Reply:
        """Events of the stream."""
        return _EventReply()


# For each type of block, the key whose value arrives in pieces.
_PIECES = {"text": "text", "thinking": "thinking", "tool_use": "input", "server_tool_use": "input"}


class _EventReply(Reply):
    def __init__(self) -> None:
        self._blocks: dict[int, dict[str, Any]] = {}

    def add(self, piece: Any) -> None:
        kind = getattr(piece, "type", "")
        if kind == "content_block_start":
            self._blocks[piece.index] = {**plain(piece.content_block), "pieces": []}
        elif kind == "content_block_delta":
            delta = plain(piece.delta)
            block = self._blocks.setdefault(piece.index, {"type": "text", "pieces": []})
            arrived = (delta.get(key) for key in ("text", "partial_json", "thinking"))
            block["pieces"].append(next(filter(None, arrived), ""))

    def message(self) -> dict[str, Any]:
        return {"role": "assistant", "content": list(map(_collected, self._blocks.values()))}


def _collected(block: dict[str, Any]) -> dict[str, Any]:
    place = _PIECES.get(block.get("type") or "")
    arrived = "".join(block["pieces"])
    if place is None or not arrived:
        return {key: value for key, value in block.items() if key != "pieces"}
    before = block.get(place)
    begun = before if isinstance(before, str) else ""
    return {**block, place: begun + arrived, "pieces": None}
