"""Rollouts of Codex.

A rollout tells a message as an item of the model, as an event of the program, or as both; it is
taken once. A fork begins with a copy of the talk that it was forked from, under new times.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from ..dates import rfc3339
from ..errors import InvalidInputError
from ..inputs.chat import text_of
from ..inputs.pieces import written
from .coding import (
    OF_AGENTS,
    THINKING,
    Once,
    add_turns,
    own_words,
    project_after_move,
    repository,
    texts_of,
)
from .conversation import Conversation, Talk
from .source import Item, Source

_RECORDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
# Events with the words of a speaker, and the role of each.
_SAID = {"user_message": "user", "agent_message": "assistant"}
_ITEMS = {"usermessage": "user", "agentmessage": "assistant"}
# A copy is written at once: its lines are dated within this time of the fork.
_AT_ONCE = timedelta(seconds=1)
_TIME_ORDERED = 7


def is_codex(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a record of a Codex session, in the present or an earlier form."""
    if value.get("type") in _RECORDS:
        return isinstance(value.get("payload"), Mapping)
    return {"id", "timestamp", "instructions"} <= value.keys() or "record_type" in value


def codex(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The rollout of a session of Codex."""
    rollout: _Rollout | None = None
    for item in items:
        record = item.value if isinstance(item.value, Mapping) else {}
        held = record.get("payload")
        payload: Mapping[str, Any] = held if isinstance(held, Mapping) else record
        kind = record.get("type")
        if rollout is None:
            rollout = _Rollout(source, payload if kind in ("session_meta", None) else {}, record)
        rollout.take(kind, payload, record, item.line)
        if rollout.talk.is_full:
            yield rollout.talk.conversation()
    if rollout is not None:
        rollout.end()
        yield rollout.talk.conversation()


class _Rollout:
    """A rollout that is being read."""

    def __init__(self, source: Source, head: Mapping[str, Any], record: Mapping[str, Any]) -> None:
        given = head.get("id")
        self._has_id = isinstance(given, str) and bool(given)
        self._own = str(given) if self._has_id else source.stem
        chat = self._own if self._has_id else None
        self.talk = Talk(source.name, chat, session=self._own, has_unique_ids=self._has_id)
        self.talk.date = record.get("timestamp")
        self._names: dict[str, str] = {}
        self._once = Once()
        # How often each text was said in each session so far.
        self._said: Counter[tuple[str, str, str]] = Counter()
        # When each session of this file began, by its head and by its id.
        self._began: dict[str, datetime] = {}
        self._first_place: dict[str, str] = {}
        self._minted: dict[str, datetime] = {}
        fork = head.get("forked_from_id")
        self._fork = fork if isinstance(fork, str) and fork else None
        self._repeated: Counter[tuple[str, str]] = Counter()
        # The session of the lines that are read now.
        self._now = self._fork or self._own
        self._is_of_agent = isinstance(head.get("source"), Mapping)
        self._copies = 0

    def take(
        self, kind: object, payload: Mapping[str, Any], record: Mapping[str, Any], line: int
    ) -> None:
        when = record.get("timestamp")
        self._place(kind, payload, when)
        event = _told(payload) if kind == "event_msg" else None
        is_item = kind == "response_item" or (kind is None and "role" in record)
        if event is not None:
            role, text = event
            words = own_words(self.talk, text) if role == "user" else text.strip()
            self._say("event", [{"role": role, "content": words}] if words else [], when, line)
        elif not is_item and kind in (*_RECORDS, "ghost_snapshot", None):
            self.talk.leave(f"a record of the program: `{kind or 'head'}`", line)
        elif payload.get("type") == "reasoning":
            self.talk.leave(THINKING, line)
        elif payload.get("role") in ("system", "developer"):
            self.talk.leave("an instruction of the program", line)
        elif payload.get("type") == "agent_message":
            self.talk.leave(OF_AGENTS, line)
        else:
            self._say("item", self._turns(payload), when, line)

    def end(self) -> None:
        """Notes the copies."""
        if self._copies:
            count = f"{self._copies:,} message{'s' * (self._copies > 1)}"
            self.talk.note(f"{count} from before a fork, copied from another session")

    def _place(self, kind: object, payload: Mapping[str, Any], when: object) -> None:
        """Notes the repository and the session of the next lines."""
        if kind in ("session_meta", "turn_context"):
            git = payload.get("git")
            git = git if isinstance(git, Mapping) else {}
            about = repository(payload.get("cwd"), git.get("branch"), git.get("repository_url"))
            if kind == "session_meta" or not self._first_place:
                self._first_place = about
            project = project_after_move(self._first_place, payload.get("cwd"))
            kept = {"project": project} if project else {}
            self.talk.about = {**self.talk.about, **about, **kept}
        if kind == "session_meta" and isinstance(payload.get("id"), str):
            session = payload["id"]
            began = _moment(payload.get("timestamp")) or _moment(when)
            if began is not None:
                self._began[session] = began
            if (minted := _minted(session) or began) is not None:
                self._minted[session] = minted
            if session != self._own:
                self._now = session
        began = self._began.get(self._own)
        if self._now == self._own or began is None:
            return
        turn = _minted(payload.get("turn_id")) if kind == "turn_context" else None
        if turn is not None:
            # A copied turn keeps its id, which tells when it was made.
            earlier = {name: at for name, at in self._minted.items() if at <= turn}
            self._now = max(earlier, key=earlier.__getitem__, default=self._now)
        elif (moment := _moment(when)) is not None and moment > began + _AT_ONCE:
            self._now = self._own

    def _say(self, way: str, turns: list[dict[str, Any]], when: object, line: int) -> None:
        if self._is_of_agent:
            self.talk.leave(OF_AGENTS, line)
            return
        fresh = []
        for turn in turns:
            role, text = turn["role"], turn["content"]
            if not self._once.is_new(way, role, text):
                continue
            said = (self._now, role, text)
            self._said[said] += 1
            number = self._said[said]
            own = _hash([*said, number]) if self._has_id else None
            self._repeated[role, text] += 1
            if own and self._fork and self._now == self._own:
                number = self._repeated[role, text]
                self.talk.tell_copy(own, _hash([self._fork, role, text, number]))
            fresh.append({**turn, "id": own, "session_id": self._now})
            self._copies += self._now != self._own
        if turns and not fresh:
            return
        add_turns(self.talk, fresh, {"timestamp": when}, line)

    def _turns(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        kind = item.get("type")
        if kind in ("message", None):
            return self._message(str(item.get("role") or "user"), item.get("content"))
        called = str(item.get("call_id") or item.get("id") or "")
        if str(kind).endswith("_output"):
            output = item.get("output")
            with suppress(ValueError, RecursionError):
                held = json.loads(output) if isinstance(output, str) else output
                if isinstance(held, Mapping):
                    output = held.get("output") or held.get("content") or output
            text, name = written(output), self._names.get(called)
            return [{"role": "tool", "name": name, "content": text}] if text.strip() else []
        if str(kind).endswith("_call"):
            name = str(item.get("name") or str(kind).removesuffix("_call"))
            self._names[called] = name
            keys = ("arguments", "input", "action")
            given = next((item[key] for key in keys if item.get(key)), None)
            return [{"role": "assistant", "content": f"[tool call: {name}({written(given)})]"}]
        return []

    def _message(self, role: str, content: object) -> list[dict[str, Any]]:
        text = text_of({"role": role, "content": content})[0] if content else None
        if not isinstance(text, str):
            return []
        text = own_words(self.talk, text) if role == "user" else text
        return [{"role": role, "content": text}] if text.strip() else []


def _told(payload: Mapping[str, Any]) -> tuple[str, str] | None:
    """The role and the text of an event that tells a message; ``None`` for other events."""
    kind = payload.get("type")
    if kind in _SAID:
        text = payload.get("message")
        return (_SAID[kind], text) if isinstance(text, str) else None
    item = payload.get("item")
    if kind != "item_completed" or not isinstance(item, Mapping):
        return None
    role = _ITEMS.get(str(item.get("type") or "").replace("_", "").lower())
    if role is None:
        return None
    content = item.get("content")
    text = content if isinstance(content, str) else item.get("text")
    return role, text if isinstance(text, str) else texts_of(content)


def _minted(name: object) -> datetime | None:
    """When an id was made, if it tells."""
    with suppress(ValueError, AttributeError, TypeError, OverflowError):
        made = UUID(str(name))
        if made.version == _TIME_ORDERED:
            return datetime.fromtimestamp((made.int >> 80) / 1000, UTC)
    return None


def _moment(value: object) -> datetime | None:
    with suppress(InvalidInputError):
        moment = None if value is None else datetime.fromisoformat(rfc3339(value, "`timestamp`"))
        return moment and (moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return None


def _hash(parts: list[object]) -> str:
    text = json.dumps(parts)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
