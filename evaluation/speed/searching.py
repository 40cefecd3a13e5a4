"""Searches and contexts, and the recall of nearest vectors."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

from episodica import MemorySystem
from evaluation.speed.rows import Row
from evaluation.speed.stores import USER, Store, Vectors, asked_vectors, vector_key
from evaluation.speed.timing import Times, times

Kinds = tuple[Literal["episodic", "semantic", "message"], ...]

WARM_UP = 50
# Figures with only a median take fewer searches than figures with a 99th percentile.
FEWER = 300
ALL: Kinds = ("episodic", "semantic", "message")
MESSAGES: Kinds = ("message",)
K = 10
# Smaller differences of inner products come from the order of addition.
_ROUNDING = 1e-5
# Number of rows whose products are in memory at once.
_CHUNK = 50_000


def searching(store: Store, runs: int) -> Iterator[Row]:
    """Times of every kind of search; a 99th percentile takes ``runs`` searches."""
    questions = store.questions[: runs + WARM_UP]
    fewer = min(FEWER, runs)

    def look(operation: Callable[[str], object], count: int = fewer) -> Times:
        times(operation, questions[:WARM_UP])
        return times(operation, questions[WARM_UP : WARM_UP + count])

    with MemorySystem(store.path) as memory:
        hybrid = look(lambda text: memory.search(USER, text), runs)
        yield median("search", "hybrid search, episodes and facts, p50", hybrid)
        yield Row(
            "search_p99",
            "hybrid search, episodes and facts, p99",
            hybrid.p99,
            "ms",
            cpu=hybrid.cpu_p99,
        )
        everything = look(lambda text: memory.search(USER, text, kinds=ALL), runs)
        yield median("search_messages", "hybrid search, with messages too, p50", everything)
        yield Row(
            "search_messages_p99",
            "hybrid search, with messages too, p99",
            everything.p99,
            "ms",
            cpu=everything.cpu_p99,
        )
        yield median(
            "context",
            "context of 2,000 tokens, p50",
            look(lambda text: memory.context(USER, text, max_tokens=2000)),
        )
        bm25 = look(lambda text: memory.search(USER, text, kinds=MESSAGES, method="bm25"))
        yield median("bm25", "words alone (BM25), messages, p50", bm25)
        vector = look(lambda text: memory.search(USER, text, kinds=MESSAGES, method="vector"))
        yield median("vector", "nearest vectors alone, messages, p50", vector)
        yield recall(memory, store, store.questions[:fewer])
        built = look(lambda text: list(memory.search(USER, text)))
        yield median("search_built", "hybrid search, all hits looked at, p50", built)
        ratios = speed_up(memory, questions, seconds=runs / 2_000)
        yield Row(
            "threads",
            "searches of two threads against one",
            statistics.median(ratios),
            "x",
            {"trials": ratios},
        )


def median(key: str, name: str, measured: Times) -> Row:
    """The row of a median."""
    return Row(key, name, measured.p50, "ms", measured.to_dict(), measured.cpu)


def against_idle(
    key: str, name: str, busy: Times, idle: Times, more: Mapping[str, float]
) -> Iterator[Row]:
    """The tail of searches under load against the tail without it."""
    detail = {"idle": idle.to_dict(), "busy": busy.to_dict(), **more}
    yield Row(key, f"p99 of searches {name}, against idle", busy.p99 / idle.p99, "x", detail)
    worked = busy.cpu_p99 / idle.cpu_p99
    yield Row(f"{key}_cpu", "the same by processor time of the searching thread", worked, "x")


def recall(memory: MemorySystem, store: Store, questions: list[str]) -> Row:
    """The share of the ten nearest messages, by exact inner products, that a vector search finds.

    Any of several equally near messages counts.
    """
    keys, rows = store.vectors()
    places = {key: place for place, key in enumerate(keys)}
    vectors = asked_vectors(memory, questions)
    asked = [question for question in questions if vectors[question].any()]
    bounds = _nearest(rows, np.stack([vectors[question] for question in asked]))
    shares = []
    for question, bound in zip(asked, bounds, strict=True):
        hits = memory.search(USER, question, kinds=MESSAGES, method="vector", top_k=K)
        hit_keys = [vector_key(hit.content) for hit in hits]
        found = [places[key] for key in hit_keys if key in places]
        near = int((rows[found] @ vectors[question] >= bound - _ROUNDING).sum()) if found else 0
        shares.append(near / min(K, len(keys)))
    detail = {
        "questions": len(shares),
        "least": min(shares),
        "whole": sum(share == 1 for share in shares) / len(shares),
    }
    return Row(
        "recall",
        f"recall@{K} of vector search, messages, against exact",
        statistics.fmean(shares),
        "",
        detail,
    )


def _nearest(rows: Vectors, asked: Vectors) -> Vectors:
    """For each question the inner product of the tenth nearest row."""
    best = np.full((len(asked), 0), -np.inf, dtype=np.float32)
    for start in range(0, len(rows), _CHUNK):
        both = np.concatenate([best, asked @ rows[start : start + _CHUNK].T], axis=1)
        most = min(K, both.shape[1])
        best = np.partition(both, both.shape[1] - most, axis=1)[:, -most:]
    least: Vectors = best.min(axis=1)
    return least


def speed_up(
    memory: MemorySystem, questions: list[str], seconds: float, trials: int = 5
) -> list[float]:
    """The ratio of searches that two threads do to those of one in the same time, per trial."""

    def run(threads: int) -> int:
        stop = time.perf_counter() + seconds

        def work(number: int) -> int:
            done = 0
            while time.perf_counter() < stop:
                memory.search(USER, questions[(number + done * threads) % len(questions)])
                done += 1
            return done

        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(work, range(threads)))

    return [run(2) / max(1, run(1)) for _ in range(trials)]
