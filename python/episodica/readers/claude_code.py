"""Sessions of Claude Code.

What a person types while the agent works stands in the queue of the program, not among the records
of the talk; a message may stand in both, and is taken once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import InvalidInputError
from ..inputs.chat import text_of
from .coding import (
    OF_AGENTS,
    TAKEN_BACK,
    WRITTEN,
    Once,
    add_turns,
    inside,
    own_words,
    project_after_move,
    repository,
    texts_of,
    turns_of,
)
from .conversation import NO_WORDS, Conversation, Talk
from .source import Item, Source

_META = ("isMeta", "isCompactSummary", "isApiErrorMessage", "isVisibleInTranscriptOnly")
# Commands that change a state of the program: their arguments are settings, not words.
_SETTINGS = frozenset(
    (
        *("add-dir", "agents", "allowed-tools", "autocompact", "branch", "bug", "cd", "chrome"),
        *("clear", "color", "config", "context", "copy", "cost", "diff", "doctor", "effort"),
        *("exit", "export", "extra-usage", "fast", "fork", "help", "hooks", "ide", "insights"),
        *("install-github-app", "keybindings", "login", "logout", "mcp", "memory", "mobile"),
        *("model", "output-style", "passes", "permissions", "plugin", "plugins", "privacy"),
        *("privacy-settings", "quit", "release-notes", "reload-plugins", "remote-env"),
        *("rename", "resume", "rewind", "sandbox", "skills", "stats", "status", "statusline"),
        *("tag", "tasks", "terminal-setup", "theme", "todos", "upgrade", "usage", "vim"),
    )
)
# Words of the kinds of origin that no person has typed.
_OF_PROGRAMS = frozenset(
    (
        *("agent", "background", "coordinator", "cron", "hook", "injection", "notification"),
        *("scheduled", "subagent", "system", "task", "teammate"),
    )
)
# What the program notes when a message leaves its queue, if the agent has read it there.
_READ = (None, "absorbed_mid_turn", "absorbed", "processed", "delivered")


def is_claude_code(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a record of a session of Claude Code."""
    if value.get("type") == "queue-operation":
        return "operation" in value and "sessionId" in value
    message = value.get("message")
    return (
        value.get("type") in ("user", "assistant")
        and isinstance(message, Mapping)
        and "parts" not in message
        and bool(value.keys() & {"sessionId", "parentUuid", "isSidechain", "cwd"})
    )


