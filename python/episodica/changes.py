"""Later statements about the same thing: ``memory.changes``.

Without a model the package ends no fact. It links later words with earlier ones about the same
thing, and shows both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, get_args

from .dates import TimeLike, rfc3339
from .errors import InvalidInputError
from .inputs import checks as check
from .inputs.calls import forgiving
from .inputs.options import one_of
from .records import SemanticMemory
from .store import OpenStore
from .value import Portable, quoted

ChangeKind: TypeAlias = Literal["correction", "change", "cancelled", "tentative", "same", "later"]
CHANGE_KINDS: tuple[ChangeKind, ...] = get_args(ChangeKind)
Side: TypeAlias = Literal["old", "new", "both"]
SIDES: tuple[Side, ...] = get_args(Side)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChangeSide(Portable):
    """The earlier or the later words of a change.

    Attributes
    ----------
    memory_id : str
        The fact that quotes them.
    content : str
        The words.
    speaker : str
        Who said them.
    timestamp : datetime
        When they were said.
    source_messages : tuple of str
        Id of the message.
    """

    memory_id: str
    content: str
    speaker: str
    timestamp: datetime
    source_messages: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<ChangeSide {self.timestamp.date()} {quoted(self.content)}>"


class _OfMemory(Portable):
    """A value that knows the memory that it came from, unless it was copied or pickled."""

    __slots__ = ("_memory", "_user_id")

    _memory: OpenStore
    _user_id: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Change(_OfMemory):
    """Something said, and something said later about it: of ``memory.changes(user)``.

    Attributes
    ----------
    old, new : ChangeSide
        The earlier and the later words.
    kind : str
        What the later words say about it: ``"correction"``, ``"change"``, ``"cancelled"``,
        ``"tentative"`` (it may change), ``"same"``, or ``"later"``: something about it. The rules
        of the package say ``"later"`` only.
    score : float
        How sure it is that both are about the same thing, 0 to 1.
    kept : str or None
        What :meth:`keep` decided; it changes with the decision.
    """

    old: ChangeSide
    new: ChangeSide
    kind: str
    score: float
    kept: str | None = None

    @property
    def sides(self) -> tuple[ChangeSide, ChangeSide]:
        """The earlier and the later words."""
        return (self.old, self.new)

    def keep(self, side: Side) -> None:
        """Decides which words hold; a later decision replaces this one.

        With an :class:`AsyncMemorySystem`, await ``memory.keep_change(user, change, side)``.

        Parameters
        ----------
        side
            ``"new"``: the earlier fact ends when the later words were said. ``"old"``: the later
            words never held, their fact ends when it began. ``"both"``: neither ends. After
            ``"old"`` and ``"both"`` contexts no longer mark the earlier words. A fact ends whole;
            what it says besides stays in its message, and in the profile below the kept words. A
            fact of several sentences, one of which is in the change, stays open.

        Raises
        ------
        InvalidInputError
            For another side, if one of the facts was deleted, and for a change that was copied or
        pickled.

        Examples
        --------
        >>> for change in memory.changes("alice"):
        ...     change.keep("new")
        ...     assert change.kept == "new"
        """
        memory = getattr(self, "_memory", None)
        if memory is None:
            raise InvalidInputError(
                "this change came without its memory",
                hint="call `memory.keep_change(user, change, side)`",
            )
        keep_change(memory, self._user_id, self, side)

    def __repr__(self) -> str:
        kept = f", kept {self.kept}" if self.kept else ""
        return (
            f"<Change {self.kind}: {self.old.timestamp.date()} {quoted(self.old.content)}, "
            f"{self.new.timestamp.date()} {quoted(self.new.content)}{kept}>"
        )


@forgiving('memory.changes("alice")')
def changes(
    self: OpenStore, user_id: str, *, since: TimeLike | None = None, kind: ChangeKind | None = None
) -> list[Change]:
    """Later statements about the same thing, the latest first.

    An earlier and a later quotation of one speaker are linked when the later one is learned, by
    their words alone. A link ends nothing. Of several later ones, each is linked with the one
    before it.

    Parameters
    ----------
    user_id
        User id.
    since
        Nothing whose later words were said before this time.
    kind
        Only changes of this kind; see :class:`Change`.

    Returns
    -------
    list of Change
        Both sides, with the words, the speaker, the day and the message of each.

    Raises
    ------
    InvalidInputError
        For an unknown kind.

    Examples
    --------
    >>> memory.add_messages("gus", [
    ...     {"role": "user", "content": "The gate code is 7712.", "timestamp": "2025-01-10"},
    ...     {"role": "user", "content": "The gate code is 3390 now.", "timestamp": "2025-02-10"},
    ... ]).messages_added
    2
    >>> episodes = memory.flush("gus")
    >>> [(change.old.content, change.new.content) for change in memory.changes("gus")]
    [('The gate code is 7712.', 'The gate code is 3390 now.')]
    """
    user = check.user(user_id)
    from_time = None if since is None else rfc3339(since, "since")
    wanted = None if kind is None else one_of(kind, CHANGE_KINDS, "kind")
    found = []
    for old, new, words, name, score, kept in self._engine.changes(user, from_time, wanted):
        change = Change(_side(old, words[0]), _side(new, words[1]), name, score, kept)
        object.__setattr__(change, "_memory", self)
        object.__setattr__(change, "_user_id", user)
        found.append(change)
    return found


def keep_change(self: OpenStore, user_id: str, change: Change, side: Side) -> None:
    """Decides which words of a change hold; see :meth:`Change.keep`.

    Parameters
    ----------
    user_id
        User id.
    change
        A change of :meth:`changes`.
    side
        ``"old"``, ``"new"`` or ``"both"``.

    Raises
    ------
    InvalidInputError
        For another side, and if one of the facts was deleted.

    Examples
    --------
    >>> for day, when in (("2025-01-10", "Tuesdays"), ("2025-02-10", "Thursdays now")):
    ...     text = f"The choir meets on {when}."
    ...     said = {"role": "user", "content": text, "timestamp": day}
    ...     added = memory.add_messages("gus", [said])
    >>> episodes = memory.flush("gus")
    >>> for change in memory.changes("gus"):
    ...     memory.keep_change("gus", change, "new")
    >>> [change.kept for change in memory.changes("gus")]
    ['new']
    """
    if not isinstance(change, Change):
        raise InvalidInputError(f"change must be a Change, not `{type(change).__name__}`")
    side_ = one_of(side, SIDES, "side")
    self._engine.keep_side(check.user(user_id), change.old.memory_id, change.new.memory_id, side_)
    # A change that still told the decision before would mislead; both sides stay as they were.
    object.__setattr__(change, "kept", side_)


def _side(fact: SemanticMemory, words: str) -> ChangeSide:
    said_at = fact.said_at or fact.valid_from
    return ChangeSide(fact.memory_id, words, fact.speaker or "", said_at, fact.source_messages)


@dataclass(frozen=True, slots=True)
class Followed:
    """Ids of the facts that were said later about the same thing, by the id of the earlier one.

    ``whole``: about all that the earlier fact says; ``part``: about a part of it.
    """

    whole: Mapping[str, set[str]]
    part: Mapping[str, set[str]]


def followed(changes: Iterable[Change], facts: Iterable[SemanticMemory]) -> Followed:
    """What was said later about these facts, unless the earlier words were kept."""
    quotes = {fact.memory_id: (fact.quote or "").strip() for fact in facts}
    whole: dict[str, set[str]] = {}
    part: dict[str, set[str]] = {}
    for change in changes:
        old = change.old
        if change.kept in {None, "new"}:
            found = whole if old.content.strip() == quotes.get(old.memory_id) else part
            found.setdefault(old.memory_id, set()).add(change.new.memory_id)
    return Followed(whole, part)
