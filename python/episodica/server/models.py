"""The JSON of requests and answers.

Answers are declared for the OpenAPI document; routes write them without checking them again.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model, model_validator

from ..changes import Change, ChangeSide, Side
from ..inputs.checks import MAX_TOP_K
from ..inputs.names import place_of
from ..inputs.options import Duplicates, Format, Kind, Method
from ..layers.values import Layer
from ..records import Episode, Message, SemanticMemory
from ..reports import AddResult, DeleteReport, Event, ImportReport
from ..results import Context, Hit
from ..sessions import Session
from ..value import types_of

# JSON has no dates: they come as text, and the memory reads them.
When = Annotated[str, WithJsonSchema({"type": "string", "examples": ["2024-03-11T09:30:00+01:00"]})]
AnyObject = dict[str, Any]
MAX_PAGE = 1_000
# Fields that a request may give once for all its messages.
_OF_ALL = ("session_id", "agent_id")
# Fields of episodes and facts that answers leave out.
_UNSHOWN = ("archived_at", "expires_at", "revision")
Model = TypeVar("Model", bound=BaseModel)


def _of(value: type, *without: str) -> Callable[[type[Model]], type[Model]]:
    """Adds the fields of a value to a model, all of them required, except those left out."""

    def decorate(model: type[Model]) -> type[Model]:
        names = types_of(value).items()
        left_out = {*without, *model.model_fields}
        more: dict[str, Any] = {name: (one, ...) for name, one in names if name not in left_out}
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **more)

    return decorate


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AddMessages(_Request):
    """Messages to store."""

    messages: list[AnyObject] = Field(
        description="Messages of a chat: `role` and `content`, and optionally `name`, "
        "`timestamp`, `session_id`, `agent_id`, `message_id`, `edited_at`, `metadata`. A text is "
        "one message of the user."
    )
    session_id: str | None = None
    agent_id: str | None = Field(default=None, description="The agent of messages without one.")
    duplicates: Duplicates = Field(
        default="version",
        description="What becomes of a known `message_id` with another text: a newer version of "
        "the message, or an error for the whole request.",
    )
    wait: Literal["stored", "episodes", "facts"] = "stored"
    timeout_seconds: float = Field(default=30.0, ge=0, le=300)

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, body: Any) -> Any:
        """Session and agent under the names that other programs use; a text as its message."""
        if not isinstance(body, dict):
            return body
        if isinstance(body.get("messages"), str):
            body = {**body, "messages": [{"role": "user", "content": body["messages"]}]}
        places = {key: place_of(key) for key in body if key not in cls.model_fields}
        meant = {key: at[0] for key, at in places.items() if at and at[0] in _OF_ALL}
        return {
            meant.get(key, key): value
            for key, value in body.items()
            if key not in meant or meant[key] not in body
        }


class Flush(_Request):
    """What to turn into episodes."""

    session_id: str | None = None


class _Question(_Request):
    query: str = Field(min_length=1, max_length=32_768)
    kinds: list[Kind] | None = None
    method: Method = "hybrid"
    since: When | None = None
    until: When | None = None
    session_id: str | None = None
    agent_id: str | None = None
    timezone: str | None = Field(default=None, description="Zone in which dates are shown.")
    where: AnyObject | None = None
    threshold: float | None = Field(default=None, ge=0, le=1)


# The fields that search and context pass on as they are.
CONDITIONS = sorted(_Question.model_fields.keys() - {"query", "timezone"})


class Search(_Question):
    """A question."""

    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K)
    layer: Layer = "L1"
    include_superseded: bool = False
    explain: bool = False


class AskContext(_Question):
    """A question whose answer goes into a prompt."""

    max_tokens: int = Field(default=2_000, ge=1, le=1_000_000)
    format: Format = "text"
    fence: bool = Field(default=True, description="Fence the text as data.")


class AskRecall(_Question):
    """The next question of a conversation."""

    max_tokens: int = Field(default=4_000, ge=1, le=1_000_000)
    state: AnyObject | None = Field(
        default=None, description="`state` of the answer before; none for the first question."
    )


class RecallView(BaseModel):
    """What answers a question and was not given before in the conversation."""

    new: str
    text: str
    token_count: int
    restarts: int
    state: AnyObject


class AskStanding(_Question):
    """A question, and the record that did not come."""

    id: str = Field(min_length=1)
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K)
    max_tokens: int = Field(default=2_000, ge=1, le=1_000_000)
    include_superseded: bool = False


class StandingView(BaseModel):
    """How a record stands to a question."""

    id: str
    kind: Kind
    found: bool
    in_context: bool
    rank: int | None
    score: float
    explanation: AnyObject | None
    before: list[str] = Field(description="Ids of the best records before it.")
    reasons: list[str]


class StateFact(_Request):
    """A fact that is stated directly."""

    statement: str = Field(min_length=1)
    kind: str | None = None
    valid_from: When | None = None
    agent_id: str | None = Field(default=None, description="The agent that states it.")
    metadata: AnyObject | None = None
    subject: str | None = Field(default=None, description="What it is about; default: the user.")
    attribute: str | None = Field(
        default=None,
        description="The attribute that it states, with `value`: other values of it end.",
    )
    value: str | None = None
    expires_after: float | None = Field(
        default=None, gt=0, description="Seconds for which searches find it; default: for good."
    )


class KeepChange(_Request):
    """Which words of a change hold."""

    old: str = Field(min_length=1, description="`memory_id` of the earlier words.")
    new: str = Field(min_length=1, description="`memory_id` of the later words.")
    keep: Side


class Correction(_Request):
    """The new text of a record."""

    content: str = Field(min_length=1)


@_of(Message, "message_id", "seq", "uri")
class MessageView(BaseModel):
    """A message, verbatim."""

    id: str


@_of(Episode, "episode_id", "user_id", "original_messages", "entities", "tags", *_UNSHOWN)
class EpisodeView(BaseModel):
    """An episode: title and summary (L0), content (L1), messages (L2)."""

    id: str
    agent_ids: list[str]
    content: str | None = None
    messages: list[MessageView] | None = None


@_of(SemanticMemory, "memory_id", "user_id", "revision_count", *_UNSHOWN)
class FactView(BaseModel):
    """A fact with its source messages and the time when it was true."""

    id: str
    agent_id: str | None
    is_current: bool
    revision: int


RecordView = MessageView | EpisodeView | FactView


class Written(BaseModel):
    """A record that was written, for a key without the scope `read`."""

    id: str


class KeyView(BaseModel):
    """What a key opens: one user, or all of them (`*`)."""

    tenant: str
    user: str
    scopes: list[str]


class StoreView(BaseModel):
    """Counts, health and cost."""

    stats: AnyObject
    health: AnyObject
    usage: AnyObject


class Trace(BaseModel):
    """Calls of a language model: prompts and answers."""

    steps: list[AnyObject]


@_of(Event, "change", "user_id", "cursor")
class EventView(BaseModel):
    """A change of a record, or what learning made of a candidate."""

    event: str
    user: str


class Learning(BaseModel):
    """The decisions on candidates for facts."""

    events: list[EventView]
    next_cursor: str | None


@_of(AddResult, "pending_semantic")
class Added(BaseModel):
    """The result of adding messages."""

    facts: list[str] | None = None
    events: list[EventView]
    done: bool


class Episodes(BaseModel):
    """Episodes that were written."""

    episodes: list[EpisodeView]


@_of(Hit, "record")
class HitView(BaseModel):
    """A result of a search."""

    is_current: bool
    messages: list[MessageView] | None = None
    explanation: AnyObject | None = None
    episode: EpisodeView | None = Field(description="The episode of a message hit.")
    claims: list[FactView] = Field(description="The facts that quote a message hit.")


class Found(BaseModel):
    """The results of a search, best first."""

    hits: list[HitView]
    degraded: list[str]
    took_ms: float


@_of(Context, "hits")
class ContextView(BaseModel):
    """Text for a prompt, and its records."""

    fenced: bool
    messages: list[MessageView]
    facts: list[FactView]
    degraded: list[str]


class _Page(BaseModel):
    next_cursor: str | None
    total: int


def _page(name: str, item: Any) -> type[BaseModel]:
    """A part of a listing."""
    items: Any = GenericAlias(list, item)
    text = f"A page of {name.lower()}s."
    return create_model(f"{name}Page", __base__=_Page, __doc__=text, items=(items, ...))


MessagePage = _page("Message", MessageView)
EpisodePage = _page("Episode", EpisodeView)
FactPage = _page("Fact", FactView)


class History(BaseModel):
    """Every version of a record, oldest first."""

    versions: list[RecordView]


@_of(DeleteReport)
class Deleted(BaseModel):
    """Removed records, or with `dry_run` records to remove; with ids for keys that may read."""

    dry_run: bool


@_of(ImportReport, "updated", "refused")
class Imported(BaseModel):
    """What an import added."""


class Stats(BaseModel):
    """Counts of one user."""

    messages: int
    buffered: int
    episodes: int
    facts: int
    superseded: int
    pending_facts: int
    pending_vectors: int
    memory_bytes: int


@_of(ChangeSide)
class ChangeSideView(BaseModel):
    """The earlier or the later words of a change."""


@_of(Change, "_memory", "_user_id")
class ChangeView(BaseModel):
    """Something said, and something said later about it."""

    old: ChangeSideView
    new: ChangeSideView


class ChangeList(BaseModel):
    """Later statements about the same thing, the latest first."""

    items: list[ChangeView]


class Profile(BaseModel):
    """The facts that hold, by their kind, and how many each kind had no room for."""

    facts: dict[str, list[FactView]]
    left_out: dict[str, int]


@_of(Session, "user_id", "session_id")
class SessionView(BaseModel):
    """A conversation that the application names, and how far closing it has come."""

    id: str


SessionPage = _page("Session", SessionView)


class EntryView(BaseModel):
    """A folder or a text of the tree."""

    uri: str
    name: str
    kind: str
    title: str
    timestamp: datetime | None
    record_uri: str | None
    entries: list[EntryView] | None = None


class Folder(BaseModel):
    """The entries below a place of the tree."""

    uri: str
    entries: list[EntryView]
    complete: bool


class Text(BaseModel):
    """A text of the tree."""

    uri: str
    text: str


class Users(BaseModel):
    """A page of user ids."""

    users: list[str]
    next_cursor: str | None
    total: int


class Status(BaseModel):
    """The state of the service."""

    status: str
    reasons: list[str] = []


class Version(BaseModel):
    """Which release answers."""

    name: str
    version: str
