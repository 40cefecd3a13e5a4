"""Settings: every knob of the engine, and where its value comes from.

The engine owns the defaults' meaning and checks every bound; here values get their types and their
precedence: keyword > environment > TOML file > default.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ..errors import ConfigError
from ..hints import nearest_hint
from .endpoint import endpoint_settings
from .names import MAPPINGS, OPTIONAL, SECTIONS, check_names, type_name
from .sources import from_sources

BoundaryMode: TypeAlias = Literal["auto", "heuristic", "window", "message"]
Preset: TypeAlias = Literal["default", "cortex", "memo"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "boundary_mode": ("auto", "heuristic", "window", "message"),
    "preset": ("default", "cortex", "memo"),
}
_SECRET = ("api_key", "headers", "proxy", "organization")


def _state_without_key(part: LLMConfig | EmbeddingConfig) -> list[Any]:
    """What is pickled: a file or a queue is no place for keys, headers and proxies."""
    return [None if one.name in _SECRET else getattr(part, one.name) for one in fields(part)]


@dataclass(frozen=True, slots=True)
class LLMConfig:
    """An OpenAI-compatible chat endpoint (OpenAI, vLLM, Ollama, llama.cpp, ...).

    Parameters
    ----------
    model
        The model's name at the endpoint.
    base_url
        Up to and including the version, e.g. ``http://localhost:8000/v1``. Without one:
        ``OPENAI_BASE_URL``, then OpenAI's.
    api_key
        Without one: ``OPENAI_API_KEY``. Never shown by ``repr``, refused in files, and never
        pickled: another process takes it from its environment.
    organization, headers
        Sent with every request; the headers' values are never shown either.
    proxy
        Without one: the environment's (``HTTPS_PROXY``, ``NO_PROXY``, ...).
    timeout_seconds
        Longest wait for one answer.
    max_attempts, retry_wait_seconds
        Attempts for one call, and the wait before the second (doubled before each further one);
        only after network errors and statuses 408, 409, 429 and 5xx.
    breaker_failures, breaker_seconds
        After so many failures in a row no call is sent for so long; then a single one tests the
        endpoint.
    max_tokens
        Most tokens of any answer.
    fallback
        Asked when this endpoint has no answer.
    extra
        Further fields of every request, e.g. ``{"seed": 7}``.

    Examples
    --------
    >>> LLMConfig("gpt-4.1-mini", api_key="secret")
    LLMConfig(model='gpt-4.1-mini', base_url=None, timeout_seconds=60.0)
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 60.0
    organization: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)
    max_attempts: int = field(default=3, repr=False)
    retry_wait_seconds: float = field(default=1.0, repr=False)
    breaker_failures: int = field(default=5, repr=False)
    breaker_seconds: float = field(default=60.0, repr=False)
    max_tokens: int | None = field(default=None, repr=False)
    fallback: LLMConfig | None = field(default=None, repr=False)
    extra: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_fields(self, "llm.")

    def __getstate__(self) -> list[Any]:
        return _state_without_key(self)

    def _settings(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "endpoint": endpoint_settings(self),
            "fallback": self.fallback._settings() if self.fallback else None,
            "max_tokens": self.max_tokens,
            "extra": dict(self.extra or {}),
        }

    def _native(self) -> dict[str, Any]:
        return {"kind": "endpoint", "settings": json.dumps(self._settings())}


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """Where vectors come from instead of the embedder inside the package.

    Either a local sentence-transformers folder (``path``), or an OpenAI-compatible endpoint
    (``model``).

    Parameters
    ----------
    model
        The model's name at the endpoint.
    base_url, api_key, organization, headers, proxy, timeout_seconds, max_attempts,
    retry_wait_seconds
        As for :class:`LLMConfig`.
    breaker_failures, breaker_seconds
        Likewise.
    dimension
        Length of its vectors, for models that can give several; otherwise what the endpoint sends.
    path
        A folder with ``config.json``, ``tokenizer.json`` and ``model.safetensors`` (BERT family).
    batch_size
        Texts in one request, 1 to 100.
    """

    model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimension: int | None = None
    path: str | os.PathLike[str] | None = None
    timeout_seconds: float = 60.0
    organization: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] | None = field(default=None, repr=False)
    proxy: str | None = field(default=None, repr=False)
    max_attempts: int = field(default=3, repr=False)
    retry_wait_seconds: float = field(default=1.0, repr=False)
    breaker_failures: int = field(default=5, repr=False)
    breaker_seconds: float = field(default=60.0, repr=False)
    batch_size: int = field(default=32, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.path, os.PathLike):
            object.__setattr__(self, "path", os.fspath(self.path))
        _check_fields(self, "embedding.")
        if (self.model is None) == (self.path is None):
            raise ConfigError(
                "an embedding needs either `model` (of an endpoint) or `path` (of a local folder)"
            )

    def __getstate__(self) -> list[Any]:
        return _state_without_key(self)

    def _native(self) -> dict[str, Any]:
        if self.path is not None:
            return {"kind": "local_folder", "path": str(Path(self.path).expanduser().absolute())}
        settings = {
            "model": self.model,
            "endpoint": endpoint_settings(self),
            "dimensions": self.dimension,
            "batch_size": self.batch_size,
        }
        return {"kind": "endpoint", "settings": json.dumps(settings)}


