"""Makes a profile of facts: whose they are, in which section, below which later one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set

from .changes import Followed
from .headings import NOTE, language_of
from .inputs.names import NAMELESS
from .people import people_named
from .profile import Profile, ProfileLine, rank
from .records import SemanticMemory
from .reports import Event
from .visible import without_days

# Cortex-Mem's categories and their limits; the least important facts are left out.
LIMITS: dict[str, int] = {
    "personal_info": 50,
    "work_history": 100,
    "preference": 200,
    "relationship": 50,
    "goal": 50,
}
_MOST_NOTES = 100
# Labels of a user without a name.
_UNNAMED = {"user", "the user", "用户"}
# Two facts say the same if they share at least this share of their words.
_SAME = 0.7
# Least importance of a rule for the assistant, as in the core.
_RULE = 0.97
_NONE = Followed({}, {})


def profile_of(
    user: str,
    speaker: str,
    facts: Iterable[SemanticMemory],
    revisions: Mapping[str, list[SemanticMemory]],
    language: str | None = None,
    limits: Mapping[str, int] = LIMITS,
    followed: Followed = _NONE,
    own: Set[str] = frozenset(),
    of: str | None = None,
) -> Profile:
    """The profile of a user, whose messages are mostly from ``speaker``, or ``of`` another person.

    ``own`` has the user's names that were stated.

    ``facts`` has current and superseded facts, ``revisions`` has all revisions of the facts that
    were changed, oldest first, ``followed`` the facts that were said later about the same thing.
    """
    current: list[SemanticMemory] = []
    ended: dict[str, list[SemanticMemory]] = {}
    facts = list(facts)
    for fact in facts:
        if fact.is_current and (fact.kind in limits or _is_note(fact)):
            current.append(fact)
        elif fact.superseded_by is not None:
            ended.setdefault(fact.superseded_by, []).append(fact)
    whom = _Whom(facts)
    names = whom.names(of) if of else _names_of(user, speaker, own, current, whom)
    rooms = {**limits, NOTE: _MOST_NOTES}
    kept: dict[str, list[SemanticMemory]] = {kind: [] for kind in rooms}
    left_out: dict[str, int] = {}
    chosen = [
        fact
        for fact in current
        if whom.person(fact) in names or (not of and not fact.subject and _is_note(fact))
    ]
    places = _places(chosen, limits)
    # Two voices of different sessions may have one name.
    quotes = {
        fact.memory_id: fact
        for fact in facts
        if fact.is_current and fact.quote and whom.person(fact) in names
    }
    chosen += _later_ones(chosen, quotes, followed, places)
    stated = {fact.quote.casefold() for fact in chosen if fact.quote}
    for fact in sorted(chosen, key=rank):
        # A fact that was stated twice is told once; a quotation has its dates.
        text = without_days(fact.content).casefold()
        if fact.quote is None and text in stated:
            continue
        stated.add(text)
        category = places[fact.memory_id]
        if len(kept[category]) < rooms[category]:
            kept[category].append(fact)
        else:
            left_out[category] = left_out.get(category, 0) + 1
    # What was decided against stands below the words that were kept: they may not tell all of it.
    decided = (
        fact
        for fact in facts
        if not fact.is_current and fact.quote and fact.memory_id in followed.whole
    )
    told = [*(one for found in kept.values() for one in found), *decided]
    corrected = _corrected(quotes, followed)
    lines: dict[str, list[ProfileLine]] = {kind: [] for kind in rooms}
    for first, *earlier in _groups(told, followed):
        told_of = _history(user, first, ended, revisions)
        line = ProfileLine(first, told_of, tuple(earlier), corrected.get(first.memory_id))
        lines[places[first.memory_id]].append(line)
    sections = {kind: tuple(found) for kind, found in lines.items() if found}
    shown = [line.content for lines in sections.values() for line in lines]
    named = next((fact.speaker for fact in current if fact.speaker and _person(fact) in names), "")
    name = named if named and named.casefold() not in _UNNAMED else of or user
    return Profile(user, sections, left_out, language or language_of(shown), name)


def _places(facts: Iterable[SemanticMemory], limits: Mapping[str, int]) -> dict[str, str]:
    """The category of each fact."""
    return {fact.memory_id: fact.kind if fact.kind in limits else NOTE for fact in facts}


def _later_ones(
    chosen: Iterable[SemanticMemory],
    quotes: Mapping[str, SemanticMemory],
    followed: Followed,
    places: dict[str, str],
) -> list[SemanticMemory]:
    """Quotations about the whole of a chosen fact, said later and of no category.

    Each gets the place of the earlier fact.
    """
    found, waiting = [], list(chosen)
    while waiting:
        earlier = waiting.pop()
        for name in followed.whole.get(earlier.memory_id, ()):
            if name in quotes and name not in places:
                places[name] = places[earlier.memory_id]
                found.append(quotes[name])
                waiting.append(quotes[name])
    return found


def _corrected(
    quotes: Mapping[str, SemanticMemory], followed: Followed
) -> dict[str, SemanticMemory]:
    """The latest quotation about a part of an earlier fact, by the id of that."""
    found = {}
    for earlier, names in followed.part.items():
        if later := [quotes[name] for name in names if name in quotes]:
            found[earlier] = min(later, key=_order)
    return found


def _is_rule(fact: SemanticMemory) -> bool:
    """True for a rule for the assistant: only these are as important."""
    return fact.importance >= _RULE


def _says_all(words: set[str], others: set[str]) -> bool:
    """True for nearly the same words, of which one statement has all."""
    shorter, longer = sorted((words, others), key=len)
    return shorter <= longer and len(shorter) >= _SAME * len(longer)


def _groups(facts: Iterable[SemanticMemory], followed: Followed) -> list[list[SemanticMemory]]:
    """The facts as a profile shows them: each with its earlier ones.

    These are about the same thing, or say it in nearly the same words. "Never use emojis." and
    "Never use tables." are two rules.
    """
    groups: list[list[SemanticMemory]] = []
    said: list[set[str]] = []
    for fact in _later_first(facts, followed.whole):
        words, later = _words(fact), followed.whole.get(fact.memory_id, ())
        same = (
            at
            for at, other in enumerate(said)
            if fact.quote is not None
            and groups[at][0].quote is not None
            and (
                _says_all(words, other)
                or (not _is_rule(fact) and any(one.memory_id in later for one in groups[at]))
            )
        )
        at = next(same, None)
        if at is None and not fact.is_current:
            continue
        if at is None:
            groups.append([fact])
            said.append(words)
        elif fact.quote != groups[at][-1].quote:
            groups[at].append(fact)
    return groups


def _later_first(
    facts: Iterable[SemanticMemory], later: Mapping[str, set[str]]
) -> Iterator[SemanticMemory]:
    """The facts in their order; before each its later ones, which may have the same time."""
    waiting = sorted(facts, key=_order, reverse=True)
    known = {fact.memory_id: fact for fact in waiting}
    opened: set[str] = set()
    while waiting:
        fact = waiting[-1]
        opened.add(fact.memory_id)
        names = (later.get(fact.memory_id, set()) - opened) & known.keys()
        if names:
            waiting += sorted((known[name] for name in names), key=_order, reverse=True)
            continue
        waiting.pop()
        if known.pop(fact.memory_id, None) is not None:
            yield fact


def _is_note(fact: SemanticMemory) -> bool:
    """Whether a fact was stated directly, and not about an agent."""
    return (
        fact.kind != "procedure"
        and fact.provenance.get("method") == "user"
        and not fact.provenance.get("prompt_version")
        and fact.metadata.get("about") != "agent"
    )


def _person(fact: SemanticMemory) -> str:
    """The person that a fact is about; "Alice's sister" counts as Alice."""
    return fact.subject.split("'s ")[0].casefold()


class _Whom:
    """The speakers by their names: "Tom" is Tom Becker where no other Tom speaks."""

    def __init__(self, facts: Iterable[SemanticMemory]) -> None:
        speakers = {fact.speaker for fact in facts if fact.speaker}
        self._speakers = {name for name in speakers if not name.startswith(NAMELESS)}
        self._known: dict[str, set[str]] = {}

    def names(self, name: str) -> set[str]:
        """The name, and that of the only speaker that has it."""
        if name not in self._known:
            meant = people_named(name, self._speakers)
            only = {meant[0].casefold()} if len(meant) == 1 else set()
            self._known[name] = {name.casefold()} | only
        return self._known[name]

    def person(self, fact: SemanticMemory) -> str:
        """The person that a fact is about, by the name of the speaker."""
        person = _person(fact)
        if fact.quote is not None:
            return person
        return max(self.names(person), key=lambda name: (name != person, name))


def _names_of(
    user: str, speaker: str, stated: Set[str], facts: Iterable[SemanticMemory], whom: _Whom
) -> set[str]:
    """The names of the user: the id and a name that was stated, else the main speaker's name.

    A speaker that the id names goes before the main one. Without messages, the name with most
    facts of a model. An account without a name is never the user.
    """
    own = {user.casefold(), *_UNNAMED}
    if stated:
        return own | {name.casefold() for name in stated}
    own |= whom.names(user)
    facts = [fact for fact in facts if not _person(fact).startswith(NAMELESS.casefold())]
    counts = Counter(_person(fact) for fact in facts if fact.made_by != "application")
    known = own & counts.keys()
    main = {speaker.casefold()} & counts.keys()
    if speaker and not speaker.startswith(NAMELESS):
        # A quotation of another speaker is not the user's; a model may name the user otherwise.
        said = (fact for fact in facts if fact.made_by == "model" or fact.speaker == speaker)
        counts = Counter(_person(fact) for fact in said)
    return own | (known or main or {name for name, _ in counts.most_common(1)})


def is_own_name(user: str, fact: SemanticMemory) -> bool:
    """Whether a fact states how the user is called in the messages."""
    is_of_user = fact.attribute == "name" and fact.subject.casefold() == user.casefold()
    return is_of_user and fact.quote is None and bool(fact.value) and fact.is_current


def _words(fact: SemanticMemory) -> set[str]:
    """The words of a fact without the name; of unspaced scripts the pairs of characters."""
    runs = re.findall(r"\w+", fact.content.casefold().replace(_person(fact), ""))
    words = {run for run in runs if run.isascii()}
    return words | {run[at : at + 2] for run in runs if not run.isascii() for at in range(len(run))}


def _order(fact: SemanticMemory) -> tuple[bool, float, str]:
    """Sentences before quotations, the newest first."""
    return (fact.quote is not None, -fact.valid_from.timestamp(), fact.memory_id)


def _history(
    user: str,
    fact: SemanticMemory,
    ended: Mapping[str, list[SemanticMemory]],
    revisions: Mapping[str, list[SemanticMemory]],
) -> tuple[Event, ...]:
    events: list[Event] = []
    seen: set[str] = set()
    pending = [fact]
    while pending:
        now = pending.pop()
        if now.memory_id in seen:
            continue
        seen.add(now.memory_id)
        events += _changes(
            user, [one for one in revisions.get(now.memory_id, ()) if one != now], now
        )
        for old in ended.get(now.memory_id, ()):
            pending.append(old)
            events.append(
                Event(
                    old.updated_at,
                    user,
                    "SUPERSEDE",
                    now.memory_id,
                    now.content,
                    old.content,
                    old.memory_id,
                    now.source_messages,
                )
            )
    return tuple(sorted(events, key=lambda event: event.at))


def _changes(user: str, earlier: list[SemanticMemory], now: SemanticMemory) -> Iterator[Event]:
    before: SemanticMemory | None = None
    for one in (*earlier, now):
        if before is None:
            change, previous = "ADD", None
        elif one.content != before.content:
            change, previous = "UPDATE", before.content
        elif len(one.source_messages) > len(before.source_messages):
            change, previous = "MERGE", before.content
        else:
            before = one
            continue
        at = one.created_at if before is None else one.updated_at
        yield Event(
            at, user, change, one.memory_id, one.content, previous, evidence=one.source_messages
        )
        before = one
