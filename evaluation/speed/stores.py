"""Stores of a given size, built through the public API, with the rates of adding messages.

The folder `BENCH_CACHE` keeps them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import episodica
from episodica import MemorySystem, _native
from evaluation.speed import talk
from evaluation.speed.talk import ROOT, Talk

USER = "user"
BATCH = 4_096
# Number of questions of a store: some to warm up, and a thousand for a 99th percentile.
QUESTIONS = 1_100

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Store:
    """A store with one user whose messages are in episodes and facts."""

    path: Path
    built: str
    counts: dict[str, int]
    # For each batch: messages so far, and messages a second of wall clock and of processor time.
    rates: list[dict[str, float]]
    questions: list[str]

    def vectors(self) -> tuple[list[bytes], Vectors]:
        """Keys and stored vectors of messages, row by row, in single precision."""
        segment = (self.path / "segments" / f"{USER}.segment").read_bytes()
        footer = json.loads(segment[segment.rindex(b"\n", 0, -1) :])
        packs = footer.get("snapshot", {"packs": []})["packs"]
        start = sum(pack["bytes"] for pack in packs)
        part = footer["vectors"][0]
        count, shape = part["rows"], (part["rows"], part["dimension"])
        keys = [segment[start + 16 * row : start + 16 * row + 16] for row in range(count)]
        numbers = np.dtype("<f2" if part["half"] else "<f4")
        rows = np.frombuffer(segment, numbers, shape[0] * shape[1], start + 16 * count)
        return keys, rows.reshape(shape).astype(np.float32)

    @contextmanager
    def copied(self, folder: Path | None = None) -> Iterator[Path]:
        """A copy that may be changed, and is removed afterwards."""
        with tempfile.TemporaryDirectory(dir=folder or cache_folder()) as top:
            path = Path(top) / "store"
            shutil.copytree(self.path, path)
            yield path


def vector_key(text: str) -> bytes:
    """The key of a text's vector in a segment."""
    return hashlib.sha256(text.encode()).digest()[:16]


def cache_folder() -> Path:
    """The folder of the built stores.

    Temporary files also go there, so that they are on the same disk.
    """
    folder = Path(os.environ.get("BENCH_CACHE") or ROOT / "target" / "bench")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def settled(count: int, reuse: bool = False) -> Store:
    """A store of ``count`` messages; with ``reuse`` an earlier one of this engine, if it exists."""
    folder = cache_folder() / f"{count}-{_made_by()}"
    note = folder / "built.json"
    if not (reuse and note.exists()):
        for stale in cache_folder().glob(f"{count}-*"):
            shutil.rmtree(stale)
        folder.mkdir()
        # Builds in another process, since the memory that building leaves would disturb the
        # searches measured next.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as builder:
            built = builder.submit(_build, folder / "store", count).result()
        note.write_text(json.dumps(built), encoding="utf-8")
    return Store(path=folder / "store", **json.loads(note.read_text(encoding="utf-8")))


def _made_by() -> str:
    """A name for engine and conversation: a store of another engine does not measure this one."""
    files = (Path(_native.__file__), Path(talk.__file__), Path(__file__))
    made = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files))
    return f"{episodica.__version__}-{made.hexdigest()[:10]}"


def _build(path: Path, count: int) -> dict[str, Any]:
    conversation, rates, questions = Talk(seed=1), [], []
    batches = -(-count // BATCH)
    added = 0
    with MemorySystem(path) as memory:
        for number in range(batches):
            messages = conversation.messages(min(BATCH, count - number * BATCH))
            wall, cpu = time.perf_counter(), time.process_time()
            added += memory.add_messages(USER, messages).messages_added
            spent, worked = time.perf_counter() - wall, time.process_time() - cpu
            rates.append(
                {"messages": added, "wall": len(messages) / spent, "cpu": len(messages) / worked}
            )
            share = QUESTIONS * (number + 1) // batches - QUESTIONS * number // batches
            questions += conversation.questions(messages, share)
        memory.flush(USER)
        memory.wait(USER)
        stats = memory.stats(USER)
    counts = {
        key: stats[key] for key in ("messages", "episodes", "semantic_memories", "superseded")
    }
    if counts["messages"] != count:
        raise RuntimeError(f"{count} messages were added, the store counts `{counts['messages']}`")
    # Questions in the order of the conversation would let the processor's caches adapt to its
    # parts.
    Talk.shuffle(questions)
    return {
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
        "counts": counts,
        "rates": rates,
        "questions": questions,
    }


def asked_vectors(memory: MemorySystem, questions: list[str]) -> dict[str, Vectors]:
    """The query vectors with which a search finds the user's nearest messages.

    The embedder gets a question as it is written, without the speakers' names.
    """
    speakers = {message.name or "" for message in memory.messages(USER, limit=100)}
    names = {word for speaker in speakers for word in _words(speaker)}
    plain = {
        question: " ".join(one for one in question.split() if names.isdisjoint(_words(one)))
        or question
        for question in questions
    }
    vectors = embedded(list(plain.values()))
    return {question: vectors[text] for question, text in plain.items()}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def embedded(texts: list[str]) -> dict[str, Vectors]:
    """The package's vectors of texts. A store of their own embeds the texts as messages."""
    distinct = sorted(set(texts))
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        path = Path(folder) / "store"
        with MemorySystem(path, semantic_memory=False) as memory:
            memory.add_messages(
                USER,
                [
                    {"role": "user", "content": text, "message_id": f"{at}"}
                    for at, text in enumerate(distinct)
                ],
            )
        known = dict(zip(*Store(path, "", {}, [], []).vectors(), strict=True))
        return {text: np.array(known[vector_key(text)]) for text in distinct}