@dataclass(frozen=True, slots=True)
class MemoryConfig:
    """Every setting of a memory system. ``MemoryConfig()`` holds the defaults; :meth:`load` reads file and environment.

    Parameters
    ----------
    buffer_size_min, buffer_size_max
        Fewest and most messages of an episode.
    boundary_mode
        How segments are found: ``"heuristic"`` rules, a model over a ``"window"`` of messages, a
        model call a ``"message"``, or ``"auto"`` (``"window"`` with an LLM, ``"heuristic"``
        without).
    boundary_confidence_threshold
        A boundary below this confidence (0 to 1) is not one.
    time_gap_minutes
        A pause of this many minutes ends a segment.
    boundary_window_messages
        Messages a model sees per boundary call.
    merge_episodes, merge_similarity_threshold, merge_max_gap_minutes
        Merge a new episode into a similar recent one: whether, from which cosine on, and over which
        time at most.
    semantic_memory
        Learn semantic memories.
    prediction_correction
        Predict from what is known and learn the difference (with an LLM); otherwise extract from
        each episode.
    statement_similarity_threshold
        Known statements below this similarity don't take part in a prediction.
    min_confidence, min_importance
        Semantic memories below these (0 to 1) are not kept.
    preset
        Named retrieval numbers: ``"default"``, ``"cortex"`` or ``"memo"``.
    layer_weights
        Weights of summary, narrative and messages in an episode's score; renormalised over the
        layers present.
    message_weights
        Weights of the terms of a message's score: words, tokens, vector, speaker, date, statement,
        answer. Left as they are, the vector counts 0.5 with another embedder than the package's
        own.
    rrf_k
        ``k`` of reciprocal rank fusion.
    hnsw_threshold
        From this many vectors on, an index is a graph instead of a scan.
    snapshot_threshold
        From this many messages on, the indexes of a user are written when they are closed, and read
        when they are opened again.
    memory_budget_bytes
        Memory that open users may take before the longest unused are closed.
    max_message_bytes
        Longest message, in bytes of UTF-8.
    llm_concurrency
        Model calls in flight at once, over all users.
    trace
        Keep prompts and answers for inspection (private text!).
    llm_cache
        Keep model answers by the hash of their prompt (private text, deleted with the user).
    llm
        The endpoint to use where ``MemorySystem`` isn't given another.
    embedding
        Likewise.

    Raises
    ------
    ConfigError
        For a value of the wrong type. Bounds are checked when a memory system is made.

    Examples
    --------
    >>> MemoryConfig(buffer_size_max=10).buffer_size_max
    10
    """

    buffer_size_min: int = 2
    buffer_size_max: int = 25
    boundary_mode: BoundaryMode = "auto"
    boundary_confidence_threshold: float = 0.7
    time_gap_minutes: float = 30.0
    boundary_window_messages: int = 20
    merge_episodes: bool = False
    merge_similarity_threshold: float = 0.85
    merge_max_gap_minutes: float = 60.0
    semantic_memory: bool = True
    prediction_correction: bool = True
    statement_similarity_threshold: float = 0.0
    min_confidence: float = 0.6
    min_importance: float = 0.5
    preset: Preset = "default"
    layer_weights: tuple[float, float, float] = (0.2, 0.3, 0.5)
    message_weights: tuple[float, float, float, float, float, float, float] = (
        2.5,
        0.7,
        0.3,
        1.0,
        1.5,
        1.0,
        0.2,
    )
    rrf_k: float = 60.0
    hnsw_threshold: int = 2_000_000
    snapshot_threshold: int = 2_048
    memory_budget_bytes: int = 512 * 1024 * 1024
    max_message_bytes: int = 16 * 1024 * 1024
    llm_concurrency: int = 8
    trace: bool = False
    llm_cache: bool = True
    llm: LLMConfig | None = None
    embedding: EmbeddingConfig | None = None

    def __post_init__(self) -> None:
        _check_fields(self, "")

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        **overrides: Any,
    ) -> MemoryConfig:
        """Reads settings from a TOML file and the environment.

        Parameters
        ----------
        path
            A TOML file with fields of this class at the top and tables ``[llm]`` and
            ``[embedding]``. Without one the file that ``EPISODICA_CONFIG`` names, if any. No other
            place is looked at.
        env
            The environment; without one that of the process. ``EPISODICA_BUFFER_SIZE_MAX=10`` sets
            ``buffer_size_max``, ``EPISODICA_LLM_MODEL`` and ``EPISODICA_EMBEDDING_PATH`` the fields
            of the sections.
        **overrides
            Fields that win over both.

        Raises
        ------
        ConfigError
            For unknown names (with the nearest known one as hint), values of the wrong type and
            unreadable files.

        Examples
        --------
        >>> MemoryConfig.load(env={"EPISODICA_TIME_GAP_MINUTES": "45"}, trace=True).time_gap_minutes
        45.0
        """
        sections = {"llm": LLMConfig, "embedding": EmbeddingConfig}
        given = from_sources(cls, sections, path, os.environ if env is None else env)
        return cls().replace(**{**given, **overrides})

    def replace(self, **overrides: Any) -> MemoryConfig:
        """A copy with some fields changed.

        Raises
        ------
        ConfigError
            For unknown names and values of the wrong type.
        """
        check_names(overrides, (one.name for one in fields(self)))
        return replace(self, **overrides)

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain JSON types, without keys, headers and proxies."""
        values: dict[str, Any] = json.loads(self._engine_json())
        for section in SECTIONS:
            values[section] = _open_values(getattr(self, section))
        return values

    def _engine_json(self) -> str:
        return json.dumps(
            {one.name: getattr(self, one.name) for one in fields(self) if one.name not in SECTIONS}
        )


def _open_values(part: LLMConfig | EmbeddingConfig | None) -> dict[str, Any] | None:
    if part is None:
        return None
    values = {one.name: getattr(part, one.name) for one in fields(part) if one.name not in _SECRET}
    if "fallback" in values:
        values["fallback"] = _open_values(values["fallback"])
    return values


def _article(noun: str) -> str:
    return noun if noun == "text" else f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _check_fields(config: MemoryConfig | LLMConfig | EmbeddingConfig, where: str) -> None:
    """Checks every field's type and puts numbers into their own (``1`` for a float becomes ``1.0``)."""
    for one in fields(config):
        value = getattr(config, one.name)
        checked = _checked(value, one.name, one.default, where)
        if checked is not value:
            object.__setattr__(config, one.name, checked)


