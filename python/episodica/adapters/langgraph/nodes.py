"""Nodes of a graph: one recalls before the model is called, one remembers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda

from episodica import InvalidInputError

from ..shared.chat_messages import last_question, to_messages, turns
from ..shared.connection import Connection, Where, settle
from ..shared.recalling import StayingContexts, questions, with_lines


def pre_model_hook(
    where: Where,
    user_id: str | None = None,
    *,
    max_tokens: int = 1000,
    recall: int | None = None,
    **search: Any,
) -> RunnableLambda[Any, Any]:
    """A hook or a node that adds a context to the model's input.

    Use it as a node or as ``create_react_agent(pre_model_hook=...)``. The hook does not change the
    graph's ``messages`` and sets ``llm_input_messages``: a system message with a context for the
    latest human message, then the messages.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory; by default the run's ``config["configurable"]["user_id"]``.
    recall
        Most tokens of all that one conversation is given, such as 4000. Each line is then given
        once, in the human message that first needs it, and stays there in later calls, so that the
        input before a new message stays byte for byte. ``max_tokens`` is not used.
    max_tokens, **search
        As for :meth:`MemorySystem.context`, or with ``recall`` for :meth:`MemorySystem.recall`.
    """
    connection = Connection(where)
    staying = None if recall is None else StayingContexts(connection, recall, search)

    def add_lines(staying: StayingContexts, messages: list[Any], user: str) -> list[Any]:
        said = turns(messages)
        asked = questions(said)
        is_answered = any(role == "assistant" for role, _ in said[asked[-1] :]) if asked else True
        lines = staying.lines(user, said, None if is_answered else asked[-1])
        for number, text in lines.items():
            content = with_lines(messages[number].content, text)
            messages[number] = messages[number].model_copy(update={"content": content})
        return messages

    def add_context(state: Any, config: RunnableConfig) -> dict[str, Any]:
        messages = _messages_of(state)
        if staying is not None:
            given = add_lines(staying, list(messages), _user_of(user_id, config))
            return {"llm_input_messages": given}
        question = last_question(messages)
        text = ""
        if question:
            text = connection.recall(_user_of(user_id, config), question, max_tokens, **search)
        remembered = [SystemMessage(text)] if text else []
        return {"llm_input_messages": [*remembered, *messages]}

    async def add_context_async(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return await settle(add_context, state, config)

    return RunnableLambda(add_context, add_context_async)


def remember(where: Where, user_id: str | None = None) -> RunnableLambda[Any, Any]:
    """A node that remembers the graph's messages, each once.

    The session is the run's ``thread_id``. Parameters are those of :func:`pre_model_hook`.
    """
    connection = Connection(where)

    def remember_messages(state: Any, config: RunnableConfig) -> dict[str, Any]:
        thread = config.get("configurable", {}).get("thread_id")
        session = None if thread is None else str(thread)
        connection.memory.add_messages(
            _user_of(user_id, config), to_messages(_messages_of(state), session), session_id=session
        )
        return {}

    async def remember_async(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return await settle(remember_messages, state, config)

    return RunnableLambda(remember_messages, remember_async)


def _messages_of(state: Any) -> list[Any]:
    """The messages of a graph's state: a mapping, an object, or the list itself."""
    if isinstance(state, list):
        return state
    found = (
        state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    )
    if found is None:
        raise InvalidInputError("the graph's state has no `messages`")
    return list(found)


def _user_of(user_id: str | None, config: RunnableConfig) -> str:
    user = user_id or config.get("configurable", {}).get("user_id")
    if not user:
        raise InvalidInputError(
            "no user: it is unknown whose memory this is",
            hint='pass user_id=, or run the graph with {"configurable": {"user_id": ...}}',
        )
    return str(user)
