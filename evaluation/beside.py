"""What other memories cost on the same machine, in one run: prints the table of docs/others.md.

    pip install chromadb lancedb inspeximus mem0ai; python -m evaluation.beside

Each gets the same short messages and the same vectors, which cost nothing here, so that the figures
are of storing and searching. ``episodica`` makes its own vectors, which is included. Milliseconds
are processor time, a message or a search each, so that other work on the machine changes them
little. Systems that are not installed are left out.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WIDTH = 384
WORDS = [f"{first}{last}" for first in ("ba", "do", "ki", "lu", "me") for last in "bcdfgklmnprst"]
TOPICS = (
    "dinner",
    "ferry",
    "rent",
    "garden",
    "school",
    "train",
    "cat",
    "office",
    "concert",
    "coat",
)
MARK = "zyxomarker"


def said(count: int) -> list[str]:
    """Short invented messages, the same each time."""
    drawn = random.Random(5)
    return [
        f"About the {drawn.choice(TOPICS)}: we {' '.join(drawn.choices(WORDS, k=9))} on day {at}."
        for at in range(count)
    ]


@functools.cache
def vector(text: str) -> list[float]:
    """A unit vector that depends on the text alone."""
    drawn = random.Random(text)
    row = [drawn.gauss(0, 1) for _ in range(WIDTH)]
    length = sum(value * value for value in row) ** 0.5
    return [value / length for value in row]


class Episodica:
    """The package itself, with default settings."""

    package = "episodica"

    def __init__(self, folder: Path) -> None:
        from episodica import MemorySystem

        self._memory = MemorySystem(str(folder))

    def add(self, texts: list[str], first: int) -> None:
        rows = [
            {"role": "user", "content": text, "message_id": f"m{first + at}"}
            for at, text in enumerate(texts)
        ]
        self._memory.add_messages("u", rows)

    def find(self, text: str) -> int:
        return len(self._memory.search("u", text, top_k=10))

    def delete(self, at: int) -> None:
        self._memory.delete("u", f"m{at}")

    def close(self) -> None:
        self._memory.close()


class Sqlite:
    """SQLite's full-text index in a file."""

    package = "sqlite3"

    def __init__(self, folder: Path) -> None:
        self._file = sqlite3.connect(folder / "said.db")
        self._file.execute("PRAGMA journal_mode=WAL")
        make = (
            "CREATE VIRTUAL TABLE IF NOT EXISTS said USING fts5(text, tokenize='porter unicode61')"
        )
        self._file.execute(make)

    def add(self, texts: list[str], first: int) -> None:
        rows = ((first + at, text) for at, text in enumerate(texts))
        with self._file:
            self._file.executemany("INSERT INTO said(rowid, text) VALUES (?, ?)", rows)

    def find(self, text: str) -> int:
        words = " OR ".join(f'"{word}"' for word in text.rstrip("?.").split())
        query = "SELECT text FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT 10"
        return len(self._file.execute(query, (words,)).fetchall())

    def delete(self, at: int) -> None:
        with self._file:
            self._file.execute("DELETE FROM said WHERE rowid = ?", (at,))

    def close(self) -> None:
        self._file.close()


class Chroma:
    """Chroma in a folder, with given vectors."""

    package = "chromadb"

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        self._said = client.get_or_create_collection("said", embedding_function=None)

    def add(self, texts: list[str], first: int) -> None:
        self._said.add(
            ids=[f"m{first + at}" for at in range(len(texts))],
            documents=texts,
            embeddings=[vector(text) for text in texts],
        )

    def find(self, text: str) -> int:
        return len(self._said.query(query_embeddings=[vector(text)], n_results=10)["ids"][0])

    def delete(self, at: int) -> None:
        self._said.delete(ids=[f"m{at}"])

    def close(self) -> None:
        """Chroma has no call for it."""


class Lance:
    """LanceDB with its hybrid search."""

    package = "lancedb"

    def __init__(self, folder: Path) -> None:
        import lancedb

        self._open = lancedb.connect(str(folder))
        self._said: Any = None

    def add(self, texts: list[str], first: int) -> None:
        rows = [
            {"id": f"m{first + at}", "text": text, "vector": vector(text)}
            for at, text in enumerate(texts)
        ]
        if self._said is None:
            self._said = self._open.create_table("said", data=rows)
        else:
            self._said.add(rows)

    def find(self, text: str) -> int:
        if self._said is None:
            self._said = self._open.open_table("said")
        if not self._said.list_indices():
            self._said.create_fts_index("text")
        found = self._said.search(query_type="hybrid").vector(vector(text)).text(text.rstrip("?"))
        return len(found.limit(10).to_list())

    def delete(self, at: int) -> None:
        self._said.delete(f"id = 'm{at}'")

    def close(self) -> None:
        """LanceDB has no call for it."""


