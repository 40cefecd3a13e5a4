"""The alternatives, each on the texts, vectors and questions of our store, in its own process.

    python -m evaluation.benchmarks.rivals NAME FOLDER OWN

builds one of them from what :func:`evaluation.benchmarks.beside.laid_out` put into FOLDER, writing
into OWN only, says so with a line of JSON, and then answers the questions that each line of input
names (`0 20`: the first twenty), with a line of JSON of their milliseconds.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from evaluation.benchmarks.process import resident
from evaluation.benchmarks.timing import times

K = 10
_WORD = re.compile(r"\w+")

Vectors = npt.NDArray[np.float32]
Ask = Callable[[str], object]
# Their packages come without types, and are there or not.
Module = Any


@dataclass(frozen=True, slots=True)
class Given:
    """The input of a rival: messages, vectors of messages and questions, and a folder."""

    texts: list[str]
    rows: Vectors
    asked: dict[str, Vectors]
    folder: Path


@dataclass(frozen=True, slots=True)
class Rival:
    """One of them.

    Parameters
    ----------
    package, module
        What is installed, and what is imported.
    part
        Which method of ours does the same part of the work.
    does
        What it does and doesn't, in a few words.
    make
        Builds it; what comes back answers a question.
    syncs_each
        Whether it waits for the disk at each message, which would take hours for many: its folder
        is then on a disk in memory.
    """

    package: str
    module: str
    part: Literal["bm25", "vector", "hybrid"]
    does: str
    make: Callable[[Module, Given], Ask]
    syncs_each: bool = False


def words(text: str) -> list[str]:
    """Words in lower case: what those take that bring no analysis of their own."""
    return _WORD.findall(text.lower())


def _faiss(faiss: Module, given: Given) -> Ask:
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(given.rows.shape[1])
    index.add(given.rows)
    return lambda text: index.search(given.asked[text][None], K)


def _hnsw(faiss: Module, given: Given) -> Ask:
    index = faiss.IndexHNSWFlat(given.rows.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efSearch = 64
    index.add(given.rows)
    faiss.omp_set_num_threads(1)
    return lambda text: index.search(given.asked[text][None], K)


def _numpy(numpy: Module, given: Given) -> Ask:
    most = min(K, len(given.rows) - 1)
    return lambda text: numpy.argpartition(given.rows @ given.asked[text], -most)[-most:]


def _rank_bm25(rank_bm25: Module, given: Given) -> Ask:
    index = rank_bm25.BM25Okapi([words(text) or [""] for text in given.texts])

    def ask(text: str) -> object:
        scores = index.get_scores(words(text))
        return np.argpartition(-scores, min(K, len(scores) - 1))[:K]

    return ask


def _bm25s(bm25s: Module, given: Given) -> Ask:
    index = bm25s.BM25()
    index.index(bm25s.tokenize(given.texts, show_progress=False), show_progress=False)
    most = min(K, len(given.texts))
    return lambda text: index.retrieve(
        bm25s.tokenize([text], show_progress=False), k=most, show_progress=False
    )


def _tantivy(tantivy: Module, given: Given) -> Ask:
    schema = tantivy.SchemaBuilder().add_text_field("body", tokenizer_name="en_stem").build()
    index = tantivy.Index(schema)
    writer = index.writer(50_000_000)
    for text in given.texts:
        writer.add_document(tantivy.Document(body=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    return lambda text: searcher.search(index.parse_query(" ".join(words(text)), ["body"]), K).hits


def _lancedb(lancedb: Module, given: Given) -> Ask:
    pyarrow = importlib.import_module("pyarrow")
    vectors = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(given.rows.ravel()), given.rows.shape[1]
    )
    table = lancedb.connect(str(given.folder)).create_table(
        "messages", pyarrow.table({"text": given.texts, "vector": vectors})
    )
    return lambda text: table.search(given.asked[text]).metric("dot").limit(K).to_arrow()


def _chromadb(chromadb: Module, given: Given) -> Ask:
    client = chromadb.PersistentClient(
        str(given.folder), settings=chromadb.Settings(anonymized_telemetry=False)
    )
    collection = client.create_collection(
        "messages", embedding_function=None, configuration={"hnsw": {"space": "ip"}}
    )
    for start in range(0, len(given.rows), 5_000):
        texts, rows = given.texts[start : start + 5_000], given.rows[start : start + 5_000]
        collection.add(
            ids=[str(start + at) for at in range(len(rows))], embeddings=rows, documents=texts
        )
    return lambda text: collection.query(query_embeddings=given.asked[text][None], n_results=K)


@dataclass(frozen=True, slots=True)
class _Ready:
    """Stands in for mem0's embedder: gives the vectors that all others here are given, too."""

    vectors: dict[str, Vectors]

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One text's."""
        return list(map(float, self.vectors[text]))

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """Several texts'."""
        return [self.embed(text) for text in texts]


