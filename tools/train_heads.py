"""Train the heads that judge a sentence: ``src/episodica-core/assets/heads.bin``.

    python tools/train_heads.py [--check] [--held-out]

Reads the labelled sentences of ``tools/labels`` (their README explains the codes), needs only numpy
and takes a minute or two. ``--check`` writes nothing. With and without it the script fails if the
result differs from the file that ``SHA256`` names. ``--held-out`` also prints the figures on
sentences that were not trained on.

A head is a logistic regression over hashed features (``features``, the same as in
``text/heads.rs``): words, pairs of words, runs of three and four letters, runs of one to three
characters for Chinese and Japanese, and a few features of the whole sentence. Each row of the
result is one bucket, with one signed byte for each head.

* ``worth``: a careful secretary of the speaker notes the sentence
* ``must``: the sentence must not be missed, however short (a sentence that is only worth a note
  counts a tenth, since taking it does no harm)
* ``small_talk``: greetings, reactions, questions, fragments
* ``unclear``: not understandable alone (trained on all but small talk)
* ``profile``: belongs in a profile of the speaker
* ``outcome``: an agent tells what it did or found (trained on agents' sentences only)
* ``personal``, ``work``, ``taste``, ``relation``, ``goal``: the section of a profile, the highest
  score decides (trained on sentences that belong in one)

A score above 0 says yes. Cross-validation on the training sentences sets the 0: for ``worth``
where precision and recall balance best (F1); for the others where a share of ``SURE``
of the sentences of a file with a yes is right (for ``must``: worth a note).
"""

from __future__ import annotations

import argparse
import hashlib
import struct
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
LABELS = ROOT / "tools" / "labels"
FILE = ROOT / "src" / "episodica-core" / "assets" / "heads.bin"
SHA256 = "895b5dd5a2c83b553a04b51876574f3acdf13e3bc54e2d64903a7c763c19ffe2"

# Sections of a profile, and their letters in a code.
PLACES = {"personal": "I", "work": "W", "taste": "T", "relation": "R", "goal": "G"}
HEADS = ("worth", "must", "small_talk", "unclear", "profile", "outcome", *PLACES)
BUCKETS = 1 << 15
GRAMS = (3, 4)
QUOTES = '"“”„«»「」『』'

# How a head is fitted: weight of a feature of the whole sentence, penalty of squared weights,
# steps.
PLAIN = 0.5
L2 = 0.05
STEPS = 200
FOLDS = 4
# Least share of right sentences among those of these files above a threshold.
SURE = {
    "must": ("authored", 0.79),
    "small_talk": ("authored", 0.8),
    "unclear": ("chats talk", 0.5),
    "profile": ("chats talk", 0.72),
    "outcome": ("authored talk", 0.8),
}
# Weights of a sentence: one that is only worth a note, for `must`; one of `plain.tsv`.
ONLY_WORTH = 0.1
FROM_PATTERN = 0.5


class Labelled(NamedTuple):
    """A sentence with its label."""

    source: str
    language: str
    role: str
    sentence: str
    code: str

    def is_held_out(self) -> bool:
        """A fifth of the authors' sentences and all of ``chats_held`` are never trained on."""
        if self.source in ("authored", "talk"):
            return part(self, 5) == 0
        return self.source == "chats_held"

    def place(self) -> str:
        """The section of a profile that the sentence belongs in, or none."""
        return next((place for place, letter in PLACES.items() if letter in self.code[2:]), "")

    def trains(self, head: str) -> bool:
        """Whether the head is for such sentences."""
        if self.source == "talk" and self.role != "user":
            # Readers of agents' sentences were only asked which are worth a note.
            return head in ("worth", "outcome")
        if head == "unclear":
            return self.code[0] != "x"
        if head == "profile":
            return "?" not in self.code
        if head in PLACES:
            return bool(self.place())
        return head != "outcome" or self.role != "user"

    def is_(self, head: str) -> bool:
        """Whether the label says yes to the head."""
        kind, worth, marks = self.code[0], self.code[1], set(self.code[2:])
        if head in PLACES:
            return self.place() == head
        return {
            "worth": worth > "0",
            "must": worth == "2",
            "small_talk": kind == "x" and worth == "0",
            "unclear": "u" in marks,
            "profile": bool(self.place()),
            "outcome": self.role != "user" and worth > "0",
        }[head]


def part(row: Labelled, parts: int) -> int:
    """The number of the part that has the sentence, of so many parts."""
    return int.from_bytes(hashlib.sha256(row.sentence.encode()).digest()[:4], "big") % parts


def labelled(source: str) -> list[Labelled]:
    """The sentences of a file."""
    lines = (LABELS / f"{source}.tsv").read_text("utf-8").splitlines()
    return [Labelled(source, *line.split("\t")) for line in lines]


# Features


def is_unspaced(char: str) -> bool:
    """A Chinese or Japanese character."""
    return (
        "\u3040" <= char <= "\u30ff"
        or "\u3400" <= char <= "\u4dbf"
        or "\u4e00" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U000323af"
    )


