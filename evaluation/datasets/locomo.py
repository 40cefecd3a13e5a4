"""LoCoMo (Maharana et al., 2024) and other conversations in its format.

From https://github.com/snap-research/locomo (CC BY-NC 4.0). Answers and evidence that an
audit corrected replace the published ones. The audit is the file or folder given as ``corrections``
(``audit`` of https://github.com/dial481/locomo-audit), else ``<name>_corrections.json`` next to the
file, if it exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation.datasets import SPACING, Conversation, Dataset, Question, checksums, files_of, read
from evaluation.datasets.wording import asking, shared

# The numbers of the dataset's own evaluation code; papers often swap 1 and 4.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D\d+:\d+")
# The audit names a question by the number of its conversation and its own number.
_AUDITED = re.compile(r"locomo_(\d+)_qa(\d+)")


def load(data: Path, corrections: Path | None = None, **_: Any) -> Dataset:
    """Reads a file, or every ``.json`` file of a folder."""
    files = files_of(data)
    samples: list[Mapping[str, Any]] = []
    beside = files_of(corrections, "errors_conv_*.json") if corrections else []
    for file in files:
        content = read(file)
        samples += content if isinstance(content, list) else [content]
        candidate = file.with_name(f"{file.stem}_corrections.json")
        if corrections is None and candidate.exists():
            beside.append(candidate)
    users = [str(one.get("sample_id") or f"conversation-{at}") for at, one in enumerate(samples, 1)]
    fixes = {_audited(row, users): row for file in beside for row in read(file)}
    problems: list[tuple[str, str, str]] = []
    made = tuple(
        _conversation(one, user, fixes, problems) for one, user in zip(samples, users, strict=True)
    )
    return Dataset("LoCoMo", made, checksums(*files, *beside), tuple(problems))


def _audited(row: Mapping[str, Any], users: list[str]) -> tuple[str, int]:
    """Which question a row of an audit is about."""
    if found := _AUDITED.fullmatch(row.get("question_id", "")):
        return users[int(found[1])], int(found[2])
    return row["sample_id"], row["qa_index"]


def session_date(text: str) -> datetime:
    """Reads ``7:12 pm on 5 March, 2024`` as UTC."""
    plain = " ".join(text.replace(",", " ").split())
    return datetime.strptime(plain, "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)


def sessions_of(talk: Mapping[str, Any]) -> list[tuple[str, datetime, list[dict[str, Any]]]]:
    """The sessions with their names and dates, in the order of their numbers."""
    found, number = [], 1
    while f"session_{number}" in talk or f"session_{number}_date_time" in talk:
        start = session_date(talk.get(f"session_{number}_date_time", "12:00 pm on 1 January, 2023"))
        found.append((f"session_{number}", start, list(talk.get(f"session_{number}", ()))))
        number += 1
    return found


def text_of(turn: Mapping[str, Any]) -> str:
    """The text of a turn, followed by the caption of its picture in brackets."""
    caption = turn.get("blip_caption")
    return f"{turn['text']} [Image: {caption}]" if caption else str(turn["text"])


def messages_of(talk: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The turns as messages, with the turn's id as ``message_id``."""
    return [
        {
            "role": "user" if turn["speaker"] == talk["speaker_a"] else "assistant",
            "name": turn["speaker"],
            "content": text_of(turn),
            "timestamp": (start + offset * SPACING).isoformat(),
            "session_id": session,
            "message_id": turn["dia_id"],
        }
        for session, start, turns in sessions_of(talk)
        for offset, turn in enumerate(turns)
        if text_of(turn).strip()
    ]


def _conversation(
    sample: Mapping[str, Any], user: str, fixes: Mapping[Any, Any], problems: list[Any]
) -> Conversation:
    messages = messages_of(sample["conversation"])
    session_of = {one["message_id"]: one["session_id"] for one in messages}
    questions = [
        _question(entry, user, number, fixes.get((user, number), {}), session_of, problems)
        for number, entry in enumerate(sample.get("qa", ()))
    ]
    if "names" in sample:
        questions = _with_paraphrases(questions, messages, sample["names"])
    return Conversation(user, messages, tuple(questions))


def _with_paraphrases(
    questions: list[Question], messages: list[dict[str, Any]], names: list[str]
) -> list[Question]:
    """Tags the questions that share no content word with their evidence, except names."""
    texts = {one["message_id"]: one["content"] for one in messages}
    common = asking([one.text for one in questions], names)

    def tagged(one: Question) -> Question:
        evidence = " ".join(texts[identity] for identity in one.messages)
        alike = not evidence or shared(one.text, evidence, names, common) > 0
        return one if alike else replace(one, tags=(*one.tags, "paraphrase"))

    return [tagged(one) for one in questions]


def _question(
    entry: Mapping[str, Any],
    user: str,
    number: int,
    fix: Mapping[str, Any],
    session_of: Mapping[str, str],
    problems: list[Any],
) -> Question:
    code, key = entry["category"], f"{user}/{number}"
    cited = [str(one) for one in entry.get("evidence") or ()]
    published = (str(entry.get("answer", "")), *_located(cited, session_of))
    answer, messages, sessions = published
    if fix:
        answer = str(fix.get("correct_answer") or answer)
        messages, sessions = _located(fix.get("correct_evidence") or cited, session_of)
    problems += _problems(key, cited, session_of)
    if code == 5:
        trap = entry.get("adversarial_answer")
        answer, messages, sessions = f"not said; tempting but wrong: {trap}" if trap else "", (), ()
    elif not messages:
        problems.append((key, "no evidence: retrieval not scored", ", ".join(cited) or "(none)"))
    return Question(
        user=user,
        number=number,
        text=entry["question"],
        category=CATEGORIES.get(code, f"category {code}"),
        answer=answer,
        messages=messages,
        sessions=sessions,
        answerable=code != 5,
        tags=tuple(entry.get("tags", ())),
        published=published if fix else None,
    )


def _located(
    cited: Iterable[str], session_of: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cited turns that exist, and their sessions."""
    named = (turn for one in cited for turn in _TURN.findall(str(one)))
    turns = tuple(dict.fromkeys(turn for turn in named if turn in session_of))
    return turns, tuple(dict.fromkeys(session_of[turn] for turn in turns))


def _problems(
    key: str, cited: Iterable[str], session_of: Mapping[str, str]
) -> Iterable[tuple[str, str, str]]:
    for one in cited:
        turns = _TURN.findall(one)
        if not _TURN.fullmatch(one):
            how = f"read as {', '.join(turns)}" if turns else "not readable"
            yield key, f"malformed evidence id, {how}", one
        for turn in turns:
            if turn not in session_of:
                yield key, "evidence id that no turn has", turn
