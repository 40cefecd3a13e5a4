"""Reads the files of LongMemEval (S, M, oracle) and lists their faults.

Each question has a history of its own, so each is a user of its own. The question's date is "today"
for answers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evaluation.common.dataset import (
    ABSTENTION,
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
from evaluation.common.journal import write_text

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "temporal-reasoning",
    "knowledge-update",
    "multi-session",
)
# By which prompt the lenient judge marks a type: the rules that the benchmark publishes, in our
# words.
_RULES = {
    "temporal-reasoning": "longmemeval_temporal",
    "knowledge-update": "longmemeval_update",
    "single-session-preference": "longmemeval_preference",
}
_SPACING = timedelta(seconds=5)
_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s*\([^)]*\))?(?:\s+(\d{1,2}):(\d{2}))?")


def rules(row: dict[str, Any], judge: str) -> str:
    """The prompt by which a row is marked.

    A preference has no single right answer, so both judges mark it by its description.
    """
    if row["kind"] != ANSWERABLE:
        return "judge_abstention"
    if judge == "strict" and row["category"] != "single-session-preference":
        return "judge_strict"
    return _RULES.get(row["category"], "longmemeval_default")


def load(data: Path, corrections: Path | None = None) -> Dataset:
    """Reads a file, or every ``.json`` file of a folder.

    ``corrections``: ``{question_id: {"answer", "answer_session_ids"}}``.
    """
    files = [data] if data.is_file() else sorted(data.glob("*.json"))
    if not files:
        raise FileNotFoundError(f"no LongMemEval data at `{data}`")
    entries: list[Mapping[str, Any]] = []
    for file in files:
        entries += json.loads(file.read_text(encoding="utf-8"))
    fixes = json.loads(corrections.read_text(encoding="utf-8")) if corrections else {}
    problems: list[Problem] = []
    conversations = tuple(
        _conversation(entry, index, fixes, problems) for index, entry in enumerate(entries)
    )
    checksums = {
        file.name: checksum(file) for file in [*files, *([corrections] if corrections else [])]
    }
    return Dataset("LongMemEval", conversations, checksums, tuple(problems), TYPES)


def session_date(text: str) -> datetime:
    """Reads ``2023/05/20 (Sat) 02:21`` as UTC."""
    found = _DATE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"date is not like `2023/05/20 (Sat) 02:21`: `{text}`")
    return datetime(*(int(part or 0) for part in found.groups()), tzinfo=UTC)  # type: ignore[arg-type]


def _conversation(
    entry: Mapping[str, Any], index: int, fixes: Mapping[str, Any], problems: list[Problem]
) -> Conversation:
    user, key = str(entry["question_id"]), f"{entry['question_id']}/0"
    messages: list[dict[str, Any]] = []
    proof: list[str] = []
    ids = _single(entry["haystack_session_ids"])
    for session, date, turns in zip(
        ids, entry["haystack_dates"], entry["haystack_sessions"], strict=True
    ):
        start = session_date(date)
        for place, turn in enumerate(turns):
            if not turn["content"].strip():
                problems.append(Problem(key, "empty turn, not added", f"{session}:{place}"))
                continue
            if turn.get("has_answer"):
                proof.append(f"{session}:{place}")
            messages.append(
                {
                    "role": turn["role"],
                    "content": turn["content"],
                    "timestamp": (start + place * _SPACING).isoformat(),
                    "session_id": session,
                    "message_id": f"{session}:{place}",
                }
            )
    question = _question(entry, user, index, ids, proof, fixes.get(user, {}))
    problems += _problems(entry, key, ids, question)
    # The oracle files don't sort their sessions; a memory is told things in the order in which they
    # happened.
    return Conversation(
        user, index, sorted(messages, key=lambda one: one["timestamp"]), (question,)
    )


def _question(
    entry: Mapping[str, Any],
    user: str,
    index: int,
    ids: list[str],
    proof: list[str],
    fix: Mapping[str, Any],
) -> Question:
    cited = [str(one) for one in entry.get("answer_session_ids", ())]
    original = Gold(str(entry["answer"]), tuple(proof), tuple(one for one in cited if one in ids))
    corrected = original
    if fix:
        sessions = tuple(one for one in fix.get("answer_session_ids", cited) if one in ids)
        corrected = Gold(str(fix.get("answer", original.answer)), original.messages, sessions)
    return Question(
        user=user,
        number=0,
        conversation=index,
        text=entry["question"],
        category=entry["question_type"],
        category_code=entry["question_type"],
        kind=ABSTENTION if user.endswith("_abs") else ANSWERABLE,
        gold={ORIGINAL: original, CORRECTED: corrected},
        cited=tuple(cited),
        asked_at=entry["question_date"],
        now=session_date(entry["question_date"]),
        correction="correction" if fix else None,
    )


def _problems(
    entry: Mapping[str, Any], key: str, ids: list[str], question: Question
) -> Iterable[Problem]:
    for one in question.cited:
        if one not in ids:
            yield Problem(key, "evidence session that the history lacks", one)
    if question.kind == ANSWERABLE and not question.gold[ORIGINAL].messages:
        yield Problem(key, "no turn is marked as evidence: message metrics not scored", "")
    asked = session_date(entry["question_date"])
    for session, date in zip(ids, entry["haystack_dates"], strict=True):
        if session_date(date) > asked:
            yield Problem(key, "session dated after the question, kept in the history", session)


def _single(ids: Iterable[str]) -> list[str]:
    """The ids, a repeated one numbered: turns of two sessions never share an id."""
    seen: Counter[str] = Counter()
    made = []
    for one in map(str, ids):
        seen[one] += 1
        made.append(one if seen[one] == 1 else f"{one}#{seen[one]}")
    return made


def write_hypotheses(
    folder: Path, rows: list[dict[str, Any]], answers: Mapping[str, Mapping[str, Any]]
) -> None:
    """``hypotheses.jsonl``: what the benchmark's own scorer reads, a line a question."""
    lines = [
        json.dumps(
            {
                "question_id": row["user"],
                "hypothesis": answers.get(row["key"], {}).get("response", ""),
            },
            ensure_ascii=False,
        )
        for row in rows
    ]
    write_text(folder / "hypotheses.jsonl", "\n".join(lines) + "\n")
