"""Conversations of the benchmarks LoCoMo and LongMemEval, with their questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInputError
from ..hints import shown
from .conversation import Conversation, Question, Talk
from .dates import MONTHS, STEP
from .source import Source

_SESSION = re.compile(r"session_(\d+)(?:_date_time)?")

_SPOKEN_DATE = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)
_SLASHED_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")


def is_locomo(value: Mapping[str, Any]) -> bool:
    """Whether `value` is a sample of LoCoMo."""
    return isinstance(value.get("conversation"), Mapping)


def locomo(sample: Mapping[str, Any], number: int, source: Source) -> Iterator[Conversation]:
    """A conversation in LoCoMo's form, with its questions."""
    user = str(sample.get("sample_id") or f"conversation-{number + 1}")
    questions = tuple(
        # Adversarial questions have no answer in the conversation.
        Question(entry["question"], str(entry["answer"]), _evidence(entry))
        for entry in sample.get("qa") or ()
        if "answer" in entry
    )
    yield replace(_locomo_talk(sample, user).conversation(), questions=questions)


def _locomo_talk(sample: Mapping[str, Any], user: str) -> Talk:
    """The messages, image captions in the text, ``dia_id`` as metadata."""
    held = sample["conversation"]
    talk = Talk(user, user, user=user)
    found = (_SESSION.fullmatch(key) for key in held)
    for session in sorted({int(one[1]) for one in found if one}):
        date = held.get(f"session_{session}_date_time")
        start = spoken_date(date) if isinstance(date, str) else None
        for offset, turn in enumerate(held.get(f"session_{session}") or ()):
            text = turn.get("text") or ""
            if turn.get("blip_caption"):
                text = f"{text} [Image: {turn['blip_caption']}]".lstrip()
            message = {
                "role": "user" if turn["speaker"] == held.get("speaker_a") else "assistant",
                "name": turn["speaker"],
                "content": text,
                "session_id": f"session_{session}",
            }
            if start is not None:
                message["timestamp"] = (start + offset * STEP).isoformat()
            if turn.get("dia_id"):
                message["metadata"] = {"dia_id": turn["dia_id"]}
            talk.add(message)
    return talk


def _evidence(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        turn
        for cited in entry.get("evidence") or ()
        for turn in re.findall(r"D\d+:\d+", str(cited))
    )


def is_longmemeval(value: Mapping[str, Any]) -> bool:
    """Whether `value` is an entry of LongMemEval."""
    return "haystack_sessions" in value


def longmemeval(entry: Mapping[str, Any], number: int, source: Source) -> Iterator[Conversation]:
    """An entry of LongMemEval, with its question."""
    user = str(entry["question_id"])
    question = Question(entry["question"], str(entry.get("answer", "")))
    talk = _longmemeval_talk(entry, user)
    yield replace(talk.conversation(), questions=(question,))


def _longmemeval_talk(entry: Mapping[str, Any], user: str) -> Talk:
    """The messages, session by session, dated by ``haystack_dates``."""
    sessions = entry["haystack_sessions"]
    ids = entry.get("haystack_session_ids") or [
        f"session_{number}" for number in range(1, len(sessions) + 1)
    ]
    dates = entry["haystack_dates"]
    if not len(sessions) == len(ids) == len(dates):
        raise InvalidInputError(
            f"{len(sessions)} sessions, {len(ids)} session ids and {len(dates)} dates do not match"
        )
    talk = Talk(user, user, user=user)
    for turns, session_id, date in zip(sessions, ids, dates, strict=True):
        start = slashed_date(date)
        for offset, turn in enumerate(turns or ()):
            metadata: dict[str, Any] = {"turn": offset}
            if "has_answer" in turn:
                metadata["has_answer"] = turn["has_answer"]
            talk.add(
                {
                    "role": turn["role"],
                    "content": turn.get("content") or "",
                    "timestamp": (start + offset * STEP).isoformat(),
                    "session_id": session_id,
                    "metadata": metadata,
                }
            )
    return talk


def spoken_date(text: str) -> datetime:
    """Parses ``7:12 pm on 5 March, 2024`` (UTC), in English whatever the locale."""
    found = _SPOKEN_DATE.fullmatch(text.strip())
    if not found or found[5].lower() not in MONTHS or not 1 <= int(found[1]) <= 12:
        raise InvalidInputError(f"date is not like `7:12 pm on 5 March, 2024`: `{shown(text)}`")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return _moment(
        text, int(found[6]), MONTHS.index(found[5].lower()) + 1, int(found[4]), hour, int(found[2])
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
        raise InvalidInputError(f"no such date: `{shown(text)}`") from error
