"""A conversation's contexts that only grow, awaited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec

from ..recalling import Recall
from .wrapping import coroutine, presented

P = ParamSpec("P")


class AsyncRecall:
    """What one conversation was given of a memory: a :class:`Recall` whose ``add`` is awaited."""

    __slots__ = ("_memory",)

    def __init__(self, recall: Recall) -> None:
        self._memory = recall

    def __str__(self) -> str:
        return str(self._memory)

    def __repr__(self) -> str:
        return repr(self._memory).replace("<Recall", "<AsyncRecall", 1)

    @property
    def text(self) -> str:
        """All lines that were given, in the order of the questions."""
        return self._memory.text

    @property
    def token_count(self) -> int:
        """Tokens of :attr:`text` (o200k_base)."""
        return self._memory.token_count

    @property
    def restarts(self) -> int:
        """How often the text began anew, because ``max_tokens`` was reached."""
        return self._memory.restarts

    @property
    def state(self) -> dict[str, Any]:
        """All of it as plain JSON types, to go on later."""
        return self._memory.state

    add = coroutine(Recall.add)


def async_recall(
    method: Callable[Concatenate[Any, P], Recall],
) -> Callable[Concatenate[Any, P], AsyncRecall]:
    """The method, which then returns an ``AsyncRecall`` instead of a ``Recall``."""

    def call(self: Any, /, *args: P.args, **options: P.kwargs) -> AsyncRecall:
        return AsyncRecall(getattr(self._memory, method.__name__)(*args, **options))

    made = presented(call, method)
    signature = inspect.signature(method)
    made.__signature__ = signature.replace(  # type: ignore[attr-defined]
        return_annotation=f"Async{signature.return_annotation}"
    )
    return made
