"""Train the weights that link a later sentence with an earlier one: ``assets/links.bin``.

``assets/rarities.bin``, which says how much a piece of the vocabulary tells, is made first.

    python tools/train_links.py [--updates FILE] [--check] [--held-out]

Reads the pairs of ``tools/labels/links.tsv`` (author, language, kind, earlier sentence, later
sentence), sentences of the files beside it, and the chats of ``--updates``: a
JSON list of chats, each with ``messages`` (``role``, ``content``, ``message_id``) and ``updates``
(``validity`` ``confirmed`` or ``tentative``, ``old`` and ``new`` with ``messages`` and ``quotes``),
the form of MemOps. Needs only numpy and takes some minutes, most of them for vectors. The file of
the package was trained with MemOps, whose sentences are not in the package; ``SHA256`` names it,
and without ``--updates`` the script makes another one. ``--check`` writes nothing and compares the
numbers, which other versions of numpy may round otherwise.

1. Two heads judge the later sentence alone, by its pieces and its vector from the package's own
   encoder: ``moved`` (something changed or was wrong) and ``tentative`` (it may change). Each is a
   linear regression.
2. A logistic regression over `PAIR` and the heads says whether two sentences are linked. For its
   training the heads come from other authors.

The links of the sentences of two messages count together: the odds of all pairs are added up.
``--held-out`` prints how many updates are found by weights that saw no chat of the same persona.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from link_features import PAIR, RARITIES, compare, of_heads, rarities_of, rarity_table, vector
from train_heads import FILE as HEADS_FILE
from train_heads import HEADS as SENTENCE_HEADS
from train_heads import LABELS, ROOT, Inputs, Labelled, labelled

FILE = ROOT / "src" / "episodica-core" / "assets" / "links.bin"
SHA256 = "699f36cbfd9fdbe336935b14f4a06ffda66d5723c1045d10f078d7c8d87bb831"

HEADS = ("moved", "tentative")
MOVED = {"correction", "change", "cancelled"}
# Sentences are linked if this head says that a secretary would nearly note them.
WORTH = -1.0
# Other authors' sentences among which an author's earlier sentence has to be found.
BACKGROUND = 25
# Weight of a pair by where it comes from, and of a sentence for the heads.
WEIGHT = {"authored": 0.75, "updates": 1.0, "talk": 1.0}
HEAD_WEIGHT = {"authored": 1.0, "updates": 0.7, "talk": 0.7}
# Share of the sentences of talk that are read as examples without a change.
OF_TALK = 0.2
# How the heads are fitted: number of pieces, least number of sentences with a piece, factors of
# pieces and vectors, penalty, share of the sentences with a yes, factor of the result.
KNOWN, LEAST = 400, 8
OF_PIECE, OF_VECTOR, PENALTY, OF_YES, SCALE = 0.5, 1.5, 4.0, 0.3, 3.0
FOLDS = 3
END = re.compile(r"(?<=[.!?…])[\"”\u2019)]?\s+|(?<=[。\uff01\uff1f])|\n+")


class Pair(NamedTuple):
    """Two sentences, the kind of their link (empty: none; None: left out), and their features."""

    source: str
    group: str
    chat: str
    messages: tuple[str, str]
    later: str
    kind: str | None
    features: list[float]


# A chat, and the ids of an earlier and a later message.
Link = tuple[str, tuple[str, str]]


class HeadRow(NamedTuple):
    """A sentence with the answers of the heads."""

    source: str
    group: str
    answers: tuple[float, float]


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


def read_rows(of_talk: bool) -> list[Row]:
    """The pairs that authors wrote, or those that a reader found in talk."""
    lines = (LABELS / "links.tsv").read_text("utf-8").splitlines()
    rows = (Row(*line.split("\t")) for line in lines)
    return [row for row in rows if row.author.startswith("talk") == of_talk]


def sentences_by_language() -> dict[str, list[str]]:
    """The labelled sentences, from which the rarities come."""
    found: dict[str, list[str]] = defaultdict(list)
    for one in labelled():
        if one.source in ("authored", "talk", "chats", "second_talk", "life"):
            found[one.language].append(one.sentence)
    for line in (LABELS / "changes.tsv").read_text("utf-8").splitlines():
        _, language, *_, earlier, later = line.split("\t")
        found[language] += [earlier, later]
    return found


def sentences(text: str) -> list[str]:
    parts = (part.strip() for part in END.split(text) if part)
    return [part for part in parts if any(char.isalnum() for char in part)]


def units(chat: dict[str, Any]) -> list[tuple[str, str]]:
    """The user's sentences, with their message."""
    return [
        (message["message_id"], sentence)
        for message in chat["messages"]
        if message["role"] == "user"
        for sentence in sentences(message["content"])
    ]


