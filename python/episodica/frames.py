"""Data frames, which need pandas (``pip install 'episodica[pandas]'``)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

# Microseconds: nanoseconds only reach from 1677 to 2262, and a memory may know of older dates.
DATE = "datetime64[us]"


class Column(NamedTuple):
    """The values of a column and their type, as pandas names it."""

    values: list[Any]
    type: str


def data_frame(columns: Mapping[str, Column]) -> pd.DataFrame:
    """A frame of the columns, its dates in UTC."""
    try:
        import numpy as np
        import pandas
    except ImportError as error:
        raise MissingExtraError(
            "data frames need pandas", hint="pip install 'episodica[pandas]'"
        ) from error

    def series(column: Column) -> Any:
        if column.type != DATE:
            return pandas.Series(column.values, dtype=column.type)
        # Through NumPy: pandas before 3 would convert to nanoseconds first.
        naive = [moment and moment.astimezone(UTC).replace(tzinfo=None) for moment in column.values]
        return pandas.Series(np.array(naive, dtype=DATE)).dt.tz_localize("UTC")

    return pandas.DataFrame({name: series(column) for name, column in columns.items()})