class Inspeximus:
    """Inspeximus with its hybrid search."""

    package = "inspeximus"

    def __init__(self, folder: Path) -> None:
        import inspeximus

        self._memory = inspeximus.Inspeximus(str(folder / "memory.json"), embed=vector)
        self._ids: list[str] = []

    def add(self, texts: list[str], first: int) -> None:
        self._ids += [self._memory.remember(text) for text in texts]
        self._memory.flush()

    def find(self, text: str) -> int:
        return len(self._memory.recall(text, k=10, mode="hybrid"))

    def delete(self, at: int) -> None:
        self._memory.forget(ids=[self._ids[at]])
        self._memory.flush()

    def close(self) -> None:
        self._memory.flush()


class Mem0:
    """mem0 with ``infer=False`` and a local Qdrant."""

    package = "mem0"

    def __init__(self, folder: Path) -> None:
        from evaluation import peers

        self._memory = peers.Mem0(folder, lambda texts: [vector(text) for text in texts])._memory
        self._ids: list[str] = []

    def add(self, texts: list[str], first: int) -> None:
        for text in texts:
            kept = self._memory.add([{"role": "user", "content": text}], user_id="u", infer=False)
            self._ids += [row["id"] for row in kept["results"]]

    def find(self, text: str) -> int:
        found = self._memory.search(text, filters={"user_id": "u"}, top_k=10, threshold=0.0)
        return len(found["results"])

    def delete(self, at: int) -> None:
        self._memory.delete(self._ids[at])

    def close(self) -> None:
        self._memory.vector_store.client.close()


SYSTEMS: dict[str, Callable[[Path], Any]] = {
    "episodica": Episodica,
    "sqlite": Sqlite,
    "chroma": Chroma,
    "lancedb": Lance,
    "inspeximus": Inspeximus,
    "mem0": Mem0,
}


def measure(name: str, count: int) -> str:
    """The row of one system; run in a process of its own."""
    texts = said(count)
    asked = [f"what about the {TOPICS[at % 10]} {WORDS[at % 60]}?" for at in range(100)]
    secret = f"The word is {MARK}."
    for text in (*texts, *asked, secret):
        vector(text)  # so that no figure contains its making
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        system = SYSTEMS[name](folder)
        half = count // 2
        start = time.process_time()
        for at in range(0, half, 50):
            system.add(texts[at : at + 50], at)
        by_fifty = (time.process_time() - start) / half * 1000
        start = time.process_time()
        single = min(half, 500)
        for at in range(half, half + single):
            system.add([texts[at]], at)
        alone = (time.process_time() - start) / single * 1000
        system.add([secret], half + single)
        system.find(asked[0])
        times = []
        for question in asked:
            start = time.process_time()
            system.find(question)
            times.append(time.process_time() - start)
        system.delete(half + single)
        system.close()
        start = time.process_time()
        again = SYSTEMS[name](folder)
        again.find(asked[0])
        opened = time.process_time() - start
        again.close()
        files = [path for path in folder.rglob("*") if path.is_file()]
        left = any(MARK.encode() in path.read_bytes() for path in files)
        size = sum(path.stat().st_size for path in files) / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    cells = [
        name,
        f"{by_fifty:.2f}",
        f"{alone:.2f}",
        f"{statistics.median(times) * 1000:.1f}",
        f"{opened * 1000:,.0f}",
        f"{size:.1f}",
        f"{peak:,.0f}",
        "yes" if left else "no",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=5000, help="messages (default: 5,000)")
    parser.add_argument("--one", choices=list(SYSTEMS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.update(MEM0_TELEMETRY="False", ANONYMIZED_TELEMETRY="False")
    if args.one:
        print(measure(args.one, args.count))
        return 0
    print("| | by 50, ms | alone, ms | search, ms | open, ms | disk, MB | memory, MB | word left |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for name, system in SYSTEMS.items():
        if importlib.util.find_spec(system.package) is None:  # type: ignore[attr-defined]
            continue
        run = [sys.executable, "-m", "evaluation.beside", "--one", name, "--count", str(args.count)]
        ended = subprocess.run(run, capture_output=True, text=True, check=False)
        failed = ended.stderr.strip().splitlines()[-1:] or ["nothing was printed"]
        worked = ended.returncode == 0
        print(ended.stdout.strip().splitlines()[-1] if worked else f"{name}: {failed[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
