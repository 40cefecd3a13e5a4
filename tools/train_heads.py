"""Train the heads that judge a sentence: ``src/episodica-core/assets/heads.bin``.

    OMP_NUM_THREADS=1 python tools/train_heads.py [--check] [--held-out]

Reads the labelled sentences of ``tools/labels`` (their README explains the codes), needs only numpy
and takes some minutes. ``--check`` writes nothing. With and without it the script fails if the
result differs from the file that ``SHA256`` names. ``--held-out`` prints instead how well each head
does on authors whose sentences it was not trained on.

A head is a logistic regression over hashed features (``features``, the same as in
``text/heads.rs``): words, pairs of words, runs of three and four letters, runs of one to three
characters for Chinese and Japanese, and a few features of the whole sentence. Each head exists
twice: for words alone, and for words with the sentence's vector from the package's own encoder,
which ``compact_numpy.py`` computes.

* ``worth``: a careful secretary of the speaker notes the sentence
* ``must``: the sentence must not be missed, however short (a sentence that is only worth a note
  counts a tenth, since taking it does no harm)
* ``small_talk``: greetings, reactions, questions, fragments
* ``unclear``: not understandable alone (trained on all but small talk)
* ``outcome``: an agent tells what it did or found (trained on agents' sentences only)
* ``title``: tells the talk in which it stands (trained on talks whose best sentences are marked;
  one that tells half counts half)
* the section of a profile in which the sentence belongs, a rule for the assistant, a request to
  forget, or none: one softmax. It says yes at a lower score where ``must`` and ``small_talk`` are
  sure (``SURER``): what is far from small talk seldom needs the talk around it, and between must
  and must not are rules for one task; a rule itself must be known. It asks for more where two
  sections are nearly as likely (``CERTAIN``), and for less for a rule (``RULES``), which few
  sentences of the labels are.

A score above 0 says yes. The scores of a quarter of the authors, by weights that saw none of their
sentences, set the 0; then all sentences train the weights. The 0 is set for
``worth`` and ``title`` where precision and recall balance best (F1), for the others where a share
of ``SURE`` of the sentences of a file with a yes is right (for ``must``: worth a note).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import struct
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from compact_numpy import vector

ROOT = Path(__file__).resolve().parent.parent
LABELS = ROOT / "tools" / "labels"
FILE = ROOT / "src" / "episodica-core" / "assets" / "heads.bin"
SHA256 = "c3c181278b5a25db1132de6ec54c75fb66b4199b69778ca49cc07f0bd55e8af0"

FILES = (
    *("chats", "chats_held", "authored", "talk", "plain", "second_talk", "life", "courtesies"),
    *("near_misses", "lasting", "titles"),
)
SINGLE = ("worth", "must", "small_talk", "unclear", "outcome", "title")
# Sections of a profile, and their letters in a code. A rule for the assistant, which a profile
# shows as personal, is learned apart: it has other words than what a person tells of herself. So
# is a request to forget something, which is in no section.
PLACES = {"none": "", "personal": "I", "work": "W", "taste": "T", "relation": "R", "goal": "G"}
PLACES |= {"rule": "", "forget": "f"}
HEADS = (*SINGLE, *PLACES)
# Among the sections.
RULE = list(PLACES)[1:].index("rule")
BUCKETS = 1 << 15
# What says nothing at the ends of a sentence: white space, emoji, arrows, a tilde.
ENDS = r"[\s~^\u200d\u20e3\u2190-\u2bff\u301c\ufe00-\ufe0f\uff5e\U0001f000-\U0001faff]+"
GRAMS = (3, 4)
QUOTES = '"“”„«»「」『』'

# How a head is fitted: weights of a feature of the whole sentence and of the vector, penalty of
# squared weights, steps.
PLAIN = 0.5
MEANING = 1.5
L2 = 0.15
STEPS = 80
# The authors who set the thresholds, apart from every fourth student.
SETTERS = (
    "a-en-2 a-es-1 a-fr-1 t-de-3 t-de-5 t-en-1 t-es-2 t-es-4 t-es-5 t-fr-5 t-ja-1 t-zh-1 t-zh-3"
)
# Least share of right sentences among those of these files above a threshold.
SURE = {
    "must": ("talk", 0.7),
    "small_talk": ("authored", 0.8),
    "unclear": ("chats talk", 0.5),
    "profile": ("chats chats_held talk", 0.7),
    "outcome": ("authored talk", 0.9),
}
# How far a point of these heads' scores, up to so many, moves the score at which `profile` says
# yes.
SURER = ("must", "small_talk")
MOVED = 0.4
FAR = 6.0
# How far the likeliest section's share of all sections moves that score, for each point of its
# logarithm; and how far it lies lower for a rule.
CERTAIN = 1.5
RULES = 1.5
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
    author: str
    chat: str

    def sets(self) -> bool:
        """Whether the author is one of those who set the thresholds."""
        if self.author[0] == "s":
            return int(self.author[1:]) % 4 == 0
        return self.author in SETTERS.split()

    def place(self) -> str:
        """The section of a profile that the sentence belongs in, none, or ``forget``."""
        marks = set(self.code[2:])
        named = (place for place, letter in PLACES.items() if letter and letter in marks)
        place = next(named, "none")
        return "rule" if place in ("none", "personal") and self.is_rule() else place

    def is_rule(self) -> bool:
        """Whether a person states a standing wish that is clear alone."""
        return self.role == "user" and self.code[:2] == "r2" and "u" not in self.code

    def trains(self, head: str) -> bool:
        """Whether the head is for such sentences."""
        if head == "title":
            return self.source == "titles" or (self.source == "second_talk" and self.chat != "-")
        if self.source == "titles":
            return False
        if self.source == "talk" and self.role != "user":
            # Readers of agents' sentences were only asked which are worth a note.
            return head in ("worth", "outcome")
        if head == "unclear":
            return self.code[0] != "x"
        if head == "profile":
            return "?" not in self.code or self.is_rule()
        return head != "outcome" or self.role != "user"

    def says(self, head: str) -> float:
        """How far the label says yes to the head, 0 to 1."""
        if head == "title":
            marks = self.code if self.source == "titles" else self.code[2:]
            return 1.0 if "t" in marks else 0.5 if "h" in marks else 0.0
        if self.source == "titles":
            return 0.0
        kind, worth, marks = self.code[0], self.code[1], set(self.code[2:])
        return float(
            {
                "worth": worth > "0",
                "must": worth == "2",
                "small_talk": kind == "x" and worth == "0",
                "unclear": "u" in marks,
                "profile": self.place() not in ("none", "forget"),
                "outcome": self.role != "user" and worth > "0",
            }[head]
        )


def labelled() -> list[Labelled]:
    """The sentences of all files."""
    return [
        Labelled(source, *line.split("\t"))
        for source in FILES
        for line in (LABELS / f"{source}.tsv").read_text("utf-8").splitlines()
    ]


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


def bare(text: str) -> str:
    """The part of a sentence that the heads read, without emoji and other symbols at its ends."""
    return re.sub(f"^{ENDS}|{ENDS}$", "", text)


def has_name(text: str) -> bool:
    """Whether a capitalised word follows one that ends no sentence."""
    parts = text.split()
    return any(
        word[0].isupper() and word[1:2] not in ("", "'", "\u2019") and before[-1] not in '.!?:…"”'
        for before, word in pairwise(parts)
    )


def features(text: str, by_agent: bool) -> tuple[list[str], list[str]]:
    """The features of words, and those of the whole sentence."""
    text = bare(text)
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
    first, end = text[:1], text[-1:]
    plain = [
        f"=length {min(len(found).bit_length(), 6)}",
        *["=asks"] * (end in ("?", "\uff1f")),
        *["=cries"] * (end in ("!", "\uff01")),
        *["=agent"] * by_agent,
        *["=digit"] * any(char in "0123456789" for char in text),
        *["=quotes"] * any(char in QUOTES for char in text),
        *["=lower"] * first.islower(),
        *["=open"] * end.isalnum(),
        *["=cut"] * (end in tuple(",:;…-\u2013\u2014") or text.endswith("...")),
        *["=name"] * has_name(text),
        *["=link"] * ("://" in text or "www." in text),
        *["=code"] * any(char in "{}<>=_/\\`" for char in text),
    ]
    return of_words, plain


def bucket(feature: str) -> int:
    """FNV-1a over the characters, its halves folded."""
    value = 0xCBF29CE484222325
    for char in feature:
        value = (value ^ ord(char)) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return (value >> 32 ^ value) % BUCKETS


class Inputs:
    """Sentences as a sparse matrix of buckets and, if there are vectors, a dense one of these."""

    def __init__(self, at: np.ndarray, value: np.ndarray, vectors: np.ndarray) -> None:
        # A place is the number of the row times that of the buckets, plus the bucket.
        self.at, self.value, self.vectors, self.rows = at, value, vectors, len(vectors)
        row, self.column = np.divmod(at, BUCKETS)
        self.starts = np.searchsorted(row, np.arange(self.rows))
        self.order = np.argsort(self.column, kind="stable")
        self.row = row[self.order]
        self.used, self.column_starts = np.unique(self.column[self.order], return_index=True)

    @classmethod
    def of(cls, rows: list[Labelled]) -> Inputs:
        """The words of sentences."""
        known: dict[str, int] = {}
        places, values = [], []
        for number, each in enumerate(rows):
            of_words, plain = features(each.sentence, each.role != "user")
            for name in (*of_words, *plain):
                if name not in known:
                    known[name] = bucket(name)
                places.append(number * BUCKETS + known[name])
            values += [len(of_words) ** -0.5] * len(of_words) + [PLAIN] * len(plain)
        at, inverse = np.unique(places, return_inverse=True)
        return cls(at, np.bincount(inverse, values), np.zeros((len(rows), 0)))

    def with_vectors(self, vectors: np.ndarray) -> Inputs:
        """The same sentences, with their vectors."""
        return Inputs(self.at, self.value, MEANING * vectors)

    def without_words(self) -> Inputs:
        """The same sentences with one word only, the same for all."""
        at = np.arange(self.rows) * BUCKETS
        return Inputs(at, np.full(self.rows, 1e-9), self.vectors)

    def only(self, keep: np.ndarray) -> Inputs:
        """The rows that `keep` marks."""
        row, column = np.divmod(self.at, BUCKETS)
        inside = keep[row]
        at = (np.cumsum(keep) - 1)[row[inside]] * BUCKETS + column[inside]
        return Inputs(at, self.value[inside], self.vectors[keep])

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Scores of each row: (rows, heads)."""
        columns = [
            np.add.reduceat(self.value * column[self.column], self.starts)
            for column in weights[:BUCKETS].T
        ]
        return np.stack(columns, 1) + self.vectors @ weights[BUCKETS:]

    def spread(self, of_rows: np.ndarray) -> np.ndarray:
        """The sum of the rows' values in each bucket and in each dimension."""
        sums = np.zeros((BUCKETS, of_rows.shape[1]))
        value = self.value[self.order]
        for number, column in enumerate(of_rows.T):
            sums[self.used, number] = np.add.reduceat(value * column[self.row], self.column_starts)
        return np.concatenate([sums, self.vectors.T @ of_rows])


