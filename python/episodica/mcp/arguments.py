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


_MESSAGE_SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "role": {"type": "string", "description": "`user`, `assistant`, `system` or `tool`"},
            "content": {"description": "the text, verbatim, or a chat API's list of parts"},
            "name": {"type": "string", "description": "the speaker's name"},
            "timestamp": {"description": "when it was said, ISO 8601, or seconds since 1970"},
            "message_id": {"type": "string", "description": "a known id is not stored again"},
            "metadata": {"type": "object"},
        },
        "required": ["role", "content"],
    },
}

_Messages = Annotated[
    list[dict[str, Any]], BeforeValidator(_unquoted), WithJsonSchema(_MESSAGE_SCHEMA)
]
_Kinds = Annotated[list[Kind], BeforeValidator(_unquoted)]
_Ids = Annotated[list[str], BeforeValidator(_unquoted), Field(max_length=_MAX_LIMIT)]
_Limit = Annotated[int, Field(ge=1, le=_MAX_LIMIT, description="maximum number of results")]
_Budget = Annotated[
    int | None,
    Field(
        ge=MIN_TOKENS,
        le=MAX_TOKENS,
        description="maximum length of the answer in tokens; the default is the server's, 1,000 "
        "unless it was started with another",
    ),
]
_Layer = Annotated[
    Layer,
    Field(
        description="how much of an episode: `L0` its summary, `L1` its narrative, `L2` its "
        "messages"
    ),
]
_Since = Annotated[
    str | None, Field(description="nothing before this date or time, ISO 8601 with offset")
]
_Until = Annotated[
    str | None, Field(description="nothing after this; a date without a time is the whole day")
]
_Cursor = Annotated[
    str | None,
    Field(description="`next_cursor` of the answer before, with the other arguments unchanged"),
]


class Arguments(BaseModel):
    """What all tools have in common: unknown arguments are mistakes."""

    model_config = ConfigDict(extra="forbid")

    max_tokens: _Budget = None


class Remember(Arguments):
    """What to remember."""

    content: str | None = Field(None, description="one message or note, verbatim")
    messages: _Messages | None = Field(
        None, description="instead of `content`: messages of a conversation, in order"
    )
    session_id: str | None = Field(None, description="the conversation that this belongs to")
    message_id: str | None = Field(
        None, description="your id of `content`; a known id is not stored again"
    )
    timestamp: str | float | None = Field(
        None,
        description="when `content` was said or happened, ISO 8601 with offset, or seconds since "
        "1970; default: now",
    )
    role: str | None = Field(None, description="who said `content`; default `user`")
    name: str | None = Field(None, description="the name of the one who said `content`")


class Search(Arguments):
    """What to look for."""

    query: str = Field(description="the question, in any language")
    limit: _Limit = 10
    kinds: _Kinds | None = Field(
        None, description="`episodic` (episodes), `semantic` (facts), `message`; default: all"
    )
    since: _Since = None
    until: _Until = None
    layer: _Layer = "L0"
    cursor: _Cursor = None


class Recall(Arguments):
    """What to recall a context for."""

    query: str = Field(description="the question or the topic, in any language")
    since: _Since = None
    until: _Until = None


class Fetch(Arguments):
    """Which record to read."""

    id: str | None = Field(None, description="the id of a result")
    uri: str | None = Field(
        None, description="or its `url`, or a place of the tree such as `cortex://user/…`"
    )
    layer: _Layer = "L2"
    cursor: _Cursor = None


class Timeline(Arguments):
    """Which episodes to list."""

    since: _Since = None
    until: _Until = None
    limit: _Limit = 10
    cursor: _Cursor = None


class Forget(Arguments):
    """What to delete."""

    id: str | None = Field(None, description="the id or `url` of a record")
    query: str | None = Field(None, description="or what to look for; lists candidates")
    confirm_ids: _Ids | None = Field(
        None,
        description="the ids to delete, after the person has confirmed them; without these the "
        "tool only lists candidates and deletes nothing",
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
