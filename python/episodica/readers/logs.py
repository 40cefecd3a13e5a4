"""Messages of chat APIs in files: lists of messages, and logs of requests with their answers.

A log holds each conversation again and again, longer by a turn each time. A request that begins
with all messages of an earlier one goes on with its session, and only its new messages are read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from ..errors import InvalidInputError
from .conversation import Conversation, Talk
from .source import Item, Source

# What encloses a request in a log, and an answer.
_REQUEST = ("request", "body", "kwargs", "params")
_RESPONSE = ("response", "completion", "output", "result")
_SESSIONS = ("session_id", "conversation_id", "thread_id", "chat_id", "session")
_TIMES = ("timestamp", "created_at", "time", "created", "ts")


def messages(items: Iterable[Item], source: Source) -> Iterator[Conversation]:
    """The conversations of lists of messages and logs, in parts of some thousands."""
    following = iter(items)
    begun = list(islice(following, 2))
    talk, log = Talk(source.name), _Log(source.stem, is_alone=len(begun) == 1)
    for number, item in enumerate(chain(begun, following)):
        value = item.value
        if value is None:
            continue
        if not isinstance(value, Mapping):
            why = f"message {number}: must be an object, not `{type(value).__name__}`"
            talk.leave(why, item.line, is_fault=True)
        elif is_message(value):
            session = {} if item.group is None else {"session_id": f"{source.stem}-{item.group + 1}"}
            talk.add({**session, **value}, item.line)
        else:
            try:
                for message in log.new_messages(value, number, item.line):
                    talk.add(message, item.line)
            except InvalidInputError as error:
                talk.leave(error.message, item.line, is_fault=True)
        if talk.is_full:
            yield talk.conversation()
    yield talk.conversation()


def is_message(value: Mapping[str, Any]) -> bool:
    """Whether it is one message, not a request with a list of them."""
    return "role" in value or (
        value.get("type") in ("human", "ai", "system", "tool") and "content" in value
    )


def is_log(value: Mapping[str, Any]) -> bool:
    """Whether it is a list of messages under a name, or a request to a chat API."""
    return _history(value) is not None


@dataclass(frozen=True, slots=True)
class _End:
    """Where a request ended: its session, and whether an answer is known that followed."""

    session: str | None
    is_answered: bool


class _Log:
    """The conversations of a log, by what was said in them so far."""

    def __init__(self, stem: str, is_alone: bool) -> None:
        self._stem = stem
        self._is_alone = is_alone
        self._sessions = 0
        self._ends: dict[bytes, _End] = {}

    def new_messages(
        self, entry: Mapping[str, Any], number: int, line: int
    ) -> Iterator[dict[str, Any]]:
        """The messages of a request that no earlier one had, and its answer."""
        history = _history(entry)
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
        if isinstance(one.get("messages"), list):
            return list(one["messages"])
        given = one.get("input")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        if isinstance(given, list) and all(isinstance(item, Mapping) for item in given):
            return [item for item in given if "role" in item]
    return None


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
        if isinstance(output, list):
            parts = [part for part in output if isinstance(part, Mapping)]
            return [
                _spoken({"role": "assistant", **part})
                for part in parts
                if part.get("type") == "message" and part.get("content")
            ]
    return []


def _spoken(message: Mapping[str, Any]) -> dict[str, Any]:
    """An answer as the next request repeats it: without what only answers have."""
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
    """Text is the same with and without parts around it."""
    if not isinstance(content, list):
        return content
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
    plain = [text for text in texts if isinstance(text, str)]
    return "\n".join(plain) if len(plain) == len(texts) else content