# Training


def importance(rows: list[Labelled], head: str) -> np.ndarray:
    """The sentences of a language in a file weigh as the square root of their number together."""
    sizes = Counter((row.source, row.language) for row in rows)
    value = np.array([sizes[row.source, row.language] ** -0.5 for row in rows])
    value *= np.where([row.source == "plain" for row in rows], FROM_PATTERN, 1.0)
    value /= value.mean()
    if head == "must":
        value *= np.where([row.code[1:2] == "1" for row in rows], ONLY_WORTH, 1.0)
    return value * [row.trains(head) for row in rows]


def targets(rows: list[Labelled], head: str) -> np.ndarray:
    """What each head should say: one column, or one for each section."""
    if head != "profile":
        return np.array([[row.says(head)] for row in rows])
    return np.array([[row.place() == place for place in PLACES] for row in rows], float)


def answers(scores: np.ndarray) -> np.ndarray:
    """Logistic function of one column, softmax of several."""
    if scores.shape[1] == 1:
        return 1 / (1 + np.exp(-scores))
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def fitted(x: Inputs, y: np.ndarray, importance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias, by the method of Broyden, Fletcher, Goldfarb and Shanno (L-BFGS)."""
    counts = importance[:, None]
    shape = (BUCKETS + x.vectors.shape[1] + 1, y.shape[1])

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights, bias = flat.reshape(shape)[:-1], flat.reshape(shape)[-1]
        scores = x.times(weights) + bias
        if shape[1] == 1:
            cost = np.logaddexp(0, scores) - y * scores
        else:
            cost = np.log(np.exp(scores).sum(1, keepdims=True)) - (scores * y).sum(1, keepdims=True)
        error = counts * (answers(scores) - y)
        slope = np.concatenate([x.spread(error) + L2 * weights, error.sum(0)[None]])
        return float((counts * cost).sum() + L2 / 2 * (weights**2).sum()), slope.ravel()

    flat = np.zeros(shape[0] * shape[1])
    value, slope = loss(flat)
    past: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(STEPS):
        way = direction(slope, past)
        length = 1.0 if past else 1 / np.linalg.norm(slope)
        while True:
            next_value, next_slope = loss(flat + length * way)
            if next_value <= value + 1e-4 * length * (way @ slope):
                break
            length /= 2
        if (next_slope - slope) @ way > 0:
            past = [*past[-9:], (length * way, next_slope - slope)]
        flat, value, slope = flat + length * way, next_value, next_slope
    return flat.reshape(shape)[:-1], flat.reshape(shape)[-1]


def direction(slope: np.ndarray, past: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The next direction, from the last steps and the changes of the slope along them."""
    way, shares = -slope, []
    for step, change in reversed(past):
        shares.append(step @ way / (step @ change))
        way = way - shares[-1] * change
    if past:
        step, change = past[-1]
        way = way * (step @ change) / (change @ change)
    for (step, change), share in zip(past, reversed(shares), strict=True):
        way = way + step * (share - change @ way / (step @ change))
    return way


def margins(scores: np.ndarray) -> np.ndarray:
    """How far a head says yes: its score, or that of any section against none."""
    if scores.shape[1] == 1:
        return scores[:, 0]
    return np.log(np.exp(scores[:, 1:-1]).sum(1)) - scores[:, 0]


def left_out(x: Inputs, rows: list[Labelled], head: str) -> np.ndarray:
    """The scores of each sentence by weights that saw none of the setters'."""
    y, counts = targets(rows, head), importance(rows, head)
    inside = (counts > 0) & [not row.sets() for row in rows]
    weights, bias = fitted(x.only(inside), y[inside], counts[inside])
    return x.times(weights) + bias


def moved(scores: np.ndarray, others: dict[str, np.ndarray]) -> np.ndarray:
    """How far `profile` says yes, by its scores and those of the heads of `SURER`."""
    sections = scores[:, 1:-1]
    best = sections.max(1)
    share = -np.log(np.exp(sections - best[:, None]).sum(1))
    is_rule = sections.argmax(1) == RULE
    sure = {head: np.abs(others[head]).clip(0, FAR) for head in SURER}
    # What need not be known at all is no rule.
    sure["must"] = np.where(is_rule, others["must"].clip(-FAR, FAR), sure["must"])
    return margins(scores) + MOVED * sum(sure.values()) + CERTAIN * share + RULES * is_rule


def threshold(
    head: str, rows: list[Labelled], scores: np.ndarray, known: dict[str, np.ndarray]
) -> float:
    """The score at which a head begins to say yes, from the scores of the setters' sentences.

    `known` has the scores of earlier heads: only what these keep can be in a profile.
    """
    margin = margins(scores)
    wanted = np.array([row.says("worth" if head == "must" else head) for row in rows])
    source, sure = SURE.get(head, ("", 0.0))
    files = source.split() or FILES
    among = np.array([row.sets() and row.source in files and row.trains(head) for row in rows])
    if head == "profile":
        among &= (known["small_talk"] <= 0) & ((known["worth"] > 0) | (known["must"] > 0))
        margin = moved(scores, known)
    order = np.argsort(-margin[among], kind="stable")
    right = np.cumsum(wanted[among][order])
    taken = np.arange(1, len(order) + 1)
    if not source:
        best = int(np.argmax(2 * right / (taken + wanted[among].sum())))
    else:
        best = int(np.nonzero(right / taken >= sure)[0][-1])
    return float(margin[among][order][best])


def train(x: Inputs, rows: list[Labelled]) -> bytes:
    """A part of the file.

    Scale, scale of the vector's weights and bias of each head (float32); a row for each bucket,
    then one for each dimension of the vector, with a signed byte for each head.
    """
    columns, biases, known = [], [], {}
    for head in (*SINGLE, "profile"):
        y, counts = targets(rows, head), importance(rows, head)
        inside = counts > 0
        weights, bias = fitted(x.only(inside), y[inside], counts[inside])
        scores = left_out(x, rows, head)
        limit = threshold(head, rows, scores, known)
        known[head] = margins(scores) - limit
        # For the sections, that of "none" moves.
        bias[0] += limit if len(bias) > 1 else -limit
        columns += list(weights.T)
        biases += list(bias)
    head_bytes, packed = b"", []
    for column, bias in zip(columns, biases, strict=True):
        parts = [part for part in (column[:BUCKETS], column[BUCKETS:]) if len(part)]
        scales = [float(np.abs(part).max()) / 127 for part in parts]
        whole = zip(parts, scales, strict=True)
        packed.append(np.concatenate([np.rint(part / scale) for part, scale in whole]))
        vector_scale = MEANING * scales[1] if len(scales) > 1 else 0.0
        head_bytes += struct.pack("<3f", scales[0], vector_scale, bias)
    return head_bytes + np.stack(packed, axis=1).astype(np.int8).tobytes()


# Figures


def group(row: Labelled) -> str:
    """Where a sentence comes from, and whether it is English."""
    source = {
        "authored": "authors' sentences",
        "talk": "authors' chats",
        "plain": "patterns",
        "second_talk": "one more author",
    }.get(row.source, "real chats")
    agents = ", of agents" if row.role != "user" else ""
    return f"{source}{agents}, {'English' if row.language == 'en' else 'five languages'}"


def precision(y: np.ndarray, scores: np.ndarray) -> float:
    """Average precision of an order."""
    right = y[np.argsort(-scores, kind="stable")]
    return float((np.cumsum(right) / np.arange(1, len(y) + 1) * right).sum() / right.sum())


def shown_in(scores: np.ndarray) -> np.ndarray:
    """The likeliest section; a rule stands in that of personal things."""
    best = scores[:, 1:-1].argmax(1)
    return np.where(best == RULE, 0, best)


def figures(words: Inputs, vectors: np.ndarray, rows: list[Labelled]) -> None:
    """Prints how well each head orders the sentences of authors whom it was not trained on."""
    groups = np.array([group(row) for row in rows])
    both = words.with_vectors(vectors)
    inputs = (words, both.without_words(), both)
    print("| head | sentences | number | labelled so | words | vector | both |")
    print("|---|---|---|---|---|---|---|")
    for head in (*SINGLE, "profile"):
        scores = [left_out(x, rows, head) for x in inputs]
        y = np.array([row.says(head) > 0 for row in rows])
        here = np.array([row.sets() and row.trains(head) for row in rows])
        for name in sorted(set(groups[here])):
            inside = here & (groups == name)
            if y[inside].sum() < 10:
                continue
            shares = [precision(y[inside], margins(each[inside])) for each in scores]
            shown = " | ".join(f"{share:.3f}".lstrip("0") for share in shares)
            print(f"| `{head}` | {name} | {inside.sum()} | {y[inside].sum()} | {shown} |")
            if head == "profile":
                yes = inside & y
                wanted = shown_in(targets(rows, head)[yes])
                right = [(shown_in(each[yes]) == wanted).mean() for each in scores]
                shown = " | ".join(f"{share:.2f}".lstrip("0") for share in right)
                print(f"| right section | {name} | {yes.sum()} | | {shown} |", flush=True)


def main() -> None:
    """Trains, and writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--held-out", action="store_true", help="figures on unseen authors")
    arguments = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        # Sums of several threads differ in their last digits, and so would the file.
        sys.exit("set OMP_NUM_THREADS=1")
    rows = labelled()
    words = Inputs.of(rows)
    known = {text: vector(text) for text in {bare(row.sentence) for row in rows}}
    vectors = np.stack([known[bare(row.sentence)] for row in rows])
    if arguments.held_out:
        figures(words, vectors, rows)
        return
    data = train(words, rows) + train(words.with_vectors(vectors), rows)
    digest = hashlib.sha256(data).hexdigest()
    print(digest, len(data))
    if not arguments.check:
        FILE.write_bytes(data)
    if digest != SHA256:
        sys.exit(f"another file than the recipe's: {SHA256}")


if __name__ == "__main__":
    main()