def are_worth(texts: list[str]) -> np.ndarray:
    """Whether a secretary would nearly note each sentence: the head `worth` by words alone."""
    data, heads = HEADS_FILE.read_bytes(), len(SENTENCE_HEADS)
    scale, _, bias = np.frombuffer(data, "<f4", 3)
    table = np.frombuffer(data[12 * heads :], np.int8)[: heads << 15].reshape(1 << 15, heads)
    x = Inputs.of([Labelled("", "", "user", text, "x0", "", "") for text in texts])
    return x.times(table[:, :1] * scale)[:, 0] + bias >= WORTH


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
    worth = are_worth([sentence for _, sentence in said])
    said = [unit for unit, keep in zip(said, worth, strict=True) if keep]
    for at, new in enumerate(said):
        for old in said[:at]:
            if old[0] != new[0] and (found := compare(old[1], new[1])):
                kind, messages = kind_of_update(chat, old, new), (old[0], new[0])
                yield Pair("updates", persona(chat), chat["id"], messages, new[1], kind, found)


def authored_pairs(rows: list[Row]) -> Iterable[Pair]:
    """The pairs of each author, whose earlier sentences stand among those of others."""
    for author, language in sorted({(row.author, row.language) for row in rows}):
        mine = [row for row in rows if (row.author, row.language) == (author, language)]
        others = {row.earlier for row in rows if row.language == language} - {
            row.earlier for row in mine
        }
        chosen = sorted(others, key=lambda text: share_of(author + text))[:BACKGROUND]
        for row in mine:
            for earlier in [*dict.fromkeys(row.earlier for row in mine), *chosen]:
                is_link = earlier == row.earlier and row.kind != "other"
                if found := compare(earlier, row.later):
                    kind: str | None = row.kind if is_link else ""
                    if row.kind == "unclear" and earlier == row.earlier:
                        kind = None
                    messages, group = (earlier, row.later), f"author {author}"
                    yield Pair("authored", group, author, messages, row.later, kind, found)


def talk_pairs(rows: list[Row]) -> Iterable[Pair]:
    """The pairs of talk, which were near to a link when they were read."""
    for row in rows:
        if (found := compare(row.earlier, row.later)) and row.kind != "unclear":
            kind, messages = "" if row.kind == "other" else row.kind, (row.earlier, row.later)
            yield Pair("talk", row.author, row.author, messages, row.later, kind, found)


# Heads


def head_rows(
    rows: list[Row], of_talk: list[Row], chats: list[dict[str, Any]]
) -> dict[str, HeadRow]:
    """Sentences from which the heads learn."""
    found: dict[str, HeadRow] = {}
    for chat in chats:
        for message, sentence in units(chat):
            kinds = {
                update["validity"]
                for update in chat["updates"]
                if message in update["new"]["messages"]
                and quoted(sentence, update["new"]["quotes"])
            }
            moved = "confirmed" in kinds
            answers = (float(moved), float(bool(kinds) and not moved))
            found.setdefault(sentence, HeadRow("updates", persona(chat), answers))
    for row in rows:
        answers = (float(row.kind in MOVED), float(row.kind == "tentative"))
        found.setdefault(row.later, HeadRow("authored", f"author {row.author}", answers))
    for row in rows:
        found.setdefault(row.earlier, HeadRow("authored", f"author {row.author}", (0.0, 0.0)))
    for one in labelled():
        if one.source in ("talk", "chats") and one.role == "user" and one.code[1] > "0":
            ended, share = "n" in one.code[2:], share_of(one.sentence)
            if ended or share < OF_TALK:
                group = f"talk {int(FOLDS * share)}"
                found.setdefault(one.sentence, HeadRow("talk", group, (float(ended), 0.0)))
    for row in of_talk:
        answers = (float(row.kind in MOVED), 0.0)
        found.setdefault(row.later, HeadRow("talk", row.author, answers))
    return found


