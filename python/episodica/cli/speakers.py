"""Whose profile it will be: ``ingest`` of a chat whose file does not say who its owner is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ..errors import InvalidInputError
from ..hints import shown
from ..inputs.names import NAMELESS
from ..people import people_named
from ..profiling import is_own_name
from ..readers import Conversation
from ..system import MemorySystem

# The most names that are listed.
_LISTED = 5
_TWO = 2


class Speakers:
    """The people of the chats that become one user's memory, and the titles of these chats."""

    def __init__(self) -> None:
        self._heard: Counter[str] = Counter()
        # Names under which a program speaks.
        self._programs: set[str] = set()
        # By the address of each sender of e-mails.
        self._senders: dict[str, str] = {}
        self._titles: set[str] = set()
        self._owner: str | None = None

    def hear(self, talk: Conversation, file: str) -> None:
        """Takes the people of a chat into account."""
        self._titles |= {talk.name, file}
        self._owner = self._owner or talk.owner
        for message in talk.messages:
            name = message.get("name") if isinstance(message, Mapping) else None
            if not isinstance(name, str) or not name.strip():
                continue
            if message.get("role") != "user":
                self._programs.add(name.casefold())
                continue
            self._heard.update([name])
            about = message.get("metadata")
            address = about.get("from") if isinstance(about, Mapping) else None
            if isinstance(address, str):
                self._senders.setdefault(address.casefold(), name)

    def choose(self, memory: MemorySystem, user: str, me: str | None) -> str | None:
        """Notes in the memory who of them the user is, if it is told; what to say about it."""
        names = {name.casefold(): name for name, _ in self._heard.most_common()}
        if me is not None:
            chosen = self._only_one(me)
            _state(memory, user, chosen)
            return f"{user} is {chosen}"
        known = memory.semantic_memories(user, attribute="name", include_archived=True)
        owner = people_named(self._owner, names.values()) if self._owner else []
        is_silent = bool(self._owner and names and not owner)
        if not names or user.casefold() in names or any(is_own_name(user, one) for one in known):
            return None
        taken = memory.profile(user)
        main = taken.name if taken else memory._engine.main_speaker(user)
        if len(names) < _TWO and not is_silent:
            return f"the profile of {user} is {main}'s"
        named = [name for name in names.values() if not name.startswith(NAMELESS)]
        meant = self._named(user, named)
        if is_silent and not meant and self._owner is not None:
            _state(memory, user, self._owner)
            return (
                f"{user} is {self._owner}, whose account was exported, but these messages are of "
                f"{_listed(list(names.values()), ' and ')}; `--me NAME` chooses another"
            )
        others = [name for name in names.values() if not self._is_titled(name)]
        for found, why in (
            (meant, "the only one with this name"),
            (owner, "the owner of the exported account"),
            (others if len(names) == _TWO else [], "because the chat is named after the other"),
        ):
            if len(found) == 1:
                _state(memory, user, found[0])
                return f"{user} is {found[0]}, {why}; `--me NAME` chooses another"
        return (
            f"{_listed(meant or list(names.values()), ' and ')} speak here, and nothing says which "
            f"of them {user} is: the profile is {main}'s; the same command with `--me NAME` "
            "chooses another"
        )

    def _only_one(self, me: str) -> str:
        """The speaker of a name; an error if there is none or several."""
        people = [name for name, _ in self._heard.most_common()]
        found = self._named(me, people)
        if len(found) == 1:
            return found[0]
        whose = "several people in the chat are" if found else "nobody in the chat is"
        is_program = me.strip().casefold() in self._programs
        raise InvalidInputError(
            f"`{shown(me)}` is an assistant here, not a person"
            if is_program
            else f"{whose} called `{shown(me)}`",
            hint=f"`--me` is one of {_listed(found or people, ' or ')}; the messages are kept",
        )

    def _named(self, name: str, people: list[str]) -> list[str]:
        """The people of a name or an address."""
        sender = self._senders.get(name.casefold())
        return people_named(name, people) if sender is None else [sender]

    def _is_titled(self, name: str) -> bool:
        """Whether a chat is named after a person."""
        return any(_names(title.casefold(), name.casefold()) for title in self._titles)


def _listed(people: list[str], joint: str) -> str:
    names = [shown(name) for name in people[:_LISTED]] + ["others"] * (len(people) > _LISTED)
    return joint.join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _names(title: str, name: str) -> bool:
    """Whether a title has a name as whole words; scripts without spaces have it anywhere."""
    for at in range(len(title) - len(name) + 1):
        around = title[max(at - 1, 0) : at] + title[at + len(name) : at + len(name) + 1]
        is_whole = not any(one.isalnum() or one == "_" for one in around)
        if title.startswith(name, at) and (is_whole or not name.isascii()):
            return True
    return False


def _state(memory: MemorySystem, user: str, name: str) -> None:
    """States the user's name for profiles; in searches and contexts it would be in the way."""
    fact = memory.remember(
        user,
        f"My name is {name}.",
        kind="personal_info",
        subject=user,
        attribute="name",
        value=name,
    )
    memory.archive(user, [fact.memory_id])
