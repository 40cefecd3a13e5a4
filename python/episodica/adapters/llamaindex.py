"""episodica in LlamaIndex: a block of its ``Memory``.

Needs ``pip install 'episodica[llamaindex]'``.
"""

from __future__ import annotations

from typing import Any

from episodica import InvalidInputError, count_tokens
from episodica.fence import recalled

from .shared.connection import Connected, Connection, Where, missing, settle
from .shared.content import INSTRUCTING
from .shared.identity import following

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.memory.memory import BaseMemoryBlock
    from pydantic import Field, PrivateAttr
except ImportError as error:
    raise missing("llamaindex", error) from error

__all__ = ["EpisodicaMemoryBlock"]


class EpisodicaMemoryBlock(Connected, BaseMemoryBlock[str]):
    """A long-term block: remembers what leaves the short-term memory, and recalls it.

    The session of a message is that of LlamaIndex's ``Memory``.

    Parameters
    ----------
    memory
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory.
    max_tokens
        Budget of the recalled text.
    name, description, priority, accept_short_term_memory
        As for every block. With a ``priority`` above 0, the text is cut when space is short.

    Examples
    --------
    >>> from llama_index.core.memory import Memory
    >>> block = EpisodicaMemoryBlock(memory="memories", user_id="alice")
    >>> chat_memory = Memory.from_defaults(session_id="s1", memory_blocks=[block])
    """

    name: str = "episodica"
    memory: Any = Field(exclude=True)
    user_id: str
    max_tokens: int = Field(default=1000, ge=1)
    _connection: Connection = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Connects to the memory."""
        super().model_post_init(context)
        where: Where = self.memory
        self._connection = Connection(where)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """The context for the latest question; empty without a question."""
        asked = [message for message in messages or [] if message.role == MessageRole.USER]
        question = _text(asked[-1]) if asked else ""
        if not question:
            return ""
        return await settle(self._recall, question)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        remembered = _identified(messages)
        if remembered:
            await settle(self._connection.memory.add_messages, self.user_id, remembered)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """The beginning of the text, shorter by that many tokens; ``None`` if nothing is left."""
        if tokens_to_truncate < 0:
            raise InvalidInputError(
                f"tokens_to_truncate must be at least 0: `{tokens_to_truncate}`"
            )
        left = count_tokens(content) - tokens_to_truncate
        lines = content.split("\n")
        while lines and count_tokens("\n".join(lines)) > left:
            lines.pop()
        return "\n".join(lines) or None

    def _recall(self, question: str) -> str:
        found = self._connection.memory.context(self.user_id, question, max_tokens=self.max_tokens)
        return found.text if recalled(question, found) else ""


def _identified(messages: list[ChatMessage]) -> list[dict[str, Any]]:
    """The messages with words, each with an id that follows from the messages before it."""
    found: list[dict[str, Any]] = []
    before = ""
    for message in messages:
        text, session = _text(message), message.additional_kwargs.get("session_id")
        role = message.role.value
        if not text or role in INSTRUCTING:
            continue
        before = following(before, session, role, text)
        found.append({"message_id": before, "role": role, "content": text, "session_id": session})
    return found


def _text(message: ChatMessage) -> str:
    return (message.content or "").strip()
