"""Train the model that tells whose words a part of a message is: ``assets/voice.bin``.

    python tools/train_voice.py [--check] [--held-out]

Composes messages of the parts in ``tools/labels/voice`` (``voice_talk.py``), asks the engine's code
for what it reads of them (the test ``voice::recipe``, which this script runs with cargo), and
trains with numpy: a small network that scores a piece of a message by its words, and a chain over
the pieces. ``generate/voice/model.rs`` explains the file. ``--check`` writes nothing and fails if
the present file decides otherwise for more than one in a hundred pieces of the messages by hand;
the bytes depend on how a processor rounds. ``--held-out`` prints the figures for words and kinds of
layouts that were not trained on, and for the messages written by hand.

Each text is in one of four folds. The chain learns from messages whose parts the network that reads
them has not seen, as it will be for strangers' messages: composed of the first fold, read by a
network that knows the others, and messages written as a whole.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from voice_samples import SCORES, targets
from voice_talk import (
    LANGUAGES,
    Composer,
    Parts,
    Talk,
    fold,
    formed,
    layouts,
    linked,
    whole,
    written,
)

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "src" / "episodica-core" / "assets" / "voice.bin"
# Runs the engine's side: {rows}, {weights} and {answers} are files.
ENGINE = [
    *["cargo", "test", "--release", "-q", "-p", "episodica-core", "--lib"],
    *["voice::recipe::answers", "--", "--ignored"],
]

# Messages written as a whole: nothing is trained on them.
WRITTEN = ("messages_v1.txt", "messages_v2.txt", "messages_v3.txt")
# SHA-256 of the packaged file.
DIGEST = "72186afc92e14e6a448a961d7c9bd80c15c2f561a0e70baf71ab5eaf346fdb41"
# Sizes as in model.rs.
READ, INNER = 1536, 48
FEATURES, HIDDEN, JOINTS = 176, 24, 8

# How the network and the chain are fitted.
EPOCHS, RATE, PENALTY = 20, 0.006, 1e-3
CHAIN_EPOCHS, CHAIN_RATE, CHAIN_PENALTY = 10, 0.01, 1e-3
# How much surer the chain must be that a piece is another's: a lost statement can be said again.
DOUBT = 0.0
# Authors of whole messages that are trained on, and how often each message counts. The messages of
# the others choose ``DOUBT``.
TRAINED = ("w1", "w3", "w5", "w7", "w9", "w11", "w13", "w15")
REPEATED = 8
# The same for messages of many forms, of which there are three times as many.
FORMS_REPEATED = 3
DOUBTS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
# Messages of each kind of layout.
NUMBER = 60

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]


# The engine


def ask(rows: Iterable[dict[str, str]], weights: bytes) -> list[Any]:
    """The engine's answers to rows of JSON."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {part: str(folder / part) for part in ("rows", "weights", "answers")}
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        Path(paths["rows"]).write_text("".join(lines), "utf-8")
        Path(paths["weights"]).write_bytes(weights)
        places = {f"EPISODICA_VOICE_{part.upper()}": path for part, path in paths.items()}
        subprocess.run(ENGINE, check=True, cwd=ROOT, env={**os.environ, **places})
        answers = Path(paths["answers"]).read_text("utf-8").splitlines()
    return [json.loads(line) for line in answers]


def numbers(digits: str) -> Array:
    """16-bit numbers in hexadecimal digits."""
    return np.frombuffer(bytes.fromhex(digits), "<f2").astype(np.float32)


