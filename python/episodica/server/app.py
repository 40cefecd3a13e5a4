"""The application: makes its parts and puts them together."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute

from .. import _native
from . import handlers, problems
from .access import Gatekeeper
from .door import ServiceDoor
from .ending import Deadline
from .explorer import OneTimeAddress
from .guard import Guard
from .idempotency import Requests
from .limits import Shared
from .memories import Memories
from .parameters import refuse_unknown
from .routes import (
    changes,
    explorer,
    insight,
    mem0,
    messages,
    operation,
    questions,
    records,
    transfer,
    tree,
    users,
)
from .settings import ServerSettings
from .state import Service, refuse_writes
from .stream import Stream, followers_of
from .telemetry.metrics import FOLDER, Metrics
from .telemetry.spans import Tracer
from .work import Work

_ROUTERS = (
    operation,
    messages,
    questions,
    records,
    tree,
    users,
    insight,
    transfer,
    changes,
    mem0,
    explorer,
)


def create_app(
    settings: ServerSettings | None = None, address: OneTimeAddress | None = None
) -> FastAPI:
    """The service as an ASGI application.

    Without settings, those that ``episodica serve`` handed to this worker. The one-time address of
    ``episodica ui`` is then the only way in.
    """
    told = ServerSettings.from_environment() if settings is None else settings
    memories = Memories(told)
    metrics = Metrics(told.metrics)
    folder = os.environ.get(FOLDER) if told.workers > 1 else None
    shared = Shared(None if folder is None else Path(folder))
    gatekeeper = Gatekeeper(told, shared, address)
    work = Work(told, shared)
    service = Service(
        settings=told,
        memories=memories,
        gatekeeper=gatekeeper,
        requests=Requests(),
        metrics=metrics,
        tracer=Tracer(told.tracing),
        stream=Stream(memories, metrics, gatekeeper.keys, followers_of(told, shared)),
        work=work,
        deadline=Deadline(told.shutdown_timeout_seconds),
    )

    app = FastAPI(
        title="episodica",
        version=_native.version(),
        summary="Episodic memory for LLM agents",
        lifespan=lambda _: _running(service),
        docs_url=None,
        # A client that resolves `..` in a path would turn the deletion of a record with this id
        # into the deletion of its user.
        redirect_slashes=False,
        redoc_url=None,
        # `operation` has a route for it.
        openapi_url=None,
        dependencies=[Depends(refuse_writes), Depends(refuse_unknown)],
        separate_input_output_schemas=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.service = service
    app.state.gatekeeper = service.gatekeeper
    handlers.install(app)
    for module in _ROUTERS:
        app.include_router(module.router)
    routes = [one for each in _ROUTERS for one in each.router.routes if isinstance(one, APIRoute)]
    door = ServiceDoor(routes, gatekeeper, told, metrics)
    app.add_middleware(Guard, door=door, settings=told, shared=shared)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _running(service: Service) -> AsyncIterator[dict[str, object]]:
    """The life of the service in a worker, from its first event to the closed store."""
    memories = service.memories
    asyncio.get_running_loop().set_default_executor(service.work.threads)
    _drain_on_signals(service)
    measuring: asyncio.Task[None] | None = None
    try:
        # A store that can't be opened makes the start fail, not the first request.
        await memories.of(service.settings.tenant)
        service.stream.start()
        measuring = asyncio.create_task(operation.measure_again(service))
        yield {}
    finally:
        memories.is_draining = True
        if measuring is not None:
            measuring.cancel()
        await service.stream.stop()
        await memories.close(service.deadline.left)
        service.work.stop()
        service.deadline.closed()
        service.deadline.disarm()


def _operation_id(route: APIRoute) -> str:
    name = route.name.rstrip("_")
    return f"mem0_{name}" if "mem0" in route.tags else name


def _drain_on_signals(service: Service) -> None:
    """Lets signals that stop the process end the streams, and start its deadline."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def drain(given: int, frame: FrameType | None, before: object = before) -> None:
            service.memories.is_draining = True
            service.deadline.begin()
            if callable(before):
                before(given, frame)

        signal.signal(number, drain)
    service.deadline.arm()


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, in which every failure has the form of a problem."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        for path in document["paths"].values():
            for operation_ in path.values():
                answers = operation_["responses"]
                answers.pop("422", None)
                for status, one in answers.items():
                    if int(status) >= 400 and "application/json" in one.get("content", {}):
                        schema = one["content"].pop("application/json")
                        is_problem = schema["schema"].get("$ref", "").endswith("/Problem")
                        media = problems.MEDIA_TYPE if is_problem else "application/json"
                        one["content"][media] = schema
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        app.openapi_schema = document
    return app.openapi_schema
