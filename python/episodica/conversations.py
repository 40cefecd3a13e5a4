"""Adds a conversation that a reader made of a file: its messages, and the facts that it states."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from . import queries
from .dates import rfc3339
from .errors import InvalidInputError
from .hints import first_of, shown
from .inputs.facts import stated_fact
from .inputs.messages import incoming
from .inputs.names import named, renamed
from .inputs.secrets import hide, hide_in_fact, policy_of
from .progress import ProgressCallback
from .readers import EXPECTED, Conversation, LeftOut, Statement, with_ids
from .readers.conversation import NO_WORDS
from .readers.dates import in_unknown_zone, parse
from .readers.finish import id_at, is_numbered, is_time, is_timed, is_undated
from .records import Message
from .reports import AddResult, ImportReport
from .store import OpenStore

_THOUGHT = "nothing but thinking"
_FINE = (NO_WORDS, _THOUGHT)
# The most places that a note names.
_PLACES = 3
_ONE_MINUTE = timedelta(minutes=1)
# The most messages of a minute that are looked at.
_MOST_SAID = 100
# The most messages without a time that may be versions of known ones, and pairs that are compared.
_MOST_UNDATED, _MOST_TRIED = 200, 200_000
# The most messages whose time may be corrected.
_MOST_MOVED = 200
# A chat is known by at least this number of messages, and this share of the messages around them:
# in an export under a new name, only a person's own messages may be known.
_MANY_KNOWN, _SHARE_KNOWN = 3, 0.2
_ID_LENGTH = 32


@dataclass(frozen=True, slots=True)
class Choices:
    """What the caller of an import decides."""

    secrets: str | None = None
    adds_deleted: bool = False

    def policy(self, memory: OpenStore) -> str:
        """How to treat secrets in a file of another program."""
        return self.secrets or policy_of(memory._config.secrets, from_program=True)


_DEFAULTS = Choices()


def checked(conversation: Conversation) -> tuple[list[dict[str, Any]], list[LeftOut], list[str]]:
    """The messages as the engine takes them, the parts left out, and the changes."""
    messages = with_ids(conversation)
    left: list[LeftOut] = []
    notes: list[str] = []
    try:
        done = incoming(messages)
    except InvalidInputError:
        done = None
    if done is None or done.skipped:
        good = []
        for position, message in enumerate(messages):
            kept, why = _one(message)
            place = conversation.place(position)
            if kept is None:
                is_fault = why not in _FINE
                left.append(LeftOut(place, why, is_fault, is_fault))
            else:
                good.append(kept)
                if why:
                    notes.append(f"{place}: {why}")
        done = incoming(good)
    read = done.messages
    if conversation.date is not None and not any(one["timestamp"] for one in read):
        with suppress(InvalidInputError, OverflowError):
            start = datetime.fromisoformat(rfc3339(conversation.date, "`date`"))
            for position, one in enumerate(read):
                # Steps keep the messages apart and in order.
                one["timestamp"] = (start + position * timedelta(microseconds=1)).isoformat()
        if read and conversation.is_file_date:
            day = str(conversation.date)[:10]
            told = f"no message has a date; the date of the file is taken: {day}"
            notes.append(conversation.in_file(told))
    return read, left, [*notes, *done.notes()]


def _one(message: Any) -> tuple[Any, str]:
    """The message if it can be added, perhaps without its date, and the error."""
    try:
        done = incoming([message])
    except InvalidInputError as error:
        why = error.message.removeprefix("message 0: ")
    else:
        if done.messages:
            return message, ""
        return None, _THOUGHT if done.thoughts else _silence(message)
    if why in ("`content` is empty", "`content` must be a str, not `None`"):
        return None, NO_WORDS
    if not isinstance(message, Mapping):
        return None, why
    own, rest = renamed(message)
    given = own.pop("timestamp", None)
    moment = parse(given) if isinstance(given, str) else None
    told_zone = ""
    if moment is None and isinstance(given, str) and (zoned := in_unknown_zone(given)):
        moment, told_zone = zoned[0], f"the zone `{zoned[1]}` is not known; read as UTC"
    for dated, told in (
        ({**own, **rest, "timestamp": moment}, told_zone),
        ({**own, **rest}, f"{why}; dated like its neighbour"),
    ):
        if dated.get("timestamp") is not None or "timestamp" not in dated:
            with suppress(InvalidInputError):
                if given is not None and incoming([dated]).messages:
                    return dated, told
    return None, why


def _silence(message: Any) -> str:
    """Why a message has no words: they may stand under a name that is not known."""
    rest = renamed(message)[1] if isinstance(message, Mapping) else {}
    held = [f"`{shown(key)}`" for key, value in rest.items() if isinstance(value, (dict, list))]
    return f"no words under a known name, but {', '.join(held)}" if held else NO_WORDS


def since(statement: Statement) -> str | None:
    """From when on a stated fact held."""
    given = statement.date
    if given is None:
        return None
    moment = parse(given) if isinstance(given, str) else None
    return rfc3339(given if moment is None else moment, "`created_at`")


def _refuse_misread(
    conversation: Conversation, read: list[dict[str, Any]], left: list[LeftOut]
) -> None:
    """Raises an error for a conversation most of whose records have another form."""
    faults = [one for one in left if one.is_unknown]
    taken = len(read) + len(conversation.statements)
    if len(faults) > max(taken, 1) and not conversation.first:
        raise InvalidInputError(
            f"most of `{shown(conversation.name)}` is not understood, "
            f"{len(faults):,} of {len(faults) + taken:,} records; "
            f"{faults[0].place}: {faults[0].why}",
            hint=EXPECTED,
            line=faults[0].line,
        )


def _masked_at(conversation: Conversation) -> str:
    """A note that names the messages with masked secrets."""
    places = [
        conversation.place(position)
        for position, message in enumerate(conversation.messages)
        if isinstance(message, Mapping)
        and isinstance(text := named(message, "content"), str)
        and hide(text, "mask")[1]
    ]
    return f"secrets are masked in {first_of(places, _PLACES) or 'metadata'}"


def add(
    memory: OpenStore,
    user: str,
    conversation: Conversation,
    progress: ProgressCallback | None = None,
    choices: Choices = _DEFAULTS,
) -> tuple[ImportReport, AddResult, LeftOut | None]:
    """Adds the messages and the facts of a conversation; says what in it was not understood."""
    conversation = _with_versions(memory, user, _of_another_chat(memory, user, conversation))
    conversation = _with_forked(memory, user, conversation)
    conversation = _with_copied(memory, user, _with_undated(memory, user, conversation))
    conversation = _with_corrected(memory, user, conversation)
    messages, left, notes = checked(conversation)
    try:
        _refuse_misread(conversation, messages, [*conversation.left_out, *left])
    except InvalidInputError as error:
        if not conversation.file:
            raise
        messages, notes, left = [], [], [LeftOut(conversation.file, error.message, is_fault=True)]
        conversation = Conversation(conversation.name, None, [])
    policy = choices.policy(memory)
    gone = set() if choices.adds_deleted else _deleted(memory, user, conversation, messages)
    messages = [one for one in messages if one["message_id"] not in gone]
    added = memory._engine.add_messages(
        user, messages, None, policy, progress, skips_deleted=not choices.adds_deleted
    )
    if added.secrets:
        notes.append(_masked_at(conversation))
    stated: Counter[str] = Counter()
    for statement in conversation.statements:
        text, masked = hide(statement.text, policy)
        try:
            stated[_state(memory, user, replace(statement, text=text), choices)] += 1
        except InvalidInputError as error:
            place = f"line {statement.line}" if statement.line else f"`{shown(statement.text)}`"
            left.append(LeftOut(conversation.in_file(place), error.message, is_fault=True))
            continue
        stated["hidden"] += masked
    left = [*conversation.left_out, *left]
    report = ImportReport(
        messages=added.messages_added,
        episodes=len(added.episodes),
        semantic_memories=stated["new"],
        known=added.duplicates + stated["known"],
        edited=added.edited,
        deleted=added.deleted + len(gone) + stated["deleted"],
        skipped=len(left),
        secrets=added.secrets + stated["hidden"],
        left_out=tuple(map(str, left)),
        notes=tuple(dict.fromkeys((*conversation.notes, *notes))),
    )
    return report, added, next((one for one in left if one.is_fault), None)


def _of_another_chat(memory: OpenStore, user: str, conversation: Conversation) -> Conversation:
    """Gives messages of another chat that are known by chance ids of their own.

    A file that names no chat has the same ids as its earlier exports, and "ok" has the same id in
    each chat in which the person said it in this minute. In an earlier export its neighbours are
    known too. In another chat it also has an id of its neighbours, and the next import knows these.
    """
    ids = list(conversation.ids)
    if (
        conversation.chat is not None
        or any(map(is_numbered, conversation.messages))
        or not any(queries.messages(memory, user, limit=1))
    ):
        return conversation
    known = [at for at, one in enumerate(ids) if one and queries.get(memory, user, one) is not None]
    gone = set(memory._engine.deleted_among(user, [one for one in ids if one])) if known else set()
    told = [*known, *(at for at, one in enumerate(ids) if one in gone)]
    told += _earlier(memory, user, conversation) if known else ()
    if not known or _is_later_export(told, len(ids), conversation.first):
        return conversation
    around = ["", *(one or "" for one in ids), ""]
    for at in known:
        ids[at] = hashlib.sha256("\n".join(around[at : at + 3]).encode()).hexdigest()[:_ID_LENGTH]
    return replace(conversation, ids=tuple(ids))


def _is_later_export(known: list[int], count: int, first: int) -> bool:
    """Whether the chat is known by these of the messages from ``first`` on.

    Of those from before the first to after the last known one, enough must be known.
    """
    start, last = min(known), max(known)
    around = last - start + 1 + (start > 0) + (last + 1 < count)
    is_begun = start == first == 0
    many = len(known) >= _MANY_KNOWN and len(known) >= around * _SHARE_KNOWN
    return many or 2 * len(known) + is_begun > around


def _with_versions(memory: OpenStore, user: str, conversation: Conversation) -> Conversation:
    """Gives messages that are marked as edited the ids under which their earlier words are known.

    The chat must be known.
    """
    found = _earlier(memory, user, conversation)
    if not found or not _is_known(memory, user, conversation):
        return conversation
    ids = list(conversation.ids)
    for position, known in found.items():
        ids[position] = known
    return replace(conversation, ids=tuple(ids))


def _earlier(memory: OpenStore, user: str, conversation: Conversation) -> dict[int, str]:
    """The ids of the earlier words of edited messages, by the positions of these.

    Chats without ids of messages, such as WhatsApp's, tell no more than the speaker and the time.
    """
    changed: dict[tuple[Any, ...], list[_Changed]] = {}
    for one in _changed(conversation):
        changed.setdefault((one.name, one.moment.replace(second=0, microsecond=0)), []).append(one)
    found: dict[int, str] = {}
    for (name, minute), now in changed.items():
        if all(one.position is None for one in now):
            continue
        until = minute + _ONE_MINUTE
        gone = [
            one
            for one in queries.messages(memory, user, since=minute, until=until, limit=_MOST_SAID)
            if one.name == name and one.timestamp < until and one.message_id not in conversation.ids
        ]
        found |= _matched(now, gone)
    return found


@dataclass(frozen=True, slots=True)
class _Changed:
    """A message whose earlier words are not in the file any more; ``None``: there are none now."""

    name: Any
    moment: datetime
    position: int | None


def _changed(conversation: Conversation) -> list[_Changed]:
    """The edited messages, and those deleted in the messenger, in the order of the file."""
    placed: list[tuple[tuple[int, int], _Changed]] = []
    for at in conversation.edited:
        message = conversation.messages[at]
        if when := message.get("timestamp"):
            moment = datetime.fromisoformat(when)
            placed.append(((at, 1), _Changed(message.get("name"), moment, at)))
    for one in conversation.withdrawn if placed else ():
        moment = datetime.fromisoformat(one.timestamp)
        placed.append(((one.position, 0), _Changed(one.name, moment, None)))
    return [one for _, one in sorted(placed, key=lambda pair: pair[0])]


def _matched(now: list[_Changed], gone: list[Message]) -> dict[int, str]:
    """Which of the messages that are gone each edited one was; empty if it is not clear.

    All are of one speaker and minute. As many must be gone as are edited, or as are edited and
    deleted; else the second tells.
    """
    edited = [one for one in now if one.position is not None]
    for rest in (edited, now):
        pairs = list(zip(rest, gone, strict=False))
        if len(gone) == len(rest) and all(_may_be_one(*pair) for pair in pairs):
            return {new.position: old.message_id for new, old in pairs if new.position is not None}
    found = {}
    for new in edited:
        old = [one.message_id for one in gone if one.timestamp == new.moment]
        same = [one for one in edited if one.moment == new.moment]
        if len(old) == len(same) == 1 and new.position is not None:
            found[new.position] = old[0]
    return found


def _may_be_one(new: _Changed, old: Message) -> bool:
    """Whether two times of a minute may be of one message: some exports have no seconds."""
    return new.moment == old.timestamp or not (new.moment.second and old.timestamp.second)


def _with_copied(memory: OpenStore, user: str, conversation: Conversation) -> Conversation:
    """Gives messages the ids under which the same words of the same moment are known.

    A session that is resumed begins with the messages of another one under new ids.
    """
    ids = list(conversation.ids)
    if not (conversation.has_unique_ids and ids) or _is_known(
        memory, user, replace(conversation, ids=tuple(ids[:1]))
    ):
        return conversation
    copied: dict[str, Message] = {}
    for message in conversation.messages:
        known = _of_same_moment(memory, user, message, copied)
        if known is None:
            break
        copied[known.message_id] = known
    if not _are_copies(copied.values()):
        return conversation
    ids[: len(copied)] = copied
    return replace(conversation, ids=tuple(ids))


def _of_same_moment(
    memory: OpenStore, user: str, message: object, taken: Collection[str]
) -> Message | None:
    """The known message with the time, role and words of a message, if it is not taken."""
    if not isinstance(message, Mapping):
        return None
    try:
        moment = datetime.fromisoformat(rfc3339(named(message, "timestamp"), "`timestamp`"))
    except InvalidInputError:
        return None
    found = queries.messages(memory, user, since=moment, until=moment, limit=_MOST_SAID)
    role, text = named(message, "role"), named(message, "content")
    for one in found:
        if (one.timestamp, one.role) == (moment, role) and one.message_id not in taken:
            # The known words may have been masked.
            masks = isinstance(text, str) and one.content != text
            if one.content == (hide(text, "mask")[0] if masks else text):
                return one
    return None


def _are_copies(known: Collection[Message]) -> bool:
    """Whether the first messages of a chat are sure to be those of another one.

    A moment with a fraction of a second is sure, and so is a question with its answer at a moment
    that tells the second: people begin two chats alike, but not in the same second.
    """
    is_answered = any(one.role == "assistant" for one in known)
    return any(one.timestamp.microsecond or (is_answered and one.timestamp.second) for one in known)


def _with_forked(memory: OpenStore, user: str, conversation: Conversation) -> Conversation:
    """Gives the first messages of a fork the ids under which the other session has them."""
    ids = list(conversation.ids)
    for position, own in enumerate(ids if conversation.copies else ()):
        known = conversation.copies.get(own or "")
        if known is not None:
            if queries.get(memory, user, known) is None:
                break
            ids[position] = known
    return replace(conversation, ids=tuple(ids))


def _with_undated(memory: OpenStore, user: str, conversation: Conversation) -> Conversation:
    """Gives numbered messages without a time the ids and times under which they are known.

    Another chat has the same numbers. So the chat must be known, or all words be much the same.
    """
    places = [
        position
        for position, message in enumerate(conversation.messages)
        if is_undated(message)
        and (own := conversation.ids[position])
        and queries.get(memory, user, own) is None
    ]
    if not 0 < len(places) <= _MOST_UNDATED:
        return conversation
    found: dict[int, Any] = {}
    most = _MOST_TRIED // len(places)
    for one in queries.messages(memory, user, newest_first=True, limit=most):
        for at in places:
            if _has_id_at(one, conversation, at):
                found[at] = one
    if not _is_known(memory, user, conversation) and not all(
        _alike(one.content, named(conversation.messages[at], "content"))
        for at, one in found.items()
    ):
        return conversation
    given, messages = list(conversation.ids), list(conversation.messages)
    for at, one in found.items():
        given[at], messages[at] = one.message_id, _at_time_of(one, messages[at])
    return replace(conversation, ids=tuple(given), messages=messages)


def _with_corrected(memory: OpenStore, user: str, conversation: Conversation) -> Conversation:
    """Gives numbered messages the ids and times under which they are known with another time.

    The id of a numbered message tells its time, too, since other chats have the same numbers. So
    the chat must be known, and have had a message of this number, speaker and words next to its
    known ones, which is not in this file any more.
    """
    places = [at for at, one in enumerate(conversation.messages) if is_timed(one)]
    held = {at: queries.get(memory, user, conversation.ids[at] or "") for at in places}
    known = {at: one for at, one in held.items() if isinstance(one, Message)}
    if not known or not 0 < len(held) - len(known) <= _MOST_MOVED:
        return conversation
    gone = _gone_around(memory, user, list(known.values()), set(conversation.ids))
    given, messages = list(conversation.ids), list(conversation.messages)
    first, last = min(known), max(known)
    count = 0
    for at in (one for one in held if one not in known):
        # Messages of other chats may have the numbers with which this one grows.
        beside = [
            one for one, side in gone if (side <= 0 or at > last) and (side >= 0 or at < first)
        ]
        same = (one for one in beside if _has_number_of(one, conversation, at))
        if (one := next(same, None)) is not None and one.message_id not in given:
            given[at], messages[at] = one.message_id, _at_time_of(one, messages[at])
            count += 1
    if not count:
        return conversation
    told = f"{count} known message{'s' * (count > 1)} with another time: the earlier one is kept"
    notes = (*conversation.notes, conversation.in_file(told))
    return replace(conversation, ids=tuple(given), messages=messages, notes=notes)


def _has_number_of(known: Message, conversation: Conversation, position: int) -> bool:
    """Whether a known message has the number, speaker and nearly the words of one of a file."""
    return _has_id_at(known, conversation, position) and _alike(
        known.content, named(conversation.messages[position], "content")
    )


def _has_id_at(known: Message, conversation: Conversation, position: int) -> bool:
    """Whether a message of a file would have the id of a known one if it had its time."""
    written = known.timestamp, known.timestamp.replace(tzinfo=UTC)  # the id has the written one
    return known.message_id in (id_at(conversation, position, when) for when in written)


def _at_time_of(known: Message, message: Mapping[str, Any]) -> dict[str, Any]:
    """A message of a file with the time of the known one."""
    rest = {key: value for key, value in message.items() if not is_time(key)}
    return {**rest, "timestamp": known.timestamp.isoformat()}


def _gone_around(
    memory: OpenStore, user: str, known: list[Message], held: set[str | None]
) -> list[tuple[Message, int]]:
    """The messages between known ones of a chat that are not held, one before and one after.

    With each its side: -1, 0 or 1.
    """
    first, *_, last = sorted((known[0], *known), key=_moment)
    since, until, most = first.timestamp, last.timestamp, _MOST_MOVED
    sessions = {one.session_id for one in known}
    inside = queries.messages(memory, user, since=since, until=until, limit=most)
    before = queries.messages(memory, user, until=since, newest_first=True, limit=most)
    behind = queries.messages(memory, user, since=until, limit=most)
    earlier = sorted((one for one in before if one.timestamp < since), key=_moment)
    later = sorted((one for one in behind if one.timestamp > until), key=_moment)
    around = [
        *((one, 0) for one in inside),
        *((one, -1) for one in earlier[-1:]),
        *((one, 1) for one in later[:1]),
    ]
    return [
        (one, side)
        for one, side in around
        if one.message_id not in held and one.session_id in sessions
    ]


def _moment(message: Message) -> datetime:
    return message.timestamp


def _alike(one: str, other: object) -> bool:
    """Whether two texts have half of their words in common."""
    words = [set(text.lower().split()) for text in (one, str(other))]
    return 2 * len(words[0] & words[1]) >= max(map(len, words))


def _is_known(memory: OpenStore, user: str, conversation: Conversation) -> bool:
    """Whether a message of the conversation is in the memory already."""
    return any(queries.get(memory, user, one) is not None for one in conversation.ids if one)


def _deleted(
    memory: OpenStore, user: str, conversation: Conversation, messages: list[dict[str, Any]]
) -> set[str]:
    """The ids of messages that the user deleted in the words of another branch."""
    held = {one["message_id"] for one in messages}
    versions = {own: of for own, of in conversation.versions.items() if own in held}
    asked = [other for of in versions.values() for other in of]
    gone = set(memory._engine.deleted_among(user, asked)) if asked else set()
    return {own for own, of in versions.items() if not gone.isdisjoint(of)}


def _state(memory: OpenStore, user: str, statement: Statement, choices: Choices) -> str:
    """Adds a fact that a file states: whether it is ``new``, ``known`` or ``deleted``."""
    held = since(statement)
    source = hashlib.sha256(f"{held}\n{statement.text}".encode()).hexdigest()
    if not choices.adds_deleted and memory._engine.is_statement_deleted(user, source):
        return "deleted"
    fact = stated_fact(statement.text, None, held, statement.metadata, None, None, None)
    fact = hide_in_fact(fact, choices.policy(memory))
    _, outcome = memory._engine.remember(user, {**fact, "source": source})
    return "known" if outcome == "repeats" else "new"
