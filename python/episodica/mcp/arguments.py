"""The arguments of the tools. Their JSON schemas are what a client's model reads."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from ..hints import near, shown
from ..inputs.options import Kind
from ..layers.values import Layer

MIN_TOKENS = 200
MAX_TOKENS = 10_000
_MAX_LIMIT = 100
# The most mistakes that an error names.
_TOLD = 3


def _unquoted(value: Any) -> Any:
    """Some clients send a list as a JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _trimmed(value: Any) -> Any:
    """A name without the spaces around it; a blank one is none."""
    return value.strip() or None if isinstance(value, str) else value


_MESSAGE_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "description": "`role` and `content`; also `name`, `timestamp`, `message_id`, `metadata`",
        "required": ["role", "content"],
    },
}

_Messages = Annotated[
    list[dict[str, Any]], BeforeValidator(_unquoted), WithJsonSchema(_MESSAGE_SCHEMA)
]
_Kinds = Annotated[list[Kind], BeforeValidator(_unquoted)]
_Ids = Annotated[list[str], BeforeValidator(_unquoted), Field(max_length=_MAX_LIMIT)]
_Limit = Annotated[int, Field(ge=1, le=_MAX_LIMIT)]
_Budget = Annotated[
    int | None,
    Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="most tokens of the answer; default 1,000"),
]
_Layer = Annotated[
    Layer, Field(description="of an episode: `L0` summary, `L1` content, `L2` messages")
]
_Since = Annotated[str | None, Field(description="nothing before this, ISO 8601")]
_Until = Annotated[str | None, Field(description="nothing after this")]
_Cursor = Annotated[str | None, Field(description="`next_cursor` of the answer before")]
_Name = Annotated[str | None, BeforeValidator(_trimmed)]
_Project = Annotated[_Name, Field(description="only this repository's, by its name")]


class Arguments(BaseModel):
    """What all tools have in common: unknown arguments are mistakes."""

    model_config = ConfigDict(extra="forbid")

    max_tokens: _Budget = None


class Remember(Arguments):
    """What to remember."""

    content: str | None = Field(None, description="a note, a fact at once")
    messages: _Messages | None = Field(None, description="or the messages of a conversation")
    session_id: str | None = Field(None, description="the conversation")
    message_id: str | None = Field(
        None, description="your id of `content`; other words under it are an edit"
    )
    timestamp: str | float | None = Field(
        None, description="when it was said or happened, ISO 8601; default: now"
    )
    role: str | None = Field(None, description="who said `content`; default `user`")
    name: str | None = Field(None, description="the speaker's name")
    project: _Name = Field(None, description="the repository that it is about")
    attribute: str | None = Field(
        None, description="what of the user `content` states, with `value`: other values end"
    )
    value: str | None = Field(None, description="the value, such as `Lyon` of `home`")


class Search(Arguments):
    """What to look for."""

    query: str = Field(description="the question, in any language")
    limit: _Limit = 10
    kinds: _Kinds | None = Field(
        None,
        description="`episodic` (episodes), `semantic` (facts), `message`; default: messages, "
        "each with its episode and the facts that quote it, and stated facts",
    )
    since: _Since = None
    until: _Until = None
    project: _Project = None
    layer: _Layer = "L0"
    cursor: _Cursor = None


class Recall(Arguments):
    """What to recall a context for."""

    query: str = Field(description="the question or the topic")
    conversation: str | None = Field(
        None, description="a name of your choice: only lines not given before under it"
    )
    since: _Since = None
    until: _Until = None
    project: _Project = None


class Fetch(Arguments):
    """Which record to read."""

    id: str | None = Field(None, description="the id of a result")
    uri: str | None = Field(None, description="or its `url`, or a place: `cortex://user/…`")
    layer: _Layer = "L2"
    cursor: _Cursor = None


class Timeline(Arguments):
    """Which episodes to list."""

    since: _Since = None
    until: _Until = None
    project: _Project = None
    limit: _Limit = 10
    cursor: _Cursor = None


class Changes(Arguments):
    """Which changes to list."""

    since: _Since = None
    limit: _Limit = 10
    cursor: _Cursor = None


class EndSession(Arguments):
    """Which conversation has ended."""

    session_id: str | None = Field(None, description="default: all conversations")


class Forget(Arguments):
    """What to delete."""

    id: str | None = Field(None, description="the id or `url` of a record")
    query: str | None = Field(None, description="or what to look for; lists candidates")
    confirm_ids: _Ids | None = Field(
        None, description="the ids to delete, which the person has confirmed"
    )


class Status(Arguments):
    """Nothing to ask."""


def told(error: ValidationError, model: type[Arguments]) -> str:
    """The mistakes in arguments, a line for each, without their values."""
    lines = []
    for mistake in error.errors(include_url=False, include_input=False)[:_TOLD]:
        place = shown(".".join(map(str, mistake["loc"])))
        if mistake["type"] == "extra_forbidden":
            similar = near(place, model.model_fields)
            hint = f"; did you mean `{similar[0]}`?" if similar else ""
            lines.append(f"unknown argument: `{place}`{hint}")
        elif mistake["type"] == "missing":
            lines.append(f"missing argument: `{place}`")
        else:
            lines.append(f"argument `{place}`: {mistake['msg'][0].lower()}{mistake['msg'][1:]}")
    return "\n".join(lines)
