"""LoCoMo-Plus: remarks in passing that matter weeks later in other words.

Pairs of a cue and a trigger (``data/locomo_plus.json`` of https://github.com/xjtuleeyf/Locomo-Plus,
which states its licence) are put between the sessions of LoCoMo's conversations (``--talks``). Each
session is ten days after the session before it; cues follow their session by a day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evaluation.datasets import Conversation, Dataset, Question, checksums, iso, read
from evaluation.datasets.locomo import sessions_of

_START = datetime(2023, 1, 1, 9, tzinfo=UTC)
_BETWEEN = timedelta(days=10)
_SPEAKER = re.compile(r"^A:\s*")


def load(data: Path, talks: Path | None = None, **_: Any) -> Dataset:
    """Reads the pairs, and the conversations into which they are put."""
    if talks is None:
        raise ValueError("LoCoMo-Plus needs LoCoMo's conversations: --talks locomo10.json")
    pairs, samples = read(data), read(talks)
    problems: list[tuple[str, str, str]] = []
    made = tuple(
        _conversation(sample, pairs[at :: len(samples)], problems)
        for at, sample in enumerate(samples)
    )
    return Dataset("LoCoMo-Plus", made, checksums(data, talks), tuple(problems))


def _conversation(
    sample: Mapping[str, Any], pairs: list[Mapping[str, Any]], problems: list[Any]
) -> Conversation:
    talk, user = sample["conversation"], str(sample["sample_id"])
    sessions = sessions_of(talk)
    each = -(-len(pairs) // len(sessions))
    said: list[tuple[datetime, str, str, str, str]] = []
    questions = []
    for place, (session, _, turns) in enumerate(sessions):
        day = _START + place * _BETWEEN
        for at, turn in enumerate(turns):
            when = day + timedelta(minutes=at)
            said.append((when, turn["speaker"], turn["text"], session, f"{session}-{at}"))
        for number in range(place * each, min(len(pairs), (place + 1) * each)):
            start = day + timedelta(days=1, hours=number % each)
            cue = list(_cue(pairs[number], talk, number, start))
            said += cue
            if not cue:
                problems.append((f"{user}/{number}", "cue without words", ""))
            questions.append(
                Question(
                    user=user,
                    number=number,
                    text=_SPEAKER.sub("", pairs[number]["trigger_query"]),
                    category=str(pairs[number].get("relation_type", "cue")),
                    answer=pairs[number]["cue_dialogue"],
                    messages=tuple(one[4] for one in cue),
                )
            )
    messages = [
        {"role": "user", "name": name, "content": text, "timestamp": iso(when)}
        | {"session_id": session, "message_id": identity}
        for when, name, text, session, identity in sorted(said)
        if text
    ]
    return Conversation(user, messages, tuple(questions))


def _cue(
    pair: Mapping[str, Any], talk: Mapping[str, Any], number: int, start: datetime
) -> list[tuple[datetime, str, str, str, str]]:
    """The lines ``A: …`` and ``B: …`` as messages of a session of their own."""
    found = []
    for at, line in enumerate(pair["cue_dialogue"].splitlines()):
        who, _, text = line.partition(":")
        if text.strip():
            name = talk["speaker_a" if who.strip() == "A" else "speaker_b"]
            when = start + timedelta(minutes=at)
            found.append((when, name, text.strip(), f"cue {number}", f"cue{number}-{at}"))
    return found
