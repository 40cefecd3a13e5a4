"""Rerankers: models that read a question and a text together and judge better which answers it.

``MemorySystem(reranker=...)`` takes a callable or a ``RerankEndpoint``. A search lets the reranker
reorder its first :data:`DEPTH` hits. A reranker that fails leaves the order of the search, and the
results say so under ``degraded``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from .errors import ConfigError
from .hints import shown
from .results import Hit, SearchResults
from .value import Fields

Reranker: TypeAlias = Callable[[str, list[str]], Iterable[float]]

# The most hits that are judged, and characters of each: a cross-encoder reads a few hundred tokens.
DEPTH = 50
MAX_CHARS = 4_000
# The variable with the key of an endpoint that a command or the service uses.
KEY_VARIABLE = "EPISODICA_RERANK_API_KEY"
# The most bytes of an answer that are read: fifty results with their documents need far fewer.
MAX_ANSWER = 4_000_000


@dataclass(frozen=True, eq=False, repr=False)
class RerankEndpoint(Fields):
    """A reranker that is reached by HTTP, in the form that Cohere, Jina, vLLM and llama.cpp serve.

    ``{"model", "query", "documents"}`` is posted; the answer lists ``index`` and
    ``relevance_score`` (or ``score``) under ``results``, or is that list.

    Attributes
    ----------
    url : str
        The whole address, such as ``"http://localhost:8000/v1/rerank"``.
    model : str or None
        The model, where the server has several.
    api_key : str or None
        Sent as a bearer token; never shown.
    timeout_seconds : float
        How long one search may wait for it.

    Raises
    ------
    ConfigError
        For an address that is not of HTTP, or a timeout that is not above 0.

    Examples
    --------
    >>> RerankEndpoint("http://localhost:8000/v1/rerank", model="bge-reranker-v2-m3").model
    'bge-reranker-v2-m3'
    """

    url: str
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 5.0

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise ConfigError(
                f"url of a reranker must begin with http:// or https://: `{self.url}`"
            )
        if not self.timeout_seconds > 0:
            raise ConfigError(f"timeout_seconds must be above 0: `{self.timeout_seconds}`")

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        """The score of each text.

        Parameters
        ----------
        query
            The question.
        texts
            The texts that may answer it.

        Returns
        -------
        list of float
            A score for each text, higher for better answers.

        Raises
        ------
        OSError
            If the endpoint can't be reached or answers with an error.
        ValueError
            For an answer of another form.

        Examples
        --------
        >>> RerankEndpoint("http://localhost:8000/v1/rerank")("where?", [])
        []
        """
        if not texts:
            return []
        asked: dict[str, Any] = {"query": query, "documents": texts}
        if self.model is not None:
            asked["model"] = self.model
        headers = {"Content-Type": "application/json"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        body = json.dumps(asked).encode()
        answer = _posted(self.url, body, headers, self.timeout_seconds)
        return _scores(answer, len(texts))


def _posted(url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> Any:
    """The answer of the endpoint.

    Follows no redirect, which would take the key to another host.
    """
    from urllib.error import HTTPError
    from urllib.request import HTTPRedirectHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    request = Request(url, body, dict(headers))  # noqa: S310 (checked)
    try:
        with build_opener(NoRedirect).open(request, timeout=timeout) as response:
            return json.loads(response.read(MAX_ANSWER))
    except HTTPError as error:
        with error:
            raise OSError(f"the endpoint answered with status {error.code}") from None


def _scores(answer: Any, count: int) -> list[float]:
    """The scores by index; every text must have one."""
    results = answer.get("results") if isinstance(answer, Mapping) else answer
    scores: dict[int, float] = {}
    for one in results if isinstance(results, list) else ():
        score = one.get("relevance_score", one.get("score")) if isinstance(one, Mapping) else None
        if isinstance(score, int | float):
            scores[one.get("index")] = float(score)
    if sorted(scores) != list(range(count)):
        raise ValueError(f"the endpoint scored {len(scores)} of {count} texts")
    return [scores[index] for index in range(count)]


def named_endpoint(url: str | None, model: str | None) -> RerankEndpoint | None:
    """The endpoint that an option or a setting names, with a key from the environment."""
    if url:
        return RerankEndpoint(url, model or None, os.environ.get(KEY_VARIABLE) or None)
    if model:
        raise ConfigError(
            f"a reranker's model needs its address: `{shown(model)}`",
            hint="name it with `--rerank URL`, or as `rerank_url` for the service",
        )
    return None


def checked_reranker(reranker: object) -> Reranker | None:
    """A reranker as it was given; ``None`` stays ``None``."""
    if reranker is None or callable(reranker):
        return reranker
    hint = f'write `reranker=RerankEndpoint("{shown(reranker)}")`' if _is_url(reranker) else None
    raise ConfigError(
        f"reranker must be a callable or a RerankEndpoint, not `{type(reranker).__name__}`",
        hint=hint,
    )


def _is_url(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def widened(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a search that finds enough for a reranker to choose from."""
    per_kind = [(kind, max(DEPTH, most)) for kind, most in options["per_kind"]]
    top_k = max(DEPTH, options["top_k"], *(most for _, most in per_kind))
    return {**options, "top_k": top_k, "per_kind": per_kind}


def rerank(found: SearchResults, reranker: Reranker, options: Mapping[str, Any]) -> SearchResults:
    """The best hits by the judgement of a reranker, as many as the options of the search allow."""
    hits, notes = list(found), list(found.degraded)
    first = hits[:DEPTH]
    try:
        scores = _finite(reranker(found.query, [_text(hit) for hit in first]), len(first))
    except Exception as error:  # noqa: BLE001 (the search has its answer whatever a model raises)
        notes.append(f"reranker: {type(error).__name__}: {error}")
    else:
        judged = [
            replace(hit, scores={**hit.scores, "rerank": score})
            for hit, score in zip(first, scores, strict=True)
        ]
        judged.sort(key=lambda hit: -hit.scores["rerank"])
        hits[:DEPTH] = judged
    kept = _cut(hits, options)
    ranked = [replace(hit, rank=rank) for rank, hit in enumerate(kept, 1)]
    return SearchResults(ranked, query=found.query, intent=found.intent, degraded=notes)


def _finite(scores: Iterable[float], count: int) -> list[float]:
    values = [float(score) for score in scores]
    if len(values) != count:
        raise ValueError(f"{len(values)} scores for {count} texts")
    if not all(map(math.isfinite, values)):
        raise ValueError("a score is not finite")
    return values


def _text(hit: Hit) -> str:
    """The text of a hit to judge: a message with its speaker, an episode with its title."""
    if hit.kind == "message" and hit.messages:
        text = f"{hit.messages[0].speaker}: {hit.content}"
    else:
        text = f"{hit.title}\n{hit.content}" if hit.title else hit.content
    return text[:MAX_CHARS]


def _cut(hits: Sequence[Hit], options: Mapping[str, Any]) -> list[Hit]:
    left = dict(options["per_kind"])
    kept = []
    for hit in hits:
        if left.get(hit.kind, 1) > 0:
            kept.append(hit)
            if hit.kind in left:
                left[hit.kind] -= 1
    return kept[: options["top_k"]]
