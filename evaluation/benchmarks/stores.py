"""Stores of a given size, built once through the public API and kept under ``target/bench``."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import episodica
from episodica import MemorySystem
from evaluation.benchmarks import talk
from evaluation.benchmarks.talk import ROOT, Talk

USER = "user"
BATCH = 4_096
# About as many questions, spread over the whole conversation.
QUESTIONS = 1_000


def cache_folder() -> Path:
    """Where built stores are kept."""
    return Path(os.environ.get("BENCH_CACHE", ROOT / "target" / "bench"))


def settled(count: int) -> dict[str, Any]:
    """A store with one user of ``count`` messages in episodes and facts; ``path``, how it was built, and questions that suit it."""
    made = hashlib.sha256(Path(talk.__file__).read_bytes()).hexdigest()[:10]
    folder = cache_folder() / f"{count}-{episodica.__version__}-{made}"
    note = folder / "built.json"
    if not note.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        note.write_text(json.dumps(_build(folder / "store", count)), encoding="utf-8")
    built: dict[str, Any] = json.loads(note.read_text(encoding="utf-8"))
    return {**built, "path": folder / "store"}


def _build(path: Path, count: int) -> dict[str, Any]:
    print(f"building a store of {count:,} messages ...", flush=True)
    conversation, rates, questions = Talk(seed=1), [], []
    done = 0
    with MemorySystem(path) as memory:
        while done < count:
            messages = conversation.messages(min(BATCH, count - done))
            wall, cpu = time.perf_counter(), time.process_time()
            memory.add_messages(USER, messages)
            done += len(messages)
            spent, worked = time.perf_counter() - wall, time.process_time() - cpu
            rates.append({"messages": done, "wall": len(messages) / spent, "cpu": len(messages) / worked})
            questions += conversation.questions(messages, max(10, QUESTIONS * BATCH // count))
        memory.flush(USER)
        stats = memory.stats(USER)
    counts = {key: stats[key] for key in ("messages", "episodes", "semantic_memories", "superseded")}
    return {"rates": rates, "questions": questions[:QUESTIONS], "counts": counts}
