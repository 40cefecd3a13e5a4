"""Conversion of messages and hits from and to Nemori's shapes."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ...inputs.names import ROLES
from ...records import Episode, Message, SemanticMemory
from ...results import Hit


@dataclass
class GivenMessage:
    """A message as scripts of Nemori build it; they hand its fields to ``add_messages``."""

    role: str
    content: str
    timestamp: datetime = field(default_factory=datetime.now)
    metadata: dict[str, Any] = field(default_factory=dict)
    message_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def to_dict(self) -> dict[str, Any]:
        """Its fields, with the time as text."""
        return {**vars(self), "timestamp": self.timestamp.isoformat()}


def incoming(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages as ``add_messages`` takes them.

    Nemori's scripts put the speaker's name where the role belongs. A time that is not a date
    becomes now; empty texts are left out.
    """
    made = []
    for message in messages:
        if str(message["content"]).strip():
            one = {
                "role": message["role"],
                "content": message["content"],
                "metadata": message.get("metadata") or {},
            }
            if message["role"] not in ROLES:
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


def record(found: Any) -> dict[str, Any]:
    """A record in the form of Nemori's later versions."""
    return episode_record(found) if isinstance(found, Episode) else _fact_record(found)


def episode_record(episode: Episode) -> dict[str, Any]:
    """An episode in the form of Nemori's later versions, whose time is that of its messages."""
    return {
        "id": episode.episode_id,
        "user_id": episode.user_id,
        "title": episode.title,
        "content": episode.content,
        "source_messages": [_message(one) for one in episode.original_messages],
        "metadata": episode.metadata,
        "created_at": episode.timestamp.isoformat(),
        "updated_at": episode.created_at.isoformat(),
    }


def _fact_record(fact: SemanticMemory) -> dict[str, Any]:
    return {
        "id": fact.memory_id,
        "user_id": fact.user_id,
        "content": fact.content,
        "memory_type": fact.kind,
        "source_episode_id": next(iter(fact.source_episodes), None),
        "confidence": fact.confidence,
        "metadata": fact.metadata,
        "created_at": fact.valid_from.isoformat(),
        "updated_at": fact.created_at.isoformat(),
    }