class Reader:
    """What the network reads of texts, asked once."""

    def __init__(self) -> None:
        self.known: dict[str, Array] = {}

    def read(self, texts: list[str]) -> Array:
        """A row for each text."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.known]
        if missing:
            answers = ask(({"read": text} for text in missing), packed(None, None))
            self.known.update(zip(missing, map(numbers, answers), strict=True))
        return np.array([self.known[text] for text in texts])


# The network


class Adam:
    """Adam (Kingma and Ba 2015) with a rate that falls to nothing."""

    def __init__(self, weights: Weights, rate: float, steps: int) -> None:
        self.weights, self.rate, self.steps, self.step = weights, rate, steps, 0
        self.mean = {name: 0 * value for name, value in weights.items()}
        self.square = {name: 0 * value for name, value in weights.items()}

    def move(self, slopes: Weights) -> None:
        """One step against the slopes."""
        self.step += 1
        rate = np.float32(self.rate * (1 - self.step / (self.steps + 1)))
        first, second = np.float32(1 - 0.9**self.step), np.float32(1 - 0.999**self.step)
        for name, slope in slopes.items():
            self.mean[name] = 0.9 * self.mean[name] + 0.1 * slope
            self.square[name] = 0.999 * self.square[name] + 0.001 * slope * slope
            size = np.sqrt(self.square[name] / second) + np.float32(1e-8)
            self.weights[name] = self.weights[name] - rate * (self.mean[name] / first) / size


def fitted(read: Array, answers: Array, counts: Array) -> Weights:
    """A network with one hidden layer, a score a column of the answers."""
    drawn = np.random.default_rng(0)
    scores, number, batch = answers.shape[1], len(read), 256
    weights = {
        "in": drawn.normal(0, 0.15, (READ, INNER)).astype(np.float32),
        "in bias": np.zeros(INNER, np.float32),
        "out": drawn.normal(0, 0.2, (INNER, scores)).astype(np.float32),
        "out bias": np.zeros(scores, np.float32),
    }
    counts = (counts * number / 2).astype(np.float32)
    adam = Adam(weights, RATE, EPOCHS * (number // batch + 1))
    for _ in range(EPOCHS):
        order = drawn.permutation(number)
        for start in range(0, number, batch):
            rows = order[start : start + batch]
            x = read[rows]
            before = x @ weights["in"] + weights["in bias"]
            inner = np.maximum(before, 0)
            score = np.clip(inner @ weights["out"] + weights["out bias"], -30, 30)
            error = counts[rows] * (1 / (1 + np.exp(-score)) - answers[rows]) / len(rows)
            error = error.astype(np.float32)
            back = (error @ weights["out"].T) * (before > 0)
            adam.move(
                {
                    "in": x.T @ back + PENALTY * weights["in"],
                    "in bias": back.sum(0),
                    "out": inner.T @ error + PENALTY * weights["out"],
                    "out bias": error.sum(0),
                }
            )
    return weights


def network(parts: Parts, reader: Reader) -> Weights:
    """The glance."""
    texts, answers, counts = targets(parts)
    return fitted(reader.read(texts), answers, counts)


# The chain


class Sequence(NamedTuple):
    """The pieces of a message: features, joints, certain and labelled states (-1 for none)."""

    features: Array
    joints: Array
    known: Array
    labels: Array


def sequences(talks: list[Talk], weights: bytes) -> list[Sequence]:
    """The pieces of messages with their labels."""
    plain = [talk.plain() for talk in talks]
    questions = (
        {"message": text, "speaker": talk.speaker}
        for talk, (text, _) in zip(talks, plain, strict=True)
    )
    found = []
    for (text, foreign), pieces in zip(plain, ask(questions, weights), strict=True):
        starts = np.cumsum([0, *(len(char.encode()) for char in text)])
        place = {int(start): at for at, start in enumerate(starts)}
        labels = []
        for piece in pieces:
            letters = range(place[piece["start"]], place[piece["end"]])
            votes = [foreign[at] for at in letters if text[at].isalnum()]
            labels.append(int(2 * sum(votes) > len(votes)) if votes else -1)
        found.append(
            Sequence(
                np.array([numbers(piece["features"]) for piece in pieces]).reshape(-1, FEATURES),
                np.array([piece["joint"] for piece in pieces], int),
                np.array([-1 if p["known"] is None else int(p["known"]) for p in pieces], int),
                np.array(labels, int),
            )
        )
    return found


def padded(some: list[Sequence]) -> Sequence:
    """Sequences as one array each; a joint of -1 stands after the end."""
    longest = max(len(one.joints) for one in some)
    whole = Sequence(
        np.zeros((len(some), longest, FEATURES), np.float32),
        *(np.full((len(some), longest), -1) for _ in range(3)),
    )
    for at, one in enumerate(some):
        for column, values in zip(whole, one, strict=True):
            column[at, : len(values)] = values
    return whole


def marginals(scores: Array, steps: Array, is_in: Array, allowed: Array) -> tuple[Array, ...]:
    """Logarithm of the total, and the probabilities of states and of pairs of neighbours."""
    number, length, _ = scores.shape
    scores = np.where(allowed, scores, -1e9)
    ahead, behind = np.zeros_like(scores), np.zeros_like(scores)
    ahead[:, 0] = scores[:, 0]
    for at in range(1, length):
        sums = np.logaddexp.reduce(ahead[:, at - 1, :, None] + steps[:, at], axis=1)
        here = is_in[:, at, None]
        ahead[:, at] = np.where(here, sums + scores[:, at], ahead[:, at - 1])
    for at in range(length - 2, -1, -1):
        after = (scores[:, at + 1] + behind[:, at + 1])[:, None, :]
        sums = np.logaddexp.reduce(steps[:, at + 1] + after, axis=2)
        behind[:, at] = np.where(is_in[:, at + 1, None], sums, 0)
    total = np.logaddexp.reduce(ahead[:, -1], axis=1)
    states = np.exp(np.clip(ahead + behind - total[:, None, None], -50, 0)) * is_in[..., None]
    pairs = np.zeros((number, length, 2, 2))
    joined = ahead[:, :-1, :, None] + steps[:, 1:] + (scores + behind)[:, 1:, None, :]
    pairs[:, 1:] = np.exp(np.clip(joined - total[:, None, None, None], -50, 0))
    return total, states, pairs * is_in[..., None, None]


def chained(some: list[Sequence]) -> Weights:
    """The weights of the chain."""
    drawn, batch = np.random.default_rng(0), 64
    weights = {
        "in": drawn.normal(0, 0.25, (FEATURES, HIDDEN)).astype(np.float32),
        "in bias": np.zeros(HIDDEN, np.float32),
        "out": drawn.normal(0, 0.2, HIDDEN).astype(np.float32),
        "direct": np.zeros(FEATURES, np.float32),
        "joints": np.zeros((JOINTS, 2, 2), np.float32),
    }
    some = sorted(some, key=lambda one: len(one.joints))
    batches = [padded(some[start : start + batch]) for start in range(0, len(some), batch)]
    adam = Adam(weights, CHAIN_RATE, CHAIN_EPOCHS * len(batches))
    for _ in range(CHAIN_EPOCHS):
        for at in drawn.permutation(len(batches)):
            adam.move(chain_slopes(batches[at], weights))
    return weights


def chain_slopes(one: Sequence, weights: Weights) -> Weights:
    """The slopes of the loss: states as the model expects them without and with the labels."""
    x, joints, number = one.features, one.joints, len(one.joints)
    is_in = joints >= 0
    before = x @ weights["in"] + weights["in bias"]
    inner = np.maximum(before, 0)
    scores = np.zeros((*joints.shape, 2))
    scores[..., 1] = inner @ weights["out"] + x @ weights["direct"]
    steps = weights["joints"].astype(float)[joints]
    states = np.array([0, 1])
    known, labels = one.known[..., None], one.labels[..., None]
    allowed = (known < 0) | (known == states)
    labelled = allowed & ((labels < 0) | (labels == states) | (known >= 0))
    _, free, free_pairs = marginals(scores, steps, is_in, allowed)
    _, told, told_pairs = marginals(scores, steps, is_in, labelled)
    error = ((free - told)[..., 1] / number).astype(np.float32)
    back = (error[..., None] * weights["out"] * (before > 0)).reshape(-1, HIDDEN)
    flat, rows = error.ravel(), x.reshape(-1, FEATURES)
    at_joint = np.eye(JOINTS)[joints] * is_in[..., None]
    pairs = np.einsum("ntj,ntab->jab", at_joint, free_pairs - told_pairs).astype(np.float32)
    slopes = {
        "in": rows.T @ back,
        "in bias": back.sum(0),
        "out": inner.reshape(-1, HIDDEN).T @ flat,
        "direct": rows.T @ flat,
        "joints": pairs / number,
    }
    return {name: slope + CHAIN_PENALTY * weights[name] for name, slope in slopes.items()}


# The file


def packed(read: Weights | None, chain: Weights | None, doubt: float | None = None) -> bytes:
    """The file; zeros for what is not trained yet."""
    parts: list[Array] = []
    if read is None:
        parts.append(np.zeros(INNER * (READ + 1) + len(SCORES) * (INNER + 1)))
    else:
        parts.append(np.c_[read["in"].T, read["in bias"]].ravel())
        parts.append(np.c_[read["out"].T, read["out bias"]].ravel())
    if chain is None:
        parts.append(np.zeros(HIDDEN * (FEATURES + 2) + FEATURES + 4 * JOINTS))
    else:
        parts.append(np.c_[chain["in"].T, chain["in bias"]].ravel())
        # The first feature is 1 for every piece.
        direct = chain["direct"] - (DOUBT if doubt is None else doubt) * (np.arange(FEATURES) == 0)
        parts += [chain["out"], direct, chain["joints"].ravel()]
    return np.concatenate(parts).astype("<f2").tobytes()


def composed(parts: Parts, reader: Reader, out: int, some: dict[str, list[str]]) -> Any:
    """A network that knows all folds but one, and the pieces of messages of that fold."""
    read = network(Parts(lambda text: parts.keep(text) and fold(text) != out), reader)
    unseen = Parts(lambda text: parts.keep(text) and fold(text) == out)
    talks = Composer(unseen, out).talks(some, NUMBER)
    return read, talks, [one for one in sequences(talks, packed(read, None)) if len(one.joints)]


def whole_pieces(weights: bytes, forms: list[Talk]) -> list[Sequence]:
    """The pieces of whole messages that are trained on, each as often as it counts: those of
    voices, those of some forms, and statements that stand alone.
    """

    def pieces(talks: list[Talk]) -> list[Sequence]:
        return [one for one in sequences(talks, weights) if len(one.joints)]

    talks = [talk for author in TRAINED for talk in whole()[author]]
    return pieces(linked()) + pieces(talks) * REPEATED + pieces(forms) * FORMS_REPEATED


# Figures


def foreign(talks: list[Talk], weights: bytes) -> list[tuple[str, bool, float]]:
    """For each message whether it has another's words, and the share that is judged so: of the
    other's words, else of the writer's. Lines that announce or ask are left out of the other's.
    """
    plain = [talk.plain() for talk in talks]
    questions = (
        {"spans": text, "speaker": talk.speaker}
        for talk, (text, _) in zip(talks, plain, strict=True)
    )
    found = []
    for talk, (text, labels), spans in zip(talks, plain, ask(questions, weights), strict=True):
        starts = np.cumsum([0, *(len(char.encode()) for char in text)])
        judged = np.zeros(starts[-1] + 1, bool)
        for start, end, voice in spans:
            judged[start:end] = voice != "user"
        has_other = any(labels)
        letters = [at for at, char in enumerate(text) if char.isalnum() and labels[at] == has_other]
        share = float(np.mean([judged[starts[at]] for at in letters])) if letters else 0.0
        found.append((talk.kind, has_other, share))
    return found


def tell(title: str, talks: list[Talk], weights: bytes) -> None:
    """Prints how many messages were judged wrongly, in all and for each kind."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * 4)
    for kind, has_other, share in foreign(talks, weights):
        for name in (kind, "all"):
            at = 0 if has_other else 2
            counts[name][at] += 1
            counts[name][at + 1] += share < 0.5 if has_other else share > 0.5
    print(f"{title}\n| kind | foreign | taken as own | own | taken as foreign |")
    print("|---|---|---|---|---|")
    for name in sorted(counts, key=lambda name: (name == "all", name)):
        print(f"| {name} | {' | '.join(map(str, counts[name]))} |")


