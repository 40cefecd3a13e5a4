"""No expression and no reader costs more than in proportion to its text, whatever the text.

The expressions are found in the sources, and the texts follow from the parts of each, so that a new
expression is tried without a word here. A file is a sample of its format in which one text, or all
that follows its middle, is long and repetitive.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from expressions import Expression, Unknown, expressions
from growth import PIECES, Growth, growth, pieces_of, repeated

from episodica import InvalidInputError, _native
from episodica.readers import read_conversations

SAMPLES = Path(__file__).parents[1] / "fixtures/imports"
Piece = tuple[str, str, str]
Rounds = Callable[[int, int], int]
# The smallest and the largest text that an expression gets.
SMALLEST, LARGEST = 500, 64_000


def used(one: Expression) -> Callable[[Any], object]:
    """The use of an expression that goes over the whole text."""
    pattern = one.pattern
    if not one.is_roaming:
        return pattern.match
    return lambda text: sum(1 for _ in pattern.finditer(text))


@pytest.mark.timeout(3_600)
def test_no_expression_costs_more_than_its_text_is_long(
    rounds: Rounds, counts: Callable[..., None]
) -> None:
    found = expressions()
    unknown = [one.place for one in found if isinstance(one, Unknown)]
    assert not unknown, f"written as no literal, so that it can't be tried: {unknown}"
    known = [one for one in found if isinstance(one, Expression)]
    assert len(known) > 80
    every = max(1, 100 // rounds(1, 100))
    curves, wrong = 0, []
    for one in known[::every]:
        use = used(one)
        common = [("", piece, "\0") for piece in PIECES][:: 2 * every - 1]
        for piece in [*pieces_of(one.pattern)[::every], *common]:
            grown = growth(with_text(use, one.pattern, piece), SMALLEST, LARGEST)
            curves += 1
            if grown.is_steep:
                wrong.append(f"{one.place} {piece}: {grown}")
    counts("expressions", expressions=len(known[::every]), curves=curves, superlinear=len(wrong))
    assert not wrong, "\n".join(wrong)


def with_text(
    use: Callable[[Any], object], pattern: re.Pattern[Any], piece: Piece
) -> Callable[[int], Callable[[], object]]:
    def prepare(size: int) -> Callable[[], object]:
        text = repeated(piece, size)
        given = text.encode() if isinstance(pattern.pattern, bytes) else text
        return lambda: use(given)

    return prepare


def files() -> Iterator[tuple[str, str, bool]]:
    """The name, the text and the beginning of each sample; whether it is JSON."""
    for path in sorted(SAMPLES.iterdir()):
        if path.is_file():
            yield path.name, path.read_text(encoding="utf-8-sig"), "json" in path.suffix


def places(text: str) -> list[tuple[str, str]]:
    """What stands before and after a text that becomes long: after words, and at the end."""
    words = [one.end() for one in re.finditer(r"[^\W\d]{4,}", text)]
    at = words[2 * len(words) // 3] if words else len(text)
    return [(text[:at], text[at:]), (text, "")]


@pytest.mark.timeout(3_600)
def test_no_reader_costs_more_than_its_file_is_long(
    rounds: Rounds, counts: Callable[..., None], tmp_path: Path
) -> None:
    every, choose = max(1, 40 // rounds(1, 40)), random.Random(5)
    curves, wrong = 0, []
    samples = list(files())
    for name, sample, is_json in samples[::every]:
        pairs = [one + other for one, other in zip(PIECES, reversed(PIECES), strict=True)]
        for piece in choose.sample([*PIECES, *pairs], rounds(2, 12)):
            unit = json.dumps(piece)[1:-1] if is_json else piece
            for before, after in places(sample):
                shape = growth(with_file(tmp_path / name, (before, unit, after)), 2_000, 256_000)
                curves += 1
                if shape.is_steep:
                    wrong.append(f"{name} {piece!r} after {before[-20:]!r}: {shape}")
    counts("formats", files=len(samples[::every]), curves=curves, superlinear=len(wrong))
    assert not wrong, "\n".join(wrong)


def with_file(path: Path, piece: Piece) -> Callable[[int], Callable[[], object]]:
    def prepare(size: int) -> Callable[[], object]:
        path.write_text(repeated(piece, size), encoding="utf-8")
        return lambda: read(path)

    return prepare


def read(path: Path) -> None:
    with suppress(InvalidInputError):
        for conversation in read_conversations(path):
            list(conversation.messages)


JSON = (
    *("[", "{", '"', "\\", '[[["', '\\"', '{"a":', '["', '","', "1,", "[]", '"[', '\\\\"', "]"),
    *(" ", "\n", "\u00e9", '"a" ', "null,", '{"a":[', "//", "/*"),
)


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("before", ["", "[" * 65, "[" * 65 + '"', '{"messages": ["', "[[[["])
def test_no_json_costs_more_than_it_is_long(before: str, rounds: Rounds, tmp_path: Path) -> None:
    wrong: list[tuple[str, Growth]] = []
    for piece in random.Random(before).sample(JSON, rounds(2, len(JSON))):

        def of_body(size: int, piece: str = piece) -> Callable[[], object]:
            body = repeated((before, piece, ""), size).encode()
            return lambda: _native.nests_deeper(body, 64)

        read_file = with_file(tmp_path / "talk.json", (before, piece, ""))
        for prepare in (of_body, read_file):
            shape = growth(prepare, 2_000, rounds(32_000, 256_000))
            if shape.is_steep:
                wrong.append((piece, shape))
    assert not wrong, wrong
