"""What the routes of one application share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from ..aio.system import AsyncMemorySystem
from .access import AnyCaller, Gatekeeper
from .ending import Deadline
from .idempotency import Requests
from .memories import Memories
from .problems import ServiceError
from .settings import ServerSettings
from .stream import Stream
from .telemetry.metrics import Metrics
from .telemetry.spans import Tracer
from .work import Work


@dataclass(slots=True)
class Service:
    """The parts of the service."""

    settings: ServerSettings
    memories: Memories
    gatekeeper: Gatekeeper
    requests: Requests
    metrics: Metrics
    tracer: Tracer
    stream: Stream
    work: Work
    deadline: Deadline


async def service_of(request: Request) -> Service:
    """Dependency: the service."""
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(service_of)]


# Routes that write nothing, although their method is not GET.
_ASKING = ("search", "context", "recall", "explain", "exchange")


async def refuse_writes(request: Request, service: TheService) -> None:
    """Dependency of every route: a service that only reads refuses what writes."""
    is_reading = request.method in ("GET", "HEAD") or request.scope["route"].name in _ASKING
    if service.settings.read_only and not is_reading:
        raise ServiceError(
            403,
            "this service only reads",
            "start it without `--read-only` to write",
            kind="read_only",
        )


async def memory_of(service: TheService, caller: AnyCaller) -> AsyncMemorySystem:
    """Dependency: the memory of the caller's tenant."""
    return await service.memories.of(caller.tenant)


Memory = Annotated[AsyncMemorySystem, Depends(memory_of)]


async def dated_memory_of(
    memory: Memory,
    timezone: Annotated[
        str | None,
        Query(description="Zone in which dates are shown, like `Europe/Paris` or `+08:00`."),
    ] = None,
) -> AsyncMemorySystem:
    """Dependency: the memory of the caller's tenant, with dates in the zone of the request."""
    return in_zone(memory, timezone)


def in_zone(memory: AsyncMemorySystem, timezone: str | None) -> AsyncMemorySystem:
    """The memory with dates in a zone, if one is named."""
    return memory if timezone is None else memory.in_timezone(timezone)


DatedMemory = Annotated[AsyncMemorySystem, Depends(dated_memory_of)]
