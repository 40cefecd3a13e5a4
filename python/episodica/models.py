"""The models that a caller passes (``llm=``, ``embedding=``), as the engine takes them.

A callable that serves as LLM gets the arguments of a chat completion: messages with ``role`` and
``content``, and, if its signature accepts them, the keywords ``response_format``, ``max_tokens``
and ``temperature``. It returns the answer's text, or a chat completion (a mapping or an object,
with ``usage`` if the tokens are known). ``Awaiter`` runs coroutine functions.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from .awaiting import Awaiter
from .config import EmbeddingConfig, LLMConfig, MemoryConfig
from .embedders import named_embedding
from .errors import ConfigError, LLMError
from .hints import shown
from .signatures import misfit

LLM: TypeAlias = LLMConfig | Mapping[str, Any] | Callable[..., Any]
Embedding: TypeAlias = (
    EmbeddingConfig | Mapping[str, Any] | str | os.PathLike[str] | Callable[[list[str]], Any]
)

Answer: TypeAlias = tuple[str, tuple[int, int, int, int] | None]
_KEYWORDS = ("response_format", "max_tokens", "temperature")


def adapt(
    function: Callable[..., Any], awaiter: Awaiter
) -> Callable[[str, str, str, str, int], Answer]:
    """The function as the engine calls it.

    The engine passes the system prompt, the user prompt, the name and the JSON of the answer's
    schema, and the maximum number of tokens; it gets the text and its tokens back.
    """
    keywords, called = _accepted(function), awaiter.bound("llm", function)

    def ask(system: str, user: str, schema_name: str, schema: str, max_tokens: int) -> Answer:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        json_schema = {"name": schema_name, "strict": True, "schema": json.loads(schema)}
        offered = {
            "response_format": {"type": "json_schema", "json_schema": json_schema},
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        return read(called(messages, **{name: offered[name] for name in keywords}))

    return ask


def _accepted(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built in, without a signature
        return ()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return _KEYWORDS
    named = {
        one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)
    }
    return tuple(name for name in _KEYWORDS if name in named)


def read(answer: Any) -> Answer:
    """The text that a function returned, and the tokens if it counted them.

    The tokens are those of the prompt and of the answer, then those among them that were cached
    and those of reasoning.
    """
    if isinstance(answer, str):
        return answer, None
    choices = _field(answer, "choices")
    message = _field(choices[0], "message") if choices else answer
    text = _field(message, "content")
    if not isinstance(text, str):
        raise LLMError(
            f"the llm callable must return text or a chat completion, not `{type(answer).__name__}`"
        )
    usage = _field(answer, "usage")
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if prompt is None or completion is None:
        return text, None
    cached = _count(_field(usage, "prompt_tokens_details"), "cached_tokens")
    reasoning = _count(_field(usage, "completion_tokens_details"), "reasoning_tokens")
    return text, (prompt, completion, cached or 0, reasoning or 0)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _count(usage: Any, name: str) -> int | None:
    count = _field(usage, name)
    return count if isinstance(count, int) and count >= 0 else None


def llm_spec(llm: object, awaiter: Awaiter) -> dict[str, Any] | None:
    """A language model as the engine takes it; ``None`` stays ``None``."""
    if llm is None:
        return None
    if isinstance(llm, Mapping):
        llm = MemoryConfig(llm=llm).llm  # type: ignore[arg-type]
    if isinstance(llm, LLMConfig):
        return llm._native()
    if not callable(llm):
        hint = f'write `llm=LLMConfig("{shown(llm)}")`' if isinstance(llm, str) else None
        raise ConfigError(
            f"llm must be an LLMConfig or a callable, not `{type(llm).__name__}`", hint=hint
        )
    if (reason := misfit(llm, [], **dict.fromkeys(_accepted(llm)))) is not None:
        raise ConfigError(
            f"llm can't be called with the messages of a chat: {reason}",
            hint="its first argument gets the messages: `def llm(messages, **options)`",
        )
    return {"kind": "callable", "callable": adapt(llm, awaiter), "model": _model_name(llm)}


def embedding_spec(embedding: object, awaiter: Awaiter) -> dict[str, Any] | None:
    """An embedder as the engine takes it; ``None`` is its default."""
    if embedding is None or embedding == "multilingual":
        return None
    if embedding == "static":
        return {"kind": "static"}
    if isinstance(embedding, str):
        embedding = named_embedding(embedding)
    elif isinstance(embedding, os.PathLike):
        embedding = EmbeddingConfig(path=embedding)
    elif isinstance(embedding, Mapping):
        embedding = MemoryConfig(embedding=embedding).embedding  # type: ignore[arg-type]
    if isinstance(embedding, EmbeddingConfig):
        return embedding._native()
    if not callable(embedding):
        hint = "pass its method: `embedding=model.encode`" if hasattr(embedding, "encode") else None
        name = type(embedding).__name__
        raise ConfigError(
            f"embedding must be an EmbeddingConfig or a callable, not `{name}`", hint=hint
        )
    if (reason := misfit(embedding, [])) is not None:
        raise ConfigError(
            f"embedding can't be called with a list of texts: {reason}",
            hint="its only argument gets the texts: `def embedding(texts)`",
        )
    called = awaiter.bound("embedding", embedding)
    return {"kind": "callable", "callable": called, "model": _model_name(embedding)}


def _model_name(function: object) -> str:
    """The model name of a callable. Vectors of different names never share an index."""
    named = getattr(function, "model", None)
    if isinstance(named, str) and named:
        return named
    described = function if hasattr(function, "__qualname__") else type(function)
    return f"python:{described.__module__}.{described.__qualname__}"
