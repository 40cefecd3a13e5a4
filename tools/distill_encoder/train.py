"""Train the multilingual encoder to give texts nearly the vectors of its teachers.

    python tools/distill_encoder/train.py WORK --seconds N

Reads ``WORK/examples.npz`` and writes ``WORK/encoder.safetensors``. The length of the training is a
time, not a number of steps: the learning rate falls with the elapsed share of the time.

The encoder has a table of pieces in 4 bits, a layer of attention and a map of two steps; before
each of these two layers a token takes a share of its two neighbours on either side. Then come four
weighted means of the tokens, and a head that turns them into 256 values.

The target of an English text is MiniLM's vector. The target of another text is the multilingual
teacher's vector, centred on its language and mapped to MiniLM's space by ridge regression over the
English texts; the target of a translation is also moved towards the vector of its original. The
loss is a sum of three terms: the cosine distance to the target, the squared difference between the
cosines within a batch and those of the teachers, and the divergence between their nearest texts (a
softmax over the batch).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save_file

from teachers import SINGLE, TWO_LANGUAGES

DIMENSION = 256
ATTENTION, HEADS = 128, 4
INNER = 256
MEANS = 4
HEAD_INNER = 512
NEIGHBOURS = ((0, 2), (1, 1), (3, -1), (4, -2))  # row of the weights, distance of the neighbour
EPSILON = 1e-6

LANGUAGE_SHARE = 0.5  # share of each of two languages' means that is subtracted
MANY = 50  # a language with more texts has a mean of its own
RIDGE = 0.003
ORIGINAL_WEIGHT = 1.2  # weight of the original's vector in a translation's target
SIF = 2e-3  # constant of the SIF weights of first rows (Arora et al. 2017)
FIRST_LENGTH = 4.0  # initial length of the row of a rare piece

SHORT, LONG = 24, 112  # widths in tokens to which texts are padded
SHORT_BATCH, LONG_BATCH = 3072, 1024
# A part of each batch is near a few random texts, since random texts alone are too easy to tell
# apart: for each of SEEDS texts, the nearest ones of a random POOL.
SEEDS, SHORT_NEAREST, LONG_NEAREST, POOL = 64, 24, 8, 32_768
MISSING = 0.06  # share of tokens removed, like by typos, from texts of more than 4
COSINES_WEIGHT, NEAREST_WEIGHT, TEMPERATURE = 15.0, 0.5, 0.06
TABLE_RATE, RATE, WARM_UP, LAST_RATE = 3e-3, 1.5e-3, 300.0, 0.004
MOMENTUM, SQUARES = 0.9, 0.98  # parameters of Adam (Kingma and Ba 2015)
HELD_OUT, HELD_OUT_REST, CHECKED = 401, 5, 4000  # one line in 401 is not trained on

Weights = dict[str, Any]
Data = dict[str, Any]


class Targets(NamedTuple):
    """The teachers' vectors for each example."""

    vectors: np.ndarray  # in the encoder's space
    multilingual: np.ndarray  # centred, in the teacher's space


