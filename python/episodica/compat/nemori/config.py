"""Nemori's settings, and which of ``episodica``'s they set.

Called by :mod:`episodica.compat.nemori` only.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

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
    "openai_api_key": None,
}
# Fields that set one of ours. Only named ones are passed on; the others keep our defaults.
_TRANSLATED = {
    "buffer_size_min": "buffer_size_min",
    "buffer_size_max": "buffer_size_max",
    "batch_threshold": "boundary_window_messages",
    "enable_episode_merging": "merge_episodes",
    "merge_similarity_threshold": "merge_similarity_threshold",
    "enable_semantic_memory": "semantic_memory",
    "enable_prediction_correction": "prediction_correction",
    "statement_similarity_threshold": "statement_similarity_threshold",
    "boundary_confidence_threshold": "boundary_confidence_threshold",
    "episode_min_messages": "buffer_size_min",
    "episode_max_messages": "buffer_size_max",
    "max_workers": "llm_concurrency",
    "semantic_generation_workers": "llm_concurrency",
    "enable_cache": "llm_cache",
}
# Fields of the embedder; they count where `embedding_model` is named and can be reached.
_EMBEDDING = ("embedding_model", "embedding_dimension", "batch_size")
_MAX_BATCH_SIZE = 100
# Fields that locate a language model; their names differ between versions.
_MODEL = {
    "model": ("llm_model",),
    "base_url": ("llm_base_url", "openai_base_url", "base_url"),
    "api_key": ("llm_api_key", "openai_api_key", "api_key"),
}
# Fields that this interface itself uses.
_OBEYED = {
    "storage_path",
    "search_top_k_episodes",
    "search_top_k_semantic",
    "enable_norlift_ranking",
}
_reported: set[str] = set()
_told_offline: list[bool] = []


class MemoryConfig:
    """Nemori's configuration.

    Accepts every field; those without effect are named once, in a warning.

    Parameters
    ----------
    **fields
        Nemori's fields, such as ``storage_path``, ``buffer_size_max``, ``search_top_k_episodes``. A
        language model is used if ``llm_model``, ``llm_base_url`` or ``openai_api_key`` name one and
        an address or a key (``OPENAI_API_KEY`` counts) reaches it; ``embedding_model`` likewise.
        A key in the environment alone uses neither, and a warning says so once.

    Examples
    --------
    >>> MemoryConfig.from_dict({"storage_path": "there"}).storage_path
    'there'
    """

    def __init__(self, **fields: Any) -> None:
        self._given = dict(fields)
        self.__dict__.update(
            {**DEFAULTS, "openai_api_key": os.environ.get("OPENAI_API_KEY"), **fields}
        )
        obeyed = {*_TRANSLATED, *_OBEYED}
        if self.llm():
            obeyed.update(*_MODEL.values())
        if self.embedding():
            obeyed.update(_EMBEDDING)
        report_once(sorted(name for name in fields if name not in obeyed))
        if os.environ.get("OPENAI_API_KEY") and not self.llm() and not _told_offline:
            _told_offline.append(True)
            warnings.warn(
                "OPENAI_API_KEY is set, but no field names a model: episodica works without one;"
                " name `llm_model` to use it",
                UserWarning,
                stacklevel=3,
            )

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"this configuration has no `{name}`")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MemoryConfig:
        """Builds a configuration from a mapping, such as a ``config.json``."""
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """All fields but the key."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if not name.startswith("_") and not name.endswith("api_key")
        }

    def validate(self) -> bool:
        """Whether the buffer's minimum is below its maximum."""
        return bool(self.buffer_size_min < self.buffer_size_max)

    def overrides(self) -> dict[str, Any]:
        """The fields of :class:`episodica.MemoryConfig` that the script's fields set."""
        made = {
            ours: self._given[theirs]
            for theirs, ours in _TRANSLATED.items()
            if theirs in self._given
        }
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
        given = {
            ours: next((self._given[name] for name in theirs if self._given.get(name)), None)
            for ours, theirs in _MODEL.items()
        }
        if not any(given.values()) or not (
            given["base_url"] or given["api_key"] or os.environ.get("OPENAI_API_KEY")
        ):
            return None
        return LLMConfig(
            given["model"] or self.llm_model, base_url=given["base_url"], api_key=given["api_key"]
        )

    def embedding(self) -> EmbeddingConfig | None:
        """The embedder that the script's fields name, if it can be reached."""
        model, where = self._given.get("embedding_model"), self._endpoint()
        if not model or not where:
            return None
        batch = int(self._given.get("batch_size") or 32)
        return EmbeddingConfig(
            model,
            dimension=self._given.get("embedding_dimension"),
            batch_size=max(1, min(batch, _MAX_BATCH_SIZE)),
            **where,
        )

    def _endpoint(self) -> dict[str, Any]:
        """Address and key; empty if neither the fields nor the environment have one."""
        found = {
            name: next((self._given[one] for one in _MODEL[name] if self._given.get(one)), None)
            for name in ("base_url", "api_key")
        }
        reached = any(found.values()) or os.environ.get("OPENAI_API_KEY")
        return found if reached else {}

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
            stacklevel=4,
        )
