"""Functions that a caller passes: whether the package can call them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def misfit(function: Callable[..., Any], *args: Any, **options: Any) -> str | None:
    """Why a call can only fail; ``None`` if it may succeed, as far as the signature tells."""
    try:
        # Of a decorated function that of its wrapper, which may add arguments.
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # built in, without a signature
        return None
    try:
        signature.bind(*args, **options)
    except TypeError as error:
        return str(error)
    return None
