"""Messages of chat APIs in files: lists of messages, and logs of requests with their answers.

A log holds each conversation again and again, longer by a turn each time. A request that begins
with all messages of an earlier request continues the session of that request, and only the new
messages are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ..errors import InvalidInputError
from ..inputs.chat import role_in
from ..inputs.forms import expanded, with_whole_chunks
from ..inputs.names import named, renamed
from . import branches
from .conversation import Conversation, Talk
from .source import Item, Source

# Keys that enclose a request in a log, and an answer.
_REQUEST = ("request", "body", "kwargs", "params", "values", "channel_values", "state", "thread")
_LISTS = ("messages", "contents", "chat_history", "data")
_RESPONSE = ("response", "completion", "output", "result")
_ANSWERS = ("output", "completion")
# Keys of an answer beside a question; elsewhere they have other meanings.
_REPLIES = ("response", "answer")
_SESSIONS = ("session_id", "conversation_id", "thread_id", "chat_id", "session")
_DEEPEST = 4
_TIMES = ("timestamp", "created_at", "time", "created", "ts")


def messages(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The conversations of lists of messages and logs, in parts of some thousands."""
    following = iter(items)
    begun = list(islice(following, 2))
    talk = Talk(source.name, has_unique_ids=True)
    log = _Log(source.stem, is_alone=len(begun) == 1)
    lines: list[int] = []
    found = branches.shown(chain(begun, following), talk)
    values = with_whole_chunks(_values(found, source, lines))
    for number, value in enumerate(values):
        line = lines[-1]
        try:
            for message in log.read(value, number, line):
                talk.add(message, line)
        except InvalidInputError as error:
            talk.leave(error.message, line, is_unknown=True)
        if talk.is_full:
            yield talk.conversation()
    yield talk.conversation()


def _values(items: Iterable[Item], source: Source, lines: list[int]) -> Iterator[Any]:
    """The values that are not null; ``lines`` gets the line of each value."""
    for item in items:
        value = item.value
        if value is None:
            continue
        if isinstance(value, Mapping) and isinstance(value.get("store"), Mapping):
            for message in _of_store(value["store"]):
                lines.append(item.line)
                yield message
            continue
        lines.append(item.line)
        if item.group is not None and isinstance(value, Mapping) and is_message(value):
            value = {"session_id": f"{source.stem}-{item.group + 1}", **value}
        yield value


def _of_store(store: Mapping[str, Any]) -> Iterator[Any]:
    """The messages in a chat store of LlamaIndex, each with its key as session."""
    for key, held in store.items():
        for message in held if isinstance(held, list) else ():
            yield {"session_id": key, **message} if isinstance(message, Mapping) else message


def is_message(value: Mapping[str, Any]) -> bool:
    """Whether `value` is one message or item, not a request with a list of messages."""
    if _history(value) is not None and "role" not in value:
        return False
    one = expanded(value)[0]
    return role_in(one) is not None or (
        renamed(one)[0].get("role") is not None and renamed(one)[0].get("content") is not None
    )


def is_log(value: Mapping[str, Any]) -> bool:
    """Whether the value is a log.

    A log is an object with a list of messages under a key, a request to a chat API, or a response
    from one.
    """
    is_store = isinstance(value.get("store"), Mapping) and "ChatStore" in str(
        value.get("class_name")
    )
    return is_store or _history(value) is not None or bool(_answer(value))


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a request: its session, and whether its answer is known."""

    session: str | None
    is_answered: bool


class _Log:
    """The conversations of a log; a request finds its own by the messages that it begins with."""

    def __init__(self, stem: str, is_alone: bool) -> None:
        self._stem = stem
        self._is_alone = is_alone
        self._sessions = 0
        self._ends: dict[bytes, _End] = {}

    def read(self, value: object, number: int, line: int) -> Iterator[Mapping[str, Any]]:
        """The messages of a value: a message, an item, or a request with its answer."""
        if not isinstance(value, Mapping):
            raise InvalidInputError(
                f"message {number}: must be an object, not `{type(value).__name__}`"
            )
        found = [value] if is_message(value) else self._new_messages(value, number, line)
        for message in found:
            yield from expanded(message)

    def _new_messages(
        self, entry: Mapping[str, Any], number: int, line: int
    ) -> Iterator[dict[str, Any]]:
        """The messages of a request that no earlier request had, and the request's answer."""
        history = _history(entry)
        if history is None and _answer(entry):
            history = []
        if history is None:
            raise InvalidInputError(f"conversation {number}: `messages` is missing", line=line)
        said = [*history, *_answer(entry)]
        for message in said:
            if not isinstance(message, Mapping):
                raise InvalidInputError(
                    f"conversation {number}: a message must be an object, "
                    f"not `{type(message).__name__}`",
                    line=line,
                )
        hashes = list(_hashes(said))
        if not hashes or hashes[-1] in self._ends:
            return  # nothing was said, or the same was sent again
        # The last message of a request is new: two conversations may both begin with "hi".
        known = max(
            (at for at in range(1, len(history)) if hashes[at - 1] in self._ends), default=0
        )
        begun = self._ends[hashes[known - 1]] if known else _End(self._named(entry), False)
        if begun.is_answered and known and said[known].get("role") == "assistant":
            known += 1  # the answer, in another form than the log has it
        is_answered = len(said) > len(history)
        if is_answered and history:
            self._ends.setdefault(hashes[len(history) - 1], _End(begun.session, True))
        self._ends[hashes[-1]] = _End(begun.session, False)
        added: dict[str, Any] = {} if begun.session is None else {"session_id": begun.session}
        when = next((entry[key] for key in _TIMES if entry.get(key) is not None), None)
        if when is not None:
            added["timestamp"] = when
        yield from ({**added, **message} for message in said[known:])

    def _named(self, entry: Mapping[str, Any]) -> str | None:
        for key in _SESSIONS:
            if isinstance(entry.get(key), (str, int)):
                return str(entry[key])
        self._sessions += 1
        return None if self._is_alone else f"{self._stem}-{self._sessions}"


