"""The common part of ``openai.wrap`` and ``anthropic.wrap``: a client that remembers.

A call gets a context for the user's question in its prompt. When its answer is complete, the turn
(the messages since the model's last answer, and the new answer) is remembered in one step. So a
call that fails stores nothing and can be repeated. A streamed call stores the question when the
stream begins, and the part of the answer that arrived when the stream ends in any way. Only
:class:`Protocol` knows the APIs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from .connection import settle
from .protocol import Protocol
from .streams import (
    AsyncRememberingManager,
    AsyncRememberingStream,
    RememberingManager,
    RememberingStream,
)
from .turns import Middleware, Turn


def intercept(
    method: Callable[..., Any], middleware: Middleware, protocol: Protocol
) -> Callable[..., Any]:
    """Wraps a client's ``create`` or ``parse``, so that it remembers."""

    @functools.wraps(method)
    def call(**arguments: Any) -> Any:
        arguments, turn = middleware.prepare(protocol, arguments)
        answer = method(**arguments)
        if _is_stream(arguments, answer):
            turn.begin()
            return RememberingStream(answer, turn, protocol.reply())
        turn.finish(protocol.answer(answer))
        return answer

    @functools.wraps(method)
    async def call_async(**arguments: Any) -> Any:
        arguments, turn = await settle(middleware.prepare, protocol, arguments)
        answer = await method(**arguments)
        if _is_stream(arguments, answer):
            await settle(turn.begin)
            return AsyncRememberingStream(answer, turn, protocol.reply())
        await settle(turn.finish, protocol.answer(answer))
        return answer

    return call_async if is_async(method) else call


def intercept_helper(
    method: Callable[..., Any], middleware: Middleware, protocol: Protocol, in_loop: bool
) -> Callable[..., Any]:
    """Wraps a client's ``stream(...)``, whose result ``with`` opens, so that it remembers."""

    @functools.wraps(method)
    def call(**arguments: Any) -> Any:
        def prepare() -> tuple[Any, Turn]:
            prepared, turn = middleware.prepare(protocol, arguments)
            return method(**prepared), turn

        return (AsyncRememberingManager if in_loop else RememberingManager)(prepare, protocol)

    return call


def remembering(resource: Any, middleware: Middleware, protocol: Protocol) -> Proxy:
    """A resource of a client whose ``create``, ``parse`` and ``stream`` remember."""
    replaced = {
        name: intercept(getattr(resource, name), middleware, protocol)
        for name in ("create", "parse")
        if hasattr(resource, name)
    }
    if hasattr(resource, "stream"):
        in_loop = is_async(resource.create)
        replaced["stream"] = intercept_helper(resource.stream, middleware, protocol, in_loop)
    return Proxy(resource, replaced)


def rewrapped(client: Any, wrap: Callable[[Any], Any]) -> dict[str, Any]:
    """``with_options`` and ``copy``, whose clients remember, too."""

    def again(method: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: wrap(method(*args, **kwargs))

    names = [name for name in ("with_options", "copy") if hasattr(client, name)]
    return {name: again(getattr(client, name)) for name in names}


class Proxy:
    """A client with some attributes replaced."""

    def __init__(self, wrapped: Any, replaced: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_wrapped", wrapped)
        object.__setattr__(self, "_replaced", replaced)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # Libraries check whether they were given one of the SDK's clients.
        return type(object.__getattribute__(self, "_wrapped"))

    def __getattr__(self, name: str) -> Any:
        replaced = object.__getattribute__(self, "_replaced")
        return replaced[name] if name in replaced else getattr(self._wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._wrapped, name, value)

    def __enter__(self) -> Proxy:
        self._wrapped.__enter__()
        return self

    def __exit__(self, *error: object) -> Any:
        return self._wrapped.__exit__(*error)

    async def __aenter__(self) -> Proxy:
        await self._wrapped.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._wrapped.__aexit__(*error)

    def __repr__(self) -> str:
        return f"<{self._wrapped!r} with episodica>"


def is_async(method: Callable[..., Any]) -> bool:
    """Whether a client's method is a coroutine function, decorated or not."""
    return inspect.iscoroutinefunction(inspect.unwrap(method))


def _is_stream(arguments: Mapping[str, Any], answer: object) -> bool:
    return bool(arguments.get("stream")) and hasattr(
        answer, "__aiter__" if hasattr(answer, "__aiter__") else "__iter__"
    )
