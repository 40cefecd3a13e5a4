"""Write the trained encoder in the format of the package.

    python tools/distill_encoder/export.py WORK [--out DIRECTORY]

Reads ``WORK/encoder.safetensors`` and ``WORK/pieces.json`` and writes

* ``compact.safetensors``: ``embeddings`` uint8 [rows, 128], two values of 4 bits in a byte (the
  lower half for the dimension with the even number), ``scales`` float32 [rows], and all other
  tensors in float16; a value v of the table stands for ``(v - 8) * scale``,
* ``pieces.txt``: one piece a line, then a tab and the score; the line number, from 0, is the row,

and prints their SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

METADATA = {
    "licence": "Apache-2.0 AND MIT",
    "source": "sentence-transformers/all-MiniLM-L6-v2, intfloat/multilingual-e5-small",
}


def halved(name: str, values: np.ndarray) -> np.ndarray:
    """Float16, which keeps four digits of the vectors; a value too large for it is an error."""
    half = values.astype("<f2")
    if not np.isfinite(half).all():
        raise SystemExit(f"error: values of `{name}` do not fit into float16")
    return half


def serialise(weights: Mapping[str, np.ndarray]) -> bytes:
    """A safetensors file with keys in fixed order; the header is padded to 8 bytes."""
    tensors = {
        "embeddings": ("U8", weights["embeddings"]),
        "scales": ("F32", weights["scales"].astype("<f4")),
    }
    for name in sorted(set(weights) - set(tensors)):
        tensors[name] = ("F16", halved(name, weights[name]))
    header: dict[str, object] = {"__metadata__": METADATA}
    end = 0
    for name, (kind, values) in tensors.items():
        start, end = end, end + values.nbytes
        header[name] = {"dtype": kind, "shape": list(values.shape), "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    body = b"".join(values.tobytes() for _, values in tensors.values())
    return len(text).to_bytes(8, "little") + text + body


def listed(pieces: list[tuple[str, float, str, float]]) -> bytes:
    """The lines of ``pieces.txt``."""
    for piece, *_ in pieces:
        if "\t" in piece or "\n" in piece:
            raise SystemExit(f"error: a piece cannot contain a tab or a line end: {piece!r}")
    return "".join(f"{piece}\t{score}\n" for piece, score, *_ in pieces).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the trained encoder for the package.")
    parser.add_argument("work", type=Path, help="folder of encoder.safetensors and pieces.json")
    parser.add_argument("--out", type=Path, default=Path("src/episodica-core/assets"))
    args = parser.parse_args()
    weights = load_file(args.work / "encoder.safetensors")
    pieces = json.loads((args.work / "pieces.json").read_text(encoding="utf-8"))
    if len(pieces) != len(weights["embeddings"]):
        raise SystemExit(f"error: {len(pieces)} pieces, {len(weights['embeddings'])} rows")
    args.out.mkdir(parents=True, exist_ok=True)
    for name, data in {
        "compact.safetensors": serialise(weights),
        "pieces.txt": listed(pieces),
    }.items():
        (args.out / name).write_bytes(data)
        print(hashlib.sha256(data).hexdigest(), name)


if __name__ == "__main__":
    main()
