"""Train the weights that link a later sentence with an earlier one.

    python tools/train_links.py [--updates FILE]

Reads the pairs of ``tools/labels/links.tsv`` (author, language, kind, earlier sentence, later
sentence), the sentences of ``talk.tsv`` and ``chats.tsv`` beside it as talk in which hardly
anything is linked, and the chats of ``--updates``: a JSON list of chats, each with ``messages``
(``role``, ``content``, ``message_id``) and ``updates`` (``validity`` ``confirmed`` or
``tentative``, ``old`` and ``new`` with ``messages`` and ``quotes``), the form of MemOps. Needs
only numpy. Prints the weights of a logistic regression over `PAIR`, which the package has in
``generate/links/weights.rs``. They were trained with MemOps, whose sentences are not in the
package; without ``--updates`` the script prints others.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from link_features import PAIR, compare
from train_heads import LABELS, Labelled, labelled

# Sentences of other talk among which an author's earlier sentence has to be found.
BACKGROUND = 60
# Number of sentences before one of ``talk.tsv`` that it may be linked with.
WINDOW = 100
# Weight of a pair by where it comes from.
WEIGHT = {"authored": 0.75, "talk": 0.5, "updates": 1.0}
END = re.compile(r"(?<=[.!?…])[\"”\u2019)]?\s+|(?<=[。\uff01\uff1f])|\n+")


class Pair(NamedTuple):
    """Two sentences, the kind of their link (empty: none), and their features."""

    source: str
    group: str
    earlier: str
    later: str
    kind: str
    features: list[float]


class Row(NamedTuple):
    """A line of ``links.tsv``."""

    author: str
    language: str
    kind: str
    earlier: str
    later: str


def share_of(text: str) -> float:
    """A number from 0 to 1 that follows from the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


# Reading


def read_rows() -> list[Row]:
    lines = (LABELS / "links.tsv").read_text("utf-8").splitlines()
    return [Row(*line.split("\t")) for line in lines]


def sentences(text: str) -> list[str]:
    parts = (part.strip() for part in END.split(text) if part)
    return [part for part in parts if any(char.isalnum() for char in part)]


def of_source(source: str) -> list[Labelled]:
    """The sentences of users in a file of labels."""
    return [row for row in all_labelled() if row.source == source and row.role == "user"]


@functools.cache
def all_labelled() -> list[Labelled]:
    return labelled()


def units(chat: dict[str, Any]) -> list[tuple[str, str]]:
    """The user's sentences, with their message."""
    return [
        (message["message_id"], sentence)
        for message in chat["messages"]
        if message["role"] == "user"
        for sentence in sentences(message["content"])
    ]


def persona(chat: dict[str, Any]) -> str:
    return str(chat["id"]).split("_")[0]


def quoted(sentence: str, quotes: Iterable[str]) -> bool:
    return any(sentence in quote or quote in sentence for quote in quotes)


def kind_of_update(chat: dict[str, Any], old: tuple[str, str], new: tuple[str, str]) -> str | None:
    """The kind of the link of two sentences; None where their messages are linked by others."""
    kind: str | None = ""
    for update in chat["updates"]:
        if new[0] in update["new"]["messages"] and old[0] in update["old"]["messages"]:
            told = quoted(new[1], update["new"]["quotes"])
            if told and quoted(old[1], update["old"]["quotes"]):
                return "change" if update["validity"] == "confirmed" else "tentative"
            kind = None
    return kind


# Pairs


def update_pairs(chat: dict[str, Any]) -> Iterable[Pair]:
    """The pairs of a later and an earlier sentence of a chat."""
    said = units(chat)
    for at, new in enumerate(said):
        for old in said[:at]:
            kind = kind_of_update(chat, old, new)
            if old[0] != new[0] and kind is not None and (found := compare(old[1], new[1])):
                yield Pair("updates", persona(chat), old[1], new[1], kind, found)


def authored_pairs(rows: list[Row]) -> Iterable[Pair]:
    """The pairs of each author, whose earlier sentences stand among sentences of other talk."""
    noted: dict[str, list[str]] = defaultdict(list)
    for row in of_source("authored") + of_source("talk"):
        if row.code[1] > "0":
            noted[row.language].append(row.sentence)
    for author, language in sorted({(row.author, row.language) for row in rows} - {("talk", "")}):
        mine = [row for row in rows if (row.author, row.language) == (author, language)]
        others = noted[language] or noted[{"it": "es"}.get(language, "ja")]
        others = sorted(others, key=lambda text: share_of(author + text))[:BACKGROUND]
        said = [*dict.fromkeys(row.earlier for row in mine), *others]
        for row in mine:
            for earlier in said:
                is_link = earlier == row.earlier and row.kind != "other"
                if found := compare(earlier, row.later):
                    kind = row.kind if is_link else ""
                    yield Pair("authored", author, earlier, row.later, kind, found)


def talk_pairs(rows: list[Row]) -> Iterable[Pair]:
    """The pairs of neighbouring sentences of talk; hardly any are linked."""
    kinds = {(row.earlier, row.later): row.kind for row in rows if row.author == "talk"}
    talk: dict[str, list[str]] = defaultdict(list)
    for row in of_source("talk") + of_source("chats"):
        # Only what a secretary would note may be linked.
        if row.code[1] > "0":
            talk[row.source + row.language].append(row.sentence)
    for said in talk.values():
        for at, later in enumerate(said):
            for earlier in said[max(0, at - WINDOW) : at]:
                kind = kinds.get((earlier, later), "")
                if kind != "unclear" and (found := compare(earlier, later)):
                    yield Pair("talk", fold_name(later), earlier, later, kind, found)


def fold_name(sentence: str) -> str:
    """The sentences of talk are divided into groups, which stand for authors."""
    return f"label {int(5 * share_of(sentence))}"


# Links


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weights of a logistic regression, the bias last."""
    x = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.append(np.ones(x.shape[1] - 1), 1e-6)
    weights = np.zeros(x.shape[1])
    for _ in range(40):
        share = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (weight * (share - y)) + penalty * weights
        curvature = (x * (weight * share * (1 - share))[:, None]).T @ x + np.diag(penalty)
        weights = weights - np.linalg.solve(curvature, slope)
    return weights


def trained(pairs: list[Pair]) -> np.ndarray:
    """The weights of `PAIR`, then the bias. That a sentence says the same again is no link."""
    is_link = np.array([pair.kind not in ("", "same") for pair in pairs], float)
    weight = np.array([WEIGHT[pair.source] for pair in pairs])
    return logistic(np.array([pair.features for pair in pairs]), is_link, weight)


def main() -> None:
    """Trains, and writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--updates", type=Path, help="chats with annotated updates")
    arguments = parser.parse_args()
    rows = read_rows()
    chats = json.loads(arguments.updates.read_text("utf-8")) if arguments.updates else []
    chats = [chat for chat in chats if chat["updates"]]
    pairs = [*authored_pairs([row for row in rows if row.author != "talk"]), *talk_pairs(rows)]
    pairs += [pair for chat in chats for pair in update_pairs(chat)]
    for name, value in zip((*PAIR, "bias"), trained(pairs), strict=True):
        print(f"{name:20} {value:8.3f}")


if __name__ == "__main__":
    main()