def statements(talks: list[Talk], weights: bytes) -> tuple[list[float], list[float]]:
    """The share of letters that are judged another's, of each statement of the writers and of each
    text of others.
    """
    questions = ({"spans": talk.plain()[0], "speaker": talk.speaker} for talk in talks)
    own, others = [], []
    for talk, spans in zip(talks, ask(questions, weights), strict=True):
        text = talk.plain()[0].encode()
        judged = np.zeros(len(text), bool)
        for start, end, voice in spans:
            judged[start:end] = voice != "user"
        at, open_at = 0, 0
        for part in re.split("([⟦⟧‹›])", talk.text):
            if part in ("⟦", "‹"):
                open_at = at
            elif part in ("⟧", "›"):
                (others if part == "⟧" else own).append(float(judged[open_at:at].mean()))
            else:
                at += len(part.encode())
    return own, others


def curve(read: Weights, chain: Weights) -> None:
    """Prints what the authors that were not trained on keep and lose, by ``DOUBT``."""
    talks = [talk for author, some in whole().items() if author not in TRAINED for talk in some]
    print("| doubt | own statements kept | others' texts taken as own |\n|---|---|---|")
    for doubt in DOUBTS:
        own, others = statements(talks, packed(read, chain, doubt))
        kept, taken = sum(one < 0.5 for one in own), sum(one < 0.5 for one in others)
        print(f"| {doubt} | {kept} of {len(own)} | {taken} of {len(others)} |")


