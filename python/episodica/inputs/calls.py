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
    "reset": "delete_user_data",
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


def operation_hint(name: str) -> str:
    """A hint that names the operation for another library's name; empty for unknown names."""
    meant = _OTHER_NAMES.get(name)
    if meant is None:
        return ""
    return f"\nhint: `{meant}` does that here: `memory.{meant}({_TAKES[meant]})`"


def forgiving(example: str) -> Callable[[F], F]:
    """Lets a method take its user by name after the other arguments. Errors show ``example``."""

    def decorate(method: F) -> F:
        def explained(error: TypeError, args: tuple[Any, ...], options: Any) -> TypeError:
            if _fits(method, args, options):
                return error
            return TypeError(f"{error}\nhint: write `{example}`")

        @wraps(method)
        def call(self: Any, *args: Any, **options: Any) -> Any:
            args = _user_first(args, options)
            try:
                return method(self, *args, **options)
            except TypeError as error:
                raise explained(error, (self, *args), options) from error.__cause__

        @wraps(method)
        async def call_async(self: Any, *args: Any, **options: Any) -> Any:
            args = _user_first(args, options)
            try:
                return await method(self, *args, **options)
            except TypeError as error:
                raise explained(error, (self, *args), options) from error.__cause__

        is_async = inspect.iscoroutinefunction(method)
        return call_async if is_async else call  # type: ignore[return-value]

    return decorate


def _user_first(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    return (options.pop("user_id"), *args) if args and "user_id" in options else args


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
