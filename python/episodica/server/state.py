"""What the routes of one application share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from ..aio.system import AsyncMemorySystem
from .access import AnyCaller, Gatekeeper
from .idempotency import Replays
from .memories import Memories
from .settings import ServerSettings
from .stream import Stream
from .telemetry.metrics import Metrics
from .telemetry.spans import Tracer


@dataclass(slots=True)
class Service:
    """The parts of the service."""

    settings: ServerSettings
    memories: Memories
    gatekeeper: Gatekeeper
    replays: Replays
    metrics: Metrics
    tracer: Tracer
    stream: Stream


def service_of(request: Request) -> Service:
    """Dependency: the service."""
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(service_of)]


async def memory_of(service: TheService, caller: AnyCaller) -> AsyncMemorySystem:
    """Dependency: the memory of the caller's tenant."""
    return await service.memories.of(caller.tenant)


Memory = Annotated[AsyncMemorySystem, Depends(memory_of)]
