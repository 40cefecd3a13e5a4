"""Conversations of the benchmarks LoCoMo and LongMemEval, with their questions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInputError
from ..hints import shown
from .conversation import Conversation, Question
from .dates import MONTHS, STEP

_SPOKEN_DATE = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)
_SLASHED_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")


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
                    "timestamp": (start + offset * STEP).isoformat(),
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
                    "timestamp": (start + offset * STEP).isoformat(),
                    "session_id": session_id,
                    "metadata": metadata,
                }
            )
    return [message for message in messages if message["content"].strip()]


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


def locomo(sample: Mapping[str, Any], number: int, _name: str) -> Conversation:
    """A conversation in LoCoMo's form, with its questions."""
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


def longmemeval(entry: Mapping[str, Any], _number: int, _name: str) -> Conversation:
    """An entry of LongMemEval, with its question."""
    user = str(entry["question_id"])
    question = Question(entry["question"], str(entry.get("answer", "")))
    return Conversation(user, user, longmemeval_messages(entry), (question,))
