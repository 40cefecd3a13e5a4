"""Folders of Nemori, read as records of an export.

Nemori keeps a user's episodes in ``episodes`` and facts in ``semantic``, one JSON object per line
or all in one list. Messages are only in the episodes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidInputError
from ..inputs.facts import FACT_KINDS
from .conversation import NO_WORDS, LeftOut, mappings
from .dates import parse
from .source import Source

_LOG = re.compile(r"(episodes|semantic)/([^/]+?)(?:_\1)?\.jsonl?")
_EPOCH = datetime.fromtimestamp(0, UTC).isoformat()
# What Nemori itself assumes of a fact without a confidence; and the middle.
_CONFIDENCE, _IMPORTANCE = 0.8, 0.5
_IMPORTED = {"method": "imported"}
_BOUNDARY = {
    "should_end": True, "reason": "imported", "confidence": 1.0, "detection_method": "forced"
}  # fmt: skip


@dataclass(slots=True)
class NemoriUser:
    """The records of one user, as JSON with their lines in the file."""

    user_id: str
    messages: list[tuple[int, str]] = field(default_factory=list)
    episodes: list[tuple[int, str]] = field(default_factory=list)
    facts: list[tuple[int, str]] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)


def is_nemori(source: Source) -> bool:
    """Whether the source is a folder that Nemori wrote: it has no messages of its own."""
    names = source.members or ()
    other = any(name == "episodica.json" or name.startswith("messages/") for name in names)
    return not other and any(map(_LOG.fullmatch, names))


def nemori(source: Source) -> Iterator[NemoriUser]:
    """The users of a folder, each with the records of all its files."""
    users: dict[str, NemoriUser] = {}
    for name in source.members or ():
        if found := _LOG.fullmatch(name):
            user = users.setdefault(found[2], NemoriUser(found[2]))
            _read(source, name, _episode if found[1] == "episodes" else _fact, user)
    yield from users.values()


def _read(source: Source, name: str, convert: Any, user: NemoriUser) -> None:
    with source.member(name) as member:
        try:
            for item in member.items():
                place = f"{name}, line {item.line}"
                try:
                    if not isinstance(item.value, Mapping):
                        raise InvalidInputError("not a record")
                    if item.value.get("user_id") not in (None, "", user.user_id):
                        raise InvalidInputError("the record belongs to another user")
                    convert(item.value, item.line, place, user)
                except ValueError as error:
                    why = error.message if isinstance(error, InvalidInputError) else str(error)
                    user.left_out.append(LeftOut(place, why, is_fault=True))
        except (InvalidInputError, UnicodeDecodeError) as error:
            why = error.message if isinstance(error, InvalidInputError) else "not UTF-8 text"
            user.left_out.append(LeftOut(name, why, is_fault=True))
        user.left_out += [LeftOut(f"{name}, {one.place}", one.why, True) for one in member.left_out]


def _episode(value: Mapping[str, Any], line: int, place: str, user: NemoriUser) -> None:
    episode_id = _text(value.get("episode_id")) or _digest(user.user_id, "episode", value)
    told = mappings(value.get("original_messages"))
    start = _moment(value.get("timestamp")) or next(filter(None, map(_date, told)), None)
    start = start or _moment(value.get("created_at")) or _EPOCH
    ids, end = [], start
    for position, message in enumerate(told):
        if not _text(message.get("content")).strip():
            user.left_out.append(LeftOut(f"{place}, message {position}", NO_WORDS))
            continue
        message_id = _text(message.get("message_id")) or _digest(episode_id, "message", position)
        metadata = _object(message.get("metadata"))
        moment = _date(message) or start
        end = max(end, moment, key=datetime.fromisoformat)
        ids.append(message_id)
        if message_id in user.ids:
            continue
        user.ids.add(message_id)
        record = {
            "message_id": message_id,
            "seq": len(user.messages),
            "role": _text(message.get("role")) or "user",
            "name": _text(message.get("name") or metadata.get("original_speaker")) or None,
            "content": _text(message.get("content")),
            "timestamp": moment,
            "metadata": metadata or None,
        }
        user.messages.append((line, _json(record)))
    if not (ids or _text(value.get("content")).strip()):
        raise InvalidInputError("the episode has neither content nor messages")
    record = {
        "episode_id": episode_id,
        "user_id": user.user_id,
        "title": _text(value.get("title")),
        "content": _text(value.get("content")),
        "message_ids": ids,
        "message_count": len(ids),
        "boundary_reason": _text(value.get("boundary_reason")),
        "timestamp": start,
        "created_at": _moment(value.get("created_at")) or start,
        "metadata": _object(value.get("metadata")),
        "tags": [one for one in _list(value.get("tags")) if isinstance(one, str)],
        "ended_at": end,
        "boundary": _BOUNDARY,
        "provenance": _IMPORTED,
    }
    user.episodes.append((line, _json(record)))


def _fact(value: Mapping[str, Any], line: int, _: str, user: NemoriUser) -> None:
    content = _text(value.get("content"))
    if not content.strip():
        raise InvalidInputError("the fact has no content")
    kind, metadata = _text(value.get("knowledge_type")), _object(value.get("metadata"))
    if kind and kind not in FACT_KINDS:
        metadata.setdefault("knowledge_type", kind)
    if tags := _list(value.get("tags")):
        metadata.setdefault("tags", tags)
    created = _moment(value.get("created_at")) or _moment(value.get("updated_at")) or _EPOCH
    sources = [one for one in _list(value.get("source_episodes")) if isinstance(one, str)]
    record = {
        "memory_id": _text(value.get("memory_id")) or _digest(user.user_id, "fact", value),
        "user_id": user.user_id,
        "content": content,
        "kind": kind if kind in FACT_KINDS else "entity",
        "source_episodes": sources,
        "created_at": created,
        "confidence": _share(value.get("confidence"), _CONFIDENCE),
        "importance": _share(value.get("importance"), _IMPORTANCE),
        "metadata": metadata,
        "valid_from": created,
        "updated_at": _moment(value.get("updated_at")) or created,
        "provenance": _IMPORTED,
    }
    user.facts.append((line, _json(record)))


def _date(message: Mapping[str, Any]) -> str | None:
    return _moment(message.get("timestamp"))


def _moment(value: object) -> str | None:
    """A date as text, or as seconds since 1970, in RFC 3339; without an offset it is in UTC."""
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC).isoformat()
        read = parse(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    if read is None:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).isoformat()


def _share(value: object, default: float) -> float:
    return min(max(float(value), 0.0), 1.0) if isinstance(value, (int, float)) else default


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _object(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _digest(*parts: object) -> str:
    return hashlib.sha256(_json(parts).encode()).hexdigest()[:32]


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()
