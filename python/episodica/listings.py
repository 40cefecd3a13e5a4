"""Listings: iterators over records that are read page by page, and can become a data frame."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar, cast

from .errors import EpisodicaError
from .frames import DATE, Column, data_frame
from .records import Episode, Message, Record, SemanticMemory
from .value import to_html

if TYPE_CHECKING:
    import pandas as pd

# Records per page: bounds the memory of an iterator.
PAGE = 256

T = TypeVar("T", bound=Message | Episode | SemanticMemory)
Pages = Callable[[int | None], Iterator[Record]]


class Records(Iterator[T], Generic[T]):
    """An iterator over the records of a listing, which reads them page by page.

    A notebook shows the first records without using them up.

    Examples
    --------
    >>> messages = memory.messages("alice")
    >>> messages
    <Records of messages of 'alice'>
    >>> next(messages).speaker
    'Alice'
    >>> len(list(messages))
    1
    """

    __slots__ = ("_limit", "_name", "_pages", "_rest", "_type")

    def __init__(self, name: str, record_type: type[T], pages: Pages, limit: int | None) -> None:
        self._name = name
        self._type = record_type
        self._pages = pages
        self._limit = limit
        self._rest = self._read(limit)

    def _read(self, limit: int | None) -> Iterator[T]:
        return cast("Iterator[T]", self._pages(limit))

    def __next__(self) -> T:
        return next(self._rest)

    def to_pandas(self) -> pd.DataFrame:
        """The remaining records as a data frame: a row per record, dates in UTC.

        Facts have a column ``is_current`` beside their fields.

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
        """The first records, without using the iterator up."""
        return self._read(PAGE if self._limit is None else min(PAGE, self._limit))

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
    """The records of a listing for ``async for``; reads each page in a thread."""

    __slots__ = ("_page", "_records")

    def __init__(self, records: Records[T]) -> None:
        self._records = records
        self._page: Iterator[T] = iter(())

    async def __anext__(self) -> T:
        for record in self._page:
            return record
        self._page = iter(await asyncio.to_thread(lambda: list(islice(self._records, PAGE))))
        for record in self._page:
            return record
        raise StopAsyncIteration

    async def to_pandas(self) -> pd.DataFrame:
        """See :meth:`Records.to_pandas`."""
        begun = list(self._page)
        left = await asyncio.to_thread(lambda: list(self._records))
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