def claude_code(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The records of Claude Code's sessions, without the sessions of agents that it started."""
    sessions: dict[str, _Session] = {}
    for item in items:
        record = item.value if isinstance(item.value, Mapping) else {}
        name = record.get("sessionId")
        own = str(name) if isinstance(name, (str, int)) and name else source.stem
        session = sessions.get(own)
        if session is None:
            session = sessions[own] = _Session(source, own)
        session.take(record, item.line)
        if session.talk.is_full:
            yield session.talk.conversation()
    for session in sessions.values():
        session.end()
        yield session.talk.conversation()


class _Session:
    """A session that is being read."""

    def __init__(self, source: Source, name: str) -> None:
        self.talk = Talk(source.name, name, session=name, has_unique_ids=True)
        self._names: dict[str, str] = {}
        self._once = Once()
        # Texts in the program's queue, with their times and lines.
        self._queue: list[tuple[str, object, int]] = []
        self._sent: list[tuple[str, object, int]] = []
        self._began: dict[str, str] = {}
        self._copies = 0

    def take(self, record: Mapping[str, Any], line: int) -> None:
        kind, message = record.get("type"), record.get("message")
        self._note_place(record)
        attachment = record.get("attachment")
        if kind == "queue-operation":
            self._queued(record, line)
        elif isinstance(attachment, Mapping) and attachment.get("type") == "queued_command":
            self._attached(record, attachment, line)
        elif kind not in ("user", "assistant") or not isinstance(message, Mapping):
            self.talk.leave(f"a record of the program: `{kind}`", line)
        elif record.get("isSidechain"):
            self.talk.leave(OF_AGENTS, line)
        elif any(record.get(one) for one in _META):
            self.talk.leave(WRITTEN, line)
        elif kind == "user" and not _OF_PROGRAMS.isdisjoint(origin := _origin(record)):
            self.talk.leave(f"{WRITTEN}: `{'-'.join(origin)}`", line)
        else:
            self._said(kind, message, record, line)

    def end(self) -> None:
        """Takes the words typed into the queue that stand nowhere else."""
        for text, when, line in (*self._sent, *self._queue):
            self._say("queue", text, {"timestamp": when}, line)
        if self._copies:
            count = f"{self._copies:,} message{'s' * (self._copies > 1)}"
            self.talk.note(f"{count} from before a fork, copied from another session")

    def _note_place(self, record: Mapping[str, Any]) -> None:
        directory, branch = record.get("cwd"), record.get("gitBranch")
        if not isinstance(directory, str) and not isinstance(branch, str):
            return
        about = repository(directory, branch)
        self._began = self._began or about
        self.talk.about = {**self.talk.about, **about}
        if project := project_after_move(self._began, directory):
            self.talk.about["project"] = project

    def _said(
        self, role: str, message: Mapping[str, Any], record: Mapping[str, Any], line: int
    ) -> None:
        about: dict[str, Any] = {"id": record.get("uuid"), "timestamp": record.get("timestamp")}
        fork = record.get("forkedFrom")
        if isinstance(fork, Mapping) and isinstance(fork.get("messageUuid"), str):
            # The message of the other session, under its own id: known, if that was read.
            about["id"] = fork["messageUuid"]
            if isinstance(fork.get("sessionId"), str):
                about["session_id"] = fork["sessionId"]
            self._copies += 1
        content = message.get("content")
        if role == "user" and (command := _command(content)) is not None:
            self._commanded(command, about, line)
            return
        turns = turns_of(self.talk, role, content, self._names)
        fresh = [
            turn
            for turn in turns
            if turn["role"] != "user" or self._once.is_new("record", "user", turn["content"])
        ]
        if turns and not fresh:
            self.talk.leave("known from the queue", line)
            return
        add_turns(self.talk, fresh, about, line)

    def _commanded(self, command: tuple[str, str], about: dict[str, Any], line: int) -> None:
        """Takes the arguments that a person typed after a command, unless they are a setting."""
        name, words = command
        if not words:
            self.talk.leave(NO_WORDS, line)
        elif name.lstrip("/") in _SETTINGS:
            self.talk.leave(f"a setting of the program: `{name}`", line)
        else:
            self._say("record", words, {**about, "metadata": {"command": name}}, line)

    def _queued(self, record: Mapping[str, Any], line: int) -> None:
        content, operation = record.get("content"), record.get("operation")
        text = _typed(content)
        if operation == "enqueue":
            self._queue.append((text, record.get("timestamp"), line))
            return
        waiting = [one for one in self._queue if not text or one[0] == text]
        if operation == "popAll":
            waiting = self._queue[:]
        for one in waiting if operation == "popAll" else waiting[:1]:
            self._queue.remove(one)
            if operation == "dequeue":
                self._sent.append(one)
            elif operation == "remove" and record.get("reason") in _READ:
                self._say("queue", one[0], {"timestamp": one[1]}, one[2])
            else:
                self.talk.leave(TAKEN_BACK, one[2])
        if not waiting and text and operation == "remove" and record.get("reason") in _READ:
            self._say("queue", text, {"timestamp": record.get("timestamp")}, line)

    def _attached(
        self, record: Mapping[str, Any], attachment: Mapping[str, Any], line: int
    ) -> None:
        if attachment.get("commandMode") not in (None, "prompt"):
            self.talk.leave(f"{WRITTEN}: `{attachment.get('commandMode')}`", line)
            return
        about = {"id": record.get("uuid"), "timestamp": record.get("timestamp")}
        self._say("attachment", _typed(attachment.get("prompt")), about, line)

    def _say(self, way: str, text: str, about: dict[str, Any], line: int) -> None:
        """Adds words of the person that stand outside of the records of the talk."""
        words = own_words(self.talk, text)
        if not words:
            self.talk.leave(NO_WORDS, line)
        elif self._once.is_new(way, "user", words):
            self.talk.add({**about, "role": "user", "content": words}, line)


def _origin(record: Mapping[str, Any]) -> list[str]:
    """The words of the kind of origin of a record, such as `task-notification`."""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, Mapping) else None
    return re.findall("[a-z]+", kind.lower()) if isinstance(kind, str) else []


def _typed(content: object) -> str:
    """The text of a content: itself, or that of its parts."""
    if isinstance(content, str):
        return content
    try:
        text = text_of({"role": "user", "content": content})[0]
    except InvalidInputError:  # a part is broken
        text = texts_of(content)
    return text if isinstance(text, str) else ""


def _command(content: object) -> tuple[str, str] | None:
    """A command that a person typed, and its arguments; ``None`` without a command."""
    text = _typed(content)
    name = inside(text, "command-name")
    return None if name is None else (name, inside(text, "command-args") or "")
