"""What contexts hold of what the ranking finds, and how well relevance tells that nothing answers.

    python -m evaluation contexts locomo=locomo10.json real=mine.json quotes=memops.json

A line for each set, over questions drawn by a seed:

recall@5, recall@10, all@10   evidence among the first messages found
context@N      mean share of the proof (quotations, or the first 80 letters of each message of the
               evidence) whose words stand in a context of N tokens
ranking@N      the same of the messages found, as whole lines with time and speaker, in the order of
               their rank, as many as fit into N tokens
difference     context minus ranking, with its 95 % interval over the questions
unchanged      ``recall`` over up to thirty questions of a conversation: the share of the text
               before a question that is unchanged after it
lost           proof in a context of 400 tokens for the question, less that in the text of
               ``recall`` (of 4,000 tokens)
warned         unanswerable questions whose best hit has less relevance than that of all but a
               twentieth of the others

``--kept FOLDER`` keeps the memories for the next run.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from episodica import Hit, MemorySystem, count_tokens
from evaluation.datasets import Dataset, Question, load
from evaluation.measures import Estimate, bootstrap, recall, wilson

BUDGETS = (200, 400, 1000)
DEPTH, PROOF = 50, 80
# Questions of one conversation, and the tokens of all that it is given.
TURNS, GIVEN = 30, 4000
# Share of the answerable questions of which a line of relevance may warn.
WRONGLY = 0.05
SEED = 6


def add_options(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("sets", nargs="+", metavar="SET=PATH", help="a set, and its file or folder")
    parser.add_argument("--questions", type=int, default=150, help="questions of a set")
    parser.add_argument("--limit", type=int, default=6, help="conversations of a set")
    parser.add_argument("--kept", type=Path, metavar="FOLDER", help="where memories are kept")
    parser.add_argument("--only", choices=PARTS, nargs="*", default=PARTS, help="what to measure")


def run(args: argparse.Namespace) -> int:
    """Prints a line for each measure; the status is 1 if a context holds less than the ranking."""
    below = 0
    for number, given in enumerate(args.sets):
        name, _, path = given.partition("=")
        data = load(name, Path(path)).limited(args.limit)
        with tempfile.TemporaryDirectory() as made:
            store = args.kept / f"{number}-{name}" if args.kept else Path(made)
            with MemorySystem(store) as memory:
                _fill(memory, data)
                for part in args.only:
                    below += PARTS[part](memory, data, f"{name:8}", args.questions)
    print(f"{below} below the ranking")
    return int(below > 0)


def _fill(memory: MemorySystem, data: Dataset) -> None:
    known = set(memory.users())
    for talk in data.conversations:
        if talk.user not in known:
            memory.add_messages(talk.user, talk.messages)
            memory.flush(talk.user)
    memory.wait()


def _asked(data: Dataset, most: int) -> list[tuple[Question, list[str]]]:
    """Questions with their proof, drawn by the seed."""
    texts = {
        (talk.user, one["message_id"]): str(one["content"])
        for talk in data.conversations
        for one in talk.messages
    }
    found = []
    for asked in data.questions:
        said = [texts[asked.user, one][:PROOF] for one in asked.messages]
        if asked.answerable and (proof := list(asked.quotes) or said):
            found.append((asked, proof))
    random.Random(SEED).shuffle(found)
    return found[:most]


def _plain(text: str) -> str:
    """The words of a text, without marks in brackets."""
    return re.sub(r"\W+", " ", re.sub(r"\[[^\]]*\]", " ", text).lower()).strip()


def _held(proof: Iterable[str], text: str) -> float:
    plain = _plain(text)
    return fmean(_plain(one) in plain for one in proof)


def _lines(hits: Sequence[Hit], budget: int) -> str:
    """The messages found as whole lines, as many as fit."""
    lines: list[str] = []
    used = 0
    for hit in hits:
        said = hit.messages[0]
        line = f"[{said.timestamp.isoformat()[:16]}] {said.speaker}: {said.content}"
        cost = count_tokens(line) + 1
        if used + cost <= budget:
            used += cost
            lines.append(line)
    return "\n".join(lines)


def _packing(memory: MemorySystem, data: Dataset, name: str, most: int) -> int:
    rows = _asked(data, most)
    ranks: dict[str, list[float]] = {"recall@5": [], "recall@10": [], "all@10": []}
    held: dict[int, list[tuple[float, float]]] = {budget: [] for budget in BUDGETS}
    for asked, proof in rows:
        hits = memory.search(asked.user, asked.text, kinds=["message"], top_k=DEPTH, now=asked.now)
        found = [hit.messages[0].message_id for hit in hits]
        ranks["recall@5"].append(recall(found[:5], asked.messages))
        ranks["recall@10"].append(recall(found[:10], asked.messages))
        ranks["all@10"].append(float(ranks["recall@10"][-1] == 1))
        for budget, both in held.items():
            text = memory.context(asked.user, asked.text, max_tokens=budget, now=asked.now).text
            both.append((_held(proof, text), _held(proof, _lines(hits, budget))))
    print(name, " ".join(f"{key} {fmean(values):.3f}" for key, values in ranks.items()))
    below = 0
    for budget, both in held.items():
        gain = bootstrap([mine - other for mine, other in both])
        is_below = gain.high is not None and gain.high < 0
        below += is_below
        mine, other = (fmean(column) for column in zip(*both, strict=True))
        print(
            name,
            f"context@{budget} {mine:.3f}  ranking@{budget} {other:.3f} ",
            f"difference {_shown(gain, '+')}{'  BELOW' if is_below else ''}",
            flush=True,
        )
    return below


def _growing(memory: MemorySystem, data: Dataset, name: str, most: int) -> int:
    same = before = 0
    lost: list[float] = []
    asked_of: dict[str, list[tuple[Question, list[str]]]] = {}
    for asked, proof in _asked(data, most):
        asked_of.setdefault(asked.user, []).append((asked, proof))
    for user, rows in asked_of.items():
        given = memory.recall(user, GIVEN)
        for asked, proof in rows[:TURNS]:
            text, restarts = given.text, given.restarts
            before += len(text)
            given.add(asked.text)
            same += len(text) if given.restarts == restarts else 0
            alone = memory.context(user, asked.text, max_tokens=BUDGETS[1], now=asked.now).text
            lost.append(_held(proof, alone) - _held(proof, given.text))
    print(name, f"unchanged {same / max(before, 1):.3f}  lost {_shown(bootstrap(lost), '+')}")
    return 0


def _warning(memory: MemorySystem, data: Dataset, name: str, most: int) -> int:
    questions = [one for one in data.questions if not one.answerable or one.messages]
    random.Random(SEED).shuffle(questions)
    best: dict[bool, list[float]] = {False: [], True: []}
    for asked in questions[: 2 * most]:
        hits = memory.search(asked.user, asked.text, kinds=["message"], top_k=1, now=asked.now)
        best[asked.answerable].append(hits[0].score if hits else 0.0)
    if best[True]:
        line = sorted(best[True])[int(WRONGLY * len(best[True]))]
        warned = sum(score < line for score in best[False])
        print(name, f"warned {_shown(wilson(warned, len(best[False])))}, line {line:.3f}")
    return 0


PARTS: dict[str, Any] = {"packing": _packing, "recall": _growing, "warned": _warning}


def _shown(value: Estimate, sign: str = "") -> str:
    if value.mean is None or value.low is None or value.high is None:
        return "-"
    return f"{value.mean:{sign}.3f} [{value.low:{sign}.3f}, {value.high:{sign}.3f}] n {value.n}"
