"""Search and context."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from ... import _native
from ...inputs.options import KINDS
from .. import views
from ..access import AnyCaller, User
from ..fence import fenced
from ..models import AskContext, ContextView, Found, Search
from ..state import Memory, TheService
from .shared import legs_of, problems

router = APIRouter(tags=["questions"])


@router.post("/v1/users/{user}/search", response_model=Found, responses=problems())
async def search(
    body: Search, user: User, caller: AnyCaller, memory: Memory, service: TheService
) -> Response:
    """Finds the messages, episodes and facts that answer a question, best first."""
    caller.needs("read")
    started = time.perf_counter()
    with service.tracer.span("search_memory", memory.tenant, user) as span:
        found = await memory.search(
            user,
            body.query,
            top_k=body.top_k,
            include_superseded=body.include_superseded,
            explain=body.explain,
            **_options(body),
        )
        span.set_attribute("gen_ai.memory.record.count", len(found))
    service.metrics.search(legs_of(found), found.degraded)
    return views.answer(
        {
            "hits": [views.hit(one, body.layer) for one in found],
            "degraded": list(found.degraded),
            "took_ms": round((time.perf_counter() - started) * 1000, 3),
        }
    )


@router.post("/v1/users/{user}/context", response_model=ContextView, responses=problems())
async def context(
    body: AskContext, user: User, caller: AnyCaller, memory: Memory, service: TheService
) -> Response:
    """Packs what answers a question into text for a prompt, marked as data."""
    caller.needs("read")
    # JSON and XML are marked by their own form.
    cost = _native.count_tokens(fenced("")) + _SLACK if body.fence and body.format == "text" else 0
    is_fenced = 0 < cost <= body.max_tokens // 2
    budget = body.max_tokens - cost if is_fenced else body.max_tokens
    options = _options(body)
    options["kinds"] = options["kinds"] or KINDS
    with service.tracer.span("search_memory", memory.tenant, user) as span:
        packed = await memory.context(
            user, body.query, max_tokens=budget, format=body.format, **options
        )
        span.set_attribute("gen_ai.memory.record.count", len(packed.messages))
    service.metrics.search(legs_of(packed.hits), packed.hits.degraded)
    text, count = packed.text, packed.token_count
    if is_fenced:
        text = fenced(text)
        count = _native.count_tokens(text)
        if count > body.max_tokens:
            text, count, is_fenced = packed.text, packed.token_count, False
    return views.answer(
        {
            "text": text,
            "token_count": count,
            "fenced": is_fenced,
            "messages": [views.message(one) for one in packed.messages],
            "facts": [views.fact(one) for one in packed.facts],
            "degraded": list(packed.hits.degraded),
        }
    )


# Tokens by which a fence may differ with its mark and its neighbours.
_SLACK = 12


def _options(body: Search | AskContext) -> dict[str, Any]:
    return {
        "kinds": body.kinds,
        "method": body.method,
        "since": body.since,
        "until": body.until,
        "session_id": body.session_id,
        "where": body.where,
        "threshold": body.threshold,
    }