def known_pieces(rows: dict[str, HeadRow]) -> list[int]:
    """The pieces that tell most whether a sentence says that something changed or may change."""
    among = Counter(piece for text in rows for piece in of_heads(text))
    yes = [text for text, row in rows.items() if any(row.answers)]
    of_yes = Counter(piece for text in yes for piece in of_heads(text))
    usual = len(yes) / len(rows)

    def surprise(piece: int) -> float:
        number = among[piece]
        spread = number * usual * (1 - usual) + 1
        return float(abs(of_yes[piece] - number * usual) / spread**0.5)

    enough = [piece for piece, number in sorted(among.items()) if number >= LEAST]
    return sorted(sorted(enough, key=surprise, reverse=True)[:KNOWN])


def inputs(texts: Iterable[str], known: list[int]) -> np.ndarray:
    """A row for each sentence: which of the pieces it has, its vector, and 1."""
    column = {piece: at for at, piece in enumerate(known)}
    rows = []
    for text in texts:
        row = np.zeros(len(known))
        row[[column[piece] for piece in of_heads(text) if piece in column]] = OF_PIECE
        rows.append(np.concatenate([row, OF_VECTOR * vector(text), [1.0]]))
    return np.array(rows)


def fitted(x: np.ndarray, rows: list[HeadRow]) -> np.ndarray:
    """The weights of the heads, a column each."""
    weight = np.array([HEAD_WEIGHT[row.source] for row in rows])
    columns = []
    for head in range(len(HEADS)):
        y = np.array([row.answers[head] for row in rows])
        share = y.mean()
        w = weight * np.where(y > 0, OF_YES / share, (1 - OF_YES) / (1 - share))
        square = (x * w[:, None]).T @ x + PENALTY * np.eye(x.shape[1])
        columns.append(SCALE * np.linalg.solve(square, x.T @ (w * (2 * y - 1))))
    return np.stack(columns, 1)


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


class Trial(NamedTuple):
    """Pairs with their features and heads, and the fold of each."""

    pairs: list[Pair]
    features: np.ndarray
    folds: np.ndarray

    def weights(self, keep: np.ndarray) -> np.ndarray:
        """The weights from pairs that `keep` marks. That the same is said again is no link."""
        kinds = [pair.kind for pair in self.pairs]
        keep = keep & np.array([kind is not None for kind in kinds])
        is_link = np.array([kind not in (None, "", "same") for kind in kinds], float)
        weight = np.array([WEIGHT[pair.source] for pair in self.pairs])
        return logistic(self.features[keep], is_link[keep], weight[keep])


def prepared(pairs: list[Pair], rows: dict[str, HeadRow], x: np.ndarray, known: list[int]) -> Trial:
    """The pairs with heads that saw none of their group."""
    groups = sorted({row.group for row in rows.values()} | {pair.group for pair in pairs})
    fold = {group: at % FOLDS for at, group in enumerate(groups)}
    of_rows = np.array([fold[row.group] for row in rows.values()])
    place = {text: at for at, text in enumerate(rows)}
    folds = np.array([fold[pair.group] for pair in pairs])
    heads = np.zeros((len(pairs), len(HEADS)))
    for left_out in range(FOLDS):
        keep = of_rows != left_out
        head = fitted(x[keep], [row for row, kept in zip(rows.values(), keep, strict=True) if kept])
        here = np.flatnonzero(folds == left_out)
        later = [place[pairs[at].later] for at in here]
        heads[here] = x[later] @ head
    features = np.hstack([np.array([pair.features for pair in pairs]), heads])
    return Trial(pairs, features, folds)


def file_of(link: np.ndarray, heads: np.ndarray, known: list[int]) -> bytes:
    """The numbers in the order in which ``generate/links/weights.rs`` reads them."""
    pieces, vector, bias = OF_PIECE * heads[: len(known)], heads[len(known) : -1], heads[-1]
    numbers = [link.round(3)]
    for head in range(len(HEADS)):
        numbers += [(OF_VECTOR * vector[:, head]).round(3), bias[head : head + 1].round(3)]
    numbers.append(np.column_stack([known, pieces.round(3)]).reshape(-1))
    return np.concatenate(numbers).astype("<f4").tobytes()


