"""The records of the memory: messages, the episodes they form, and the facts learned from them.

Values are frozen and equal by content. Their dates have an offset: that of the message from which
they come, unless the setting ``timezone`` names a zone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from .value import Keyed, Portable, clip, day, quoted


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Message(Keyed):
    """One utterance of a conversation, verbatim.

    Attributes
    ----------
    message_id : str
        Unique among the user's messages: the caller's own id, or one made from the message.
    uri : str
        Its address.
    role : str
        ``"user"``, ``"assistant"``, ``"system"``, ``"tool"`` or any other word.
    content : str
        The text, verbatim.
    timestamp : datetime
        When it was said.
    name : str or None
        The speaker's name.
    session_id : str or None
        The session it belongs to.
    agent_id : str or None
        The agent that it is from or for.
    metadata : Any
        Any JSON value, as it came; ``None`` where there was none.
    seq : int
        Position in the user's history, from 0, in order of arrival.
    edited_at : datetime or None
        When these words replaced earlier ones, which ``history`` returns; ``None`` for the first
        version.
    """

    message_id: str
    role: str
    content: str
    timestamp: datetime
    name: str | None = None
    session_id: str | None = None
    metadata: Any = None
    seq: int = 0
    agent_id: str | None = None
    edited_at: datetime | None = None
    uri: str = field(default="", compare=False)

    @property
    def speaker(self) -> str:
        """The name to attribute the words to: the speaker's name, else the role."""
        return self.name or self.role

    def __repr__(self) -> str:
        return f"<Message {day(self.timestamp)} {clip(self.speaker, 40)}: {quoted(self.content)}>"

    def __hash__(self) -> int:
        return hash(self.message_id)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Episode(Keyed):
    """A part of a conversation that belongs together.

    An episode is told at three depths: title and summary, content, messages.

    Attributes
    ----------
    episode_id, user_id, uri : str
        Its id among the user's episodes, its owner, and its address.
    title, summary : str
        A title as a person would give it, and a summary of at most 100 tokens.
    content : str
        The messages with speakers and resolved dates, or a model's narrative.
    original_messages : tuple of Message
        The messages, verbatim, in order.
    message_count : int
        The number of messages.
    boundary_reason : str
        Why it ended where it ended, for people.
    timestamp, ended_at, created_at : datetime
        First message, last message, and when the record was written.
    session_id : str or None
        The session, if all messages share one.
    topics, entities, tags : tuple of str
        Its subjects (most telling first), the names that occur, labels.
    metadata : dict
        Any JSON object; ``merged_from`` lists the episodes that were merged into this one.
    boundary, provenance : dict
        How the end was found, and how the text was made.
    archived_at : datetime or None
        When it was taken out of searches and contexts, with its messages; ``None`` = it takes part.
    revision : int
        How often it was rewritten.
    """

    episode_id: str
    user_id: str
    title: str
    summary: str
    content: str
    original_messages: tuple[Message, ...]
    message_count: int
    boundary_reason: str
    timestamp: datetime
    created_at: datetime
    session_id: str | None = None
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    uri: str = ""
    ended_at: datetime | None = None
    boundary: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    revision: int = 0
    archived_at: datetime | None = None

    @property
    def agent_ids(self) -> tuple[str, ...]:
        """The agents of its messages, in the order in which they appear."""
        agents = (message.agent_id for message in self.original_messages)
        return tuple(dict.fromkeys(agent for agent in agents if agent is not None))

    def __repr__(self) -> str:
        return (
            f"<Episode {day(self.timestamp)} {quoted(self.title)}, {self.message_count} messages>"
        )

    def __hash__(self) -> int:
        return hash(self.episode_id)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProcedureStep(Portable):
    """One action of an agent, verbatim.

    Attributes
    ----------
    action : str
        A word for the action, such as the name of a tool.
    arguments, result : Any
        Its input and output: any JSON value.
    error : str or None
        What went wrong.
    """

    action: str
    arguments: Any = None
    result: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Procedure(Portable):
    """How an agent went about a goal, verbatim: ``fact.procedure``.

    Attributes
    ----------
    goal : str
        The task, in words.
    steps : tuple of ProcedureStep
        The actions, in order.
    outcome : str or None
        The result, in words.
    worked : bool or None
        Whether the goal was reached; ``None`` = not known.
    """

    goal: str
    steps: tuple[ProcedureStep, ...] = ()
    outcome: str | None = None
    worked: bool | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SemanticMemory(Keyed):
    """A fact about the user's world, with its source messages and the time when it was true.

    Attributes
    ----------
    memory_id, user_id, uri : str
        Its id (stable across revisions), its owner, and its address.
    content : str
        ``Mira: "words [date]"`` for a fact that quotes a message; otherwise the sentence of a
        model or of the application.
    quote : str or None
        The exact words of the message; ``None`` if the fact quotes none.
    speaker, said_by : str or None
        Who said the quoted words: the name, and ``user``, ``assistant``, ``tool`` or
        ``application``.
    said_at : datetime or None
        When the quoted words were said.
    asked : str or None
        Id of the message with the question that the quoted words answer.
    kind : str
        Its category: ``personal_info``, ``work_history``, ``preference``, ``relationship``,
        ``goal``, ``entity``, ``event``, ``case``, ``decision`` or ``procedure``.
    confidence, importance : float
        How sure the fact is, and how much it matters, 0 to 1.
    valid_from : datetime
        Since when it is true; see :attr:`is_dated`.
    valid_to : datetime or None
        When it stops to be true, which may be to come; ``None`` = no end is known.
    superseded_by : str or None
        The fact that ends it.
    ends : tuple of str
        Ids of the facts that this one ends.
    closed_at : datetime or None
        Until when it was true, as the user or the application decided.
    source_episodes, source_messages : tuple of str
        Ids of the episodes and the messages it was learned from; of more than 64 messages, one for
        each day.
    subject, attribute, value : str
        Its subject, a person or a thing; the attribute of the subject and the value, as a model or
        the application stated them, else empty.
    when : str
        When the event took place or takes place, as a model stated it: a day, month or year in ISO
        8601, or two of them with a slash; else empty.
    created_at, updated_at : datetime
        When it was first learned, and when this revision was written.
    revision_count : int
        How often the fact was changed.
    metadata, provenance : dict
        Any JSON object, and how the text was made.
    expires_at : datetime or None
        Searches find it until then; ``None`` = as long as it is current.
    archived_at : datetime or None
        When it was taken out of searches and contexts; ``None`` = it takes part.
    outcome : str
        What became of a statement, only in the result of :meth:`~MemorySystem.remember`:
        ``added``, ``repeats``, or ``ends`` if it is new and ends others.
    """

    memory_id: str
    user_id: str
    content: str
    kind: str
    confidence: float
    importance: float
    valid_from: datetime
    valid_to: datetime | None
    superseded_by: str | None
    source_episodes: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    metadata: dict[str, Any] = field(default_factory=dict)
    revision_count: int = 0
    uri: str = ""
    source_messages: tuple[str, ...] = ()
    subject: str = ""
    attribute: str = ""
    provenance: dict[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None
    archived_at: datetime | None = None
    quote: str | None = None
    speaker: str | None = None
    said_at: datetime | None = None
    said_by: str | None = None
    asked: str | None = None
    value: str = ""
    when: str = ""
    ends: tuple[str, ...] = ()
    closed_at: datetime | None = None
    outcome: str = field(default="", compare=False)

    @property
    def is_current(self) -> bool:
        """Whether the fact is true now: already begun, and not ended."""
        return not self._standing

    @property
    def is_dated(self) -> bool:
        """Whether someone said since when the fact is true.

        Of a fact that was remembered without ``valid_from``, the attribute has only the moment of
        the statement; contexts and profiles show no beginning.
        """
        return self.made_by != "application" or self.valid_from != self.created_at

    @property
    def section(self) -> str:
        """The section of a profile; the same as :attr:`kind`."""
        return self.kind

    @property
    def made_by(self) -> str:
        """Who made it: ``quoted`` from a message, by a ``model``, or by the ``application``."""
        method = self.provenance.get("method")
        return {"offline": "quoted", "user": "application"}.get(str(method), "model")

    @property
    def _standing(self) -> str:
        """The state of a fact that is not current, in a word; else empty."""
        # One that ends before it begins never holds.
        if self.valid_to is not None and self.valid_to <= max(datetime.now(UTC), self.valid_from):
            return "outdated"
        # A future event or goal is current now.
        return "not yet" if not self._is_event and self.valid_from > datetime.now(UTC) else ""

    @property
    def _is_event(self) -> bool:
        """Whether it happens or is planned, and holds since no time."""
        return self.kind in ("event", "goal") and not self.attribute

    @property
    def _begins(self) -> str:
        """Since, from or on which day, in words; empty if nobody said it."""
        if not self.is_dated:
            return ""
        word = "on" if self._is_event else "from" if self._standing == "not yet" else "since"
        return f"{word} {self.valid_from.date().isoformat()}"

    @property
    def procedure(self) -> Procedure | None:
        """The procedure, if the fact keeps one."""
        kept = self.metadata.get("procedure")
        try:
            return Procedure.from_dict(kept) if isinstance(kept, Mapping) else None
        except (KeyError, TypeError):
            return None

    @property
    def is_about_agent(self) -> bool:
        """Whether the fact is about an agent rather than about the user."""
        stated = self.metadata.get("about") == "agent"
        return stated or self.kind in ("case", "procedure") or self.procedure is not None

    @property
    def agent_id(self) -> str | None:
        """The agent that stated the fact, if the fact was stated directly with an agent's id."""
        agent = self.metadata.get("agent_id")
        return agent if isinstance(agent, str) else None

    def __repr__(self) -> str:
        state = f", {self._standing}" if self._standing else ""
        state += ", archived" if self.archived_at else ""
        return f"<SemanticMemory {clip(self.kind)} {quoted(self.content)}{state}>"

    def __hash__(self) -> int:
        return hash(self.memory_id)


Record: TypeAlias = Message | Episode | SemanticMemory
"""A record: it has an id of its own."""


def learned_from(
    episodes: Iterable[Episode], facts: Iterable[SemanticMemory]
) -> dict[str, list[SemanticMemory]]:
    """The facts by the first of the episodes they were learned from."""
    found: dict[str, list[SemanticMemory]] = {one.episode_id: [] for one in episodes}
    for fact in facts:
        source = next((one for one in fact.source_episodes if one in found), None)
        if source is not None:
            found[source].append(fact)
    return found
