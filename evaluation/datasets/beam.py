"""BEAM (Tavakoli et al., 2025): long chats with an assistant, questions of ten kinds.

From https://huggingface.co/datasets/Mohammadta/BEAM (CC BY-SA 4.0) or the repository
mohammadtavakoli78/BEAM. Reads three forms: rows with ``chat`` and ``probing_questions`` (JSON,
JSONL, or Parquet if pyarrow is installed), a folder ``chats/100K`` of the repository, and a list
``[{"id", "messages", "questions"}]`` with messages as for ``add_messages``.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evaluation.datasets import Conversation, Dataset, Question, checksums, iso, lines_of, read

UNANSWERABLE = "abstention"
_MINUTE = timedelta(minutes=1)
# The numbering by BEAM's generator, at the end of a user's message.
_MARK = re.compile(r"\s*->->[\s\d,]*$")
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")
_FORMATS = ("%B-%d-%Y", "%B %d, %Y", "%Y-%m-%d")


def load(data: Path, **_: Any) -> Dataset:
    """Reads a file, a folder of such files, or a folder of the repository."""
    problems: list[tuple[str, str, str]] = []
    made, files = [], []
    for file, row in _rows(data):
        files.append(file)
        user = str(row.get("conversation_id") or row.get("id") or f"conversation-{len(made) + 1}")
        messages = row["messages"] if "messages" in row else _messages(row["chat"], user, problems)
        asked = row.get("questions")
        if asked is None:
            asked = list(_asked(_literal(row["probing_questions"])))
        ids = {one["message_id"] for one in messages}
        questions = [_question(one, user, at, ids, problems) for at, one in enumerate(asked)]
        made.append(Conversation(user.strip('"'), messages, tuple(questions)))
    if not made:
        raise FileNotFoundError(f"no BEAM data at `{data}`")
    return Dataset("BEAM", tuple(made), checksums(*dict.fromkeys(files)), tuple(problems))


def _rows(data: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    folders = sorted(data.glob("*/chat.json"), key=lambda one: (len(one.parent.name), one))
    for chat in folders:
        asked = chat.parent / "probing_questions" / "probing_questions.json"
        yield chat, {"id": chat.parent.name, "chat": read(chat), "probing_questions": read(asked)}
    if folders:
        return
    files = [data] if data.is_file() else sorted(data.glob("*.*"))
    for file in files:
        if file.suffix == ".parquet":
            rows = importlib.import_module("pyarrow.parquet").read_table(file).to_pylist()
        elif file.suffix == ".jsonl":
            rows = list(lines_of(file))
        elif file.suffix == ".json":
            rows = read(file)
        else:
            continue
        for row in rows:
            yield file, row


def _literal(value: Any) -> Any:
    """A field that may contain JSON or a Python literal as text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return ast.literal_eval(value)


def _batches(value: Any) -> Iterator[list[Mapping[str, Any]]]:
    """Lists of turns, at any depth of the file: batches, then pairs of turns."""
    if isinstance(value, Mapping):
        if "turns" in value:
            yield [turn for part in value["turns"] for turn in _flat(part)]
        else:
            for part in value.values():
                yield from _batches(part)
    elif value and isinstance(value[0], Mapping) and "content" in value[0]:
        yield list(value)
    else:
        for part in value or ():
            yield from _batches(part)


def _flat(part: Any) -> list[Mapping[str, Any]]:
    return [part] if isinstance(part, Mapping) else [turn for one in part for turn in _flat(one)]


def _messages(chat: Any, user: str, problems: list[Any]) -> list[dict[str, Any]]:
    """The turns. A batch is a session, dated by its first anchor, with a minute between turns."""
    made: list[dict[str, Any]] = []
    seen: set[str] = set()
    when = datetime(2024, 1, 1, 9, tzinfo=UTC)
    for number, turns in enumerate(_batches(_literal(chat)), 1):
        anchor = next((one["time_anchor"] for one in turns if one.get("time_anchor")), None)
        if (start := _date(anchor)) is not None:
            when = max(start, when) if made else start
        elif anchor:
            problems.append((f"{user}/0", "date not readable, time goes on", str(anchor)))
        for turn in turns:
            when += _MINUTE
            identity = str(turn.get("id", turn.get("index", len(made))))
            content = _MARK.sub("", str(turn.get("content") or ""))
            if not content.strip() or identity in seen:
                what = "turn without words or with a known id, not added"
                problems.append((f"{user}/0", what, identity))
                continue
            seen.add(identity)
            made.append(
                {"role": "user" if turn["role"] == "user" else "assistant", "content": content}
                | {"timestamp": iso(when), "session_id": f"b{number}", "message_id": identity}
            )
    return made


def _date(text: str | None) -> datetime | None:
    for form in _FORMATS if text else ():
        try:
            return datetime.strptime(str(text), form).replace(hour=9, tzinfo=UTC)
        except ValueError:
            continue
    return None


def _asked(by_kind: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for kind, entries in by_kind.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            answer = next((entry[name] for name in _ANSWERS if entry.get(name)), None)
            cited = entry.get("source_chat_ids")
            made = {"kind": kind, "question": entry["question"], "answer": answer}
            yield made | {"gold": list(_numbers(cited)), "updates": cited}


def _numbers(value: Any) -> Iterator[str]:
    """The ids in a list, or in the lists of a mapping."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, str) and value.isdigit():
        yield value


def _question(
    entry: Mapping[str, Any], user: str, number: int, ids: set[str], problems: list[Any]
) -> Question:
    key, kind = f"{user.strip(chr(34))}/{number}", entry["kind"]
    cited = list(dict.fromkeys(str(one) for one in entry.get("gold") or ()))
    unknown = [one for one in cited if one not in ids]
    problems += [(key, "evidence id that no message has", one) for one in unknown]
    known = tuple(one for one in cited if one in ids)
    if kind != UNANSWERABLE and not known:
        problems.append((key, "no evidence: retrieval not scored", "(none)"))
    pair = entry.get("updates") or {}
    pair = pair.get("source_chat_ids", pair) if isinstance(pair, Mapping) else {}
    old, new = (
        tuple(one for name, value in pair.items() if word in name for one in _numbers(value))
        if isinstance(pair, Mapping)
        else ()
        for word in ("original", "updated")
    )
    return Question(
        user=user.strip('"'),
        number=number,
        text=entry["question"],
        category=kind,
        answer=str(entry.get("answer") or ""),
        messages=known if kind != UNANSWERABLE else (),
        answerable=kind != UNANSWERABLE,
        updates=(old, new) if kind == "knowledge_update" and old and new else ((), ()),
    )
