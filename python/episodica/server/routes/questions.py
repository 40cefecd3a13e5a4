"""Search, context, recall and explain."""

from __future__ import annotations

import time
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from ... import _native
from ...fence import fenced_context, source_of, within
from ...inputs.options import KINDS
from .. import views
from ..access import AnyCaller, User
from ..models import (
    CONDITIONS,
    AskContext,
    AskRecall,
    AskStanding,
    ContextView,
    Found,
    RecallView,
    Search,
    StandingView,
)
from ..state import Memory, TheService, in_zone
from .shared import legs_of, problems

router = APIRouter(tags=["questions"])


@router.post("/v1/users/{user}/search", response_model=Found, responses=problems())
async def search(
    body: Search, user: User, caller: AnyCaller, memory: Memory, service: TheService
) -> Response:
    """Finds messages, each with its episode and the facts that quote it, and stated facts.

    Best first; `kinds` asks for others.
    """
    caller.needs("read")
    memory = in_zone(memory, body.timezone)
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
    memory = in_zone(memory, body.timezone)
    options = _options(body)
    options["kinds"] = options["kinds"] or KINDS
    # JSON and XML mark the text as data by their own form.
    is_fenced = body.fence and body.format == "text"
    source = source_of(memory.tenant, user)
    legs: set[str] = set()
    degraded: list[str] = []

    async def pack(length: int) -> tuple[int, int, dict[str, Any]]:
        packed = await memory.context(
            user, body.query, max_tokens=length, format=body.format, **options
        )
        legs.update(legs_of(packed.hits))
        degraded[:] = packed.hits.degraded
        text = fenced_context(packed, source=source) if is_fenced else packed.text
        count = _native.count_tokens(text) if is_fenced else packed.token_count
        answer = {
            "text": text,
            "token_count": count,
            "messages": [views.message(one) for one in packed.messages],
            "facts": [views.fact(one) for one in packed.facts],
            "excerpts": list(packed.excerpts),
            "reasons": dict(packed.reasons),
            "relevance": packed.relevance,
            "found": packed.found,
        }
        return packed.token_count, count, answer

    first = body.max_tokens - (_FENCE + _native.count_tokens(source[:80]) if is_fenced else 0)
    with service.tracer.span("search_memory", memory.tenant, user) as span:
        answer = await within(body.max_tokens, first, pack)
        answer = answer or _NOTHING
        span.set_attribute("gen_ai.memory.record.count", len(answer["messages"]))
    service.metrics.search(legs, degraded)
    return views.answer({**answer, "fenced": is_fenced, "degraded": degraded})


@router.post("/v1/users/{user}/recall", response_model=RecallView, responses=problems())
async def recall(body: AskRecall, user: User, caller: AnyCaller, memory: Memory) -> Response:
    """Lines that answer a question and were not given before in the conversation.

    What was given stays as it is, so a prompt cache keeps it. Pass `state` back with the next
    question.
    """
    caller.needs("read")
    memory = in_zone(memory, body.timezone)
    options = _options(body)
    del options["kinds"]
    given = memory.recall(user, body.max_tokens, state=body.state, **options)
    new = await given.add(body.query)
    return views.answer(views.fields(RecallView, given, new=new))


@router.post("/v1/users/{user}/explain", response_model=StandingView, responses=problems())
async def explain(body: AskStanding, user: User, caller: AnyCaller, memory: Memory) -> Response:
    """Why a record comes as an answer, or what leaves it out."""
    caller.needs("read")
    memory = in_zone(memory, body.timezone)
    standing = await memory.explain(
        user,
        body.query,
        body.id,
        top_k=body.top_k,
        max_tokens=body.max_tokens,
        include_superseded=body.include_superseded,
        **_options(body),
    )
    before = [hit.id for hit in standing.before]
    return views.answer({**standing.to_dict(), "before": before})


_NOTHING: dict[str, Any] = {
    "text": "",
    "token_count": 0,
    "messages": [],
    "facts": [],
    "excerpts": [],
    "reasons": {},
    "relevance": 0.0,
    "found": False,
}
# Tokens of a fence without its source.
_FENCE = 60


def _options(body: Search | AskContext | AskRecall | AskStanding) -> dict[str, Any]:
    return {name: getattr(body, name) for name in CONDITIONS}
