"""Maps addresses to records. Listing a folder reads only names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from ..inputs.options import list_options
from ..queries import get
from ..queries import profile as profile_now
from ..records import Episode, Message, Record, SemanticMemory
from ..store import OpenStore
from .address import CORTEX, EPISODICA, Address, decoded, encoded, of_optional
from .texts import of_folder, text_of
from .values import Entry, Layer

# The folders of a user's facts and of an agent's facts, by kind.
USER_FOLDERS = {
    "personal_info": "personal_info",
    "work_history": "work_history",
    "preference": "preferences",
    "relationship": "relationships",
    "goal": "goals",
    "entity": "entities",
    "event": "events",
    "decision": "decisions",
}
AGENT_FOLDERS = {"case": "cases", "procedure": "skills"}
_INSTRUCTIONS = "instructions"
ROOTS = ("session", "user", "agent", "resources")
TIMELINE = "timeline"
PROFILES = ("profile.md", "profile.json")
_KINDS = {"message": "message", "episode": "episode", "semantic": "fact"}
# Endings of texts, each with its layer.
_ENDINGS: tuple[tuple[str, Layer], ...] = (
    (".abstract.md", "L0"),
    (".overview.md", "L1"),
    (".md", "L2"),
)
_EVERYTHING = 1 << 62

Outline: TypeAlias = tuple[str, datetime, str, str | None]


class Tree:
    """The tree of one user, or of all users of a tenant."""

    def __init__(self, source: OpenStore, user: str | None) -> None:
        self._source = source
        self._user = user

    def users(self) -> list[str]:
        """The users whose records are in the tree."""
        known = self._source._engine.users()
        return known if self._user is None else [one for one in known if one == self._user]

    def entries(self, address: Address) -> Sequence[Entry]:
        """The entries of a folder."""
        listed = self._cortex if address.scheme == CORTEX else self._episodica
        found = listed(address, address.names)
        if found is None:
            raise address.missing()
        return found

    # cortex://

    def _cortex(self, at: Address, names: tuple[str, ...]) -> Sequence[Entry] | None:
        match names:
            case ():
                return _folders(at, ROOTS)
            case ("session", *rest):
                return self._sessions(at, tuple(rest))
            case ("user", *rest):
                return self._of_user(at, tuple(rest))
            case ("agent", *rest):
                return self._of_agent(at, tuple(rest))
            case ("resources",):
                return ()
            case _:
                return None

    def _sessions(self, at: Address, names: tuple[str, ...]) -> Sequence[Entry] | None:
        if not names:
            known = {group for user in self.users() for *_, group in self._outlines(user)}
            for user in self.users():
                known.update(session for session, *_ in self._source._engine.sessions(user))
            return _folders(at, sorted(map(of_optional, known)))
        session = decoded(names[0])
        found = [
            (one, user)
            for user in self.users()
            for one in self._outlines(user)
            if one[3] == session
        ]
        if not found and not self._has_session(session):
            return None
        match names[1:]:
            case ():
                return _folders(at, (TIMELINE,))
            case ("timeline",):
                return _folders(at, sorted({f"{one[1]:%Y-%m}" for one, _ in found}))
            case ("timeline", month):
                days = {f"{one[1]:%d}" for one, _ in found if f"{one[1]:%Y-%m}" == month}
                return _folders(at, sorted(days)) if days else None
            case ("timeline", month, day):
                chosen = [
                    self._episode_entry(at, one, user)
                    for one, user in found
                    if (f"{one[1]:%Y-%m}", f"{one[1]:%d}") == (month, day)
                ]
                return chosen or None
            case _:
                return None

    def _has_session(self, session: str | None) -> bool:
        engine = self._source._engine
        return any(session == one for user in self.users() for one, *_ in engine.sessions(user))

    def _episode_entry(self, at: Address, one: Outline, user: str) -> Entry:
        record_id, moment, title, _ = one
        name = f"{moment:%H_%M_%S}_{encoded(record_id)}.md"
        record = self._record_address(user, "episode", record_id)
        return Entry(str(at.child(name)), name, "episode", title, moment, record)

    def _of_user(self, at: Address, names: tuple[str, ...]) -> Sequence[Entry] | None:
        if not names:
            return _folders(at, map(encoded, self.users()))
        user = decoded(names[0])
        if user is None or user not in self.users():
            return None
        match names[1:]:
            case ():
                profiles = (
                    Entry(str(at.child(name)), name, "profile", "what is known now")
                    for name in PROFILES
                )
                return [*profiles, *_folders(at, USER_FOLDERS.values())]
            case (folder,) if folder in USER_FOLDERS.values():
                kind = _key(USER_FOLDERS, folder)
                return [
                    self._fact_entry(at, one, user)
                    for one in self._outlines(user, "semantic", kind=kind)
                ]
            case _:
                return None

    def _of_agent(self, at: Address, names: tuple[str, ...]) -> Sequence[Entry] | None:
        if not names:
            agents = {agent for agent, *_ in self._experience()}
            return _folders(at, sorted(map(of_optional, agents)))
        agent = decoded(names[0])
        found = [(user, fact) for one, user, fact in self._experience() if one == agent]
        if not found:
            return None
        match names[1:]:
            case ():
                return _folders(at, (*AGENT_FOLDERS.values(), _INSTRUCTIONS))
            case (folder,) if folder in AGENT_FOLDERS.values():
                kind = _key(AGENT_FOLDERS, folder)
                return [
                    self._fact_entry(at, _outline(fact), user)
                    for user, fact in found
                    if fact.kind == kind
                ]
            case ("instructions",):
                return ()
            case _:
                return None

    def _experience(self) -> Iterator[tuple[str | None, str, SemanticMemory]]:
        """Cases and procedures, each with its agent and its user."""
        for user in self.users():
            for kind in AGENT_FOLDERS:
                for fact_id, *_ in self._outlines(user, "semantic", kind=kind):
                    fact = get(self._source, user, fact_id)
                    if isinstance(fact, SemanticMemory):
                        yield fact.agent_id, user, fact

    def _fact_entry(self, at: Address, one: Outline, user: str) -> Entry:
        record_id, moment, content, _ = one
        name = f"{encoded(record_id)}.md"
        record = self._record_address(user, "semantic", record_id)
        return Entry(str(at.child(name)), name, "fact", content, moment, record)

    # episodica://

    def _episodica(self, at: Address, names: tuple[str, ...]) -> Sequence[Entry] | None:
        if not names:
            return _folders(at, (encoded(self._source.tenant),))
        if decoded(names[0]) != self._source.tenant:
            return None
        if len(names) == 1:
            return _folders(at, map(encoded, self.users()))
        user = decoded(names[1])
        if user is None or user not in self.users():
            return None
        match names[2:]:
            case ():
                return _folders(at, _KINDS)
            case (kind,) if kind in _KINDS:
                return Listing(self._outlines(user, kind), at, _KINDS[kind])
            case _:
                return None

    def _outlines(self, user: str, records: str = "episode", **options: Any) -> list[Outline]:
        checked, _ = list_options({}, **options)
        place = {"offset": 0, "limit": _EVERYTHING, "after": []}
        return self._source._engine.outlines(user, records, {**checked, **place})

    def _record_address(self, user: str, kind: str, id: str) -> str:
        names = (encoded(self._source.tenant), encoded(user), kind, encoded(id))
        return str(Address(EPISODICA, names))

    # Texts

    def read(self, address: Address, layer: Layer | None) -> str:
        """A layer of a text or a folder."""
        named, own = _without_ending(address.names[-1]) if address.names else ("", None)
        chosen = layer or own or "L2"
        record = self.record(address)
        if record is not None:
            return text_of(record, chosen)
        if address.names[:1] == ("user",) and len(address.names) == 3:
            profile = self._profile(address.names[1], address.names[2])
            if profile is not None:
                return profile
        if own is not None and not named:
            # The abstract or overview of a folder: `.abstract.md` in it.
            address = Address(address.scheme, address.names[:-1])
        return of_folder(self.entries(address), chosen)

    def _profile(self, name: str, file: str) -> str | None:
        user = decoded(name)
        if user is None or user not in self.users() or file not in PROFILES:
            return None
        profile = profile_now(self._source, user)
        return profile.to_markdown() if file == "profile.md" else profile.to_json(indent=1)

    def record(self, address: Address) -> Record | None:
        """The record at an address; None for folders and other texts."""
        match address.scheme, address.names:
            case "episodica", (tenant, user, kind, id) if kind in _KINDS:
                if decoded(tenant) != self._source.tenant:
                    return None
                return self._of_kind(decoded(user), id, kind)
            case "cortex", ("session", session, "timeline", month, day, file):
                return self._episode(session, (month, day), file)
            case "cortex", ("session", session, "timeline", file):
                return self._message(session, file)
            case "cortex", ("user", user, folder, file) if folder in USER_FOLDERS.values():
                kind = _key(USER_FOLDERS, folder)
                return self._fact(decoded(user), file, lambda fact: fact.kind == kind)
            case "cortex", ("agent", agent, folder, file) if folder in AGENT_FOLDERS.values():
                kind, owner = _key(AGENT_FOLDERS, folder), decoded(agent)
                facts = (
                    self._fact(user, file, lambda fact: (fact.kind, fact.agent_id) == (kind, owner))
                    for user in self.users()
                )
                return next((fact for fact in facts if fact is not None), None)
        return None

    def _of_kind(self, user: str | None, name: str, kind: str) -> Record | None:
        if user is None or user not in self.users():
            return None
        names = [name, _without_ending(name)[0]]
        for one in names:
            record = get(self._source, user, decoded(one) or "_")
            if record is not None and kind_of(record) == kind:
                return record
        return None

    def _episode(self, session: str, date: tuple[str, str], file: str) -> Episode | None:
        name, ending = _without_ending(file)
        parts = name.split("_", 3)
        if ending is None or len(parts) < 4:
            return None
        for user in self.users():
            found = get(self._source, user, decoded(parts[3]) or "_")
            if (
                isinstance(found, Episode)
                and found.session_id == decoded(session)
                and (f"{found.timestamp:%Y-%m}", f"{found.timestamp:%d}") == date
                and name.startswith(f"{found.timestamp:%H_%M_%S}_")
            ):
                return found
        return None

    def _message(self, session: str, file: str) -> Message | None:
        for user in self.users():
            for name in (file, _without_ending(file)[0]):
                found = get(self._source, user, decoded(name) or "_")
                if isinstance(found, Message) and found.session_id == decoded(session):
                    return found
        return None

    def _fact(
        self, user: str | None, file: str, fits: Callable[[SemanticMemory], bool]
    ) -> SemanticMemory | None:
        name, ending = _without_ending(file)
        if user is None or ending is None or user not in self.users():
            return None
        found = get(self._source, user, decoded(name) or "_")
        is_there = isinstance(found, SemanticMemory) and found.is_current and fits(found)
        return found if is_there and isinstance(found, SemanticMemory) else None

    def place_of(self, record: Record, user: str) -> Address | None:
        """Where an episode or a fact is in `cortex://`."""
        at = Address(CORTEX)
        if isinstance(record, Episode):
            moment = record.timestamp
            day = (f"{moment:%Y-%m}", f"{moment:%d}")
            name = f"{moment:%H_%M_%S}_{encoded(record.episode_id)}.md"
            names = ("session", of_optional(record.session_id), TIMELINE, *day, name)
            return Address(CORTEX, names)
        if isinstance(record, SemanticMemory):
            name = f"{encoded(record.memory_id)}.md"
            if record.kind in AGENT_FOLDERS:
                owner = of_optional(record.agent_id)
                return Address(CORTEX, ("agent", owner, AGENT_FOLDERS[record.kind], name))
            folder = USER_FOLDERS.get(record.kind)
            return at if folder is None else Address(CORTEX, ("user", encoded(user), folder, name))
        return None


class Listing(Sequence[Entry]):
    """Entries that are made when they are asked for."""

    def __init__(self, outlines: list[Outline], at: Address, kind: str) -> None:
        self._outlines = outlines
        self._base = f"{at}/"
        self._kind = kind

    def __len__(self) -> int:
        return len(self._outlines)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._entry(one) for one in self._outlines[index]]
        return self._entry(self._outlines[index])

    def __iter__(self) -> Iterator[Entry]:
        return map(self._entry, self._outlines)

    def _entry(self, one: Outline) -> Entry:
        name = encoded(one[0])
        uri = self._base + name
        return Entry(uri, name, self._kind, one[2], one[1], uri)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self)} entries of {self._base}>"


def kind_of(record: Record) -> str:
    """The word for a record in its own URI."""
    if isinstance(record, Episode):
        return "episode"
    return "message" if isinstance(record, Message) else "semantic"


def _folders(at: Address, names: Iterable[str]) -> list[Entry]:
    return [Entry(str(at.child(name)), name, "folder") for name in names]


def _key(table: dict[str, str], value: str) -> str:
    return next(key for key, one in table.items() if one == value)


def _outline(fact: SemanticMemory) -> Outline:
    return (fact.memory_id, fact.valid_from, fact.content, fact.kind)


def _without_ending(name: str) -> tuple[str, Layer | None]:
    """A name without its ending, and the layer that the ending tells."""
    for ending, layer in _ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending), layer
    return name, None
