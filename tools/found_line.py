"""Measures the line of ``context.found`` on labelled questions.

    python -m tools.found_line locomo=locomo.json real=a.json languages=evaluation/data/languages

Sets are read by their names, as the commands of ``evaluation`` read them. For each set the command
prints how many of the unanswerable questions are warned of (``found`` is false), how many of the
answerable ones wrongly, and the same for other lines of ``context.relevance``. Choose a line on
some conversations, and report it on others.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from evaluation.datasets import load

from episodica import MemorySystem

LINES = (0.2, 0.35, 0.5, 0.65)
# The budget changes nothing; a small one is packed faster.
BUDGET = 50


def relevances(name: str, path: Path) -> tuple[list[float], list[float]]:
    """The relevance of each answerable and of each unanswerable question."""
    answerable: list[float] = []
    others: list[float] = []
    with tempfile.TemporaryDirectory() as store, MemorySystem(store) as memory:
        for talk in load(name, path).conversations:
            memory.add_messages(talk.user, talk.messages)
            memory.flush(talk.user)
            memory.wait(talk.user)
            for one in talk.questions:
                context = memory.context(talk.user, one.text, max_tokens=BUDGET, now=one.now)
                (answerable if one.answerable else others).append(context.relevance)
    return answerable, others


def share_below(values: list[float], line: float) -> float:
    """The share of the values below the line."""
    return sum(value < line for value in values) / max(len(values), 1)


def main() -> None:
    for given in sys.argv[1:]:
        name, _, path = given.partition("=")
        answerable, others = relevances(name, Path(path))
        print(f"{name}: {len(others)} unanswerable, {len(answerable)} answerable questions")
        for line in LINES:
            told, wrongly = share_below(others, line), share_below(answerable, line)
            print(f"  below {line}: told {told:.3f}, wrongly {wrongly:.3f}")


if __name__ == "__main__":
    main()
