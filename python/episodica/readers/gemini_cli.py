"""Sessions of Gemini CLI, and of Qwen Code, which keeps Gemini's messages in lines of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..errors import InvalidInputError
from ..inputs.chat import text_of
from ..inputs.pieces import written
from .coding import OF_AGENTS, TAKEN_BACK, THINKING, WRITTEN, add_turns, own_words, repository
from .conversation import Conversation, Talk, mappings
from .source import Item, Source

# The folder of a project, named by its repository; older versions name it by a hash.
_FOLDER = re.compile(r"(?:^|[/\\])tmp[/\\](?![0-9a-f]{64}[/\\])([^/\\]+)[/\\]chats[/\\]")
_OF_QWEN = ("user", "assistant", "tool_result", "system")


def is_gemini_cli(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a session of Gemini CLI, or an entry of its log."""
    messages = value.get("messages")
    if isinstance(messages, list) and "sessionId" in value:
        return any(one.get("type") in ("user", "gemini") for one in mappings(messages))
    return _begins_gemini(value) or {"sessionId", "messageId", "type", "message"} <= value.keys()


def _begins_gemini(value: Mapping[str, Any]) -> bool:
    """Whether `value` is the first line of a session file that has one line per message."""
    return {"sessionId", "projectHash", "startTime"} <= value.keys() and "messages" not in value