# Figures


def most_direct(odds: dict[Link, float]) -> dict[Link, float]:
    """The two surest links of each later message, without those that go through another one."""
    of_later: dict[tuple[str, str], list[tuple[float, Link]]] = defaultdict(list)
    for link, one in odds.items():
        chat, (_, new) = link
        of_later[chat, new].append((one, link))
    best = [link for links in of_later.values() for _, link in sorted(links, reverse=True)[:2]]
    kept = {link: odds[link] for link in best}
    next_: dict[tuple[str, str], list[str]] = defaultdict(list)
    for chat, (old, new) in kept:
        next_[chat, old].append(new)

    def is_direct(link: Link) -> bool:
        chat, (old, new) = link
        between = [one for one in next_[chat, old] if one != new]
        return not any(
            min(kept[chat, (old, one)], kept.get((chat, (one, new)), 0.0)) >= kept[link]
            for one in between
        )

    return {link: one for link, one in kept.items() if is_direct(link)}


def print_held_out(trial: Trial, chats: list[dict[str, Any]]) -> None:
    """How many updates the links of the surest messages have, by their number in 100 messages."""
    score = np.zeros(len(trial.pairs))
    for fold in range(FOLDS):
        weights, here = trial.weights(trial.folds != fold), trial.folds == fold
        score[here] = trial.features[here] @ weights[:-1] + weights[-1]
    odds: dict[Link, float] = defaultdict(float)
    for pair, one in zip(trial.pairs, score, strict=True):
        if pair.source == "updates":
            odds[pair.chat, pair.messages] += np.exp(one)
    odds = most_direct(odds)
    ranked = sorted(odds, key=lambda link: -odds[link])
    total = sum(len(chat["messages"]) for chat in chats)
    for rate in (8, 12, 18, 24):
        most = rate * total // 100
        found, told = set(ranked[:most]), []
        for validity in ("confirmed", "tentative"):
            hits = [
                any(
                    (chat["id"], (old, new)) in found
                    for old in update["old"]["messages"]
                    for new in update["new"]["messages"]
                )
                for chat in chats
                for update in chat["updates"]
                if update["validity"] == validity
            ]
            told.append(f"{validity} {np.mean(hits):.3f}")
        print(rate, "in 100 messages, logit", round(np.log(odds[ranked[most]]), 2), *told)


def main() -> None:
    """Trains, and writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--updates", type=Path, help="chats with annotated updates")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--held-out", action="store_true", help="print figures")
    arguments = parser.parse_args()
    rarities = rarities_of(sentences_by_language())
    if not arguments.check:
        RARITIES.write_bytes(rarities)
    elif rarities != RARITIES.read_bytes():
        sys.exit("other rarities than the recipe's")
    rarity_table.cache_clear()
    rows, of_talk = read_rows(of_talk=False), read_rows(of_talk=True)
    chats = json.loads(arguments.updates.read_text("utf-8")) if arguments.updates else []
    chats = [chat for chat in chats if chat["updates"]]
    pairs = [*authored_pairs(rows), *talk_pairs(of_talk)]
    pairs += [pair for chat in chats for pair in update_pairs(chat)]
    of_heads_ = head_rows(rows, of_talk, chats)
    known = known_pieces(of_heads_)
    x = inputs(of_heads_, known)
    trial = prepared(pairs, of_heads_, x, known)
    if arguments.held_out:
        print_held_out(trial, chats)
    link = trial.weights(np.ones(len(pairs), bool))
    for name, value in zip((*PAIR, *HEADS, "bias"), link, strict=True):
        print(f"{name:24} {value:8.3f}")
    data = file_of(link, fitted(x, list(of_heads_.values())), known)
    print(hashlib.sha256(data).hexdigest(), len(data))
    if not arguments.check:
        FILE.write_bytes(data)
    elif not np.allclose(
        *(np.frombuffer(one, "<f4") for one in (data, FILE.read_bytes())), atol=0.01
    ):
        sys.exit(f"another file than the recipe's: {SHA256}")


if __name__ == "__main__":
    main()