def _history(entry: Mapping[str, Any]) -> list[Any] | None:
    """The messages of a request, wherever its log puts them."""
    inner = (entry[key] for key in _REQUEST if isinstance(entry.get(key), Mapping))
    for one in [entry, *inner]:
        for key in _LISTS:
            held = one.get(key)
            if isinstance(held, list) and (key != "data" or _is_thread(held)):
                return _in_order(held)
        given = one.get("input", one.get("prompt"))
        told = one.get("instruction")
        if isinstance(told, str) and isinstance(given, str):
            given = f"{told}\n{given}".strip()
        elif given is None:
            given = told
        if isinstance(given, str) and given.strip():
            return [{"role": "user", "content": given}]
        if isinstance(given, list) and all(isinstance(item, Mapping) for item in given):
            return list(given)
    return _enclosed(entry, _DEEPEST)


def _enclosed(entry: Mapping[str, Any], depth: int) -> list[Any] | None:
    """The only list of messages inside the answer of a service: ``{"data": {"messages": […]}}``."""
    inner = [one for one in entry.values() if isinstance(one, Mapping)]
    lists = [held for one in inner if isinstance(held := one.get("messages"), list)]
    if len(lists) == 1 and _is_thread(lists[0]):
        return _in_order(lists[0])
    return _enclosed(inner[0], depth - 1) if len(inner) == 1 and depth else None


def _is_thread(held: list[Any]) -> bool:
    """Whether the values of a list are messages, as in a response of the Assistants API."""
    said = [renamed(one)[0] for one in held if isinstance(one, Mapping)]
    told = [one for one in said if "content" in one and one.keys() & {"role", "name"}]
    return len(said) == len(held) and 2 * len(told) > len(held)


def _in_order(held: list[Any]) -> list[Any]:
    """The messages, from the oldest on where the API gives the newest first."""
    given = [named(one, "timestamp") if isinstance(one, Mapping) else None for one in held]
    dates = [one for one in given if isinstance(one, (int, float))]
    falls = len(dates) == len(held) and dates == sorted(dates, reverse=True)
    return held[::-1] if falls and len(set(dates)) > 1 else list(held)


def _answer(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answer in the forms of OpenAI and Anthropic; nothing where the log has none."""
    found = [entry, *(entry[key] for key in _RESPONSE if isinstance(entry.get(key), Mapping))]
    found += [one["body"] for one in found if isinstance(one.get("body"), Mapping)]
    for one in found:
        choices, output = one.get("choices"), one.get("output")
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
            message = choices[0].get("message")
            return [_spoken(message)] if isinstance(message, Mapping) else []
        if one.get("role") == "assistant" and one.get("content"):
            return [_spoken(one)]
        for key in (*_ANSWERS, *_REPLIES):
            said = one.get(key)
            if isinstance(said, str) and said.strip() and (key in _ANSWERS or _asks(entry)):
                return [{"role": "assistant", "content": said}]
        if isinstance(output, list):
            parts = [part for part in output if isinstance(part, Mapping) and part.get("type")]
            return [
                _spoken({"role": "assistant", **part}) if part["type"] == "message" else dict(part)
                for part in parts
            ]
        answers = one.get("candidates")
        if isinstance(answers, list) and answers and isinstance(answers[0], Mapping):
            content = answers[0].get("content")
            return [{"role": "assistant", **content}] if isinstance(content, Mapping) else []
    return []


def _asks(entry: Mapping[str, Any]) -> bool:
    """Whether the messages of a request end with none of an assistant."""
    last = (_history(entry) or [None])[-1]
    return isinstance(last, Mapping) and last.get("role") != "assistant"


def _spoken(message: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as the next request repeats it, without the keys that only answers have."""
    kept = ("role", "content", "tool_calls", "function_call", "refusal")
    return {key: message[key] for key in kept if message.get(key) is not None}


def _hashes(said: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A hash of the first message, of the first two, and so on."""
    sums = hashlib.sha256()
    for message in said:
        parts = [message.get("role"), _words(message.get("content")), message.get("tool_calls")]
        sums.update(json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "replace"))
        yield sums.copy().digest()


def _words(content: object) -> object:
    """The words of a content: a text is the same with and without parts around it."""
    if not isinstance(content, list):
        return content
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    plain = [text for text in texts if isinstance(text, str)]
    return "\n".join(plain) if len(plain) == len(texts) else content