def _checked(value: Any, name: str, default: Any, where: str) -> Any:
    if name in SECTIONS or name == "fallback":
        return _section("llm" if name == "fallback" else name, value)
    if name in MAPPINGS:
        return _mapping(value, f"{where}{name}", texts=name == "headers")
    if name in OPTIONAL:
        if value is None and default is None:
            return None
        default = OPTIONAL[name]
    if name in _CHOICES and value not in _CHOICES[name]:
        raise ConfigError(
            f"{where}{name} is unknown: `{value}`", hint=nearest_hint(value, _CHOICES[name])
        )
    if type(value) is type(default) and not isinstance(value, tuple):
        return value
    if (
        isinstance(default, float)
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ):
        return float(value)
    if (
        isinstance(default, tuple)
        and isinstance(value, (tuple, list))
        and len(value) == len(default)
    ):
        return tuple(_checked(item, name, 0.0, where) for item in value)
    raise ConfigError(
        f"{where}{name} must be {_article(type_name(default))}, not `{type(value).__name__}`"
    )


def _mapping(value: Any, name: str, *, texts: bool) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ConfigError(
            f"{name} must be a section of names and values, not `{type(value).__name__}`"
        )
    if texts and not all(isinstance(item, str) for item in value.values()):
        raise ConfigError(f"the values of {name} must be text")
    return dict(value)


def _section(name: str, value: Any) -> LLMConfig | EmbeddingConfig | None:
    cls: type[LLMConfig | EmbeddingConfig] = LLMConfig if name == "llm" else EmbeddingConfig
    if value is None or isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a section, not `{type(value).__name__}`")
    check_names((f"{name}.{key}" for key in value), (f"{name}.{one.name}" for one in fields(cls)))
    if cls is LLMConfig and "model" not in value:
        raise ConfigError("an LLM needs a model: `llm.model` is missing")
    return cls(**value)


def resolve_config(config: MemoryConfig | None, overrides: dict[str, Any]) -> MemoryConfig:
    """The settings in force.

    A ``config`` is taken as it is; without one, environment and file are read.
    """
    if config is None:
        return MemoryConfig.load(**overrides)
    if not isinstance(config, MemoryConfig):
        raise ConfigError(f"config must be a MemoryConfig, not `{type(config).__name__}`")
    return config.replace(**overrides)
