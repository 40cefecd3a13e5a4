"""Records as JSON, in the form that ``models`` declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic_core import to_json
from starlette.responses import Response

from ..records import Episode, Message, Record, SemanticMemory
from ..reports import Event
from ..results import Hit
from ..sessions import Session
from .stream import event_view


def answer(value: object, status: int = 200) -> Response:
    """A response with this JSON."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")


def message(one: Message) -> dict[str, Any]:
    """A message."""
    return {
        "id": one.message_id,
        "role": one.role,
        "content": one.content,
        "timestamp": one.timestamp,
        "name": one.name,
        "session_id": one.session_id,
        "agent_id": one.agent_id,
        "metadata": one.metadata,
    }


def episode(one: Episode, layer: str = "L1") -> dict[str, Any]:
    """An episode down to a layer."""
    view: dict[str, Any] = {
        "id": one.episode_id,
        "uri": one.uri,
        "title": one.title,
        "summary": one.summary,
        "timestamp": one.timestamp,
        "ended_at": one.ended_at,
        "created_at": one.created_at,
        "session_id": one.session_id,
        "agent_ids": list(one.agent_ids),
        "boundary_reason": one.boundary_reason,
        "boundary": one.boundary,
        "message_count": one.message_count,
        "topics": list(one.topics),
        "provenance": one.provenance,
        "metadata": one.metadata,
    }
    if layer != "L0":
        view["content"] = one.content
    if layer == "L2":
        view["messages"] = [message(each) for each in one.original_messages]
    return view


def fact(one: SemanticMemory) -> dict[str, Any]:
    """A fact."""
    return {
        "id": one.memory_id,
        "uri": one.uri,
        "content": one.content,
        "kind": one.kind,
        "confidence": one.confidence,
        "importance": one.importance,
        "subject": one.subject,
        "attribute": one.attribute,
        "agent_id": one.agent_id,
        "valid_from": one.valid_from,
        "valid_to": one.valid_to,
        "is_current": one.is_current,
        "superseded_by": one.superseded_by,
        "source_messages": list(one.source_messages),
        "source_episodes": list(one.source_episodes),
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "revision": one.revision_count,
        "provenance": one.provenance,
        "metadata": one.metadata,
    }


def session(one: Session) -> dict[str, Any]:
    """A session."""
    return {
        "id": one.session_id,
        "state": one.state,
        "changed_at": one.changed_at,
        "messages": one.messages,
        "episodes": one.episodes,
        "started_at": one.started_at,
        "ended_at": one.ended_at,
    }


def record(one: Record, layer: str = "L1") -> dict[str, Any]:
    """A record of any kind."""
    if isinstance(one, Message):
        return message(one)
    return episode(one, layer) if isinstance(one, Episode) else fact(one)


def hit(one: Hit, layer: str) -> dict[str, Any]:
    """A result of a search; of an episode, the texts of a layer."""
    content = one.content
    if layer == "L0" and isinstance(one.record, Episode):
        content = one.record.summary
    view: dict[str, Any] = {
        "kind": one.kind,
        "id": one.id,
        "uri": one.uri,
        "score": one.score,
        "rank": one.rank,
        "title": one.title,
        "content": content,
        "snippet": one.snippet,
        "timestamp": one.timestamp,
        "is_current": one.is_current,
        "superseded_by": list(one.superseded_by),
        "scores": one.scores,
    }
    if layer == "L2":
        view["messages"] = [message(each) for each in one.messages]
    if one.explanation is not None:
        view["explanation"] = one.explanation.to_dict()
    return view


def events(found: Iterable[Event]) -> list[dict[str, Any]]:
    """What learning made of candidates."""
    return [event_view(one) for one in found if one.is_learning]
