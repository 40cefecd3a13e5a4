"""What a user would pick instead, on the same texts, the same vectors and the same questions, in the same run.

Each does one part of what a hybrid search does: words alone, or the nearest vectors. What is not installed is named, not passed over.
"""

from __future__ import annotations

import importlib
import re
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from evaluation.benchmarks.stores import USER, settled
from evaluation.benchmarks.timing import Times, times

WARM_UP = 5
K = 10
_WORD = re.compile(r"\w+")


def texts_and_vectors(count: int) -> tuple[list[str], np.ndarray[Any, Any], list[str], Callable[[str], np.ndarray[Any, Any]]]:
    """The messages of a store, their vectors as it keeps them, its questions, and the vectors of those."""
    from episodica import MemorySystem

    store = settled(count)
    with MemorySystem(store["path"]) as memory:
        texts = [message.content for message in memory.messages(USER)]
    rows = np.load(next(store["path"].glob("messages/vector_db/*_embeddings.npy")), mmap_mode="r")
    questions = store["questions"]
    asked = _embedded(questions)
    return texts, np.ascontiguousarray(rows), questions, lambda text: asked[text]


def _embedded(questions: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """The questions' vectors: a store of their own embeds them as messages."""
    from episodica import MemorySystem

    with tempfile.TemporaryDirectory() as folder:
        distinct = sorted(set(questions))
        with MemorySystem(folder, semantic_memory=False) as memory:
            memory.add_messages(USER, [{"role": "user", "content": text} for text in distinct])
        from pathlib import Path

        rows = np.load(next(Path(folder).glob("messages/vector_db/*_embeddings.npy")))
    return dict(zip(distinct, rows, strict=True))


def measured(count: int, runs: int) -> Iterator[tuple[str, str, Times | None, str]]:
    """Name, what it does, its times, and why there are none."""
    texts, rows, questions, vector = texts_and_vectors(count)
    for name, (does, module, make) in RIVALS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            yield name, does, None, f"`{module}` is not installed"
            continue
        most = 20 if name == "rank-bm25" and count > 20_000 else runs
        with tempfile.TemporaryDirectory() as folder:
            ask = make(texts, rows, vector, folder)
            times(ask, questions[:WARM_UP])
            yield name, does, times(ask, questions[WARM_UP : WARM_UP + most]), ""


Asked = Callable[[str], object]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _faiss(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return lambda text: index.search(vector(text)[None], K)


def _hnsw(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    import faiss

    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(rows.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efSearch = 64
    index.add(rows)
    return lambda text: index.search(vector(text)[None], K)


def _rank_bm25(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([_words(text) or [""] for text in texts])
    return lambda text: np.argpartition(-index.get_scores(_words(text)), K)[:K]


def _bm25s(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    import bm25s

    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    return lambda text: index.retrieve(bm25s.tokenize([text], show_progress=False), k=K, show_progress=False)


def _tantivy(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    import tantivy

    schema = tantivy.SchemaBuilder().add_text_field("body", tokenizer_name="en_stem").build()
    index = tantivy.Index(schema)
    writer = index.writer(50_000_000)
    for text in texts:
        writer.add_document(tantivy.Document(body=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return lambda text: searcher.search(index.parse_query(" ".join(_words(text)), ["body"]), K).hits


def _lancedb(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    import lancedb
    import pyarrow

    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.ravel()), rows.shape[1])
    data = pyarrow.table({"text": texts[: len(rows)], "vector": vectors})
    table = lancedb.connect(folder).create_table("messages", data)
    return lambda text: table.search(vector(text)).limit(K).to_arrow()


def _chromadb(texts: list[str], rows: Any, vector: Callable[[str], Any], folder: str) -> Asked:
    import chromadb

    collection = chromadb.EphemeralClient().create_collection(f"messages-{len(rows)}", embedding_function=None)
    for start in range(0, len(rows), 5_000):
        part = rows[start : start + 5_000]
        collection.add(ids=[str(start + at) for at in range(len(part))], embeddings=part)
    return lambda text: collection.query(query_embeddings=vector(text)[None], n_results=K, include=["distances"])


RIVALS: dict[str, tuple[str, str, Callable[..., Asked]]] = {
    "faiss-cpu flat": ("nearest vectors, exact, given the query's vector", "faiss", _faiss),
    "faiss-cpu HNSW32": ("nearest vectors, graph, given the query's vector", "faiss", _hnsw),
    "rank-bm25": ("words, no stemming", "rank_bm25", _rank_bm25),
    "bm25s": ("words, no stemming", "bm25s", _bm25s),
    "tantivy": ("words, English stemming", "tantivy", _tantivy),
    "lancedb": ("nearest vectors, exact, on disk", "lancedb", _lancedb),
    "chromadb": ("nearest vectors, graph", "chromadb", _chromadb),
}