def gemini_cli(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """Sessions of Gemini CLI. The log of Gemini CLI has only the user's words."""
    log = Talk(source.name)
    begun: _Lines | None = None
    for item in items:
        value = item.value if isinstance(item.value, Mapping) else {}
        if _begins_gemini(value):
            if begun is not None:
                yield _session(begun.whole(), source)
            begun = _Lines(value)
        elif begun is not None:
            begun.take(value)
        elif isinstance(value.get("messages"), list):
            yield _session(value, source)
        else:
            _logged(log, value, item.line)
    if begun is not None:
        yield _session(begun.whole(), source)
    if log.messages or log.first:
        yield log.conversation()


class _Lines:
    """A session with one line per change: a message, newer states of messages, a step back."""

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._head = head
        self._messages: list[Mapping[str, Any]] = []
        self._places: dict[object, int] = {}
        self._taken_back = 0

    def take(self, line: Mapping[str, Any]) -> None:
        changes = [line.get(key) for key in ("$set", "$push", "$addToSet")]
        if any(change is not None for change in changes):
            for change in mappings(changes):
                held = change.get("messages")
                if isinstance(held, Mapping):
                    held = held.get("$each", [held])
                for one in mappings(held):
                    self._put(one)
        elif (back := line.get("$rewindTo")) is not None:
            self._rewind(back)
        else:
            self._put(line)

    def _put(self, message: Mapping[str, Any]) -> None:
        """Adds a message, or a newer state of one."""
        own = message.get("id")
        key = own if isinstance(own, (str, int)) else written([message.get("timestamp"), message])
        place = self._places.get(key)
        if place is None:
            self._places[key] = len(self._messages)
            self._messages.append(message)
        else:
            self._messages[place] = message

    def _rewind(self, back: object) -> None:
        place = self._places.get(back) if isinstance(back, (str, int)) else None
        if place is not None:
            self._taken_back += len(self._messages) - place
            del self._messages[place:]
            self._places = {key: at for key, at in self._places.items() if at < place}

    def whole(self) -> dict[str, Any]:
        """The session in the form of a file with one document."""
        return {**self._head, "messages": self._messages, "taken_back": self._taken_back}


def _logged(log: Talk, entry: Mapping[str, Any], line: int) -> None:
    session = entry.get("sessionId")
    own = f"{session}-{entry.get('messageId')}" if session else None
    text = entry.get("message") or ""
    if not isinstance(text, str):
        log.leave("no message", line, is_unknown=True)
        return
    about = {"id": own, "session_id": session, "timestamp": entry.get("timestamp")}
    log.add({"role": "user", "content": own_words(log, text), **about}, line)


def _session(value: Mapping[str, Any], source: Source) -> Conversation:
    session = str(value.get("sessionId") or source.stem)
    date = value.get("startTime")
    talk = Talk(source.name, session, session=session, date=date, has_unique_ids=True)
    folder = _FOLDER.search(source.name) or _FOLDER.search(str(source.path))
    if folder is not None:
        talk.about["project"] = folder[1]
    for message in value["messages"]:
        if value.get("kind") == "subagent":
            talk.leave(OF_AGENTS)
        elif isinstance(message, Mapping):
            _of_gemini(talk, message)
        else:
            talk.leave("no message", is_unknown=True)
    for _ in range(value.get("taken_back", 0)):
        talk.leave(TAKEN_BACK)
    return talk.conversation()


def _of_gemini(talk: Talk, message: Mapping[str, Any]) -> None:
    kind = message.get("type")
    about = {"id": message.get("id"), "timestamp": message.get("timestamp")}
    if kind not in ("user", "gemini"):
        talk.leave(f"a note of the program: `{kind}`")
        return
    if message.get("thoughts"):
        talk.cut(THINKING)
    content = message.get("content")
    if isinstance(content, (list, Mapping)):
        parts = content if isinstance(content, list) else [content]
        content = text_of({"parts": parts})[0]
    words = content if isinstance(content, str) else ""
    words = own_words(talk, words) if kind == "user" else words
    turns: list[dict[str, Any]] = []
    calls = mappings(message.get("toolCalls"))
    done = [f"[tool call: {one.get('name')}({written(one.get('args'))})]" for one in calls]
    said = "\n".join(filter(None, [words, *done]))
    if said.strip():
        turns.append({"role": "user" if kind == "user" else "assistant", "content": said})
    for call in calls:
        shown_result = call.get("resultDisplay")
        result = shown_result if isinstance(shown_result, str) else _result(call.get("result"))
        if result.strip():
            name = call.get("name")
            name = name if isinstance(name, str) else None
            turns.append({"role": "tool", "name": name, "content": result})
    add_turns(talk, turns, about)


def _result(result: object) -> str:
    if isinstance(result, list):
        with suppress(InvalidInputError):
            return str(text_of({"role": "tool", "parts": result})[0] or "")
    return written(result)


def is_qwen_code(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a record of a session of Qwen Code."""
    message = value.get("message")
    return (
        value.get("type") in _OF_QWEN
        and isinstance(message, Mapping)
        and isinstance(message.get("parts"), list)
        and bool(value.keys() & {"sessionId", "parentUuid"})
    )


def qwen_code(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The sessions of Qwen Code."""
    talks: dict[str, Talk] = {}
    for item in items:
        record = item.value if isinstance(item.value, Mapping) else {}
        session = str(record.get("sessionId") or source.stem)
        talk = talks.get(session)
        if talk is None:
            talk = Talk(source.name, session, session=session, has_unique_ids=True)
            talks[session] = talk
        about = repository(record.get("cwd"), record.get("gitBranch"))
        # The agent moves into other directories; its session stays one of its repository.
        kept = {"project": talk.about["project"]} if "project" in talk.about else {}
        talk.about = {**talk.about, **about, **kept}
        _of_qwen(talk, record, item.line)
        if talk.is_full:
            yield talk.conversation()
    for talk in talks.values():
        yield talk.conversation()


def _of_qwen(talk: Talk, record: Mapping[str, Any], line: int) -> None:
    kind, message = record.get("type"), record.get("message")
    parts = message.get("parts") if isinstance(message, Mapping) else None
    if kind not in _OF_QWEN[:3] or not isinstance(parts, list):
        talk.leave(f"a record of the program: `{kind}`", line)
        return
    if record.get("isSidechain"):
        talk.leave(OF_AGENTS, line)
        return
    if record.get("isMeta"):
        talk.leave(WRITTEN, line)
        return
    role = "tool" if kind == "tool_result" else kind
    said, thought = text_of({"role": role, "parts": parts})
    if thought:
        talk.cut(THINKING)
    text = said if isinstance(said, str) else ""
    text = own_words(talk, text) if role == "user" else text
    turn: dict[str, Any] = {"role": role, "content": text}
    answers = [one.get("functionResponse") for one in mappings(parts)]
    if role == "tool" and (named := [one.get("name") for one in mappings(answers)]):
        turn["name"] = named[0] if isinstance(named[0], str) else None
    about = {"id": record.get("uuid"), "timestamp": record.get("timestamp")}
    add_turns(talk, [turn] if text.strip() else [], about, line)
