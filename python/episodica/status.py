"""Reports of the memory about itself: counts, health, cost, and the calls that made a record.

Every report is frozen, has typed fields, and reads like a dictionary too: ``stats.messages`` is
``stats["messages"]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar

from .value import Value, clip
from .visible import visible


class Report(Mapping[str, Any], Value):
    """What the reports have in common: fields that can be read as attributes and by name.

    ``print(report)`` shows a line per number; ``report.to_dict()`` is plain JSON.
    """

    __slots__ = ()
    _title: ClassVar[str]

    def __getitem__(self, name: str) -> Any:
        if name in (field.name for field in fields(self)):  # type: ignore[arg-type]
            return getattr(self, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (field.name for field in fields(self))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(fields(self))  # type: ignore[arg-type]

    def __str__(self) -> str:
        return "\n".join(visible(f"{name}: {value}") for name, value in leaves(self, "."))


def leaves(data: Mapping[str, Any], separator: str, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values that are not mappings themselves, each with the path of names that leads to it."""
    for name, value in data.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, separator, f"{prefix}{name}{separator}")
        else:
            yield f"{prefix}{name}", value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VectorCounts(Report):
    """Vectors in the indexes of a user, by the kind of record.

    Attributes
    ----------
    messages : int
        Of messages.
    episodes : int
        Of episodes: the mean of the messages' vectors each.
    semantic : int
        Of facts.
    """

    _title = "vectors"

    messages: int
    episodes: int
    semantic: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UserStats(Report):
    """What the memory of one user holds: ``memory.stats(user_id)``.

    Attributes
    ----------
    user_id : str
        The user.
    messages : int
        Messages in the log.
    buffered : int
        Messages in the buffer: in no episode yet.
    episodes : int
        Episodes.
    semantic_memories : int
        Facts that still hold.
    superseded : int
        Facts that no longer hold.
    archived : int
        Episodes and facts that were archived, and facts that have expired.
    pending_semantic : int
        Episodes whose facts are still to be learned.
    pending_llm : int
        Episodes that the rules wrote because the language model failed; the model writes them
        again when it answers.
    refused_llm : int
        Episodes that the rules wrote because the language model refused their messages; the
        model is asked again by ``retry_pending`` only.
    pending_vectors : int
        Texts without a vector: not embedded yet, or the embedder failed. An episode has two.
    vectors : VectorCounts
        Vectors in the indexes.
    memory_bytes : int
        Bytes of process memory that the user's records and indexes take while open, within 15 %.
    """

    _title = "stats"

    user_id: str
    messages: int
    buffered: int
    episodes: int
    semantic_memories: int
    superseded: int
    archived: int
    pending_semantic: int
    pending_llm: int
    refused_llm: int
    pending_vectors: int
    vectors: VectorCounts
    memory_bytes: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoreStats(Report):
    """What the whole store holds, and what happened since it was opened: ``memory.stats()``.

    Attributes
    ----------
    tenant : str
        The tenant.
    users : int
        Users with data in the store.
    open_users : int
        Users whose indexes are in process memory.
    memory_bytes : int
        Bytes of process memory that these users take.
    embedding_model : str
        The embedder's model.
    embedding_dimension : int or None
        Length of its vectors; ``None`` until an endpoint or a callable has answered once.
    searches : int
        Searches since the store was opened.
    messages_embedded : int
        Messages embedded since the store was opened.
    embedding_failures : int
        Failed calls of the embedder since the store was opened.
    evictions : int
        Users closed to stay within ``memory_budget_bytes``.
    rejected_statements : dict of str to int
        Candidate facts that were turned down, by the reason: ``empty``, ``question``, ``quoted``,
        ``too_long``, ``not_about_user``, ``low_confidence``, ``low_importance``, ``unclear``,
        ``duplicate``, ``no_source``, ``other_speaker`` or ``echo``.
    mended : dict of str to int
        Counts of repairs, replacements by the rules, and failures, by kind. With a language
        model: ``failures_survived`` (calls that failed), ``episodes_by_rules`` and
        ``facts_by_rules`` (steps that the rules did in the model's place), ``answers_refused``
        (questions whose content the model refused), ``facts_replaced`` (facts of the rules, by
        facts of the model), ``foreign_sentences`` (left out of the model's texts),
        ``boundaries_by_keyword_overlap``, ``episodes_written_again`` (by the model, later),
        ``answers_salvaged``, ``boundary_indexes_repaired``, ``..._answers_malformed`` (answers
        that could not be used), ``facts_answers_empty`` (answers without a fact where the rules
        find some), ``facts_answers_sparse``, ``facts_answers_cut``,
        ``facts_answers_other_language``, ``facts_answers_misplaced`` (people or citations are often
        wrong) and ``facts_answers_ending_too_much`` (most known facts).
        Also ``episodes_merged``, ``episodes_without_facts``, ``messages_with_recalled_context``
        and ``dead_letters`` (episodes for which the model failed too often).
    """

    _title = "stats"

    tenant: str
    users: int
    open_users: int
    memory_bytes: int
    embedding_model: str
    embedding_dimension: int | None
    searches: int
    messages_embedded: int
    embedding_failures: int
    evictions: int
    rejected_statements: dict[str, int]
    mended: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServiceHealth(Report):
    """The state of an endpoint or a callable. Holds no secret.

    Attributes
    ----------
    model : str
        The model that was asked for.
    kind : str
        ``"endpoint"`` or ``"callable"``.
    endpoint : str
        Scheme, host and port of the server; empty for a callable.
    breaker : str
        State of the circuit breaker: ``"closed"`` (calls are sent), ``"open"`` (calls are refused)
        or ``"half_open"`` (one call tests the server).
    calls : int
        Calls, each with all its attempts.
    requests : int
        Requests sent.
    retries : int
        Requests after the first request of a call.
    failures : int
        Calls whose last attempt failed, too.
    refused : int
        Calls that the circuit breaker refused.
    failing : bool
        Whether the latest call failed or was refused.
    format : str
        How answers are requested: ``"json_schema"``, ``"json_object"`` or ``"text"``; empty where
        it does not apply.
    cache_entries : int
        Texts whose vectors are kept in memory; 0 for a language model.
    fallback : ServiceHealth or None
        The endpoint that is asked if this one gives no answer.
    """

    _title = "service"

    model: str
    kind: str
    endpoint: str
    breaker: str
    calls: int
    requests: int
    retries: int
    failures: int
    refused: int
    failing: bool
    format: str = ""
    cache_entries: int = 0
    fallback: ServiceHealth | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbeddingHealth(Report):
    """The state of the embedder.

    Attributes
    ----------
    model : str
        The embedder's model.
    failures : int
        Calls that failed since the store was opened.
    endpoint : ServiceHealth or None
        Its endpoint or callable; ``None`` where vectors are computed in the package.
    """

    _title = "embedding"

    model: str
    failures: int
    endpoint: ServiceHealth | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LLMHealth(Report):
    """The state of the language model.

    Attributes
    ----------
    configured : bool
        Whether a language model is configured.
    model : str or None
        The model's name; ``None`` without a model.
    available : bool
        Whether a call would be sent now; ``False`` without a model, and while the circuit breaker
        refuses all calls.
    endpoint : ServiceHealth or None
        The endpoint or callable that answers; ``None`` without a model.
    """

    _title = "llm"

    configured: bool
    model: str | None
    available: bool
    endpoint: ServiceHealth | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StoreHealth(Report):
    """Where the store is kept, and its state.

    Attributes
    ----------
    backend : str
        The kind of the store: ``"files"`` or ``"postgresql"``.
    path : str
        Directory of the store, or address of the database without secrets.
    server_version : str or None
        Version of the database's server.
    failure : str or None
        Why the last request to the database failed; ``None`` if it did not fail.
    format : int
        Version of the file format that this release writes.
    read_only : bool
        Whether the store was opened for reading only.
    problems : int
        Problems that were found while opening and that nothing has mended; ``memory.verify()``
        lists them.
    """

    _title = "store"

    backend: str
    path: str
    server_version: str | None
    failure: str | None
    format: int
    read_only: bool
    problems: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Health(Report):
    """Whether everything works that should: ``memory.health()``. Holds no secret.

    Attributes
    ----------
    status : str
        ``"ok"``, or ``"degraded"`` if anything is failing.
    failing : tuple of str
        The failing services: any of ``"store"``, ``"embedding"`` and ``"llm"``. A service fails
        if its latest call brought no answer.
    embedding : EmbeddingHealth
        The embedder.
    llm : LLMHealth
        The language model.
    last_failure : str or None
        The latest failure that the work survived.
    store : StoreHealth
        The store.
    """

    _title = "health"

    status: str
    failing: tuple[str, ...]
    embedding: EmbeddingHealth
    llm: LLMHealth
    last_failure: str | None
    store: StoreHealth


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cost(Report):
    """What some calls of models cost. A call is one question, however many requests it takes.

    Attributes
    ----------
    calls : int
        Calls that a model answered.
    prompt_tokens : int
        Tokens sent.
    completion_tokens : int
        Tokens of the answers.
    cached_prompt_tokens : int
        Of ``prompt_tokens``, those that the server had in its cache, as far as it says so.
    reasoning_tokens : int
        Of ``completion_tokens``, those of the model's reasoning, as far as the server says so.
    seconds : float
        Wall-clock seconds until the answers.
    cached : int
        Questions answered from the cache; not among ``calls``.
    failures : int
        Calls without an answer; not among ``calls``.
    retries : int
        Requests after the first request of an answered call.
    counted_locally : int
        Answered calls whose tokens were counted here because the server did not.
    """

    _title = "cost"

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    cached: int = 0
    failures: int = 0
    retries: int = 0
    counted_locally: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Usage(Cost):
    """What the models cost since the store was opened: ``memory.usage()``.

    The fields of :class:`Cost` hold the sums.

    Attributes
    ----------
    by_phase : dict of str to Cost
        By the step of the work: ``episode`` (where episodes end, their texts and facts),
        ``extract`` (facts alone), ``boundary`` (with ``boundary_mode="message"``), ``embedding``.
    by_model : dict of str to Cost
        By the model that answered, or that failed.
    by_user : dict of str to Cost
        By the user, without calls for several users at once.
    """

    _title = "usage"

    by_phase: dict[str, Cost]
    by_model: dict[str, Cost]
    by_user: dict[str, Cost]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TraceStep(Report):
    """One call of a language model that made a record: ``memory.trace(user_id, id)``.

    Attributes
    ----------
    ids : tuple of str
        Ids of the records that it contributed to.
    phase : str
        The step of the work: ``boundary``, ``episode`` or ``extract``.
    model : str
        The model that answered.
    prompt_version : str
        Version of the prompt.
    system, user : str
        The prompt: the task, and the material.
    answer : str
        The answer as it came; empty without an answer.
    failure : str
        Why the answer is missing or was not used; empty if it was used.
    cached : bool
        Whether the answer came from the cache.
    tokens : int
        Prompt and completion tokens.
    at : datetime
        When the call was made.
    """

    _title = "call of a model"

    ids: tuple[str, ...]
    phase: str
    model: str
    prompt_version: str
    system: str
    user: str
    answer: str
    failure: str
    cached: bool
    tokens: int
    at: datetime

    def __repr__(self) -> str:
        return f"<TraceStep {clip(self.phase)} {clip(self.model)}, {self.tokens} tokens>"
