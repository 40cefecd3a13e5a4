"""GateMem: conversations of several speakers, with questions in between and deletions.

From https://github.com/rzhub/GateMem (MIT): ``bench/data/<domain>/episodes.jsonl`` and
``checkpoints.jsonl``, or files ``<domain>_episodes.jsonl`` and ``<domain>_checkpoints.jsonl``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from evaluation.datasets import Conversation, Dataset, Question, checksums, lines_of

# The three types of checkpoints: the memory must answer, must not tell this person, or must not
# tell deleted texts.
CATEGORIES = {"utility": "utility", "privacy": "privacy", "safety": "deletion"}
SHORTEST_LEAK = 4
_START = datetime(2026, 3, 1, 9)
_STEP = timedelta(minutes=3)


def load(data: Path, **_: Any) -> Dataset:
    """Reads one domain's files, or all of a folder."""
    found = [data] if data.is_file() else sorted(data.rglob("*episodes.jsonl"))
    if not found:
        raise FileNotFoundError(f"no GateMem data at `{data}`: no episodes.jsonl below it")
    made, files, problems = [], [], list[tuple[str, str, str]]()
    for episodes in found:
        points = episodes.with_name(episodes.name.replace("episodes", "checkpoints"))
        asked: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for point in lines_of(points):
            asked[point["episode_id"]].append(point)
        files += [episodes, points]
        made += [
            _conversation(episode, asked[episode["episode_id"]], problems)
            for episode in lines_of(episodes)
        ]
    sums = {
        f"{one.parent.name}/{one.name}": total for one in files for total in checksums(one).values()
    }
    return Dataset("GateMem", tuple(made), sums, tuple(problems))


def patterns_found(patterns: tuple[str, ...], text: str) -> bool:
    """Whether all patterns are found; an invalid regular expression is taken as plain text."""
    return all(_found(one, text) for one in patterns)


def _found(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.IGNORECASE) is not None
    except re.error:
        return pattern.lower() in text.lower()


def _conversation(
    episode: Mapping[str, Any], points: list[Mapping[str, Any]], problems: list[Any]
) -> Conversation:
    user = str(episode["episode_id"])
    about = episode.get("entities")
    people = about.get("principals", ()) if isinstance(about, Mapping) else ()
    names = {one["principal_id"]: one.get("display_name") or one["principal_id"] for one in people}
    messages, now = [], _START
    for turn in episode["turns"]:
        now = max(_moment(turn.get("timestamp")) or now + _STEP, now)
        who = turn["speaker"]["principal_id"]
        messages.append(
            {
                "role": "user",
                "name": names.get(who, who),
                "content": turn["text"] or "-",
                "timestamp": f"{now.isoformat()}Z",
                "message_id": turn["turn_id"],
            }
        )
    places = {one["message_id"]: at for at, one in enumerate(messages)}
    questions = []
    for number, point in enumerate(points):
        spec, kind = point["judge_spec"], point["query_type"]
        at = places.get(point["as_of_turn_id"])
        if at is None:
            turn = str(point["as_of_turn_id"])
            problems.append((f"{user}/{number}", "asked at a turn that is not there", turn))
        parts = tuple(spec.get("include") or ()) if kind == "utility" else ()
        leaks = tuple(point.get("leak_targets") or ()) if kind != "utility" else ()
        # "yes", "no" or "17" reveal nothing, and occur in any text.
        short = [one for one in leaks if len(one) < SHORTEST_LEAK]
        problems += [(f"{user}/{number}", "leak too short to look for", one) for one in short]
        leaks = tuple(one for one in leaks if len(one) >= SHORTEST_LEAK)
        questions.append(
            Question(
                user=user,
                number=number,
                text=point["query_text"],
                category=CATEGORIES.get(kind, kind),
                answer="; ".join(parts) or str(spec.get("notes", "")),
                answerable=kind == "utility",
                after=len(messages) if at is None else at + 1,
                parts=parts,
                leaks=leaks,
            )
        )
    # Questions are asked in the order of time, since the memory gets the messages in that order.
    return Conversation(user, messages, tuple(sorted(questions, key=lambda one: one.after or 0)))


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.fromisoformat((text or "").replace("Z", "")).replace(tzinfo=None)
    except ValueError:
        return None