def words(text: str) -> list[str]:
    """The words in lower case, each Chinese or Japanese character by itself, digits as 0."""
    found, word = [], ""
    for char in text.lower().replace("\u2019", "'"):
        if char == "'" or (char.isalnum() and not is_unspaced(char)):
            word += "0" if char in "0123456789" else char
            continue
        if word:
            found.append(word)
            word = ""
        if is_unspaced(char):
            found.append(char)
    return [*found, word] if word else found


def features(text: str, by_agent: bool) -> tuple[list[str], list[str]]:
    """The features of words, and those of the whole sentence."""
    of_words, one, two = [], "", ""
    found = words(text)
    for word in found:
        of_words += ["w" + word, "b" + two + " " + word]
        if is_unspaced(word[0]):
            of_words.append("t" + one + two + word)
        else:
            marked = f"<{word}>"
            ends = range(len(marked) + 1)
            of_words += ["g" + marked[end - n : end] for end in ends for n in GRAMS if n <= end]
        one, two = two, word
    of_words.append("b" + two + " ")
    end = text.rstrip()[-1:]
    plain = [
        f"=length {min(len(found).bit_length(), 6)}",
        *["=asks"] * (end in ("?", "\uff1f")),
        *["=cries"] * (end in ("!", "\uff01")),
        *["=agent"] * by_agent,
        *["=digit"] * any(char in "0123456789" for char in text),
        *["=quotes"] * any(char in QUOTES for char in text),
    ]
    return of_words, plain


