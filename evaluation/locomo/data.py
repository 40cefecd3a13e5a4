"""Reads LoCoMo's format, with an optional file of corrections, and lists what is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evaluation.common.dataset import (
    ADVERSARIAL,
    ANSWERABLE,
    CORRECTED,
    ORIGINAL,
    Conversation,
    Dataset,
    Gold,
    Problem,
    Question,
    checksum,
)

# As the dataset's own evaluation code numbers them; papers often swap 1 and 4.
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_TURN = re.compile(r"D\d+:\d+")
# Sessions are dated, turns are not: this spacing keeps their order.
_SPACING = timedelta(seconds=5)
_MONTHS = [
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
]
_DATE = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)


def load(data: Path, corrections: Path | None = None) -> Dataset:
    """Reads a file, or every ``.json`` file of a folder that holds conversations.

    Without ``corrections``, ``<name>_corrections.json`` beside a data file is taken where it
    exists.
    """
    files = (
        [data]
        if data.is_file()
        else sorted(one for one in data.glob("*.json") if not one.stem.endswith("_corrections"))
    )
    if not files:
        raise FileNotFoundError(f"no LoCoMo data at `{data}`")
    samples: list[Mapping[str, Any]] = []
    beside: list[Path] = [corrections] if corrections else []
    for file in files:
        content = json.loads(file.read_text(encoding="utf-8"))
        samples += content if isinstance(content, list) else [content]
        candidate = file.with_name(f"{file.stem}_corrections.json")
        if corrections is None and candidate.exists():
            beside.append(candidate)
    fixes = {
        (row["sample_id"], row["qa_index"]): row
        for file in beside
        for row in json.loads(file.read_text(encoding="utf-8"))
    }
    problems: list[Problem] = []
    conversations = tuple(
        _conversation(sample, index, fixes, problems) for index, sample in enumerate(samples)
    )
    checksums = {file.name: checksum(file) for file in [*files, *beside]}
    return Dataset("LoCoMo", conversations, checksums, tuple(problems), tuple(CATEGORIES.values()))


def session_date(text: str) -> datetime:
    """Reads ``7:12 pm on 5 March, 2024`` as UTC, in English whatever the locale."""
    found = _DATE.fullmatch(" ".join(text.split()))
    if not found or found[5].lower() not in _MONTHS:
        raise ValueError(f"date is not like `7:12 pm on 5 March, 2024`: `{text}`")
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return datetime(
        int(found[6]),
        _MONTHS.index(found[5].lower()) + 1,
        int(found[4]),
        hour,
        int(found[2]),
        tzinfo=UTC,
    )


def messages_of(talk: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The turns as messages: what a picture shows in brackets, the turn's id as ``message_id``."""
    messages = []
    number = 1
    while f"session_{number}" in talk or f"session_{number}_date_time" in talk:
        start = session_date(talk.get(f"session_{number}_date_time", "12:00 pm on 1 January, 2023"))
        for offset, turn in enumerate(talk.get(f"session_{number}", [])):
            caption = turn.get("blip_caption")
            text = turn["text"] + (f" [Image: {caption}]" if caption else "")
            if text.strip():
                messages.append(
                    {
                        "role": "user" if turn["speaker"] == talk["speaker_a"] else "assistant",
                        "name": turn["speaker"],
                        "content": text,
                        "timestamp": (start + offset * _SPACING).isoformat(),
                        "session_id": f"session_{number}",
                        "message_id": turn["dia_id"],
                        "metadata": {"dia_id": turn["dia_id"]},
                    }
                )
        number += 1
    return messages


def _conversation(
    sample: Mapping[str, Any], index: int, fixes: Mapping[Any, Any], problems: list[Problem]
) -> Conversation:
    user = str(sample.get("sample_id") or f"conversation-{index + 1}")
    messages = messages_of(sample["conversation"])
    session_of = {one["message_id"]: one["session_id"] for one in messages}
    questions = []
    for number, entry in enumerate(sample.get("qa", ())):
        fix = fixes.get((user, number), {})
        questions.append(_question(entry, user, number, index, fix, session_of, problems))
    return Conversation(user, index, messages, tuple(questions))


def _question(
    entry: Mapping[str, Any],
    user: str,
    number: int,
    index: int,
    fix: Mapping[str, Any],
    session_of: Mapping[str, str],
    problems: list[Problem],
) -> Question:
    code = entry["category"]
    key = f"{user}/{number}"
    cited = [str(one) for one in entry.get("evidence") or ()]
    original = Gold(str(entry.get("answer", "")), *_located(cited, session_of))
    corrected = original
    if fix:
        evidence = [str(one) for one in fix.get("correct_evidence") or cited]
        corrected = Gold(
            str(fix.get("correct_answer") or original.answer), *_located(evidence, session_of)
        )
    problems += _problems(key, cited, session_of)
    if code != 5 and not original.messages and not corrected.messages:
        problems.append(
            Problem(key, "no evidence: retrieval not scored", ", ".join(cited) or "(none cited)")
        )
    return Question(
        user=user,
        number=number,
        conversation=index,
        text=entry["question"],
        category=CATEGORIES.get(code, f"category {code}"),
        category_code=code,
        kind=ADVERSARIAL if code == 5 else ANSWERABLE,
        gold={ORIGINAL: original, CORRECTED: corrected},
        cited=tuple(cited),
        trap=str(entry["adversarial_answer"]) if "adversarial_answer" in entry else None,
        correction=fix.get("error_type"),
    )


def _located(
    cited: Iterable[str], session_of: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The cited turns that exist, and their sessions."""
    turns = tuple(
        dict.fromkeys(turn for one in cited for turn in _TURN.findall(one) if turn in session_of)
    )
    return turns, tuple(dict.fromkeys(session_of[turn] for turn in turns))


def _problems(key: str, cited: Iterable[str], session_of: Mapping[str, str]) -> Iterable[Problem]:
    for one in cited:
        turns = _TURN.findall(one)
        if not _TURN.fullmatch(one):
            what = (
                f"malformed evidence id, read as {', '.join(turns)}"
                if turns
                else "malformed evidence id, not readable"
            )
            yield Problem(key, what, one)
        for turn in turns:
            if turn not in session_of:
                yield Problem(key, "evidence id that no turn has", turn)