def _mem0(mem0: Module, given: Given) -> Ask:
    store = {
        "path": str(given.folder / "qdrant"),
        "embedding_model_dims": given.rows.shape[1],
        "on_disk": True,
    }
    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            # Never asked: messages are added as they are.
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "embedder": {
                "provider": "openai",
                "config": {"api_key": "none", "embedding_dims": given.rows.shape[1]},
            },
            "history_db_path": str(given.folder / "history.db"),
        }
    )
    memory.embedding_model = _Ready(
        {**dict(zip(given.texts, given.rows, strict=True)), **given.asked}
    )
    for start in range(0, len(given.texts), 1_000):
        messages = [
            {"role": "user", "content": text} for text in given.texts[start : start + 1_000]
        ]
        memory.add(messages, user_id="user", infer=False)
    return lambda text: memory.search(text, filters={"user_id": "user"}, top_k=K)


RIVALS = {
    "faiss-cpu, flat": Rival(
        "faiss-cpu", "faiss", "vector", "nearest of given vectors, exact, in memory", _faiss
    ),
    "faiss-cpu, HNSW": Rival(
        "faiss-cpu",
        "faiss",
        "vector",
        "nearest of given vectors, by a graph (M 32, ef 64), in memory",
        _hnsw,
    ),
    "numpy": Rival(
        "numpy",
        "numpy",
        "vector",
        "nearest of given vectors, exact, by one product with all of them",
        _numpy,
    ),
    "rank-bm25": Rival(
        "rank-bm25", "rank_bm25", "bm25", "words as they are, in memory, in Python", _rank_bm25
    ),
    "bm25s": Rival(
        "bm25s",
        "bm25s",
        "bm25",
        "words without stop words, no stemming, in memory, scores made beforehand",
        _bm25s,
    ),
    "tantivy": Rival(
        "tantivy", "tantivy", "bm25", "words with English stemming, in memory", _tantivy
    ),
    "lancedb": Rival(
        "lancedb", "lancedb", "vector", "nearest of given vectors, exact, on disk", _lancedb
    ),
    "chromadb": Rival(
        "chromadb",
        "chromadb",
        "vector",
        "nearest of given vectors, by a graph, and their texts, on disk",
        _chromadb,
    ),
    "mem0": Rival(
        "mem0ai",
        "mem0",
        "hybrid",
        "memories of given vectors in a local Qdrant, as they are (infer=False), without its "
        "extras for words and entities",
        _mem0,
        True,
    ),
}


def missing(rival: Rival) -> str:
    """Why it can't be measured here; empty if it can."""
    if importlib.util.find_spec(rival.module) is None:
        return f"`{rival.package}` is not installed"
    return ""


def read(folder: Path, own: Path) -> tuple[Given, list[str]]:
    """What was laid out for all rivals, and the questions in their order."""
    plan = json.loads((folder / "given.json").read_text(encoding="utf-8"))
    asked = dict(zip(plan["questions"], np.load(folder / "asked.npy"), strict=True))
    return Given(plan["texts"], np.load(folder / "rows.npy"), asked, own), plan["questions"]


def main() -> None:
    """The command."""
    rival, folder, own = RIVALS[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    # None of them tells its makers that it was measured, nor writes into the user's folders.
    os.environ.update(
        MEM0_TELEMETRY="False", ANONYMIZED_TELEMETRY="False", MEM0_DIR=str(own), TQDM_DISABLE="1"
    )
    given, questions = read(folder, own)
    module = importlib.import_module(rival.module)
    before, started = resident(), time.perf_counter()
    ask = rival.make(module, given)
    ready = {
        "build_seconds": time.perf_counter() - started,
        "resident": resident().total - before.total,
        "version": importlib.metadata.version(rival.package),
    }
    tell(ready)
    for line in sys.stdin:
        start, end = map(int, line.split())
        measured = times(ask, questions[start:end])
        tell({"walls": measured.walls, "cpus": measured.cpus})


def tell(figures: dict[str, Any]) -> None:
    """One line to the process that asks.

    What packages print goes elsewhere: see :mod:`evaluation.benchmarks.beside`.
    """
    os.write(int(os.environ["RIVAL_ANSWERS"]), f"{json.dumps(figures)}\n".encode())


if __name__ == "__main__":
    main()
