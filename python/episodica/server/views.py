"""Records as JSON, in the form that ``models`` declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json
from starlette.responses import Response

from ..records import Episode, Message, Record, SemanticMemory
from ..reports import Event
from ..results import Hit
from ..sessions import Session
from .models import EpisodeView, EventView, FactView, HitView, MessageView, SessionView


def answer(value: object, status: int = 200) -> Response:
    """A response with this JSON."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")


def fields(model: type[BaseModel], one: object, **given: Any) -> dict[str, Any]:
    """The fields that a model declares: those given, else the attributes of the same names."""
    return {
        name: given[name] if name in given else getattr(one, name) for name in model.model_fields
    }


def message(one: Message) -> dict[str, Any]:
    """A message."""
    return fields(MessageView, one, id=one.message_id)


def episode(one: Episode, layer: str = "L1") -> dict[str, Any]:
    """An episode down to a layer."""
    messages = [message(each) for each in one.original_messages] if layer == "L2" else []
    view = fields(EpisodeView, one, id=one.episode_id, messages=messages)
    for name, is_shown in (("content", layer != "L0"), ("messages", layer == "L2")):
        if not is_shown:
            del view[name]
    return view


def fact(one: SemanticMemory) -> dict[str, Any]:
    """A fact."""
    return fields(FactView, one, id=one.memory_id, revision=one.revision_count)


def session(one: Session) -> dict[str, Any]:
    """A session."""
    return fields(SessionView, one, id=one.session_id)


def record(one: Record, layer: str = "L1") -> dict[str, Any]:
    """A record of any kind."""
    if isinstance(one, Message):
        return message(one)
    return episode(one, layer) if isinstance(one, Episode) else fact(one)


def hit(one: Hit, layer: str) -> dict[str, Any]:
    """A result of a search; of an episode, the texts of a layer.

    The episode of a message has its messages at L2, else its title and summary.
    """
    content = one.content
    if layer == "L0" and isinstance(one.record, Episode):
        content = one.record.summary
    messages = [message(each) for each in one.messages] if layer == "L2" else None
    explanation = None if one.explanation is None else one.explanation.to_dict()
    optional = {"messages": messages, "explanation": explanation}
    of_layer = layer if layer == "L2" else "L0"
    moment = {
        "episode": None if one.episode is None else episode(one.episode, of_layer),
        "claims": [fact(each) for each in one.claims],
    }
    view = fields(HitView, one, content=content, **optional, **moment)
    return {k: v for k, v in view.items() if v is not None or k not in optional}


def event(one: Event) -> dict[str, Any]:
    """A change of a record."""
    moment = one.at.isoformat()
    return fields(EventView, one, event=one.change, user=one.user_id, at=moment)


def events(found: Iterable[Event]) -> list[dict[str, Any]]:
    """What learning made of candidates."""
    return [event(one) for one in found if one.is_learning]
