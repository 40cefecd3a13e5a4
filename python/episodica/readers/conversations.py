"""Reads conversations from LoCoMo, LongMemEval, chat message lists and JSONL files.

Converts only; ``add_messages`` checks the messages. Called by the command line.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError, StoreIOError
from ..hints import shown

# Files date sessions, not turns: this spacing keeps the order of turns.
_TURN_SPACING = timedelta(seconds=5)
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_SPOKEN_DATE = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)
_SLASHED_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")
# A text between quotes, so that brackets inside are passed over, or a bracket.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]')
# Python reads no longer ones; see `sys.set_int_max_str_digits`.
_LONG_NUMBER = re.compile(r"[0-9]{4301}")
_EXPECTED = (
    "readable are LoCoMo JSON (`conversation` with `session_1`, …), LongMemEval JSON "
    "(`haystack_sessions`), "
    "a JSON list of messages or an object with `messages`, and JSONL with one of these a line"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation, its answer, and the ids of the turns that prove it."""

    text: str
    answer: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of one user, ready for ``add_messages``.

    ``user_id`` is ``None`` where the file names none; ``name`` says which conversation this is, for
    people.
    """

    name: str
    user_id: str | None
    messages: list[Any]
    questions: tuple[Question, ...] = ()


def read_conversations(path: str | os.PathLike[str]) -> list[Conversation]:
    """Reads a file; its content tells its format.

    Raises
    ------
    StoreIOError
        If the file can't be read.
    InvalidInputError
        If the file has none of the formats, or breaks its format.
    """
    file = Path(path)
    try:
        text = _text(file)
    except OSError as error:
        raise StoreIOError(f"cannot read `{file}`", path=str(file), errno=error.errno) from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"not UTF-8 text: `{file}`", path=str(file)) from error
    try:
        return _recognise(_parse(text, file), file)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{error.message} in `{file}`", hint=error.hint, path=str(file), line=error.line
        ) from error.__cause__


def _text(file: Path) -> str:
    """The whole file, which may be a pipe; devices are refused, as they may have no end."""
    with file.open("rb") as stream:
        kind = os.fstat(stream.fileno()).st_mode
        if stat.S_ISBLK(kind) or (stat.S_ISCHR(kind) and not stream.isatty()):
            raise InvalidInputError(f"not a file: `{file}`", path=str(file))
        return stream.read().decode("utf-8-sig")


def with_ids(conversation: Conversation) -> list[Any]:
    """The messages, each with an id made from conversation, position and content.

    A file that is read again, even if it has grown at its end, adds only new messages. Ids in the
    file are kept.
    """
    return [
        {"message_id": _id(conversation.name, position, message), **message}
        if isinstance(message, Mapping)
        else message
        for position, message in enumerate(conversation.messages)
    ]


def _id(name: str, position: int, message: Mapping[str, Any]) -> str:
    text = json.dumps([name, position, message.get("content")], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def locomo_messages(sample: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of a LoCoMo sample, image captions in the text, ``dia_id`` as metadata."""
    talk = sample["conversation"]
    messages = []
    number = 1
    while f"session_{number}" in talk or f"session_{number}_date_time" in talk:
        start = spoken_date(talk.get(f"session_{number}_date_time", "12:00 pm on 1 January, 2023"))
        for offset, turn in enumerate(talk.get(f"session_{number}", [])):
            text = turn["text"]
            if turn.get("blip_caption"):
                text += f" [Image: {turn['blip_caption']}]"
            messages.append(
                {
                    "role": "user" if turn["speaker"] == talk["speaker_a"] else "assistant",
                    "name": turn["speaker"],
                    "content": text,
                    "timestamp": (start + offset * _TURN_SPACING).isoformat(),
                    "session_id": f"session_{number}",
                    "metadata": {"dia_id": turn["dia_id"]},
                }
            )
        number += 1
    return [message for message in messages if message["content"].strip()]


