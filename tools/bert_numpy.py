"""A BERT encoder in plain numpy with float64, the reference for the embedding code.

``distill_table.py`` needs the same int8 values on every machine, hence double precision: BLAS
builds differ by about 1e-15, which the rounding removes. ``reference_fixture.py`` records the
vectors that the Rust encoder must reproduce. The encoder is simple rather than fast, and reads only
the sentence-transformers models of the BERT family: absolute positions, exact GELU, one token type.
"""

from __future__ import annotations

import json
import math
import unicodedata
from pathlib import Path

import numpy as np

ERF_STEP = 2048  # grid points per unit: a third-order Taylor step of 1/4096 is exact to 2e-15
ERF_LIMIT = 6  # erf(6) is 1 in double precision


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Float32 tensors of a safetensors file as float64 arrays; other types are left out."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, info in json.loads(raw[8 : 8 + size]).items():
        if name == "__metadata__" or info["dtype"] != "F32":
            continue
        begin, end = (8 + size + offset for offset in info["data_offsets"])
        flat = np.frombuffer(raw[begin:end], dtype="<f4")
        tensors[name] = flat.reshape(info["shape"]).astype(np.float64)
    return tensors


_GRID = np.arange(-ERF_LIMIT * ERF_STEP, ERF_LIMIT * ERF_STEP + 1) / ERF_STEP
_ERF = np.array([math.erf(x) for x in _GRID])
_SLOPE = np.array([2.0 / math.sqrt(math.pi) * math.exp(-x * x) for x in _GRID])


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, absolute error below 1e-14: a Taylor series at the nearest grid point."""
    x = np.clip(x, -ERF_LIMIT, ERF_LIMIT)
    index = np.rint(x * ERF_STEP).astype(np.int64) + ERF_LIMIT * ERF_STEP
    at = _GRID[index]
    step = x - at
    # erf' = s, erf'' = -2 x s, erf''' = (4 x^2 - 2) s
    return _ERF[index] + _SLOPE[index] * step * (
        1.0 - step * (at - step * (2.0 * at * at - 1.0) / 3.0)
    )


def gelu(x: np.ndarray) -> np.ndarray:
    """x * Phi(x), the form with erf that BERT calls ``gelu``."""
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def layer_norm(x: np.ndarray, gain: np.ndarray, shift: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + eps) * gain + shift


class Bert:
    """The encoder of a sentence-transformers folder (``config.json``, ``model.safetensors``)."""

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if config["hidden_act"] != "gelu":
            raise ValueError(f"hidden_act must be gelu: {config['hidden_act']}")
        weights = read_safetensors(folder / "model.safetensors")
        self.weights = {name.removeprefix("bert."): value for name, value in weights.items()}
        # Matrix products are several times as fast with the matrices laid out in the order of use.
        self.turned = {
            name: np.ascontiguousarray(value.T)
            for name, value in self.weights.items()
            if name.startswith("encoder.") and value.ndim == 2
        }
        self.heads: int = config["num_attention_heads"]
        self.layers: int = config["num_hidden_layers"]
        self.eps: float = config["layer_norm_eps"]

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        flat = x.reshape(-1, x.shape[-1]) @ self.turned[f"{name}.weight"]
        return flat.reshape(*x.shape[:-1], -1) + self.weights[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        gain, shift = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return layer_norm(x, gain, shift, self.eps)

    def forward(self, ids: np.ndarray) -> np.ndarray:
        """Hidden states ``[batch, length, width]`` of token ids ``[batch, length]``."""
        batch, length = ids.shape
        x = self.weights["embeddings.word_embeddings.weight"][ids]
        x = x + self.weights["embeddings.position_embeddings.weight"][:length]
        x = x + self.weights["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x, "embeddings.LayerNorm")
        width = x.shape[-1] // self.heads
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"

            def split(name: str, x: np.ndarray = x, layer: str = layer) -> np.ndarray:
                y = self._linear(x, f"{layer}.attention.self.{name}")
                return y.reshape(batch, length, self.heads, width).transpose(0, 2, 1, 3)

            query, key, value = split("query"), split("key"), split("value")
            scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            scores /= scores.sum(axis=-1, keepdims=True)
            mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(batch, length, -1)
            mixed = self._linear(mixed, f"{layer}.attention.output.dense")
            x = self._norm(x + mixed, f"{layer}.attention.output.LayerNorm")
            inner = gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(
                x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        return x


def is_punctuation(char: str) -> bool:
    """Punctuation as BERT defines it: every ASCII symbol, and the Unicode categories P*."""
    ascii_symbol = 33 <= ord(char) <= 126 and not char.isalnum()
    return ascii_symbol or unicodedata.category(char).startswith("P")


def is_cjk(char: str) -> bool:
    """The blocks of Han characters that BERT splits one by one."""
    blocks = (
        (0x4E00, 0x9FFF),
        (0x3400, 0x4DBF),
        (0x20000, 0x2A6DF),
        (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F),
        (0x2B820, 0x2CEAF),
        (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F),
    )
    return any(low <= ord(char) <= high for low, high in blocks)


class WordPiece:
    """BERT's uncased tokenizer over ``vocab.txt``; returns ids with [CLS] and [SEP]."""

    def __init__(self, vocab: Path) -> None:
        words = vocab.read_text(encoding="utf-8").splitlines()
        self.ids = {word: number for number, word in enumerate(words)}

    def words(self, text: str) -> list[str]:
        spaced = []
        for char in text:
            kind = unicodedata.category(char)
            if char in "\t\n\r" or kind == "Zs":
                spaced.append(" ")
            elif char in "\0\ufffd" or kind.startswith("C"):
                continue
            else:
                spaced.append(f" {char} " if is_cjk(char) else char)
        bare = "".join(
            c
            for c in unicodedata.normalize("NFD", "".join(spaced))
            if unicodedata.category(c) != "Mn"
        )
        return "".join(f" {c} " if is_punctuation(c) else c for c in bare.lower()).split()

    def pieces(self, word: str) -> list[int]:
        """Greedy longest match; a word that cannot be covered is one [UNK]."""
        found, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    break
            else:
                return [self.ids["[UNK]"]]
            found.append(self.ids[piece])
            start = end
        return found if len(word) <= 100 else [self.ids["[UNK]"]]

    def encode(self, text: str) -> list[int]:
        inner = [i for word in self.words(text) for i in self.pieces(word)]
        return [self.ids["[CLS]"], *inner, self.ids["[SEP]"]]