def bucket(feature: str) -> int:
    """FNV-1a over the characters, its halves folded."""
    value = 0xCBF29CE484222325
    for char in feature:
        value = (value ^ ord(char)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (value >> 32 ^ value) % BUCKETS


class Matrix:
    """A sparse matrix of sentences by buckets."""

    def __init__(self, row: np.ndarray, column: np.ndarray, value: np.ndarray, rows: int) -> None:
        self.row, self.column, self.value, self.rows = row, column, value, rows

    @classmethod
    def of(cls, rows: list[Labelled]) -> Matrix:
        """The features of sentences."""
        known: dict[str, int] = {}
        row, column, value = [], [], []
        for at, each in enumerate(rows):
            of_words, plain = features(each.sentence, each.role != "user")
            for name in (*of_words, *plain):
                if name not in known:
                    known[name] = bucket(name)
                column.append(known[name])
            row += [at] * (len(of_words) + len(plain))
            value += [len(of_words) ** -0.5] * len(of_words) + [PLAIN] * len(plain)
        return cls(np.array(row), np.array(column), np.array(value), len(rows))

    def only(self, keep: np.ndarray) -> Matrix:
        """The rows that `keep` marks."""
        inside = keep[self.row]
        row = (np.cumsum(keep) - 1)[self.row[inside]]
        return Matrix(row, self.column[inside], self.value[inside], int(keep.sum()))

    def times(self, weights: np.ndarray) -> np.ndarray:
        """A score of each row."""
        values = self.value * weights[self.column]
        return np.bincount(self.row, weights=values, minlength=self.rows)

    def spread(self, of_rows: np.ndarray) -> np.ndarray:
        """The sum of the rows' values in each bucket."""
        values = self.value * of_rows[self.row]
        return np.bincount(self.column, weights=values, minlength=BUCKETS)


# Training


def importance(rows: list[Labelled], head: str) -> np.ndarray:
    """The sentences of a language in a file weigh as the square root of their number together."""
    sizes = Counter((row.source, row.language) for row in rows)
    value = np.array([sizes[row.source, row.language] ** -0.5 for row in rows])
    value *= np.where([row.source == "plain" for row in rows], FROM_PATTERN, 1.0)
    value /= value.mean()
    if head == "must":
        value *= np.where([row.code[1] == "1" for row in rows], ONLY_WORTH, 1.0)
    return value * [row.trains(head) for row in rows]


def fitted(x: Matrix, y: np.ndarray, importance: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias, by accelerated gradient descent with restarts (O'Donoghue, Candes)."""
    direction = np.ones(BUCKETS)
    for _ in range(10):
        direction = x.spread(importance * x.times(direction))
        curvature = np.linalg.norm(direction)
        direction /= curvature
    step = 1 / (0.3 * curvature + 0.1 * importance.sum() + L2)
    weights, bias = np.zeros(BUCKETS), 0.0
    ahead, ahead_bias, pace = weights, bias, 1.0
    for _ in range(STEPS):
        error = importance * (1 / (1 + np.exp(-x.times(ahead) - ahead_bias)) - y)
        moved = ahead - step * (x.spread(error) + L2 * ahead)
        moved_bias = ahead_bias - step * error.sum()
        next_pace = (1 + np.sqrt(1 + 4 * pace * pace)) / 2
        if ((ahead - moved) * (moved - weights)).sum() > 0:
            next_pace, push = 1.0, 0.0
        else:
            push = (pace - 1) / next_pace
        ahead = moved + push * (moved - weights)
        ahead_bias = moved_bias + push * (moved_bias - bias)
        weights, bias, pace = moved, moved_bias, next_pace
    return weights, float(bias)


def threshold(head: str, rows: list[Labelled], scores: np.ndarray) -> float:
    """The score at which a head begins to say yes, from scores of sentences not trained on."""
    if head in PLACES:
        return 0.0
    yes = "worth" if head == "must" else head
    wanted = np.array([row.is_(yes) for row in rows])
    source, sure = SURE.get(head, ("", 0.0))
    among = np.array([row.source in (source or row.source) and row.trains(head) for row in rows])
    order = np.argsort(-scores[among], kind="stable")
    right = np.cumsum(wanted[among][order])
    taken = np.arange(1, len(order) + 1)
    if not source:
        best = int(np.argmax(2 * right / (taken + wanted[among].sum())))
    else:
        best = int(np.nonzero(right / taken >= sure)[0][-1])
    return float(scores[among][order][best])


def train(rows: list[Labelled]) -> bytes:
    """The bytes of the file: scale and bias of each head (float32), then a row of each bucket."""
    x = Matrix.of(rows)
    folds = np.array([part(row, 5 * FOLDS) // 5 for row in rows])
    head_bytes, columns = b"", []
    for head in HEADS:
        y = np.array([row.is_(head) for row in rows], float)
        counts = importance(rows, head)
        scores = np.zeros(len(rows))
        for fold in range(FOLDS):
            inside = folds != fold
            weights, bias = fitted(x.only(inside), y[inside], counts[inside])
            scores[~inside] = x.only(~inside).times(weights) + bias
        weights, bias = fitted(x, y, counts)
        scale = float(np.abs(weights).max()) / 127
        head_bytes += struct.pack("<2f", scale, bias - threshold(head, rows, scores))
        columns.append(np.rint(weights / scale).astype(np.int8))
    return head_bytes + np.stack(columns, axis=1).tobytes()


# Figures


def scores(data: bytes, rows: list[Labelled]) -> dict[str, np.ndarray]:
    """The score of each sentence by each head of a file."""
    x = Matrix.of(rows)
    table = np.frombuffer(data[8 * len(HEADS) :], np.int8).reshape(BUCKETS, len(HEADS))
    found = {}
    for at, head in enumerate(HEADS):
        scale, bias = struct.unpack_from("<2f", data, 8 * at)
        found[head] = x.times(table[:, at] * scale) + bias
    return found


def group(row: Labelled) -> str:
    """Where a sentence comes from, and whether it is English."""
    source = {"authored": "authors' sentences", "talk": "authors' chats"}.get(
        row.source, "real chats"
    )
    agents = ", of agents" if row.role != "user" else ""
    return f"{source}{agents}, {'English' if row.language == 'en' else 'five languages'}"


def figures(data: bytes, rows: list[Labelled]) -> None:
    """Prints precision and recall of each head, for each kind of sentence."""
    print("| head | sentences | number | labelled so | taken | precision | recall | worth a note |")
    print("|---|---|---|---|---|---|---|---|")
    of_heads = scores(data, rows)
    groups = sorted({group(row) for row in rows})
    for head in [head for head in HEADS if head not in PLACES]:
        for name in groups:
            here = np.array([group(row) == name and row.trains(head) for row in rows])
            if not here.any():
                continue
            yes = np.array([row.is_(head) for row in rows])[here]
            noted = np.array([row.is_("worth") for row in rows])[here]
            taken = of_heads[head][here] > 0
            both = (yes & taken).sum()
            among = max(taken.sum(), 1)
            shares = (both / among, both / max(yes.sum(), 1), (noted & taken).sum() / among)
            shown = [f"{share:.2f}".lstrip("0") for share in shares]
            shown[2] = shown[2] if head == "must" else ""
            counts = f"{len(yes)} | {yes.sum()} | {taken.sum()}"
            print(f"| `{head}` | {name} | {counts} | {' | '.join(shown)} |")
    best = np.stack([of_heads[place] for place in PLACES]).argmax(axis=0)
    for name in groups:
        here = [at for at, row in enumerate(rows) if group(row) == name and row.place()]
        if here:
            right = sum(list(PLACES)[best[at]] == rows[at].place() for at in here)
            print(f"sections, {name}: {right} of {len(here)} right")


def main() -> None:
    """Trains, and writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--held-out", action="store_true", help="figures on unseen sentences")
    arguments = parser.parse_args()
    rows = [row for source in ("chats", "authored", "talk", "plain") for row in labelled(source)]
    data = train([row for row in rows if not row.is_held_out()])
    digest = hashlib.sha256(data).hexdigest()
    print(digest, len(data))
    if not arguments.check:
        FILE.write_bytes(data)
    if arguments.held_out:
        rows += labelled("chats_held")
        figures(data, [row for row in rows if row.is_held_out()])
    if digest != SHA256:
        sys.exit(f"another file than the recipe's: {SHA256}")


if __name__ == "__main__":
    main()
