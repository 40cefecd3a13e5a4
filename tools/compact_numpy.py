"""The package's sentence encoder in plain numpy with float64, for the training of the heads.

The same as ``embed/compact`` of the core: pieces by the best sum of scores, one layer, vectors of
length 1.
"""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from pathlib import Path

import numpy as np

ASSETS = Path(__file__).resolve().parent.parent / "src" / "episodica-core" / "assets"
WIDTH = 256
ATTENTION_HEADS = 4
MEANS = 4
REACH = 2
EPSILON = 1e-6
# Longer texts are split into parts of about equal length; the vector is the mean of theirs.
MAX_PART = 112
UNKNOWN_SCORE = -30.0
WORD_START = "\u2581"
TYPES = {"F16": np.float16, "F32": np.float32, "U8": np.uint8}


@cache
def pieces() -> dict[str, tuple[int, float]]:
    """Number and score of each piece."""
    lines = (ASSETS / "pieces.txt").read_text("utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line]
    return {piece: (at, float(score)) for at, (piece, score) in enumerate(rows)}


@cache
def tensors() -> dict[str, np.ndarray]:
    """The weights; all but the table in float64."""
    raw = (ASSETS / "compact.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    found = {}
    for name, info in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + at for at in info["data_offsets"])
            flat = np.frombuffer(raw[begin:end], TYPES[info["dtype"]]).reshape(info["shape"])
            found[name] = flat if info["dtype"] == "U8" else flat.astype(np.float64)
    return found


@cache
def pieces_of(word: str) -> tuple[int, ...]:
    """The pieces of a word with its mark; none for a word without content."""
    known, longest = pieces(), longest_piece()
    if word in known:
        return (known[word][0],)
    best: list[tuple[float, int, int]] = [(-np.inf, 0, 0)] * (len(word) + 1)
    best[0] = (0.0, 0, 0)
    for start in range(len(word)):
        score = best[start][0]
        if score + UNKNOWN_SCORE > best[start + 1][0]:
            best[start + 1] = (score + UNKNOWN_SCORE, 0, start)
        for end in range(start + 1, min(len(word), start + longest) + 1):
            piece = known.get(word[start:end])
            if piece and score + piece[1] > best[end][0]:
                best[end] = (score + piece[1], piece[0], start)
    found, end, has_content = [], len(word), False
    while end:
        _, number, start = best[end]
        if number:
            found.append(number)
            has_content |= end > 1
        end = start
    return tuple(reversed(found)) if has_content else ()


@cache
def longest_piece() -> int:
    """Length of the longest piece, in characters."""
    return max(map(len, pieces()))


def ids(text: str) -> list[int]:
    """The pieces of a text."""
    words = [unicodedata.normalize("NFKC", part).lower() for part in text.split()]
    words = [word for part in words for word in part.split()]
    return [one for word in words for one in pieces_of(WORD_START + word)]


def normalised(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Rows of mean square 1, times a gain for each column."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * gain


def with_neighbours(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Adds the neighbours of each row, weighted by distance and column."""
    result = x.copy()
    for distance in range(-REACH, REACH + 1):
        at = slice(max(0, -distance), len(x) - max(0, distance))
        of = slice(max(0, distance), len(x) - max(0, -distance))
        if at.start < at.stop:
            result[at] += x[of] * weights[distance + REACH]
    return result


def activated(x: np.ndarray, matrix: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """``gelu(x @ matrix + bias)``."""
    x = x @ matrix + bias
    return x / (1 + np.exp(-1.595769 * (x + 0.044715 * x**3)))


def part_vector(part: list[int]) -> np.ndarray:
    """The vector of at most `MAX_PART` pieces."""
    t = tensors()
    packed = t["embeddings"][part]
    x = np.stack([packed & 15, packed >> 4], -1).reshape(len(part), WIDTH) - 8.0
    x *= t["scales"].reshape(-1)[part][:, None]
    q, k, v = np.split(with_neighbours(normalised(x, t["g1"]), t["c1"]) @ t["qkv"], 3, axis=1)
    mixed = []
    for head in np.split(np.arange(q.shape[1]), ATTENTION_HEADS):
        scores = q[:, head] @ k[:, head].T / np.sqrt(len(head))
        scores = np.exp(scores - scores.max(1, keepdims=True))
        mixed.append(scores / scores.sum(1, keepdims=True) @ v[:, head])
    x = x + np.concatenate(mixed, 1) @ t["o"]
    near = with_neighbours(normalised(x, t["g2"]), t["c2"])
    x = x + activated(near, t["w1"], t["b1"]) @ t["w2"]
    weights = np.logaddexp(0, normalised(x, t["gp"]) @ t["wg"] + t["bg"])
    weights /= weights.sum(0) + EPSILON
    means = normalised((weights.T @ x).reshape(-1), t["gh"])
    vector = means @ t["h0"] + activated(means, t["h1"], t["hb"]) @ t["h2"]
    return vector / (np.linalg.norm(vector) or 1)


def vector(text: str) -> np.ndarray:
    """The vector of a text; zeros without a piece."""
    found = ids(text)[:4096]
    if not found:
        return np.zeros(WIDTH)
    length = -(-len(found) // -(-len(found) // MAX_PART))
    parts = [found[at : at + length] for at in range(0, len(found), length)]
    total = np.sum([part_vector(part) for part in parts], 0)
    return total / (np.linalg.norm(total) or 1)
