"""Listings: sequences of records that are read page by page, and can become a data frame."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from itertools import islice
from operator import index
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar, cast, overload

from .errors import EpisodicaError
from .frames import DATE, Column, data_frame
from .records import Episode, Message, Record, SemanticMemory
from .value import to_html

if TYPE_CHECKING:
    import pandas as pd

# Records per page: bounds the memory of an iterator.
PAGE = 256

T = TypeVar("T", bound=Message | Episode | SemanticMemory)
# `Pages` reads records from a place on, at most a number of them; `Count` counts all of them.
Pages = Callable[[int, int | None], Iterator[Record]]
Count = Callable[[], int]


class Records(Sequence[T], Generic[T]):
    """The records of a listing, read page by page from the store each time they are asked for.

    ``for`` reads them one page after the other, so memory stays small; a second ``for`` reads them
    again. ``len()``, an index and a slice each read what they need from the store when they are
    used. ``next(records)`` returns one record after the other. Records added meanwhile may turn up.

    Examples
    --------
    >>> messages = memory.messages("alice")
    >>> messages
    <Records of messages of 'alice'>
    >>> len(messages), messages[0].speaker, messages[-1].speaker
    (2, 'Alice', 'assistant')
    >>> [message.speaker for message in messages[:1]]
    ['Alice']
    >>> next(messages).speaker
    'Alice'
    """

    __slots__ = ("_count", "_limit", "_name", "_pages", "_rest", "_type")

    def __init__(
        self, name: str, record_type: type[T], pages: Pages, count: Count, limit: int | None
    ) -> None:
        self._name = name
        self._type = record_type
        self._pages = pages
        self._count = count
        self._limit = limit
        self._rest = iter(self)

    def _read(self, offset: int, most: int | None) -> Iterator[T]:
        return cast("Iterator[T]", self._pages(offset, most))

    def __iter__(self) -> Iterator[T]:
        return self._read(0, self._limit)

    def __next__(self) -> T:
        return next(self._rest)

    def __len__(self) -> int:
        count = self._count()
        return count if self._limit is None else min(count, self._limit)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> list[T]: ...
    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            chosen = range(len(self))[place]
            if not chosen:
                return []
            first, last = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
            read = list(self._read(first, last - first + 1))
            return read[:: chosen.step] if chosen.step > 0 else read[::-1][:: -chosen.step]
        at = index(place)
        if at < 0:
            at += len(self)
        if at >= 0 and (self._limit is None or at < self._limit):
            for record in self._read(at, 1):
                return record
        raise IndexError("no such record in the listing")

    def __reversed__(self) -> Iterator[T]:
        return reversed(list(self))

    def to_pandas(self) -> pd.DataFrame:
        """The records as a data frame: a row per record, dates in UTC.

        Facts have a column ``is_current`` besides their fields.

        Returns
        -------
        pandas.DataFrame
            A row per record, a column per field.

        Raises
        ------
        MissingExtraError
            Without pandas: ``pip install 'episodica[pandas]'``.

        Examples
        --------
        >>> memory.messages("alice").to_pandas()[["name", "content"]].to_dict("records")[0]
        {'name': 'Alice', 'content': 'I moved to Lyon last Friday.'}
        """
        return _frame(self._type, self)

    def _preview(self) -> Iterator[T]:
        return self._read(0, PAGE if self._limit is None else min(PAGE, self._limit))

    def _repr_html_(self) -> str | None:
        try:
            return to_html(self)
        except EpisodicaError:
            return None  # closed meanwhile: the notebook falls back to the `repr`

    def __repr__(self) -> str:
        return f"<Records of {self._name}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "Records can't be copied or pickled, as they read from an open store; make a `list` "
            "of them"
        )


class AsyncRecords(AsyncIterator[T], Generic[T]):
    """The records of a listing for ``async for``; reads each page in a thread.

    They are read once. For ``len`` and indexes, use the listing of :class:`MemorySystem`.
    """

    __slots__ = ("_page", "_records", "_rest")

    def __init__(self, records: Records[T]) -> None:
        self._records = records
        self._rest = iter(records)
        self._page: Iterator[T] = iter(())

    async def __anext__(self) -> T:
        for record in self._page:
            return record
        import asyncio

        self._page = iter(await asyncio.to_thread(lambda: list(islice(self._rest, PAGE))))
        for record in self._page:
            return record
        raise StopAsyncIteration

    async def to_pandas(self) -> pd.DataFrame:
        """See :meth:`Records.to_pandas`.

        Returns
        -------
        pandas.DataFrame
            As of :meth:`Records.to_pandas`: a row per record that was not read yet.

        Raises
        ------
        MissingExtraError
            Without pandas.

        Examples
        --------
        >>> import asyncio
        >>> async def names(path):
        ...     async with AsyncMemorySystem(path) as memory:
        ...         frame = await memory.messages("bob").to_pandas()
        ...         return list(frame.columns[:2])
        >>> asyncio.run(names("frames"))
        ['message_id', 'role']
        """
        import asyncio

        begun = list(self._page)
        left = await asyncio.to_thread(lambda: list(self._rest))
        return _frame(self._records._type, [*begun, *left])

    def _repr_html_(self) -> str | None:
        return self._records._repr_html_()

    def __repr__(self) -> str:
        return repr(self._records).replace("<Records", "<AsyncRecords", 1)

    def __reduce__(self) -> NoReturn:
        self._records.__reduce__()


def _frame(record_type: type[T], records: Iterable[T]) -> pd.DataFrame:
    """A row per record, a column per field of its class; without records the columns remain."""
    rows = list(records)
    columns = {field.name: _column_type(str(field.type)) for field in fields(record_type)}
    if record_type is SemanticMemory:
        columns["is_current"] = "bool"
    return data_frame(
        {
            name: Column([getattr(record, name) for record in rows], column_type)
            for name, column_type in columns.items()
        }
    )


def _column_type(annotation: str) -> str:
    if annotation.startswith(datetime.__name__):
        return DATE
    return {"int": "int64", "float": "float64"}.get(annotation, "object")
