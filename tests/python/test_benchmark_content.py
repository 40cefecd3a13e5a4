"""The code contains nothing of a benchmark's content: a search must not know the answers."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# SHA-256 (first 16 digits) of given names of LoCoMo's speakers that are no everyday words, so that
# this file doesn't hold them either.
SPEAKERS = frozenset(
    {
        "030923893f54c3d0",
        "05c5f6ef21bb02be",
        "56f09d7fa9eb77b9",
        "591e94c45b4cb95d",
        "a7fe9dcbcafa8559",
        "dfef5e53f9848472",
        "e23011c058a38a17",
        "ecbd105358e381d7",
    }
)


@pytest.mark.parametrize("folder", ["src", "python", "evaluation", "tests", "docs"])
def test_no_speaker_of_the_benchmark_is_named(folder: str) -> None:
    for path in sorted((ROOT / folder).rglob("*")):
        if (
            path.suffix in {".rs", ".py", ".txt", ".toml", ".md", ".json", ".jsonl"}
            and "runs" not in path.parts
        ):
            words = set(re.findall(r"[^\W\d_]+", path.read_text(encoding="utf-8").lower()))
            known = [
                word for word in words if hashlib.sha256(word.encode()).hexdigest()[:16] in SPEAKERS
            ]
            assert not known or path.name in {"pieces.txt", "vocab.txt"}, f"{path}: {known}"
