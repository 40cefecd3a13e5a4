"""The application: makes its parts and puts them together."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from .. import _native
from . import problems
from .access import Gatekeeper
from .explorer import OneTimeAddress
from .guard import Guard
from .idempotency import Replays
from .memories import Memories
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
from .state import Service
from .stream import Stream
from .telemetry.metrics import Metrics
from .telemetry.spans import Tracer

# Threads in which the memory works; most of them wait for the disk.
_THREADS = 32
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

    Parameters
    ----------
    settings
        Its settings. ``None``: those that ``episodica serve`` handed to this worker.
    address
        The only way in, for ``episodica ui``. ``None``: keys.
    """
    told = ServerSettings.from_environment() if settings is None else settings
    memories = Memories(told)
    metrics = Metrics(told.metrics)
    service = Service(
        settings=told,
        memories=memories,
        gatekeeper=Gatekeeper(told, address),
        replays=Replays(),
        metrics=metrics,
        tracer=Tracer(told.tracing),
        stream=Stream(memories, metrics),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="episodica") as threads:
            asyncio.get_running_loop().set_default_executor(threads)
            # A store that can't be opened ends the start, not the first request.
            await memories.of(told.tenant)
            _drain_on_signals(memories)
            service.stream.start()
            measuring = asyncio.create_task(operation.measure_again(service))
            try:
                yield
            finally:
                memories.is_draining = True
                measuring.cancel()
                await service.stream.stop()
                await memories.close()

    app = FastAPI(
        title="episodica",
        version=_native.version(),
        summary="Episodic memory for LLM agents",
        lifespan=lifespan,
        docs_url=None,
        # Clients that read `..` as a way up would turn the deletion of a record named so into the
        # user's.
        redirect_slashes=False,
        redoc_url=None,
        separate_input_output_schemas=False,
        generate_unique_id_function=_operation_id,
    )
    app.state.service = service
    app.state.gatekeeper = service.gatekeeper
    problems.install(app)
    for module in _ROUTERS:
        app.include_router(module.router)
    app.add_middleware(Guard, settings=told, metrics=metrics)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _operation_id(route: APIRoute) -> str:
    """What clients that are generated call an operation."""
    name = route.name.rstrip("_")
    return f"mem0_{name}" if "mem0" in route.tags else name


def _drain_on_signals(memories: Memories) -> None:
    """Ends the streams when the process is told to stop, so that the server need not wait."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def drain(given: int, frame: FrameType | None, before: object = before) -> None:
            memories.is_draining = True
            if callable(before):
                before(given, frame)

        signal.signal(number, drain)


def _document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, in which failures are problems."""
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
