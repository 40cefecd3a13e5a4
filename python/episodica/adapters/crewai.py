"""episodica in CrewAI: tools to remember and to recall.

Needs ``pip install 'episodica[crewai]'``.
"""

from __future__ import annotations

from typing import Any

from .shared.connection import Connected, Connection, Where, missing, settle
from .shared.identity import following

try:
    from crewai.tools import BaseTool
    from pydantic import BaseModel, Field, PrivateAttr
except ImportError as error:
    raise missing("crewai", error) from error

__all__ = ["RecallTool", "RememberTool", "memory_tools"]


class _Question(BaseModel):
    question: str = Field(min_length=1, description="What to look for, as a question or in words.")


class _Statement(BaseModel):
    text: str = Field(min_length=1, description="What to remember, as a whole sentence.")


class _MemoryTool(Connected, BaseTool):
    memory: Any = Field(exclude=True)
    user_id: str
    # CrewAI caches the answers of tools, but the answers of a memory change.
    cache_function: Any = Field(default=lambda *_: False, exclude=True)
    _connection: Connection = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Connects to the memory."""
        super().model_post_init(context)
        where: Where = self.memory
        self._connection = Connection(where)


class RecallTool(_MemoryTool):
    """Searches a user's memory with a question.

    Parameters
    ----------
    memory
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory.
    max_tokens
        Budget of the answer.
    """

    name: str = "recall"
    description: str = (
        "Looks up what is remembered from earlier conversations. "
        "Use it before you ask for something that the user may have said."
    )
    args_schema: type[BaseModel] = _Question
    max_tokens: int = Field(default=1000, ge=1)

    def _run(self, question: str) -> str:
        found = self._connection.recall(self.user_id, question, self.max_tokens)
        return found or "Nothing is remembered on this."

    async def _arun(self, question: str) -> str:
        return await settle(self._run, question)


class RememberTool(_MemoryTool):
    """Remembers a sentence, so that later crews recall it.

    Parameters
    ----------
    memory
        A path, an open system, or an ``AsyncMemorySystem``.
    user_id
        The user of the memory.
    session_id
        The session of the new messages.
    """

    name: str = "remember"
    description: str = (
        "Remembers something for later conversations: "
        "a fact about the user, a preference, a decision."
    )
    args_schema: type[BaseModel] = _Statement
    session_id: str | None = None

    def _run(self, text: str) -> str:
        # Agents repeat themselves: the same sentence is remembered once in a session.
        known = following("", self.session_id, text.strip())
        message = {"role": "user", "content": text, "message_id": known}
        self._connection.memory.add_messages(self.user_id, [message], session_id=self.session_id)
        return "Remembered."

    async def _arun(self, text: str) -> str:
        return await settle(self._run, text)


def memory_tools(
    where: Where, user_id: str, *, max_tokens: int = 1000, session_id: str | None = None
) -> list[BaseTool]:
    """The two tools over one memory, for ``Agent(tools=...)``."""
    return [
        RecallTool(memory=where, user_id=user_id, max_tokens=max_tokens),
        RememberTool(memory=where, user_id=user_id, session_id=session_id),
    ]
