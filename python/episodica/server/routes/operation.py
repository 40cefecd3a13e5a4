"""The state of the service, for load balancers and monitoring, without a key."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from ... import _native
from ...errors import EpisodicaError
from .. import views
from ..models import Status, Version
from ..problems import not_found
from ..state import Service, TheService
from ..telemetry.metrics import CONTENT_TYPE
from .shared import problems

router = APIRouter(tags=["operation"])
# Free bytes below which the store is not ready for messages.
_LEAST_FREE = 64 << 20
# Seconds between two measurements of a worker whose numbers other workers report.
_MEASURE_SECONDS = 5.0
# Seconds after which a load balancer is told that the memory does not answer.
_WATCH_SECONDS = 2.0
_NO_KEYS = "the keys can't be read"


@router.get("/health", response_model=Status)
async def health(service: TheService) -> Response:
    """Whether the process answers, and what of the memory fails."""
    try:
        reasons = await service.work.watch(lambda: _failing(service), _WATCH_SECONDS)
    except TimeoutError:
        reasons = ["the memory does not answer"]
    status = "degraded" if reasons else "ok"
    return views.answer({"status": status, "reasons": reasons})


def _failing(service: Service) -> list[str]:
    found = {one for memory in service.memories.all() for one in memory._memory.health().failing}
    if not service.gatekeeper.keys.is_readable:
        found.add(_NO_KEYS)
    return sorted(found)


@router.get("/ready", response_model=Status, responses={503: {"model": Status}})
async def ready(service: TheService) -> Response:
    """Whether requests may be sent here: store writable, room on the disk, not stopping."""
    try:
        reasons = await service.work.watch(lambda: _obstacles(service), _WATCH_SECONDS)
    except TimeoutError:
        reasons = ["the memory does not answer"]
    status = "not_ready" if reasons else "ready"
    code = 503 if reasons else 200
    return views.answer({"status": status, "reasons": reasons}, code)


def _obstacles(service: Service) -> list[str]:
    path = service.settings.store_path
    found = []
    if service.memories.is_draining:
        found.append("stopping")
    if any(memory._memory.health().store.failure for memory in service.memories.all()):
        found.append("the database does not answer")
    if not service.gatekeeper.keys.is_readable:
        found.append(_NO_KEYS)
    if service.settings.read_only:
        return found
    if not os.access(path, os.W_OK):
        found.append("the store is not writable")
    elif shutil.disk_usage(path).free < _LEAST_FREE:
        found.append("the disk is full")
    return found


@router.get("/openapi.json", include_in_schema=False)
async def document(request: Request) -> Response:
    """The OpenAPI document."""
    return views.answer(request.app.openapi())


@router.get("/version", response_model=Version)
async def version() -> Response:
    """Which release answers."""
    return views.answer({"name": "episodica", "version": _native.version()})


@router.get("/metrics", response_class=PlainTextResponse, responses={404: problems(404)[404]})
async def metrics(service: TheService) -> Response:
    """Prometheus metrics."""
    if not service.metrics.enabled:
        raise not_found("page")
    # While the database does not answer, the earlier numbers are reported.
    with suppress(EpisodicaError):
        await service.stream.look()
        await measure(service)
    text = await asyncio.to_thread(service.metrics.text)
    return Response(text, media_type=CONTENT_TYPE)


async def measure(service: Service) -> None:
    """Notes the sizes and costs of this worker for the metrics."""
    stores = [(await memory.stats(), await memory.usage()) for memory in service.memories.all()]
    pending = await service.memories.pending()
    await asyncio.to_thread(
        service.metrics.measure,
        stores,  # type: ignore[arg-type]  # the stats of a store, not of a user
        pending,
        service.settings.store_path,
    )


async def measure_again(service: Service) -> None:
    """Measures regularly, because other workers report this worker's numbers, too."""
    while service.metrics.is_shared:
        with suppress(EpisodicaError):
            await measure(service)
        await asyncio.sleep(_MEASURE_SECONDS)