def held_out(reader: Reader) -> None:
    """Figures for words and layouts that were not trained on."""
    kinds = sorted(layouts())
    seen = {kind: layouts()[kind] for kind in kinds[::2]}
    unseen = {kind: layouts()[kind] for kind in kinds[1::2]}
    known = Parts(lambda text: fold(text) != 0)
    pieces = composed(known, reader, 1, seen)[2]
    read = network(known, reader)
    pieces += whole_pieces(packed(read, None), formed())
    weights = packed(read, chained(pieces))
    talks = Composer(Parts(lambda text: fold(text) == 0), 7).talks(unseen, NUMBER)
    tell("Other kinds of layouts, other words", talks, weights)
    talks = Composer(Parts(lambda text: fold(text) == 0), 8).talks(seen, NUMBER)
    tell("The same kinds of layouts, other words", talks, weights)


def forms_apart(read: Weights, pieces: list[Sequence]) -> None:
    """Prints what is kept and lost of the messages of forms that were not trained on."""
    halves: tuple[list[Talk], list[Talk]] = ([], [])
    for talk in formed():
        halves[hashlib.sha256(talk.text.encode()).digest()[0] % 2].append(talk)
    weights = packed(read, chained(pieces + whole_pieces(packed(read, None), halves[0])))
    own, others = statements(halves[1], weights)
    kept, taken = sum(one < 0.5 for one in own), sum(one < 0.5 for one in others)
    print(f"Forms: {kept} of {len(own)} own texts kept, {taken} of {len(others)} others' taken")


def main() -> None:
    """Trains, and writes or compares the file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("--held-out", action="store_true", help="figures on unseen messages")
    arguments = parser.parse_args()
    reader = Reader()
    pieces = composed(Parts(), reader, 0, layouts())[2]
    read = network(Parts(), reader)
    chain = chained(pieces + whole_pieces(packed(read, None), formed()))
    weights = packed(read, chain)
    by_hand = [talk for name in WRITTEN for talk in written(name)]
    if arguments.held_out:
        held_out(reader)
        forms_apart(read, pieces)
        curve(read, chain)
        for name in WRITTEN:
            tell(name, written(name), weights)
    if not arguments.check:
        FILE.write_bytes(weights)
        print(f"DIGEST = {hashlib.sha256(weights).hexdigest()}")
        return
    new, old = (foreign(by_hand, one) for one in (weights, FILE.read_bytes()))
    apart = sum(abs(one[2] - other[2]) > 0.5 for one, other in zip(new, old, strict=True))
    print(f"{apart} of {len(new)} messages by hand are judged otherwise")
    if apart * 100 > len(new) * len(LANGUAGES):
        sys.exit("another file than the recipe's")


if __name__ == "__main__":
    main()
