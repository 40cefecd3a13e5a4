"""Data frames, for those who have pandas (``pip install 'episodica[pandas]'``). Called by ``to_pandas`` of results and listings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import MissingExtraError
from .records import Record

if TYPE_CHECKING:
    import pandas as pd

    from .results import Hit

# Microseconds, not nanoseconds, which end in 1677 and 2262: a memory may know of older dates.
_DATES = "datetime64[us]"
_HIT_COLUMNS = ("rank", "kind", "score", "timestamp", "title", "content", "snippet", "id", "uri")
_NUMBERS = {"rank": "int64", "score": "float64"}


def records_frame(record_type: type, records: Iterable[Record]) -> pd.DataFrame:
    """A row a record, a column a field of its class; the columns are there when no record is."""
    pandas = _pandas()
    rows = list(records)
    columns = {}
    for field in fields(record_type):
        values = [getattr(record, field.name) for record in rows]
        columns[field.name] = _column(pandas, values, _type_of(str(field.type)))
    frame: pd.DataFrame = pandas.DataFrame(columns)
    return frame


def hits_frame(hits: Sequence[Hit]) -> pd.DataFrame:
    """A row a hit; after the hit's own columns one for each term of a score (``scores.L1.words``), empty where it took no part."""
    pandas = _pandas()
    columns = {}
    for name in _HIT_COLUMNS:
        values: list[Any] = [getattr(hit, name) for hit in hits]
        columns[name] = _column(
            pandas, values, _DATES if name == "timestamp" else _NUMBERS.get(name, object)
        )
    for term in dict.fromkeys(term for hit in hits for term in hit.scores):
        columns[f"scores.{term}"] = pandas.Series(
            [hit.scores.get(term) for hit in hits], dtype="float64"
        )
    frame: pd.DataFrame = pandas.DataFrame(columns)
    return frame


def _column(pandas: Any, values: Sequence[Any], kind: Any) -> Any:
    if kind != _DATES:
        return pandas.Series(values, dtype=kind)
    # By way of NumPy: pandas before 3 would go by way of nanoseconds.
    naive = np.array([moment and moment.replace(tzinfo=None) for moment in values], dtype=_DATES)
    return pandas.Series(naive).dt.tz_localize("UTC")


def _type_of(annotation: str) -> Any:
    if annotation.startswith(datetime.__name__):
        return _DATES
    return {"int": "int64", "float": "float64"}.get(annotation, object)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError(
            "data frames need pandas", hint="pip install 'episodica[pandas]'"
        ) from error
    return pandas
