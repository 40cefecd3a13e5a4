"""The JSON of requests and answers.

Answers are declared for the OpenAPI document; routes write them without checking them again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from ..inputs.checks import MAX_TOP_K
from ..inputs.names import place_of

Kind = Literal["episodic", "semantic", "message"]
Layer = Literal["L0", "L1", "L2"]
# JSON has no dates: they come as text, and the memory reads them.
When = Annotated[str, WithJsonSchema({"type": "string", "examples": ["2024-03-11T09:30:00+01:00"]})]
AnyObject = dict[str, Any]
MAX_PAGE = 1_000
# Fields that a request may give once for all its messages.
_OF_ALL = ("session_id", "agent_id")


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AddMessages(_Request):
    """Messages to store."""

    messages: list[AnyObject] = Field(
        description="Messages of a chat: `role` and `content`, and optionally `name`, "
        "`timestamp`, `session_id`, `agent_id`, `message_id`, `metadata`. A text is one message "
        "of the user."
    )
    session_id: str | None = None
    agent_id: str | None = Field(default=None, description="The agent of messages without one.")
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
    method: Literal["hybrid", "rrf", "vector", "bm25", "norlift"] = "hybrid"
    since: When | None = None
    until: When | None = None
    session_id: str | None = None
    agent_id: str | None = None
    timezone: str | None = Field(default=None, description="Zone in which dates are shown.")
    where: AnyObject | None = None
    threshold: float | None = Field(default=None, ge=0, le=1)


class Search(_Question):
    """A question."""

    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K)
    layer: Layer = "L1"
    include_superseded: bool = False
    explain: bool = False


class AskContext(_Question):
    """A question whose answer goes into a prompt."""

    max_tokens: int = Field(default=2_000, ge=1, le=1_000_000)
    format: Literal["text", "json", "xml"] = "text"
    fence: bool = Field(default=True, description="Fence the text as data.")


class StateFact(_Request):
    """A fact that is stated directly."""

    statement: str = Field(min_length=1)
    kind: str | None = None
    valid_from: When | None = None
    agent_id: str | None = Field(default=None, description="The agent that states it.")
    metadata: AnyObject | None = None


class Correction(_Request):
    """The new text of a record."""

    content: str = Field(min_length=1)


class MessageView(BaseModel):
    """A message, verbatim."""

    id: str
    role: str
    content: str
    timestamp: datetime
    name: str | None
    session_id: str | None
    agent_id: str | None
    metadata: Any


class EpisodeView(BaseModel):
    """An episode: title and summary (L0), narrative (L1), messages (L2)."""

    id: str
    uri: str
    title: str
    summary: str
    content: str | None = None
    timestamp: datetime
    ended_at: datetime | None
    created_at: datetime
    session_id: str | None
    agent_ids: list[str]
    boundary_reason: str
    boundary: AnyObject
    message_count: int
    topics: list[str]
    provenance: AnyObject
    metadata: AnyObject
    messages: list[MessageView] | None = None


class FactView(BaseModel):
    """A fact with its source messages and the time when it was true."""

    id: str
    uri: str
    content: str
    kind: str
    confidence: float
    importance: float
    subject: str
    attribute: str
    agent_id: str | None
    valid_from: datetime
    valid_to: datetime | None
    is_current: bool
    superseded_by: str | None
    source_messages: list[str]
    source_episodes: list[str]
    created_at: datetime
    updated_at: datetime
    revision: int
    provenance: AnyObject
    metadata: AnyObject


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


class EventView(BaseModel):
    """A change of a record, or what learning made of a candidate."""

    event: str
    user: str
    id: str
    statement: str
    previous: str | None
    previous_id: str | None
    evidence: list[str]
    reason: str
    at: datetime


class Learning(BaseModel):
    """The decisions on candidates for facts."""

    events: list[EventView]
    next_cursor: str | None


class Added(BaseModel):
    """The result of adding messages."""

    message_ids: list[str]
    messages_added: int
    duplicates: int
    buffered: int
    episodes: list[str]
    skipped: int
    notes: list[str]
    facts: list[str] | None = None
    events: list[EventView]
    done: bool


class Episodes(BaseModel):
    """Episodes that were written."""

    episodes: list[EpisodeView]


class HitView(BaseModel):
    """A result of a search."""

    kind: str
    id: str
    uri: str
    score: float
    rank: int
    title: str
    content: str
    snippet: str
    timestamp: datetime
    is_current: bool
    superseded_by: list[str]
    scores: dict[str, float]
    messages: list[MessageView] | None = None
    explanation: AnyObject | None = None


class Found(BaseModel):
    """The results of a search, best first."""

    hits: list[HitView]
    degraded: list[str]
    took_ms: float


class ContextView(BaseModel):
    """Text for a prompt, and its records."""

    text: str
    token_count: int
    fenced: bool
    messages: list[MessageView]
    facts: list[FactView]
    excerpts: list[str]
    reasons: dict[str, str]
    degraded: list[str]


class MessagePage(BaseModel):
    """A page of messages."""

    items: list[MessageView]
    next_cursor: str | None
    total: int


class EpisodePage(BaseModel):
    """A page of episodes."""

    items: list[EpisodeView]
    next_cursor: str | None
    total: int


class FactPage(BaseModel):
    """A page of facts."""

    items: list[FactView]
    next_cursor: str | None
    total: int


class History(BaseModel):
    """Every version of a record, oldest first."""

    versions: list[RecordView]


class Deleted(BaseModel):
    """Removed records, or with `dry_run` records to remove; with ids for keys that may read."""

    dry_run: bool
    messages: int
    episodes: int
    semantic_memories: int
    files: int
    episodes_rewritten: int
    semantic_memories_rewritten: int
    message_ids: list[str]
    episode_ids: list[str]
    fact_ids: list[str]


class Imported(BaseModel):
    """What an import added."""

    messages: int
    episodes: int
    semantic_memories: int
    known: int
    users: int
    skipped: int
    left_out: list[str]
    notes: list[str]


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


class Profile(BaseModel):
    """The facts that hold, by their kind, and how many each kind had no room for."""

    facts: dict[str, list[FactView]]
    left_out: dict[str, int]


class SessionView(BaseModel):
    """A conversation that the application names, and how far closing it has come."""

    id: str
    state: str
    changed_at: datetime | None
    messages: int
    episodes: int
    started_at: datetime
    ended_at: datetime


class SessionPage(BaseModel):
    """A page of sessions."""

    items: list[SessionView]
    next_cursor: str | None
    total: int


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
