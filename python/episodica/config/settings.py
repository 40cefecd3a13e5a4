"""Settings of the engine and of models, and where their values come from.

The engine's table of settings has the allowed values; here values get their types and their
precedence: keyword > environment > TOML file > default.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

from .._native import settings
from ..errors import ConfigError
from ..hints import nearest_hint, shown
from ..value import Fields
from .bounds import as_float, bounded, mapping
from .endpoint import copied, endpoint_settings, open_values, pickled_values, shown_settings
from .names import BEFORE_ENGINE, MAPPINGS, OPTIONAL, SECTIONS, check_names, type_name
from .sources import from_sources

# The description of each setting of the engine; see `tools/settings.py`.
_TABLE: dict[str, dict[str, Any]] = {
    row["name"]: row for table in settings().values() for row in table
}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LLMConfig(Fields):
    """An OpenAI-compatible chat endpoint (OpenAI, vLLM, Ollama, llama.cpp, ...).

    Parameters
    ----------
    model
        The model's name at the endpoint.
    base_url
        Address up to and including the version, e.g. ``http://localhost:8000/v1``. Without one:
        ``OPENAI_BASE_URL``, then OpenAI's. Of a query only ``api-version`` is shown and pickled.
    api_key
        By default ``OPENAI_API_KEY``. Never shown by ``repr``, refused in files, and never
        pickled: another process takes it from its environment.
    timeout_seconds
        Maximum wait for one attempt, 0.001 to 3600.
    organization
        Sent with every request.
    headers
        Sent with every request; their values are never shown.
    proxy
        By default the environment's (``HTTPS_PROXY``, ``NO_PROXY``, ...).
    max_attempts
        Maximum number of requests for one call, 1 to 10. A further request follows only after
        network errors and the statuses 408, 409, 429 and 5xx.
    retry_wait_seconds
        Wait before the second request, doubled before each further one, 0 to 60.
    breaker_failures
        Failed requests in a row after which no call is sent for ``breaker_seconds``.
    breaker_seconds
        How long no call is sent after such failures, 0 to 3600; then a single call tests the
        endpoint.
    max_tokens
        Maximum number of tokens of any answer. Without a value: 200 to 6,000 by the kind of prompt,
        and more after an answer was cut off.
    context_window
        Tokens of prompt and answer together, at least 2,048. Without a value, 32,768 are assumed.
    fallback
        The endpoint to ask if this one gives no answer.
    reasoning_effort
        How long a reasoning model thinks before it answers: ``"minimal"``, ``"low"`` or what else
        the server knows. Sent as it is; by default the server's.
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
    context_window: int | None = field(default=None, repr=False)
    fallback: LLMConfig | None = field(default=None, repr=False)
    reasoning_effort: str | None = field(default=None, repr=False)
    extra: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        _check_fields(self, "llm.")

    def __repr__(self) -> str:
        return shown_settings(self)

    def __getstate__(self) -> list[Any]:
        return pickled_values(self)

    def __copy__(self) -> Self:
        # Not by way of a pickle, which has no key.
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copied(self, memo)

    def _settings(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "endpoint": endpoint_settings(self),
            "fallback": self.fallback._settings() if self.fallback else None,
            "max_tokens": self.max_tokens,
            "context_window": self.context_window,
            "extra": {**self._reasoning(), **(self.extra or {})},
        }

    def _reasoning(self) -> dict[str, Any]:
        return {} if self.reasoning_effort is None else {"reasoning_effort": self.reasoning_effort}

    def _native(self) -> dict[str, Any]:
        return {"kind": "endpoint", "settings": json.dumps(self._settings())}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbeddingConfig(Fields):
    """Where vectors come from instead of the embedder inside the package.

    Either a local sentence-transformers folder (``path``), or an OpenAI-compatible endpoint
    (``model``).

    Parameters
    ----------
    model
        The model's name at the endpoint.
    base_url
        As for :class:`LLMConfig`.
    api_key
        As for :class:`LLMConfig`.
    dimension
        Length of the vectors, for models that offer several lengths. By default the endpoint's.
    path
        A folder with ``config.json``, ``tokenizer.json`` and ``model.safetensors`` (BERT family).
    timeout_seconds, organization, headers, proxy, max_attempts
        As for :class:`LLMConfig`.
    retry_wait_seconds, breaker_failures, breaker_seconds
        As for :class:`LLMConfig`.
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

    def __repr__(self) -> str:
        return shown_settings(self)

    def __getstate__(self) -> list[Any]:
        return pickled_values(self)

    def __copy__(self) -> Self:
        # Not by way of a pickle, which has no key.
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return copied(self, memo)

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoryConfig(Fields):
    """Every setting of a memory system.

    ``MemoryConfig()`` holds the defaults and ignores environment variables and the settings file;
    :meth:`load` reads both. ``help(MemoryConfig)`` and the reference describe every setting.

    Parameters
    ----------
    llm : LLMConfig or None
        The language model's endpoint, unless ``MemorySystem`` is given another.
    embedding : EmbeddingConfig, str or None
        The embedder, or its name such as ``"ollama:nomic-embed-text"``, unless
        ``MemorySystem`` is given another.
    keep_thinking : bool
        Keep what a model thought before it answered (thinking parts, ``<think>``) as its words.

    Raises
    ------
    ConfigError
        For a value of the wrong type or out of its bounds, naming the setting.

    Examples
    --------
    >>> MemoryConfig(buffer_size_max=10).buffer_size_max
    10
    """

    buffer_size_min: int = 2
    buffer_size_max: int = 25
    boundary_mode: Literal["auto", "heuristic", "window", "message"] = "auto"
    boundary_confidence_threshold: float = 0.7
    time_gap_minutes: float = 30.0
    boundary_window_messages: int = 20
    narratives: bool = False
    merge_episodes: bool = False
    merge_similarity_threshold: float = 0.85
    merge_max_gap_minutes: float = 60.0
    semantic_memory: bool = True
    learn_from: Literal["both", "user", "assistant"] = "both"
    prediction_correction: bool = True
    statement_similarity_threshold: float = 0.0
    min_confidence: float = 0.6
    min_importance: float = 0.5
    preset: Literal["default", "cortex", "memo"] = "default"
    layer_weights: tuple[float, float, float] = (0.0, 0.2, 0.5)
    message_weights: tuple[float, float, float, float, float, float, float, float] = (
        2.5,
        0.5,
        0.85,
        1.2,
        2.0,
        1.0,
        0.2,
        1.5,
    )
    rrf_k: float = 60.0
    snapshot_threshold: int = 2_048
    memory_budget_bytes: int = 536_870_912
    max_open_files: int = 128
    max_message_bytes: int = 16_777_216
    secrets: Literal["auto", "mask", "keep", "refuse"] = "auto"
    search_timeout_seconds: float = 2.0
    llm_concurrency: int = 8
    timezone: str | None = None
    trace: bool = False
    llm_cache: bool = True
    llm: LLMConfig | None = None
    embedding: EmbeddingConfig | str | None = None
    keep_thinking: bool = False

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
            ``[embedding]``. By default the file that ``EPISODICA_CONFIG`` names, if any.
        env
            The environment; by default the process's. ``EPISODICA_BUFFER_SIZE_MAX=10`` sets
            ``buffer_size_max``; ``EPISODICA_LLM_MODEL`` and ``EPISODICA_EMBEDDING_PATH`` set fields
            of the sections.
        **overrides
            Fields that win over both.

        Returns
        -------
        MemoryConfig
            The settings in force.

        Raises
        ------
        ConfigError
            For unknown names (with the nearest known one as hint), values of the wrong type or out
            of their bounds, and unreadable files.

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

        Parameters
        ----------
        **overrides
            Fields and their new values.

        Returns
        -------
        MemoryConfig
            The changed copy.

        Raises
        ------
        ConfigError
            For unknown names and values of the wrong type.

        Examples
        --------
        >>> MemoryConfig().replace(trace=True).trace
        True
        """
        check_names(overrides, (one.name for one in fields(self)))
        return replace(self, **overrides)

    def to_dict(self) -> dict[str, Any]:
        """All settings as plain JSON types, without keys, headers and proxies.

        Returns
        -------
        dict of str to Any
            Settings by name.

        Examples
        --------
        >>> MemoryConfig().to_dict()["buffer_size_max"]
        25
        """
        values: dict[str, Any] = json.loads(self._engine_json())
        for section in SECTIONS:
            values[section] = open_values(getattr(self, section))
        return {**values, **{name: getattr(self, name) for name in BEFORE_ENGINE}}

    def _engine_json(self) -> str:
        others = (*SECTIONS, *BEFORE_ENGINE)
        names = (one.name for one in fields(self) if one.name not in others)
        return json.dumps({name: getattr(self, name) for name in names})


