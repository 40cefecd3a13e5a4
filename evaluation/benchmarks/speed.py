"""How fast: ingestion, searches by kind and method, contexts, opening again.

    python -m evaluation bench quick [DATA]

Wall-clock and processor time side by side: on a shared machine the first is noise, the second less
so. Medians over all questions.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import episodica
from episodica import MemorySystem
from evaluation.common.dataset import Conversation
from evaluation.locomo.data import load

SAMPLE = Path(episodica.__file__).parent / "data" / "sample_conversation.json"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("data", type=Path, nargs="?", default=SAMPLE)
    parser.add_argument(
        "--questions", type=int, default=100, help="most questions per conversation"
    )


def run(arguments: argparse.Namespace) -> int:
    """The command."""
    conversations = load(arguments.data).conversations
    episodica.count_tokens("warm")
    with tempfile.TemporaryDirectory() as folder:
        with MemorySystem(folder) as memory:
            ingest(memory, conversations)
            print(f"\n{'operation':34} {'wall ms p50':>12} {'p95':>8} {'cpu ms p50':>12}")
            ask(memory, conversations, arguments.questions)
        started = time.perf_counter()
        with MemorySystem(folder) as memory:
            memory.search(conversations[0].user, "what happened?")
            print(
                "\nopening again, to the first answer: "
                f"{1000 * (time.perf_counter() - started):.1f} ms"
            )
    return 0


def ingest(memory: MemorySystem, conversations: Sequence[Conversation]) -> None:
    """Adds everything and prints the rate."""
    wall, cpu = time.perf_counter(), time.process_time()
    for conversation in conversations:
        memory.add_messages(conversation.user, conversation.messages)
        memory.flush(conversation.user)
        memory.wait(conversation.user)
    count = sum(len(conversation.messages) for conversation in conversations)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"ingestion of {count} messages: {count / wall:,.0f} a second of wall clock, "
        f"{count / cpu:,.0f} a second of one processor"
    )


def ask(memory: MemorySystem, conversations: Sequence[Conversation], most: int) -> None:
    """Times each way of asking over all questions."""
    ways: dict[str, Callable[[str, str], object]] = {
        "search, hybrid, episodes + facts": lambda user, text: memory.search(user, text),
        "search, hybrid, messages": lambda user, text: memory.search(user, text, kinds=["message"]),
        "search, bm25, messages": lambda user, text: memory.search(
            user, text, kinds=["message"], method="bm25"
        ),
        "search, vector, messages": lambda user, text: memory.search(
            user, text, kinds=["message"], method="vector"
        ),
        "context, 2000 tokens": lambda user, text: memory.context(user, text, max_tokens=2000),
    }
    for name, way in ways.items():
        walls, cpus = [], []
        for conversation in conversations:
            for question in conversation.questions[:most]:
                wall, cpu = time.perf_counter(), time.thread_time()
                way(conversation.user, question.text)
                walls.append(1000 * (time.perf_counter() - wall))
                cpus.append(1000 * (time.thread_time() - cpu))
        p95 = sorted(walls)[int(0.95 * (len(walls) - 1))]
        print(
            f"{name:34} {statistics.median(walls):12.3f} {p95:8.3f} {statistics.median(cpus):12.3f}"
        )