def unit(x: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    lengths = np.linalg.norm(x, axis=-1, keepdims=True)
    return np.asarray(x / np.maximum(lengths, EPSILON))


def centred(z: Data) -> np.ndarray:
    """The multilingual teacher's vectors without the share that depends on the language alone."""
    vectors = z["multilingual"].astype(np.float32)
    line = np.arange(len(vectors)) < z["texts"]
    means = np.zeros((len(z["languages"]), vectors.shape[1]), np.float32)
    for language in range(len(means)):
        own = (z["first_language"] == language) & (z["kinds"] == SINGLE) & line
        enough = own.sum() > MANY
        means[language] = vectors[own].mean(axis=0) if enough else vectors[line].mean(axis=0)
    both = means[z["first_language"]] + means[z["second_language"]]
    return unit(vectors - LANGUAGE_SHARE * both)


def made_targets(z: Data) -> Targets:
    """A vector for each example in one space, spanned by the leading directions of MiniLM's."""
    multilingual, minilm = centred(z), z["minilm"].astype(np.float32)
    count, texts, rows = len(multilingual), int(z["texts"]), int(z["rows"])
    number = np.arange(count)
    english = np.flatnonzero(z["is_english"])
    place = np.full(count, -1)
    place[english] = np.arange(len(english))
    is_piece = (number >= texts) & (number < rows)
    fitted = z["is_english"] & (z["kinds"] < TWO_LANGUAGES) & ~is_piece & (number % 50 != 7)
    known, wanted = multilingual[fitted], minilm[place[fitted]]
    square = known.T @ known
    ridge = RIDGE * np.trace(square) / len(square) * np.eye(len(square))
    to_minilm = np.linalg.solve(square + ridge, known.T @ wanted).astype(np.float32)
    _, directions = np.linalg.eigh(wanted.T @ wanted)
    leading = directions[:, ::-1][:, :DIMENSION].astype(np.float32)

    vectors = unit(multilingual @ to_minilm)
    originals = z["originals"]
    translations = np.flatnonzero((originals >= 0) & (number[:rows] < texts))
    translations = translations[z["is_english"][originals[translations]]]
    said = minilm[place[originals[translations]]]
    vectors[translations] = unit(vectors[translations] + ORIGINAL_WEIGHT * said)
    vectors[english] = minilm
    return Targets(unit(vectors @ leading), multilingual)


def normalised(x: jax.Array, gain: jax.Array) -> jax.Array:
    """Rows of mean square 1, times a gain for each column (Zhang and Sennrich 2019)."""
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * gain


def product(a: jax.Array, b: jax.Array) -> jax.Array:
    """A product of bfloat16 with sums in float32."""
    half = (a.astype(jnp.bfloat16), b.astype(jnp.bfloat16))
    return jnp.matmul(*half, preferred_element_type=jnp.float32)


def four_bits(table: jax.Array) -> jax.Array:
    """The table with the values that the file will have; gradients ignore the rounding."""
    scale = jnp.abs(table).max(axis=1, keepdims=True) / 7 + 1e-8
    rounded = table + jax.lax.stop_gradient(jnp.round(table / scale) * scale - table)
    return rounded.at[0].set(0)  # the row of characters without a piece


def with_neighbours(x: jax.Array, weights: jax.Array) -> jax.Array:
    """Each token with a share of its neighbours: the only layer that depends on the order."""
    mixed = x * (1 + weights[2])
    for row, distance in NEIGHBOURS:
        wrapped = slice(0, distance) if distance > 0 else slice(distance, None)
        mixed += jnp.roll(x, distance, 1).at[:, wrapped].set(0) * weights[row]
    return mixed


def encoded(w: Weights, table: jax.Array, ids: jax.Array, lengths: jax.Array) -> jax.Array:
    """The encoder's vectors of length 1; ``src/embed/compact/forward.rs`` computes the same."""
    batch, width = ids.shape
    mask = jnp.arange(width)[None] < lengths[:, None]
    present = mask[..., None].astype(jnp.float32)
    x = table[ids] * present
    h = with_neighbours(normalised(x, w["g1"]) * present, w["c1"])
    size = ATTENTION // HEADS
    query, key, value = jnp.split(product(h, w["qkv"]).reshape(batch, width, -1, size), 3, axis=2)
    scores = jnp.einsum(
        "bqhd,bkhd->bhqk",
        query.astype(jnp.bfloat16),
        key.astype(jnp.bfloat16),
        preferred_element_type=jnp.float32,
    ) / jnp.sqrt(size)
    shares = jax.nn.softmax(jnp.where(mask[:, None, None], scores, -1e9), axis=-1)
    mixed = jnp.einsum(
        "bhqk,bkhd->bqhd",
        shares.astype(jnp.bfloat16),
        value.astype(jnp.bfloat16),
        preferred_element_type=jnp.float32,
    )
    x += product(mixed.reshape(batch, width, ATTENTION), w["o"]) * present
    h = with_neighbours(normalised(x, w["g2"]) * present, w["c2"])
    inner = jax.nn.gelu(product(h, w["w1"]) + w["b1"], approximate=True)
    x += product(inner, w["w2"]) * present
    weight = jax.nn.softplus(product(normalised(x, w["gp"]), w["wg"]) + w["bg"]) * present
    means = jnp.einsum("bwg,bwd->bgd", weight, x) / (weight.sum(axis=1)[..., None] + EPSILON)
    u = normalised(means.reshape(batch, -1), w["gh"])
    inner = jax.nn.gelu(product(u, w["h1"]) + w["hb"], approximate=True)
    y = product(u, w["h0"]) + product(inner, w["h2"])
    return y * jax.lax.rsqrt((y * y).sum(axis=-1, keepdims=True) + 1e-9)


def first_weights(z: Data, targets: Targets) -> Weights:
    """Starts the row of each piece at the vector of the piece alone, short if it is frequent."""
    random = np.random.default_rng(1)
    shares, texts, rows = z["shares"].astype(np.float64), int(z["texts"]), int(z["rows"])
    sif = SIF / (SIF + shares)
    sif[0] = 0
    table = unit(random.standard_normal((len(shares), DIMENSION)).astype(np.float32))
    spelled = ~z["bad"][texts:rows]
    table[spelled] = targets.vectors[texts:rows][spelled]

    def normal(*shape: int, scale: float) -> jax.Array:
        return jnp.asarray(random.standard_normal(shape).astype(np.float32) * scale)

    d, means = DIMENSION, MEANS * DIMENSION
    mean_of_means = np.concatenate([np.eye(d, dtype=np.float32) / MEANS] * MEANS)
    return {
        "table": jnp.asarray((table * sif[:, None] * FIRST_LENGTH).astype(np.float32)),
        "g1": jnp.ones(d),
        "c1": normal(5, d, scale=0.05),
        "qkv": normal(d, 3 * ATTENTION, scale=1 / 16),
        "o": normal(ATTENTION, d, scale=0.01),
        "g2": jnp.ones(d),
        "c2": normal(5, d, scale=0.05),
        "w1": normal(d, INNER, scale=1 / 16),
        "b1": jnp.zeros(INNER),
        "w2": normal(INNER, d, scale=0.01),
        "gp": jnp.ones(d),
        "wg": normal(d, MEANS, scale=0.02),
        "bg": jnp.zeros(MEANS),
        "gh": jnp.ones(means),
        "h0": jnp.asarray(mean_of_means),
        "h1": normal(means, HEAD_INNER, scale=1 / 32),
        "hb": jnp.zeros(HEAD_INNER),
        "h2": normal(HEAD_INNER, d, scale=0.002),
    }


def on_device(z: Data, targets: Targets) -> tuple[Data, np.ndarray]:
    """The data that a step reads, and the held-out examples. Whole English texts are drawn twice as
    often, since most users write English."""
    count, texts, rows = len(z["kinds"]), int(z["texts"]), int(z["rows"])
    start, length, second_start, second_length = z["spans"].astype(np.int32)
    total, number = length + second_length, np.arange(count)
    good = (total > 0) & ~z["bad"]
    held_out = (number < texts) & (number % HELD_OUT == HELD_OUT_REST)
    is_piece = (number >= texts) & (number < rows)
    whole_english = z["is_english"] & ~is_piece
    short = np.flatnonzero(good & (total <= SHORT) & ~held_out)
    long = np.flatnonzero(good & (total > SHORT) & ~held_out)
    data = {
        "ids": z["ids"].astype(np.int32),
        "start": start,
        "length": length,
        "second_start": second_start,
        "second_length": second_length,
        "targets": targets.vectors.astype(np.float16),
        "multilingual": targets.multilingual.astype(np.float16),
        "is_english": z["is_english"],
        "short": np.concatenate([short, short[whole_english[short]]]).astype(np.int32),
        "long": np.concatenate([long, long[whole_english[long]]]).astype(np.int32),
        "piece": np.where(is_piece, number - texts, -1).astype(np.int32),
    }
    checked = np.flatnonzero(held_out & good & (total <= LONG))[:CHECKED]
    return {name: jnp.asarray(value) for name, value in data.items()}, checked


def padded_ids(data: Data, examples: jax.Array, width: int) -> tuple[jax.Array, jax.Array]:
    """The ids of examples and their lengths. A single piece is its own id, even if the tokenizer
    would spell it otherwise."""
    place = jnp.arange(width)[None]
    first = jnp.minimum(data["length"][examples], width)[:, None]
    second = jnp.minimum(data["second_length"][examples][:, None], width - first)
    start, second_start = (data[n][examples][:, None] for n in ("start", "second_start"))
    source = jnp.where(place < first, start + place, second_start + place - first)
    found = data["ids"][jnp.clip(source, 0, len(data["ids"]) - 1)]
    ids = jnp.where(place < first + second, found, 0)
    piece = data["piece"][examples][:, None]
    ids = jnp.where((piece >= 0) & (place == 0), piece, ids)
    return ids, jnp.where(piece[:, 0] >= 0, 1, (first + second)[:, 0])


def drawn(data: Data, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The short and the long examples of a step."""
    keys = jax.random.split(key, 5)

    def some(key: jax.Array, examples: jax.Array, count: int) -> jax.Array:
        return examples[jax.random.randint(key, (count,), 0, len(examples))]

    half = SEEDS // 2
    seeds = jnp.concatenate(
        [some(keys[0], data["short"], half), some(keys[4], data["long"], SEEDS - half)]
    )
    wanted = data["targets"][seeds]

    def near(key: jax.Array, examples: jax.Array, count: int) -> jax.Array:
        pool = some(key, examples, POOL)
        _, nearest = jax.lax.top_k(jnp.matmul(wanted, data["targets"][pool].T), count)
        return pool[nearest.reshape(-1)]

    short = [
        near(keys[1], data["short"], SHORT_NEAREST),
        some(keys[2], data["short"], SHORT_BATCH - SEEDS * SHORT_NEAREST),
    ]
    long = [
        near(keys[3], data["long"], LONG_NEAREST),
        some(keys[0], data["long"], LONG_BATCH - SEEDS * LONG_NEAREST),
    ]
    return jnp.concatenate(short), jnp.concatenate(long)


def with_missing(key: jax.Array, ids: jax.Array, lengths: jax.Array) -> jax.Array:
    """Leaves tokens out at random."""
    is_missing = jax.random.uniform(key, ids.shape) < MISSING
    return jnp.where(is_missing & (lengths[:, None] > 4), 0, ids)


def loss(
    w: Weights, data: Data, short: jax.Array, long: jax.Array, key: jax.Array
) -> tuple[jax.Array, tuple[jax.Array, ...]]:
    """The loss, and its three parts."""
    table = four_bits(w["table"])
    vectors = []
    for examples, width, part in zip(
        (short, long), (SHORT, LONG), jax.random.split(key), strict=True
    ):
        ids, lengths = padded_ids(data, examples, width)
        vectors.append(encoded(w, table, with_missing(part, ids, lengths), lengths))
    found, examples = jnp.concatenate(vectors), jnp.concatenate([short, long])
    targets = data["targets"][examples].astype(jnp.float32)
    multilingual, english = data["multilingual"][examples], data["is_english"][examples]
    by_targets = product(targets, targets.T)
    by_multilingual = product(multilingual, multilingual.T)
    both_english = english[:, None] & english[None]
    wanted = jnp.where(both_english, by_targets, 0.5 * by_targets + 0.5 * by_multilingual)
    cosines = product(found, found.T)
    count = len(examples)
    others = 1 - jnp.eye(count)
    to_target = (1 - (found * targets).sum(axis=-1)).mean()
    between = (((cosines - wanted) ** 2) * others).sum() / (count * (count - 1))
    same = jnp.where(examples[:, None] == examples[None], -1e9, 0.0)
    share = jax.nn.softmax(wanted / TEMPERATURE + same, axis=-1)
    log_found = jax.nn.log_softmax(cosines / TEMPERATURE + same, axis=-1)
    nearest = (share * (jnp.log(share + 1e-9) - log_found)).sum(axis=-1).mean()
    total = to_target + COSINES_WEIGHT * between + NEAREST_WEIGHT * nearest
    return total, (to_target, between, nearest)


def step(
    w: Weights,
    mean: Weights,
    squares: Weights,
    data: Data,
    key: jax.Array,
    number: jax.Array,
    passed: jax.Array,
) -> tuple[Weights, Weights, Weights, jax.Array, tuple[jax.Array, ...]]:
    """One step of Adam, at the rate for the elapsed share of the time."""
    batch_key, missing_key = jax.random.split(jax.random.fold_in(key, number))
    short, long = drawn(data, batch_key)
    (total, parts), gradient = jax.value_and_grad(loss, has_aux=True)(
        w, data, short, long, missing_key
    )
    falling = 0.5 + 0.5 * jnp.cos(jnp.pi * jnp.minimum(passed, 1.0))
    rate = jnp.minimum(number.astype(jnp.float32) / WARM_UP, 1.0) * falling + LAST_RATE
    count = number.astype(jnp.float32) + 1
    mean = jax.tree.map(lambda m, g: MOMENTUM * m + (1 - MOMENTUM) * g, mean, gradient)
    squares = jax.tree.map(lambda v, g: SQUARES * v + (1 - SQUARES) * g * g, squares, gradient)
    changed = {}
    for name, value in w.items():
        own_rate = rate * (TABLE_RATE if name == "table" else RATE)
        direction = mean[name] / (1 - MOMENTUM**count)
        size = jnp.sqrt(squares[name] / (1 - SQUARES**count)) + 1e-10
        changed[name] = value - own_rate * direction / size
    return changed, mean, squares, total, parts


def report(w: Weights, data: Data, checked: np.ndarray, z: Data, targets: Targets) -> None:
    """Prints two figures per language for held-out texts: the mean cosine to the target, and how
    often the nearest other text by the teacher is among the ten nearest by the encoder."""
    ids, lengths = padded_ids(data, jnp.asarray(checked), LONG)
    found = np.asarray(jax.jit(encoded)(w, four_bits(w["table"]), ids, lengths))
    for number, name in enumerate(z["languages"]):
        own = z["first_language"][checked] == number
        if own.sum() < 12:
            continue
        vectors, wanted = found[own], targets.vectors[checked[own]]
        known = wanted if name == "en" else targets.multilingual[checked[own]]
        by_teacher, by_encoder = known @ known.T, vectors @ vectors.T
        np.fill_diagonal(by_teacher, -9)
        np.fill_diagonal(by_encoder, -9)
        best, ten = by_teacher.argmax(axis=1)[:, None], np.argsort(-by_encoder, axis=1)[:, :10]
        cosine = (vectors * wanted).sum(axis=1).mean()
        print(f"{name}: cosine {cosine:.3f}, nearest in ten {(ten == best).any(axis=1).mean():.3f}")


def save(w: Weights, path: Path) -> None:
    """Writes the table in 4 bits with one scale per row, and all other weights in float32."""
    table = np.asarray(w["table"]).copy()
    table[0] = 0
    scales = np.abs(table).max(axis=1) / 7 + 1e-8
    bits = (np.round(table / scales[:, None]) + 8).astype(np.uint8)
    tensors = {"embeddings": bits[:, ::2] | (bits[:, 1::2] << 4), "scales": scales}
    tensors |= {name: np.asarray(value) for name, value in w.items() if name != "table"}
    save_file(tensors, path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the multilingual encoder.")
    parser.add_argument("work", type=Path, help="folder of examples.npz, written to")
    parser.add_argument("--seconds", type=float, required=True, help="length of the training")
    args = parser.parse_args()
    with np.load(args.work / "examples.npz") as file:
        z = {name: file[name] for name in file.files}
    targets = made_targets(z)
    w = first_weights(z, targets)
    data, checked = on_device(z, targets)
    mean, squares = jax.tree.map(jnp.zeros_like, w), jax.tree.map(jnp.zeros_like, w)
    key = jax.random.PRNGKey(0)
    compiled = jax.jit(step, donate_argnums=(0, 1, 2))
    number, passed, start = 0, 0.0, 0.0
    while passed < 1.0:
        w, mean, squares, total, parts = compiled(
            w, mean, squares, data, key, jnp.int32(number), jnp.float32(passed)
        )
        if number % 20 == 0:
            total.block_until_ready()
        if number == 0:  # compiled now, so the time begins
            start = time.monotonic()
        number += 1
        passed = (time.monotonic() - start) / args.seconds
        if number % 1000 == 0:
            print(f"{number} steps: loss {total:.4f},", *(f"{part:.5f}" for part in parts))
    print(number, "steps")
    save(w, args.work / "encoder.safetensors")
    report(w, data, checked, z, targets)


if __name__ == "__main__":
    main()
