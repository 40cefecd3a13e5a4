"""Fit the weights of the terms of a message's score, with each kind of talk left out in turn.

    python -m tools.fit_weights locomo=locomo10.json beam=BEAM/chats/100K real=chats ...

An argument is a kind of talk and a file or folder with questions whose evidence is known. A kind
with the name of a set of ``python -m evaluation`` is read in that set's format, any other kind in
LoCoMo's; several arguments may name one kind. The conversations in the repository (``OWN``) always
take part. ``--cache`` keeps the terms, so that a repeated fit asks no question.

Each question is asked once. Its hits give the eight terms of every message, whose sum under other
weights is computed here. The fit is a coordinate search from the shipped weights: each weight
takes the best of ``FACTORS`` times its shipped value, in turn, until no weight changes. It
maximises the mean over kinds of recall@5, @10 and @20, averaged. ``words`` keeps its weight, since
only the ratios of weights matter.

GateMem names no messages as evidence, but patterns that an answer contains. There, recall is the
share of those patterns that the first messages contain, of all that some message contains.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from evaluation.datasets import Conversation, Dataset, Question, load
from evaluation.datasets.gatemem import patterns_found

from episodica import MemoryConfig, MemorySystem

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "conversations"
OWN = {
    "work log": [FIXTURES / "worklog.json"],
    "support": [FIXTURES / "support_multilingual.json"],
    "small talk": [FIXTURES / "small_talk.json"],
    "changing facts": [FIXTURES / "changing_facts.json"],
    "languages": [ROOT / "evaluation" / "data" / "languages", FIXTURES / "chinese_chat.json"],
}
TERMS = ("words", "tokens", "vector", "speaker", "date", "statement", "answer", "role")
COLUMNS = (*TERMS, "succession")
FACTORS = (0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
DEPTHS = (5, 10, 20)

Weights = tuple[float, ...]


class Asked(NamedTuple):
    """A question: the terms of every message, and which messages contain its evidence.

    ``terms`` has a row for each message and a column for each of ``COLUMNS``; the weight of
    ``succession`` is always 1. ``holds`` has a row for each piece of evidence and a column for each
    message.
    """

    terms: np.ndarray
    holds: np.ndarray

    def recalls(self, weights: np.ndarray) -> list[float]:
        """The share of the evidence among the first messages, at each of ``DEPTHS``."""
        scores = self.terms @ weights
        best = np.where(self.holds, scores, -np.inf).max(axis=1)
        places = (scores > best[:, None]).sum(axis=1)
        return [float((places < depth).mean()) for depth in DEPTHS]


class Kind:
    """The questions to a kind of talk."""

    def __init__(self, name: str, questions: list[Asked]) -> None:
        self.name, self.questions = name, questions
        self.recalls = cache(self._recalls)

    def _recalls(self, weights: Weights) -> list[float]:
        """The mean recall at each of ``DEPTHS``."""
        row = np.array([*weights, 1.0], dtype=np.float32)
        shares = zip(*(question.recalls(row) for question in self.questions), strict=True)
        return [fmean(share) for share in shares]


def evidence_of(question: Question, said: list[dict[str, Any]]) -> list[set[str]]:
    """The pieces of evidence, each as the ids of the messages that contain it."""
    if not question.answerable:
        return []
    pieces = [{one} for one in question.messages]
    pieces += [
        {one["message_id"] for one in said if patterns_found((part,), one["content"])}
        for part in question.parts
    ]
    return [piece for piece in pieces if piece]


def ask(memory: MemorySystem, talk: Conversation, shipped: Weights) -> Iterator[Asked]:
    """Adds a conversation, and asks each question when the messages before it are there."""
    added, divisors = 0, (*shipped, 1.0)
    for question in talk.questions:
        end = len(talk.messages) if question.after is None else question.after
        evidence = evidence_of(question, talk.messages[:end])
        if not evidence:
            continue
        if end > added:
            memory.add_messages(talk.user, talk.messages[added:end])
            memory.flush(talk.user)
            memory.wait(talk.user)
            added = end
        options = {"kinds": ["message"], "top_k": 1000, "now": question.now}
        hits = memory.search(talk.user, question.text, **options)
        terms = [
            [one.get(name, 0.0) / weight for name, weight in zip(COLUMNS, divisors, strict=True)]
            for one in (hit.scores for hit in hits)
        ]
        ids = [hit.messages[0].message_id for hit in hits]
        holds = [[identity in piece for identity in ids] for piece in evidence]
        yield Asked(np.array(terms, dtype=np.float32), np.array(holds))


def ask_all(data: Dataset, shipped: Weights, folder: Path | None) -> list[Asked]:
    """Asks every question of a set, or reads the terms that an earlier run put into the folder."""
    # The name of the file depends on the data, the weights and the build of the engine.
    engine = importlib.util.find_spec("episodica._native")
    build = Path(engine.origin).read_bytes() if engine and engine.origin else b""
    key = hashlib.sha256(build + repr((data.checksums, shipped)).encode()).hexdigest()[:16]
    file = folder / f"{key}.npz" if folder else None
    if file and file.exists():
        with np.load(file) as kept:
            arrays = list(kept.values())
        return [Asked(*pair) for pair in zip(arrays[::2], arrays[1::2], strict=True)]
    with tempfile.TemporaryDirectory() as store, MemorySystem(store) as memory:
        found = [one for talk in data.conversations for one in ask(memory, talk, shipped)]
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, *(array for one in found for array in one))
    return found


def fit(kinds: Sequence[Kind], shipped: Weights) -> Weights:
    """The weights near the shipped ones with the highest mean recall over the kinds."""

    def mean(weights: Weights) -> float:
        return fmean(share for kind in kinds for share in kind.recalls(weights))

    weights, before = shipped, Weights()
    while weights != before:
        before = weights
        for place in range(1, len(TERMS)):
            values = [round(factor * shipped[place], 3) for factor in FACTORS]
            trials = [(*weights[:place], value, *weights[place + 1 :]) for value in values]
            # Of equal weights, `max` takes the first: the present ones.
            weights = max([weights, *trials], key=mean)
    return weights


def row(*cells: object) -> str:
    """A line of a Markdown table."""
    texts = (f"{one:.3f}".removeprefix("0") if isinstance(one, float) else one for one in cells)
    return f"| {' | '.join(map(str, texts))} |"


def report(kinds: Sequence[Kind], shipped: Weights) -> Iterator[str]:
    """The lines of the tables."""
    fitted = {"shipped": shipped, "fitted to all kinds": fit(kinds, shipped)}
    yield row("recall@10", "questions", *fitted, "this kind left out", "fitted to this kind")
    yield row(*["---"] * 6)
    at, columns = DEPTHS.index(10), []
    for kind in kinds:
        others = [one for one in kinds if one is not kind]
        fitted[f"without {kind.name}"] = without = fit(others, shipped)
        fitted[f"only {kind.name}"] = alone = fit([kind], shipped)
        used = [*list(fitted.values())[:2], without, alone]
        columns.append([kind.recalls(weights)[at] for weights in used])
        yield row(kind.name, len(kind.questions), *columns[-1])
    asked = sum(len(kind.questions) for kind in kinds)
    yield row("mean", asked, *map(fmean, zip(*columns, strict=True)))
    yield ""
    yield row("weights", *TERMS)
    yield row(*["---"] * (len(TERMS) + 1))
    for name, weights in fitted.items():
        yield row(name, *(f"{weight:g}" for weight in weights))


def kinds_of(given: Sequence[str], shipped: Weights, folder: Path | None) -> Iterator[Kind]:
    """The kinds whose files exist; the other files are named."""
    named = [(name, Path(path)) for name, _, path in (one.partition("=") for one in given)]
    for name in dict.fromkeys([*(name for name, _ in named), *OWN]):
        files = [*OWN.get(name, ()), *(path for other, path in named if other == name)]
        found = []
        for file in files:
            if file.exists():
                found += ask_all(load(name, file), shipped, folder)
            else:
                print(f"skipped, not found: {file}", file=sys.stderr)
        if found:
            yield Kind(name, found)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="*", metavar="KIND=PATH")
    parser.add_argument("--cache", type=Path, metavar="FOLDER")
    args = parser.parse_args(arguments)
    for one in args.data:
        if "=" not in one:
            parser.error(f"not KIND=PATH: `{one}`")
    shipped = tuple(MemoryConfig().message_weights)
    kinds = list(kinds_of(args.data, shipped, args.cache))
    if len(kinds) < 2:
        parser.error("leaving a kind out needs two kinds")
    for line in report(kinds, shipped):
        print(line, flush=True)


if __name__ == "__main__":
    main()
