"""Conversion of messages and hits from and to Nemori's shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ...records import Episode, Message, SemanticMemory
from ...results import Hit

_ROLES = frozenset({"user", "assistant", "system", "tool"})


def incoming(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages as ``add_messages`` takes them.

    Nemori's scripts put the speaker's name where the role belongs, pass dates that may not be dates
    (then: now), and empty texts, which are left out.
    """
    made = []
    for message in messages:
        if str(message["content"]).strip():
            one = {
                "role": message["role"],
                "content": message["content"],
                "metadata": message.get("metadata") or {},
            }
            if message["role"] not in _ROLES:
                one |= {"role": "user", "name": message["role"]}
            made.append(
                one
                | _timestamp(message.get("timestamp"))
                | {k: message[k] for k in ("name", "session_id", "agent_id") if message.get(k)}
            )
    return made


def _timestamp(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            return {"timestamp": datetime.fromisoformat(value).isoformat()}
        except ValueError:
            return {}
    return {} if value is None else {"timestamp": value}


def episode_info(episode: Episode) -> dict[str, Any]:
    """A new episode as Nemori reports it."""
    return {
        "episode_id": episode.episode_id,
        "title": episode.title,
        "message_count": episode.message_count,
        "boundary_reason": episode.boundary_reason,
    }


def found(hit: Hit, method: str) -> dict[str, Any]:
    """A hit in the form of Nemori's search."""
    shared = {"type": hit.kind, "score": hit.score, "content": hit.content, "search_method": method}
    record = hit.record
    if isinstance(record, Episode):
        return shared | {
            "episode_id": record.episode_id,
            "title": record.title,
            "summary": record.summary,
            "original_messages": [_message(one) for one in record.original_messages],
            "boundary_reason": record.boundary_reason,
            "timestamp": record.timestamp.isoformat(),
            "created_at": record.created_at.isoformat(),
            "message_count": record.message_count,
        }
    if isinstance(record, SemanticMemory):
        return shared | {
            "memory_id": record.memory_id,
            "knowledge_type": record.kind,
            "confidence": record.confidence,
            "related_episodes": list(record.source_episodes),
            "timestamp": record.valid_from.isoformat(),
            "created_at": record.created_at.isoformat(),
        }
    raise TypeError(f"neither an episode nor a fact: `{type(record).__name__}`")


def _message(message: Message) -> dict[str, Any]:
    return {
        "role": message.speaker,
        "content": message.content,
        "timestamp": message.timestamp.isoformat(),
        "metadata": message.metadata or {},
    }