def _documentation() -> str:
    """The documentation of all settings: the engine describes its own."""
    entries = ""
    for one in fields(MemoryConfig):
        if row := _TABLE.get(one.name):
            bounds = f" Allowed: {row['allowed']}." if type_name(one.default) in _NUMBERS else ""
            entries += f"    {one.name}\n        {row['documentation']}{bounds}\n"
    return (MemoryConfig.__doc__ or "").replace("    llm : ", f"{entries}    llm : ", 1)


_NUMBERS = ("integer", "number", "list of numbers")
MemoryConfig.__doc__ = _documentation()


def _article(noun: str) -> str:
    return noun if noun == "text" else f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _check_fields(config: MemoryConfig | LLMConfig | EmbeddingConfig, where: str) -> None:
    """Checks type and bounds of every field; ``1`` for a float becomes ``1.0``."""
    for one in fields(config):
        value = getattr(config, one.name)
        checked = _checked(value, one.name, one.default, where)
        if checked is not value:
            object.__setattr__(config, one.name, checked)


def _checked(value: Any, name: str, default: Any, where: str) -> Any:
    if name in SECTIONS or name == "fallback":
        return _section("llm" if name == "fallback" else name, value)
    if name in MAPPINGS:
        return mapping(value, f"{where}{name}", texts=name == "headers")
    if name in OPTIONAL:
        if value is None and default is None:
            return None
        default = OPTIONAL[name]
    row = _TABLE.get(name, {})
    choices = row.get("choices")
    if choices and value not in choices:
        raise ConfigError(
            f"{where}{name} is unknown: `{value!s:.60}`", hint=nearest_hint(value, choices)
        )
    if type(value) is type(default) and not isinstance(value, (tuple, float)):
        return bounded(value, name, row, where)
    if (
        isinstance(default, float)
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
    ):
        return bounded(as_float(value), name, row, where)
    if (
        isinstance(default, tuple)
        and isinstance(value, (tuple, list))
        and len(value) == len(default)
    ):
        return tuple(_checked(item, name, 0.0, where) for item in value)
    raise ConfigError(
        f"{where}{name} must be {_article(type_name(default))}, not `{type(value).__name__}`"
    )


def _section(name: str, value: Any) -> LLMConfig | EmbeddingConfig | str | None:
    cls: type[LLMConfig | EmbeddingConfig] = LLMConfig if name == "llm" else EmbeddingConfig
    # The name of an embedding model is read when it is used.
    if value is None or isinstance(value, cls) or (name == "embedding" and isinstance(value, str)):
        return value
    if not isinstance(value, Mapping):
        hint = f'write `{name}=LLMConfig("{shown(value)}")`' if isinstance(value, str) else None
        raise ConfigError(f"{name} must be a section, not `{type(value).__name__}`", hint=hint)
    check_names((f"{name}.{key}" for key in value), (f"{name}.{one.name}" for one in fields(cls)))
    if cls is LLMConfig and "model" not in value:
        raise ConfigError("an LLM needs a model: `llm.model` is missing")
    return cls(**value)


def resolve_config(config: MemoryConfig | None, overrides: dict[str, Any]) -> MemoryConfig:
    """The settings in force: from ``config``, or without it, from environment and file."""
    if config is None:
        return MemoryConfig.load(**overrides)
    if not isinstance(config, MemoryConfig):
        raise ConfigError(f"config must be a MemoryConfig, not `{type(config).__name__}`")
    return config.replace(**overrides)
