"""What operations report back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Self

from .value import Keyed, Portable
from .visible import visible


class _Counts(Portable):
    """A report of numbers, texts and ids, all of which can be added."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return type(self)(**{name: getattr(self, name) + getattr(other, name) for name in names})


# The most ids in a line for a terminal.
_MAX_IDS = 3
# Changes that are not about a candidate for a fact.
_NOT_LEARNED = ("MESSAGE", "SESSION", "EPISODE", "DELETE", "ARCHIVE", "RESTORE")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Keyed):
    """What a language model will cost: ``memory.estimate(messages)``.

    Attributes
    ----------
    messages : int
        Messages that the estimate is about.
    calls : int
        Questions to the model.
    prompt_tokens : int
        Tokens of the prompts. An endpoint adds its own for the form of the answers, about 120 a
        call.
    completion_tokens : int
        Tokens of the answers. Those of reasoning come on top.
    cost : float or None
        In the unit of the price; ``None`` without one.
    """

    messages: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AddResult(Keyed):
    """What ``add_messages`` did.

    Attributes
    ----------
    messages_added : int
        Messages appended to the log.
    duplicates : int
        Messages left out because they are stored already.
    edited : int
        Messages whose ids are known with other words: newer versions of stored messages.
    buffered : int
        Messages that wait in the buffer for a boundary, also from earlier calls.
    episodes : tuple of str
        Ids of the episodes that this call completed. A call with one or two messages leaves
        episodes and facts to a thread; whatever reads them next has them.
    pending_semantic : int
        Episodes whose facts are still to be learned.
    message_ids : tuple of str
        The ids of the messages of the call, in order: also of known, but not of skipped messages.
    skipped : int
        Messages without words that were left out, such as an assistant's empty turn.
    secrets : int
        Keys, passwords, card and account numbers that were masked.
    deleted : int
        Messages of an import that were left out because the user has deleted them.
    notes : tuple of str
        What else to know, a sentence each: keys that went into ``metadata``, thinking of a model
        that was left out. Empty if every message was stored as it came.
    """

    messages_added: int = 0
    duplicates: int = 0
    buffered: int = 0
    episodes: tuple[str, ...] = ()
    pending_semantic: int = 0
    message_ids: tuple[str, ...] = ()
    skipped: int = 0
    secrets: int = 0
    notes: tuple[str, ...] = ()
    edited: int = 0
    deleted: int = 0

    def __repr__(self) -> str:
        made = repr(self.episodes)
        if len(self.episodes) > _MAX_IDS:
            first = ", ".join(map(repr, self.episodes[:_MAX_IDS]))
            made = f"({first}, … {len(self.episodes) - _MAX_IDS:,} more)"
        more = f", edited={self.edited}" if self.edited else ""
        more += f", skipped={self.skipped}" if self.skipped else ""
        more += f", secrets={self.secrets}" if self.secrets else ""
        more += f", notes={self.notes!r}" if self.notes else ""
        return (
            f"AddResult(messages_added={self.messages_added}, duplicates={self.duplicates}, "
            f"buffered={self.buffered}, episodes={made}, "
            f"pending_semantic={self.pending_semantic}{more})"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Event(Portable):
    """A change of a record, or what learning made of a candidate for a fact.

    Attributes
    ----------
    at : datetime
        When it happened, as the record says; of a message, when it was said.
    user_id : str
        The user.
    change : str
        ``"MESSAGE"`` (stored), ``"SESSION"`` (closed), ``"EPISODE"`` (written, or written again),
        ``"DELETE"``; of facts ``"ADD"`` (new), ``"UPDATE"`` (another text, or it holds no longer
        or again) and ``"SUPERSEDE"`` (a new fact that ended an older fact); of episodes and facts
        ``"ARCHIVE"`` and ``"RESTORE"``. In stores of earlier versions also ``"MERGE"`` and
        ``"IGNORE"`` (a fact was said again).
    id : str
        The id of the record or session. Empty if everything of the user is void: deleted, or to be
        read anew. For a record that another process deleted, a mark: see :meth:`concerns`.
    statement : str
        The fact, or the title of the episode.
    previous : str or None
        The earlier text that the record replaced or repeated.
    previous_id : str or None
        The fact with the ``previous`` text, if it is another fact.
    evidence : tuple of str
        Ids of the messages that state the fact.
    reason : str
        The reason, for people.
    cursor : str
        What to pass as ``since`` to continue after this event. Empty in a page with the events of
        more than 64 users, where only the page has a cursor.
    """

    at: datetime
    user_id: str
    change: str
    id: str
    statement: str = ""
    previous: str | None = None
    previous_id: str | None = None
    evidence: tuple[str, ...] = ()
    reason: str = ""
    cursor: str = ""

    @property
    def is_learning(self) -> bool:
        """Whether the event is about a candidate for a fact."""
        return self.change not in _NOT_LEARNED

    def concerns(self, record_id: str) -> bool:
        """Whether the event is about the record with this id.

        The logs keep no id of a deleted record, only a mark by which a known id is recognised.

        Parameters
        ----------
        record_id
            The id of a message, an episode or a fact.

        Returns
        -------
        bool
            Whether the event is about it; an event without an id is about all records of its user.

        Examples
        --------
        >>> message = memory.messages("alice")[0]
        >>> [event.change for event in memory.events() if event.concerns(message.message_id)]
        ['MESSAGE']
        """
        if not self.id.startswith("sha256:"):
            return self.id in (record_id, "")
        import hashlib

        parts = (self.user_id.encode(), record_id.encode())
        told = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        return self.id == f"sha256:{hashlib.sha256(told).hexdigest()[:16]}"


def _counted(events: tuple[Event, ...]) -> str:
    """``2 ADD, 1 MERGE``."""
    counts = Counter(event.change for event in events)
    return ", ".join(f"{count} {change}" for change, count in counts.items()) or "no events"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Events(Portable):
    """Changes of records in their order, and where to continue: ``memory.events()``.

    Attributes
    ----------
    events : tuple of Event
        Oldest first.
    cursor : str
        What to pass as ``since`` next time.
    complete : bool
        ``False`` if a user's logs no longer begin with the part that was read before. Then a
        ``DELETE`` without an id comes, and after it all records of the user again.
    """

    events: tuple[Event, ...] = ()
    cursor: str = ""
    complete: bool = True

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"<Events {_counted(self.events)}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearningReport(Portable):
    """The results of learning: ``memory.wait(report=True)``. True if nothing is pending.

    Attributes
    ----------
    done : bool
        Whether nothing is pending any more.
    events : tuple of Event
        The decision on each candidate for a fact, oldest first.
    cursor : str
        What to pass as ``since`` next time.
    turned_down : tuple of Event
        The sentences that the rules turned down, oldest first: ``change`` is ``"REJECT"``, ``id``
        the message's id, and ``reason`` a key of ``stats().rejected_statements``, which also counts
        what a language model turned down.
    """

    done: bool
    events: tuple[Event, ...] = ()
    cursor: str = ""
    turned_down: tuple[Event, ...] = ()

    def __bool__(self) -> bool:
        return self.done

    def __repr__(self) -> str:
        state = "done" if self.done else "work is pending"
        refused = f", {len(self.turned_down)} turned down" if self.turned_down else ""
        return f"<LearningReport {state}, {_counted(self.events)}{refused}>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeleteReport(_Counts):
    """What ``delete``, ``delete_where`` and ``delete_user_data`` removed, or would remove.

    Attributes
    ----------
    messages : int
        Messages removed.
    episodes : int
        Episodes removed.
    semantic_memories : int
        Facts removed.
    files : int
        Files removed or rewritten.
    episodes_rewritten : int
        Episodes written again without the messages that were removed.
    semantic_memories_rewritten : int
        Facts that lost a source message and keep what the others support.
    message_ids, episode_ids, fact_ids : tuple of str
        Ids of removed records; none after ``delete_user_data``.
    still_in_messages : tuple of str
        Ids of messages that still say what facts said that were deleted by themselves. Delete them,
        too, if nothing of it should stay.
    """

    messages: int = 0
    episodes: int = 0
    semantic_memories: int = 0
    files: int = 0
    episodes_rewritten: int = 0
    semantic_memories_rewritten: int = 0
    message_ids: tuple[str, ...] = field(default=(), repr=False)
    episode_ids: tuple[str, ...] = field(default=(), repr=False)
    fact_ids: tuple[str, ...] = field(default=(), repr=False)
    still_in_messages: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ImportReport(_Counts):
    """What ``import_`` added.

    Attributes
    ----------
    users : int
        Users with records in the file.
    messages, episodes, semantic_memories : int
        Messages, episodes and facts added. Episodes that a chat history forms count as well.
    known : int
        Records left out because the user has them, or newer versions of their messages.
    edited : int
        Messages whose words changed since an earlier import: newer versions of known messages.
    deleted : int
        Records left out because the user has deleted them, or messages that they come from.
    skipped : int
        Parts of a chat history that were left out.
    secrets : int
        Keys, passwords, card and account numbers that were masked.
    left_out : tuple of str
        The place of each such part in the file, and why. Messages without words are among them.
    notes : tuple of str
        Changes made to read the file, such as a repaired letter.
    updated : int
        Records corrected by the files of an exported tree.
    refused : tuple of str
        Files whose changes were not taken over, each with the reason.
    """

    messages: int = 0
    episodes: int = 0
    semantic_memories: int = 0
    known: int = 0
    edited: int = 0
    deleted: int = 0
    users: int = 0
    skipped: int = 0
    secrets: int = 0
    updated: int = 0
    refused: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExportReport(_Counts):
    """What ``export`` wrote.

    Attributes
    ----------
    messages, episodes, semantic_memories : int
        Records, each counted once whatever the number of its versions.
    """

    messages: int = 0
    episodes: int = 0
    semantic_memories: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BackupReport(_Counts):
    """What ``backup`` copied.

    Attributes
    ----------
    users : int
        Users of all tenants.
    files : int
        Files.
    bytes : int
        Bytes in these files.
    seconds : float
        Wall-clock time.
    """

    users: int = 0
    files: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompactReport(_Counts):
    """What ``compact`` did.

    Attributes
    ----------
    users : int
        Users whose logs were looked through.
    bytes_before : int
        Length of the users' logs before.
    bytes_after : int
        Length of the users' logs now.
    seconds : float
        Wall-clock time.
    """

    users: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RebuildReport(_Counts):
    """What ``rebuild_indices`` and ``load_user_data_and_indices`` did.

    Attributes
    ----------
    users : int
        Users visited.
    records : int
        Messages, episodes and memories read.
    vectors : int
        Vectors in the indexes.
    embedded : int
        Vectors that were computed anew.
    seconds : float
        Wall-clock time.
    """

    users: int = 0
    records: int = 0
    vectors: int = 0
    embedded: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Problem(Portable):
    """One thing that is wrong with a store: where, what, and what mends it.

    Attributes
    ----------
    path : str
        The file.
    line : int or None
        The line in it, from 1; ``None`` if the problem has no line.
    message : str
        Description of the problem.
    remedy : str
        What mends it.
    mended : bool
        Whether the problem is mended already, or harmless: then it is a warning, not an error.
    """

    path: str
    line: int | None
    message: str
    remedy: str
    mended: bool = False

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        return visible(f"{place}: {self.message}" + (f" ({self.remedy})" if self.remedy else ""))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VerifyReport(Portable):
    """The finding of ``verify``.

    Attributes
    ----------
    total : int
        Records and vectors looked at.
    indexed : int
        Those that are in the indexes and equal to the log.
    skipped : int
        Those passed over for a good reason (superseded text, no vector wanted).
    errors : int
        Those that are wrong. 0 is a sound store.
    problems : tuple of Problem
        One entry for each error, and warnings.
    """

    total: int = 0
    indexed: int = 0
    skipped: int = 0
    errors: int = 0
    problems: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the store is sound."""
        return self.errors == 0
