"""OpenTelemetry spans by the conventions for the memory of generative AI (in development).

Without the package ``opentelemetry-api``, or with ``tracing`` off, nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from .naming import hashed

try:
    from opentelemetry import trace
except ImportError:  # pragma: no cover - the package is optional
    trace = None  # type: ignore[assignment,unused-ignore]

_SYSTEM = "episodica"


class Span(Protocol):
    """What a route says about its work."""

    def set_attribute(self, key: str, value: Any) -> Any:
        """Notes a number or an id."""


class _NoSpan:
    def set_attribute(self, key: str, value: Any) -> None:
        pass


_NOTHING = _NoSpan()


class Tracer:
    """Makes the spans of one application."""

    def __init__(self, enabled: bool) -> None:
        self._tracer = trace.get_tracer("episodica") if enabled and trace is not None else None

    @contextmanager
    def span(self, operation: str, tenant: str, user: str) -> Iterator[Span]:
        """A span around one operation on the memory of a user."""
        if self._tracer is None:
            yield _NOTHING
            return
        attributes = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": _SYSTEM,
            "gen_ai.memory.store.id": hashed(tenant, user),
        }
        with self._tracer.start_as_current_span(
            operation, kind=trace.SpanKind.CLIENT, attributes=attributes, record_exception=False
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                raise
