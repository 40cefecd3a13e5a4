"""Checks of single values: their bounds, and mappings of names to values."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any

from ..errors import ConfigError
from ..hints import shown


def as_float(value: float) -> float:
    """A number as a float; infinity if it is too large for a float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def bounded(value: Any, name: str, row: Mapping[str, Any], where: str) -> Any:
    """``value`` itself, if it is within the bounds of ``row`` in the table of settings."""
    if isinstance(value, (bool, str)) or not row:
        return value
    minimum, above, maximum = row["minimum"], row["above"], row["maximum"]
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{where}{name} must be a finite number: `{value}`")
    if (
        (minimum is not None and value < minimum)
        or (above is not None and value <= above)
        or (maximum is not None and value > maximum)
    ):
        raise ConfigError(f"{where}{name} must be {row['allowed']}: `{shown(value)}`")
    # What the engine can count.
    if isinstance(value, int) and value > sys.maxsize:
        raise ConfigError(f"{where}{name} must be at most {sys.maxsize}: `{shown(value)}`")
    return value


def mapping(value: Any, name: str, *, texts: bool) -> dict[str, Any] | None:
    """A mapping of names to values; the values are texts if ``texts`` is true, else JSON."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(
            f"{name} must be a section of names and values, not `{type(value).__name__}`"
        )
    if texts and not all(isinstance(item, str) for item in value.values()):
        raise ConfigError(f"the values of {name} must be text")
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name} is not JSON: `{shown(error)}`") from None
    return dict(value)
