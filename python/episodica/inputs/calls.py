"""Calls in the style of other libraries: understood if they are unambiguous, else explained.

mem0 puts the user last and by name, so ``search(query, user_id="alice")`` is a call with its
arguments turned round. A call that can't be understood raises Python's own error, with the right
call as a hint.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from ..errors import InvalidInputError
from ..hints import shown

_BY_PLACE = inspect.Parameter.POSITIONAL_OR_KEYWORD

F = TypeVar("F", bound=Callable[..., Any])

# What other libraries call an operation.
_OTHER_NAMES = {
    "add": "add_messages",
    "add_memory": "remember",
    "add_message": "add_messages",
    "chat": "context",
    "get_context": "context",
    "memories": "semantic_memories",
    "put": "remember",
    "recall": "search",
    "save": "add_messages",
    "delete_all": "delete_user_data",
    "get_all": "semantic_memories",
    "get_memories": "semantic_memories",
    "facts": "semantic_memories",
    "query": "search",
    "retrieve": "search",
}


# Example arguments of these operations.
_TAKES = {
    "add_messages": '"alice", [{"role": "user", "content": "I moved to Lyon."}]',
    "context": '"alice", "where does she live?"',
    "delete_user_data": '"alice"',
    "remember": '"alice", "I live in Lyon."',
    "search": '"alice", "where does she live?"',
    "semantic_memories": '"alice"',
}


# What other libraries do in one call.
_RECIPES = {
    "from_config": "settings are arguments here: `MemorySystem(path, timezone=..., llm=...)`",
    "reset": "`for user in memory.users(): memory.delete_user_data(user)` does that here",
}
# Arguments of other libraries.
_OTHER_ARGUMENTS = {
    "conversation_id": "session_id",
    "memory_id": "id",
    "run_id": "session_id",
    "thread_id": "session_id",
}
# mem0 names these in ``filters``.
_OWNERS = {"user_id": "user_id", "agent_id": "agent_id", "run_id": "session_id"}


def operation_hint(name: str) -> str:
    """A hint that names the operation for another library's name; empty for unknown names."""
    if name in _RECIPES:
        return f"\nhint: {_RECIPES[name]}"
    meant = _OTHER_NAMES.get(name)
    if meant is None:
        return ""
    return f"\nhint: `{meant}` does that here: `memory.{meant}({_TAKES[meant]})`"


def forgiving(example: str) -> Callable[[F], F]:
    """Lets a method take its user by name after the other arguments. Errors show ``example``."""

    def decorate(method: F) -> F:
        own = list(inspect.signature(method).parameters.values())[1:]
        takes = sum(one.default is one.empty and one.kind is _BY_PLACE for one in own)

        def explained(error: TypeError, args: tuple[Any, ...], options: Any) -> TypeError:
            if _fits(method, args, options):
                return error
            known = {one.name for one in own}
            ours = [
                f"`{_OTHER_ARGUMENTS[name]}` is the name of `{name}` here, "
                for name in options
                if name not in known and _OTHER_ARGUMENTS.get(name) in known
            ]
            return TypeError(f"{error}\nhint: {''.join(ours)}write `{example}`")

        @wraps(method)
        def call(self: Any, *args: Any, **options: Any) -> Any:
            args = _user_first(args, options, takes)
            try:
                return method(self, *args, **options)
            except TypeError as error:
                raise explained(error, (self, *args), options) from error.__cause__

        @wraps(method)
        async def call_async(self: Any, *args: Any, **options: Any) -> Any:
            args = _user_first(args, options, takes)
            try:
                return await method(self, *args, **options)
            except TypeError as error:
                raise explained(error, (self, *args), options) from error.__cause__

        is_async = inspect.iscoroutinefunction(method)
        return call_async if is_async else call  # type: ignore[return-value]

    return decorate


def _user_first(args: tuple[Any, ...], options: dict[str, Any], takes: int) -> tuple[Any, ...]:
    """The arguments with the user first; ``takes`` is how many the method needs."""
    filters = options.get("filters")
    if isinstance(filters, Mapping) and "user_id" in filters and filters.keys() <= _OWNERS.keys():
        options.update({_OWNERS[name]: value for name, value in options.pop("filters").items()})
    if not args or "user_id" not in options:
        return args
    user = options.pop("user_id")
    if len(args) >= takes and args[0] == user:
        return args
    if len(args) >= takes and isinstance(args[0], str) and isinstance(args[-1], str):
        raise InvalidInputError(
            f"two users: `{shown(user)}` and `{shown(args[0])}`", hint="name the user once, first"
        )
    return (user, *args)


def _fits(method: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Whether a call's arguments fit the method. If so, the error came from inside it."""
    try:
        inspect.signature(method).bind(*args, **options)
    except TypeError:
        return False
    return True


def user_first(user: Any, other: Any) -> tuple[Any, Any]:
    """User and messages in this order: exchanged if the list of messages came first."""
    is_turned = isinstance(other, str) and isinstance(user, (list, tuple, Mapping))
    return (other, user) if is_turned else (user, other)


# A text has at least this many words; few ids do.
_SENTENCE = 4


def refuse_turned(user: str, text: str, name: str, is_user: Callable[[str], bool]) -> None:
    """Refuses a text in the place of the user, which would become a user of that name."""
    words = len(user.split())
    if words < 2 or len(text.split()) != 1 or is_user(user):
        return
    if words >= _SENTENCE or is_user(text):
        raise InvalidInputError(
            f"no such user: `{shown(user)}`; the text is one: `{shown(text)}`",
            hint=f"the user comes first: `memory.{name}({shown(text)!r}, {shown(user)!r})`",
        )
