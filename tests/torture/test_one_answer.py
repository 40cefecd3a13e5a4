"""The same records give the same answers, wherever they were read from.

Thirty threads fill a store, which answers questions; then again from its snapshot, from its logs,
and after a rebuild; and other stores answer with the same messages in two other orders of arrival.
Half of the stores are repetitive: most records equal many others, and only rules for ties give them
an order.
"""

from __future__ import annotations

import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem
from episodica.inputs.options import KINDS, METHODS

Answers = dict[tuple[Any, ...], list[tuple[str, str]]]

QUESTIONS = (
    "Where does Ann live?",
    "ok",
    "favourite drink",
    "moved to Lyon last week",
    "Did Cy move in March?",
)
TOWNS = ("Lyon", "Paris", "Oslo", "Rome", "Kyoto", "Lima")
THINGS = ("tea", "coffee", "kites", "chess", "ships", "trains")
SESSIONS = 30


def repetitive(chance: random.Random) -> str:
    return chance.choice(
        (
            f"I moved to {chance.choice(TOWNS)} last week.",
            f"My favourite drink is {chance.choice(THINGS)}.",
            f"I love {chance.choice(THINGS)}.",
            "ok",
            "thanks a lot",
        )
    )


def ordinary(chance: random.Random) -> str:
    def word() -> str:
        syllables = range(chance.randint(1, 3))
        return "".join(chance.choice("bcdfgklmnprst") + chance.choice("aeiou") for _ in syllables)

    if chance.random() < 0.15:
        return f"I moved to {word().capitalize()} in March."
    return " ".join(word() for _ in range(chance.randint(4, 14))).capitalize() + "."


def talk(count: int, text: Callable[[random.Random], str]) -> list[dict[str, Any]]:
    chance = random.Random(5)
    return [
        {
            "role": "user",
            "name": chance.choice(("Ann", "Bob", "Cy")),
            "content": text(chance),
            "message_id": f"m{number}",
            "timestamp": 1.7e9 + 90 * number,
            "session_id": f"s{number % SESSIONS}",
        }
        for number in range(count)
    ]


def answers(
    memory: MemorySystem, questions: tuple[str, ...], kinds: tuple[Any, ...] = (None, *KINDS)
) -> Answers:
    asked = [
        (q, kind, m, k) for q in questions for kind in kinds for m in METHODS for k in (10, 1000)
    ]
    return {
        (question, kind, method, top_k): [
            (hit.kind, hit.id)
            for hit in memory.search("ann", question, top_k=top_k, kinds=kind, method=method)
        ]
        for question, kind, method, top_k in asked
    }


def added_by_threads(memory: MemorySystem, messages: list[dict[str, Any]]) -> None:
    def add(session: int) -> None:
        mine = messages[session::SESSIONS]
        for start in range(0, len(mine), 7):
            memory.add_messages("ann", mine[start : start + 7])

    threads = [threading.Thread(target=add, args=(session,)) for session in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("size", [7_000, 9_000])
def test_equal_messages_rank_alike_in_any_order_of_arrival(size: int, tmp_path: Path) -> None:
    """Uses sizes at which vectors are chosen by their signs, and hundreds of messages tie."""
    messages, found = talk(size, repetitive), []
    by_session = [m for session in reversed(range(SESSIONS)) for m in messages[session::SESSIONS]]
    for number, order in enumerate((messages, by_session)):
        with MemorySystem(tmp_path / str(number), semantic_memory=False) as memory:
            memory.add_messages("ann", order)
            found.append(
                {
                    (question, top_k): [
                        hit.id
                        for hit in memory.search("ann", question, top_k=top_k, kinds="message")
                    ]
                    for question in QUESTIONS
                    for top_k in (10, 1000)
                }
            )
    assert found[0] == found[1]


@pytest.mark.parametrize("text", [repetitive, ordinary])
@pytest.mark.timeout(1800)
def test_the_same_records_give_the_same_answers(
    text: Callable[[random.Random], str],
    tmp_path: Path,
    rounds: Callable[[int, int], int],
    counts: Callable[..., None],
) -> None:
    asked, short = 0, rounds(0, 10) == 0
    # Indexes of more than 4,096 vectors keep them in half precision.
    questions = QUESTIONS[:2] if short else QUESTIONS
    sizes = (5_000,) if short else (3_000, 9_000, rounds(3_000, 50_000))
    for size in sizes:
        messages = talk(size, text)
        store = tmp_path / f"threads{size}"
        with MemorySystem(store) as memory:
            added_by_threads(memory, messages)
            memory.flush("ann")
            first = answers(memory, questions)
        for question, kind, method, top_k in first:
            if top_k == 10:
                more = first[question, kind, method, 1000]
                assert first[question, kind, method, 10] == more[:10], (size, question, method)
        with MemorySystem(store) as memory:
            assert answers(memory, questions) == first, f"from the snapshot, {size}"
        shutil.rmtree(store / "segments")
        with MemorySystem(store) as memory:
            assert answers(memory, questions) == first, f"from the logs, {size}"
            memory.rebuild_indices("ann")
            assert answers(memory, questions) == first, f"after a rebuild, {size}"
        asked += 4 * len(first)
        # The learned facts depend on the facts known before, so only messages are compared.
        orders = (
            [messages[start : start + 50] for start in range(0, size, 50)],
            [messages[session::SESSIONS] for session in reversed(range(SESSIONS))],
        )
        found = []
        for number, order in enumerate(orders):
            with MemorySystem(tmp_path / f"{number}of{size}", semantic_memory=False) as memory:
                for batch in order:
                    memory.add_messages("ann", batch)
                found.append(answers(memory, questions, ("message",)))
        assert found[0] == found[1], f"in another order of arrival, {size}"
        asked += 2 * len(found[0])
        shutil.rmtree(store)
    counts("answers", searches=asked, differences=0)
