"""LongMemEval (Wu et al., 2025): one long chat history per question, six types and abstention.

From https://github.com/xiaowu0162/LongMemEval (MIT), the files S, M and oracle. Each question has a
history of its own, so each question becomes a user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.datasets import SPACING, Conversation, Dataset, Question, checksums, files_of, read


def load(data: Path, corrections: Path | None = None, **_: Any) -> Dataset:
    """Reads a file, or every ``.json`` file of a folder.

    ``corrections``: ``{question_id: {"answer", "answer_session_ids"}}``.
    """
    files = files_of(data)
    beside = [corrections] if corrections else []
    fixes = read(corrections) if corrections else {}
    problems: list[tuple[str, str, str]] = []
    entries = [entry for file in files for entry in read(file)]
    made = tuple(_conversation(entry, fixes, problems) for entry in entries)
    return Dataset("LongMemEval", made, checksums(*files, *beside), tuple(problems))


def session_date(text: str) -> datetime:
    """Reads ``2023/05/20 (Sat) 02:21`` as UTC."""
    return datetime.strptime(text.strip(), "%Y/%m/%d (%a) %H:%M").replace(tzinfo=UTC)


def _conversation(
    entry: Mapping[str, Any], fixes: Mapping[str, Any], problems: list[Any]
) -> Conversation:
    user, key = str(entry["question_id"]), f"{entry['question_id']}/0"
    messages: list[dict[str, Any]] = []
    proof: list[str] = []
    ids = _single(entry["haystack_session_ids"])
    asked = session_date(entry["question_date"])
    sessions = zip(ids, entry["haystack_dates"], entry["haystack_sessions"], strict=True)
    for session, date, turns in sessions:
        start = session_date(date)
        if start > asked:
            problems.append((key, "session dated after the question, kept", session))
        for place, turn in enumerate(turns):
            identity = f"{session}:{place}"
            if not turn["content"].strip():
                problems.append((key, "empty turn, not added", identity))
                continue
            proof += [identity] if turn.get("has_answer") else []
            when = (start + place * SPACING).isoformat()
            messages.append(
                {"role": turn["role"], "content": turn["content"], "timestamp": when}
                | {"session_id": session, "message_id": identity}
            )
    fix = fixes.get(user, {})
    cited = [str(one) for one in fix.get("answer_session_ids", entry.get("answer_session_ids", ()))]
    unknown = [one for one in cited if one not in ids]
    problems += [(key, "evidence session that the history lacks", one) for one in unknown]
    answerable = not user.endswith("_abs")
    if answerable and not proof:
        problems.append((key, "no turn is marked as evidence: messages not scored", ""))
    question = Question(
        user=user,
        number=0,
        text=entry["question"],
        category=entry["question_type"],
        answer=str(fix.get("answer", entry["answer"])),
        messages=tuple(proof) if answerable else (),
        sessions=tuple(one for one in cited if one in ids) if answerable else (),
        answerable=answerable,
        asked_at=entry["question_date"],
        now=asked,
    )
    # The oracle files don't sort their sessions, but a memory gets messages in the order of time.
    return Conversation(user, sorted(messages, key=lambda one: one["timestamp"]), (question,))


def _single(ids: Iterable[str]) -> list[str]:
    """The ids, with a number added to repeated ones: turns of two sessions never share an id."""
    seen: Counter[str] = Counter()
    made = []
    for one in map(str, ids):
        seen[one] += 1
        made.append(one if seen[one] == 1 else f"{one}#{seen[one]}")
    return made
