"""The common part of ``openai.wrap`` and ``anthropic.wrap``: a client that remembers.

A call gets a context for the user's question in its prompt. When its answer is complete, the turn
(the messages since the model's last answer, and the new answer) is remembered in one step. So a
call that fails leaves nothing behind and can be repeated. Only :class:`Protocol` knows the APIs.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from episodica import EpisodicaError
from episodica.fence import fenced_context

from .connection import Connection, settle
from .protocol import Protocol
from .streams import (
    AsyncRememberingManager,
    AsyncRememberingStream,
    RememberingManager,
    RememberingStream,
)

_log = logging.getLogger("episodica.adapters")

Name = str | Callable[[], str]


class Middleware:
    """The memory behind a wrapped client."""

    def __init__(
        self,
        connection: Connection,
        user: Name,
        session_id: Name | None,
        max_tokens: int,
        search: Mapping[str, Any],
    ) -> None:
        self.connection = connection
        self._user = user
        self._session_id = session_id
        self._max_tokens = max_tokens
        self._search = search

    def prepare(self, protocol: Protocol, call: dict[str, Any]) -> tuple[dict[str, Any], Turn]:
        """The call with a context in its prompt, and the turn that it opens."""
        turn = Turn(self, protocol.said(call), _called(self._user), _called(self._session_id))
        question = protocol.question(call)
        if not question:
            return call, turn
        found = self.connection.memory.context(
            turn.user, question, max_tokens=self._max_tokens, **self._search
        )
        context = fenced_context(found)
        return (protocol.with_context(call, context) if context else call), turn


class Turn:
    """The messages to the model, kept until its answer is complete."""

    def __init__(
        self, middleware: Middleware, said: list[dict[str, Any]], user: str, session: str | None
    ) -> None:
        self.user = user
        self._memory = middleware.connection.memory
        self._said = said
        self._session = session
        self._done = False

    def remember(self, answer: str) -> None:
        """Remembers the turn, once. A failure is logged: it must not cost the caller the answer."""
        if self._done:
            return
        self._done = True
        messages = list(self._said)
        if answer.strip():
            messages.append({"role": "assistant", "content": answer})
        if not messages:
            return
        try:
            self._memory.add_messages(self.user, messages, session_id=self._session)
        except EpisodicaError:
            _log.exception("a turn was answered, but could not be remembered")


def intercept(
    method: Callable[..., Any], middleware: Middleware, protocol: Protocol
) -> Callable[..., Any]:
    """A method of a client, ``create`` or one like it, that remembers."""

    @functools.wraps(method)
    def call(**arguments: Any) -> Any:
        arguments, turn = middleware.prepare(protocol, arguments)
        answer = method(**arguments)
        if _is_stream(arguments, answer):
            return RememberingStream(answer, turn, protocol.reply())
        turn.remember(protocol.answer(answer))
        return answer

    @functools.wraps(method)
    async def call_async(**arguments: Any) -> Any:
        arguments, turn = await settle(middleware.prepare, protocol, arguments)
        answer = await method(**arguments)
        if _is_stream(arguments, answer):
            return AsyncRememberingStream(answer, turn, protocol.reply())
        await settle(turn.remember, protocol.answer(answer))
        return answer

    return call_async if is_async(method) else call


def intercept_helper(
    method: Callable[..., Any], middleware: Middleware, protocol: Protocol, in_loop: bool
) -> Callable[..., Any]:
    """A client's ``stream(...)``, which opens a stream by ``with``, so that it remembers.

    Parameters
    ----------
    in_loop
        Whether it is opened by ``async with``.
    """

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
        # Libraries ask whether they were given one of the SDK's clients.
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


def _called(name: Name | None) -> Any:
    return name() if callable(name) else name