def longmemeval_messages(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages of a LongMemEval entry, session by session, dated by ``haystack_dates``."""
    sessions = entry["haystack_sessions"]
    ids = entry.get("haystack_session_ids") or [
        f"session_{number}" for number in range(1, len(sessions) + 1)
    ]
    dates = entry["haystack_dates"]
    if not len(sessions) == len(ids) == len(dates):
        raise InvalidInputError(
            f"{len(sessions)} sessions, {len(ids)} session ids and {len(dates)} dates do not match"
        )
    messages = []
    for turns, session_id, date in zip(sessions, ids, dates, strict=True):
        start = slashed_date(date)
        for offset, turn in enumerate(turns):
            metadata: dict[str, Any] = {"turn": offset}
            if "has_answer" in turn:
                metadata["has_answer"] = turn["has_answer"]
            messages.append(
                {
                    "role": turn["role"],
                    "content": turn["content"],
                    "timestamp": (start + offset * _TURN_SPACING).isoformat(),
                    "session_id": session_id,
                    "metadata": metadata,
                }
            )
    return [message for message in messages if message["content"].strip()]


def spoken_date(text: str) -> datetime:
    """Parses ``7:12 pm on 5 March, 2024`` (UTC), in English whatever the locale."""
    found = _SPOKEN_DATE.fullmatch(text.strip())
    if not found or found[5].lower() not in _MONTHS or not 1 <= int(found[1]) <= 12:
        raise InvalidInputError(f"date is not like `7:12 pm on 5 March, 2024`: `{shown(text)}`")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return _moment(
        text, int(found[6]), _MONTHS.index(found[5].lower()) + 1, int(found[4]), hour, int(found[2])
    )


def slashed_date(text: str) -> datetime:
    """Parses ``2023/05/20 (Sat) 02:21`` (UTC)."""
    found = _SLASHED_DATE.fullmatch(text.strip())
    if not found:
        raise InvalidInputError(f"date is not like `2023/05/20 (Sat) 02:21`: `{shown(text)}`")
    return _moment(text, *(int(part or 0) for part in found.groups()))


def _moment(text: str, *parts: int) -> datetime:
    try:
        return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]
    except ValueError as error:
        raise InvalidInputError(f"no such date: `{text}`") from error


def _parse(text: str, file: Path) -> Any:
    """One JSON document, or the list of the documents on each line."""
    try:
        return _loads(text, 1)
    except json.JSONDecodeError as whole:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if file.suffix.lower() != ".jsonl" and (len(lines) < 2 or not _is_json(lines[0][1])):
            raise InvalidInputError(
                f"line {whole.lineno} is not valid JSON", hint=_EXPECTED, line=whole.lineno
            ) from whole
    return [_parse_line(line, number) for number, line in lines]


def _loads(text: str, first_line: int) -> Any:
    """The document that ``text`` is.

    Raises
    ------
    json.JSONDecodeError
        If it is none.
    InvalidInputError
        If it is nested too deeply or holds too long a number for Python to read.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        place, fault = _deepest(text), "is nested too deeply"
    except ValueError:
        found = _LONG_NUMBER.search(text)
        place, fault = found.start() if found else 0, "has a number of thousands of digits"
    line = first_line + text.count("\n", 0, place)
    raise InvalidInputError(f"line {line} {fault}", line=line)


def _deepest(text: str) -> int:
    """Where the brackets of a document are nested deepest."""
    depth = deepest = place = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > deepest:
            deepest, place = depth, found.start()
    return place


def _is_json(text: str) -> bool:
    try:
        _loads(text, 1)
    except json.JSONDecodeError:
        return False
    return True


def _parse_line(text: str, number: int) -> Any:
    try:
        return _loads(text, number)
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"line {number} is not valid JSON", hint=_EXPECTED, line=number
        ) from error


def _recognise(data: Any, file: Path) -> list[Conversation]:
    entries = data if isinstance(data, list) else [data]
    if not entries:
        raise InvalidInputError("the file holds no conversation", hint=_EXPECTED)
    first = entries[0]
    if not isinstance(first, Mapping):
        raise InvalidInputError(
            f"a list of `{type(first).__name__}` is not a conversation", hint=_EXPECTED
        )
    if isinstance(first.get("conversation"), Mapping):
        return list(_each(entries, _from_locomo))
    if "haystack_sessions" in first:
        return list(_each(entries, _from_longmemeval))
    if isinstance(first.get("messages"), list):
        return [_from_message_lists(entries, file)]
    if "role" in first:
        return [Conversation(file.name, None, entries)]
    keys = ", ".join(f"`{shown(key)}`" for key in list(first)[:6])
    raise InvalidInputError(
        f"an object with the keys {keys or '(none)'} is not a conversation", hint=_EXPECTED
    )


def _each(
    entries: list[Any], convert: Callable[[Mapping[str, Any], int], Conversation]
) -> Iterator[Conversation]:
    """Converts every entry; a missing key becomes a clear error."""
    for number, entry in enumerate(entries):
        try:
            yield convert(entry, number)
        except KeyError as error:
            raise InvalidInputError(
                f"conversation {number}: `{error.args[0]}` is missing", hint=_EXPECTED
            ) from error
        except (TypeError, AttributeError) as error:
            raise InvalidInputError(
                f"conversation {number} has another form than the first", hint=_EXPECTED
            ) from error


def _from_locomo(sample: Mapping[str, Any], number: int) -> Conversation:
    user = str(sample.get("sample_id") or f"conversation-{number + 1}")
    questions = tuple(
        # Adversarial questions have no answer in the conversation.
        Question(entry["question"], str(entry["answer"]), _evidence(entry))
        for entry in sample.get("qa", ())
        if "answer" in entry
    )
    return Conversation(user, user, locomo_messages(sample), questions)


def _evidence(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        turn
        for cited in entry.get("evidence") or ()
        for turn in re.findall(r"D\d+:\d+", str(cited))
    )


def _from_longmemeval(entry: Mapping[str, Any], _number: int) -> Conversation:
    user = str(entry["question_id"])
    question = Question(entry["question"], str(entry.get("answer", "")))
    return Conversation(user, user, longmemeval_messages(entry), (question,))


def _from_message_lists(entries: list[Any], file: Path) -> Conversation:
    """One conversation of ``{"messages": [...]}`` objects, each a session if there are several."""
    messages: list[dict[str, Any]] = []
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("messages"), list):
            raise InvalidInputError(
                f"conversation {number - 1}: `messages` is missing", hint=_EXPECTED
            )
        session = {"session_id": f"{file.stem}-{number}"} if len(entries) > 1 else {}
        messages.extend(
            {**session, **message} if isinstance(message, Mapping) else message
            for message in entry["messages"]
        )
    return Conversation(file.name, None, messages)
