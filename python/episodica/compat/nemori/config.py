"""Nemori's settings, and which of ``episodica``'s they set.

Called by :mod:`episodica.compat.nemori` only.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import field, make_dataclass
from typing import Any, ClassVar

from ...config import EmbeddingConfig, LLMConfig

# Nemori's fields and defaults, which scripts read back.
DEFAULTS: dict[str, Any] = {
    "storage_path": "./memories",
    "llm_model": "gpt-4o-mini",
    "embedding_model": "text-embedding-3-small",
    "embedding_dimension": 1536,
    "language": "en",
    "buffer_size_min": 2,
    "buffer_size_max": 25,
    "enable_batch_segmentation": True,
    "batch_threshold": 20,
    "episode_min_messages": 2,
    "episode_max_messages": 25,
    "enable_episode_merging": True,
    "merge_similarity_threshold": 0.85,
    "merge_top_k": 5,
    "enable_semantic_memory": True,
    "enable_prediction_correction": True,
    "search_top_k_episodes": 10,
    "search_top_k_semantic": 10,
    "enable_norlift_ranking": False,
    "statement_similarity_threshold": 0.7,
    "agent_id": "default",
}
# Fields that hold a key or an address, and the variables of the environment that fill them.
ENVIRONMENT: dict[str, tuple[str, ...]] = {
    "openai_api_key": ("OPENAI_API_KEY",),
    "llm_api_key": ("LLM_API_KEY", "OPENROUTER_API_KEY", "OPENAI_API_KEY"),
    "llm_base_url": ("LLM_BASE_URL", "OPENAI_BASE_URL"),
    "embedding_api_key": ("EMBEDDING_API_KEY", "OPENAI_API_KEY"),
    "embedding_base_url": ("EMBEDDING_BASE_URL", "OPENAI_BASE_URL"),
}
# Fields that set one of this package's settings, if the script names them.
TRANSLATED: dict[str, str] = {
    "buffer_size_min": "buffer_size_min",
    "buffer_size_max": "buffer_size_max",
    "episode_min_messages": "buffer_size_min",
    "episode_max_messages": "buffer_size_max",
    "batch_threshold": "boundary_window_messages",
    "enable_batch_segmentation": "boundary_mode",
    "enable_smart_boundary": "boundary_mode",
    "boundary_confidence_threshold": "boundary_confidence_threshold",
    "enable_episode_merging": "merge_episodes",
    "merge_similarity_threshold": "merge_similarity_threshold",
    "enable_semantic_memory": "semantic_memory",
    "enable_prediction_correction": "prediction_correction",
    "statement_similarity_threshold": "statement_similarity_threshold",
    "max_workers": "llm_concurrency",
    "semantic_generation_workers": "llm_concurrency",
    "llm_max_concurrent": "llm_concurrency",
    "enable_cache": "llm_cache",
    "agent_id": "tenant",
}
# The boundary mode if one of these is turned off; turned on, they change nothing.
_TURNED_OFF = {"enable_batch_segmentation": "message", "enable_smart_boundary": "heuristic"}
# Fields of the model and of the embedder, which apply if it is named and can be reached. The names
# of the fields differ between versions.
MODEL: dict[str, tuple[str, ...]] = {
    "model": ("llm_model",),
    "base_url": ("llm_base_url", "openai_base_url", "base_url"),
    "api_key": ("llm_api_key", "openai_api_key", "api_key"),
    "timeout_seconds": ("llm_timeout",),
    "max_attempts": ("llm_retries",),
}
EMBEDDING: dict[str, tuple[str, ...]] = {
    "model": ("embedding_model",),
    "base_url": ("embedding_base_url", *MODEL["base_url"]),
    "api_key": ("embedding_api_key", *MODEL["api_key"]),
    "dimension": ("embedding_dimension",),
    "batch_size": ("batch_size",),
}
_MAX_BATCH_SIZE = 100
# Fields that this interface itself uses.
OBEYED = frozenset(
    {"storage_path", "search_top_k_episodes", "search_top_k_semantic", "enable_norlift_ranking"}
)
# The other fields of Nemori's versions. They configure parts that this package does not have.
WITHOUT_EFFECT = (
    *("boundary_exclude_last_message", "boundary_exclude_threshold"),
    *("cache_size", "cache_ttl_seconds", "episode_cache_ttl", "semantic_cache_ttl"),
    *("chroma_collection_prefix", "chroma_persist_directory", "faiss_index_type", "use_faiss"),
    *("db_pool_max", "db_pool_min", "dsn", "llm_token_budget", "merge_top_k"),
    *("enable_parallel_search", "extract_semantic_per_episode", "language"),
    *("lexical_index_backend", "vector_index_backend", "storage_backend", "vector_db_type"),
    *("max_statements_for_prediction", "prediction_temperature", "semantic_similarity_threshold"),
    *("norlift_epsilon", "norlift_percentile_tau", "norlift_pool_size_episodes"),
    *("norlift_pool_size_semantic", "norlift_sigmoid_lambda"),
    *("qdrant_api_key", "qdrant_collection_prefix", "qdrant_port", "qdrant_url"),
)
_FIELDS = sorted({*DEFAULTS, *ENVIRONMENT, *TRANSLATED, *OBEYED, *WITHOUT_EFFECT})
_reported: set[str] = set()
_told_offline: list[bool] = []


def _from_environment(name: str) -> str | None:
    return next((os.environ[one] for one in ENVIRONMENT[name] if os.environ.get(one)), None)


class MemoryConfig:
    """Nemori's configuration.

    Accepts every field; fields without effect are named once, in a warning.

    Parameters
    ----------
    **fields
        Nemori's fields, such as ``storage_path``, ``buffer_size_max``, ``search_top_k_episodes``. A
        language model is used if ``llm_model``, ``llm_base_url`` or ``openai_api_key`` name one and
        an address or a key (of the environment, too) reaches it; ``embedding_model`` likewise.
        If only the environment has a key, both stay unused, and a warning says so once.

    Examples
    --------
    >>> MemoryConfig.from_dict({"storage_path": "there"}).storage_path
    'there'
    """

    # Scripts of the later versions ask `dataclasses.fields` which fields there are.
    __dataclass_fields__: ClassVar[dict[str, Any]] = vars(
        make_dataclass(
            "MemoryConfig", [(name, Any, field(default=DEFAULTS.get(name))) for name in _FIELDS]
        )
    )["__dataclass_fields__"]

    def __init__(self, **fields: Any) -> None:
        environment = {name: _from_environment(name) for name in ENVIRONMENT}
        self.__dict__.update(DEFAULTS, **environment, _given={})
        for name, value in fields.items():
            self.__dict__[name] = self._given[name] = value
        self._report()
        key = next((name for name in ENVIRONMENT["llm_api_key"] if os.environ.get(name)), None)
        if key and not self.llm() and not _told_offline:
            _told_offline.append(True)
            warnings.warn(
                f"{key} is set, but no field names a model: episodica works without one;"
                " name `llm_model` to use it",
                UserWarning,
                stacklevel=3,
            )

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = self._given[name] = value
        self._report()

    def __getattr__(self, name: str) -> Any:
        if name in self.__dataclass_fields__:
            return None
        raise AttributeError(f"this configuration has no `{name}`")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MemoryConfig:
        """Builds a configuration from a mapping, such as a ``config.json``."""
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """All fields but the keys."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not name.startswith("_") and not name.endswith("api_key")
        }

    def validate(self) -> bool:
        """Whether the buffer's minimum is below its maximum."""
        return bool(self.buffer_size_min < self.buffer_size_max)

    def overrides(self) -> dict[str, Any]:
        """The arguments of :class:`episodica.MemorySystem` that the script's fields set."""
        made = {
            ours: self._given[theirs]
            for theirs, ours in TRANSLATED.items()
            if theirs in self._given and theirs not in _TURNED_OFF
        }
        for theirs, mode in _TURNED_OFF.items():
            if self._given.get(theirs) is False:
                made["boundary_mode"] = mode
        if model := self.llm():
            made["llm"] = model
        if embedding := self.embedding():
            made["embedding"] = embedding
        # The window is never longer than the buffer.
        if "boundary_window_messages" in made and "buffer_size_max" in made:
            made["boundary_window_messages"] = min(
                made["boundary_window_messages"], made["buffer_size_max"]
            )
        return made

    def llm(self) -> LLMConfig | None:
        """The language model that the script's fields name, if it can be reached."""
        given = self._named(MODEL)
        if not any(given.get(name) for name in ("model", "base_url", "api_key")):
            return None
        return LLMConfig(**given, **reach) if (reach := self._reach(given, "llm")) else None

    def embedding(self) -> EmbeddingConfig | None:
        """The embedder that the script's fields name, if it can be reached."""
        given = self._named(EMBEDDING)
        if "model" not in given or not (reach := self._reach(given, "embedding")):
            return None
        if "batch_size" in given:
            given["batch_size"] = max(1, min(int(given["batch_size"]), _MAX_BATCH_SIZE))
        return EmbeddingConfig(**given, **reach)

    def _named(self, table: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
        """The fields of this package, with the values that the script gave."""
        found = {
            ours: next((self._given[name] for name in theirs if self._given.get(name)), None)
            for ours, theirs in table.items()
        }
        return {name: value for name, value in found.items() if value is not None}

    def _reach(self, given: dict[str, Any], kind: str) -> dict[str, Any]:
        """Takes address and key from `given`, else from the environment; empty without either."""
        found = {
            name: given.pop(name, None) or _from_environment(f"{kind}_{name}")
            for name in ("base_url", "api_key")
        }
        if not any(found.values()):
            return {}
        if kind == "llm":
            given.setdefault("model", self.llm_model)
        # The engine itself reads OpenAI's variables, and keeps them out of the settings.
        return {
            name: None if value == os.environ.get(f"OPENAI_{name.upper()}") else value
            for name, value in found.items()
        }

    def _report(self) -> None:
        obeyed = {*TRANSLATED, *OBEYED}
        for table, used in ((MODEL, self.llm()), (EMBEDDING, self.embedding())):
            if used:
                obeyed.update(*table.values())
        report_once(sorted(name for name in self._given if name not in obeyed))

    def __repr__(self) -> str:
        shown = [
            f"{name}={value!r}"
            for name, value in self._given.items()
            if not name.endswith("api_key")
        ]
        return f"MemoryConfig({', '.join(shown)})"


def report_once(names: Iterable[str]) -> None:
    """Warns of names without effect, each once per process."""
    fresh = [name for name in names if name not in _reported]
    if fresh:
        _reported.update(fresh)
        warnings.warn(
            f"of Nemori's settings these have no effect in episodica: {', '.join(fresh)}",
            UserWarning,
            stacklevel=5,
        )
