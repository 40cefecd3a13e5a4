"""episodica in Hermes Agent: a memory provider.

Needs ``pip install 'episodica[hermes]'`` and one file of two lines in Hermes's plugin folder,
``$HERMES_HOME/plugins/episodica/__init__.py``; :func:`install` writes it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from episodica import EpisodicaError, InvalidInputError
from episodica.fence import recalled

from .shared.connection import Connection, Where, missing
from .shared.content import words
from .shared.identity import following

try:
    from agent.memory_provider import MemoryProvider
except ImportError as error:
    raise missing("hermes", error) from error

__all__ = ["EpisodicaMemoryProvider", "install"]

_PLUGIN = '''"""Written by episodica: lets Hermes Agent find its memory provider."""

from episodica.adapters.hermes import register  # register_memory_provider

__all__ = ["register"]
'''
_SEARCH = {
    "name": "episodica_search",
    "description": "Searches what was said in earlier conversations and what is known of the user.",
    "parameters": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A question, or words to look for."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
        },
        "required": ["query"],
    },
}
_REMEMBER = {
    "name": "episodica_remember",
    "description": "Remembers a fact, a preference or a decision for later conversations.",
    "parameters": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "A whole sentence."}},
        "required": ["text"],
    },
}


class EpisodicaMemoryProvider(MemoryProvider):
    """Recalls before each turn and remembers after it; two tools search and remember on request.

    Turns of subagents and scheduled jobs are not remembered, as Hermes asks of providers.

    Parameters
    ----------
    where
        A path, an open system, or an ``AsyncMemorySystem``; by default ``episodica`` in the
        folder of the Hermes profile.
    user_id
        The user of the memory; by default the user that Hermes names, else the profile.
    max_tokens
        Budget of the context before a turn.
    """

    def __init__(
        self, where: Where | None = None, *, user_id: str | None = None, max_tokens: int = 1000
    ) -> None:
        self._where = where
        self._wanted_user = user_id
        self._max_tokens = max_tokens
        self._connection: Connection | None = None
        self._user = user_id or "hermes"
        self._session: str | None = None
        self._turn = 0
        self._writes = True

    @property
    def name(self) -> str:
        """The provider's name in Hermes's settings."""
        return "episodica"

    def is_available(self) -> bool:
        """Always true: it needs no server, no key and no network."""
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Opens the memory for a session."""
        self.shutdown()
        home = Path(str(kwargs.get("hermes_home") or _home()))
        self._connection = Connection(home / "episodica" if self._where is None else self._where)
        names = (self._wanted_user, kwargs.get("user_id"), kwargs.get("agent_identity"), "hermes")
        self._user = next(str(name) for name in names if name)
        self._session = session_id or None
        self._turn = 0
        self._writes = kwargs.get("agent_context", "primary") == "primary"

    def system_prompt_block(self) -> str:
        """One sentence that tells the model about the memory."""
        return (
            "episodica remembers earlier conversations. Each message comes with a context from "
            "them, and the tool episodica_search finds more."
        )

    def on_turn_start(self, turn_number: int, message: str, **kwargs: Any) -> None:
        """Notes which turn it is, so that the same words in a later turn are remembered again."""
        self._turn = turn_number

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """A context for the coming turn, without a fence: Hermes adds its own."""
        if not query.strip():
            return ""
        found = self._memory.memory.context(self._user, query, max_tokens=self._max_tokens)
        return found.text if recalled(query, found) else ""

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        """Remembers a completed turn with its tool calls, once."""
        said = [
            {"role": "user", "content": words(user_content)},
            *_tools_since(messages or ()),
            {"role": "assistant", "content": words(assistant_content)},
        ]
        place = f"turn {self._turn}" if messages is None else f"{len(messages)}"
        self._remember(said, session_id, place)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The two tools."""
        return [_SEARCH, _REMEMBER]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Runs a tool and returns its result or its error as JSON."""
        try:
            return json.dumps(self._call(tool_name, args), ensure_ascii=False)
        except EpisodicaError as error:
            return json.dumps({"error": str(error)}, ensure_ascii=False)

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Completes the session's last episode."""
        if self._session is not None and self._writes:
            self._memory.memory.close_session(self._user, self._session)

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Continues in another session; ``reset`` completes the last episode of the old one."""
        if reset:
            self.on_session_end([])
        self._session = new_session_id or None

    def on_pre_compress(self, messages: list[dict[str, Any]]) -> str:
        """A context for the latest question, for Hermes's summary of the messages it discards."""
        asked = [message for message in messages if message.get("role") == "user"]
        return self.prefetch(words(asked[-1])) if asked else ""

    def on_memory_write(
        self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None
    ) -> None:
        """Remembers additions to the built-in memory; removals there change nothing here."""
        if action in ("add", "replace"):
            session = str((metadata or {}).get("session_id") or "")
            self._remember([{"role": "user", "content": content.strip()}], session, target)

    def on_delegation(
        self, task: str, result: str, *, child_session_id: str = "", **kwargs: Any
    ) -> None:
        """Remembers a delegated task and its result."""
        said = [
            {"role": "assistant", "content": task.strip()},
            {"role": "tool", "content": result.strip()},
        ]
        self._remember(said, "", child_session_id)

    def get_config_schema(self) -> list[dict[str, Any]]:
        """Empty: the provider has no settings."""
        return []

    def backup_paths(self) -> list[str]:
        """The store, if it is not in the folder of the profile."""
        where = self._where
        return [os.fspath(where)] if isinstance(where, (str, os.PathLike)) else []

    def shutdown(self) -> None:
        """Ends the connection. The last connection to a path also closes its memory system."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _memory(self) -> Connection:
        if self._connection is None:
            raise InvalidInputError("the provider is not initialized: call `initialize` first")
        return self._connection

    def _remember(self, said: Sequence[Mapping[str, str]], session_id: str, place: str) -> None:
        """Remembers messages; the same messages in the same place of a session only once."""
        session = session_id or self._session
        messages: list[dict[str, Any]] = [dict(one) for one in said if one["content"]]
        if not messages or not self._writes:
            return
        known = following("", session, place, messages)
        for number, message in enumerate(messages):
            message["message_id"] = f"{known}-{number}"
        self._memory.memory.add_messages(self._user, messages, session_id=session)

    def _call(self, tool_name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        if tool_name == _REMEMBER["name"]:
            if not self._writes:
                raise InvalidInputError("subagents and scheduled jobs remember nothing")
            text = args.get("text")
            message = {
                "role": "user",
                "content": text,
                "message_id": following("", self._session, _REMEMBER["name"], text),
            }
            self._memory.memory.add_messages(self._user, [message], session_id=self._session)
            return {"remembered": text}
        if tool_name == _SEARCH["name"]:
            limit = args.get("limit", 5)
            hits = self._memory.memory.search(self._user, args.get("query", ""), top_k=limit)
            return {
                "results": [
                    {"kind": hit.kind, "date": hit.timestamp.isoformat(), "content": hit.content}
                    for hit in list(hits)[:limit]
                ]
            }
        raise InvalidInputError(f"unknown tool: `{tool_name}`")


def register(context: Any) -> None:
    """Hermes calls this to get the provider."""
    context.register_memory_provider(EpisodicaMemoryProvider())


def install(hermes_home: str | os.PathLike[str] | None = None) -> Path:
    """Writes the plugin file by which Hermes finds the provider, and returns its path.

    Then ``memory.provider: episodica`` in Hermes's ``config.yaml`` chooses it.
    """
    path = Path(hermes_home or _home()) / "plugins" / "episodica" / "__init__.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_PLUGIN, encoding="utf-8")
    return path


def _home() -> Path:
    named = os.environ.get("HERMES_HOME")
    return Path(named) if named else Path.home() / ".hermes"


def _tools_since(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """The calls of tools and their results in the last turn of a conversation."""
    start = 0
    for place, message in enumerate(messages):
        if message.get("role") == "user":
            start = place + 1
    for message in messages[start:]:
        calls = message.get("tool_calls") or ()
        text = "\n".join(words(call.get("function")) for call in calls)
        if text:
            yield {"role": "assistant", "content": text}
        if message.get("role") == "tool":
            yield {"role": "tool", "content": words(message)}
