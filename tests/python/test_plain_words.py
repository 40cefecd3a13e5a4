"""Names and sentences stay plain: limits that other projects in the same languages keep as well.

A type has a name of its own, mostly of two words, so that a search finds it. Comments and pages
state who does what: relative clauses without a noun and pronouns without a person need a second
reading.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TYPE = re.compile(
    r"^ *(?:pub(?:\(\w+(?: in [\w:]+)?\))? )?(?:unsafe )?(?:struct|enum|trait) (\w+)", re.M
)
#: Openings that hide the subject of a sentence, and words for a person or a place that name none.
VAGUE = re.compile(
    r"""\bwhat\ (?:is|was|are|were|has|had|it|they|others|comes|came|follows|stands|holds)\b
    |\b(?:whoever|whom|nobody|somebody|everybody|behind|beside)\b
    |\bso\ (?:many|much)\b
    |\b(?:is|are)\ no\b""",
    re.I | re.X,
)
#: Per 10,000 words.
MAX_VAGUE = 12
MAX_SAME_NAME, MAX_ONE_WORD = 0.06, 0.30


def tracked(ending: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", f"*{ending}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def is_production(path: Path) -> bool:
    names = set(path.relative_to(ROOT).parts)
    return not names & {"tests", "testing", "benches", "fuzz"} and "test" not in path.stem


def rust_types() -> list[str]:
    names: list[str] = []
    for path in filter(is_production, tracked(".rs")):
        text = path.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")[0]
        names += TYPE.findall(text)
    return names


def python_words(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string[1:]


def comments() -> Iterator[str]:
    for path in filter(is_production, tracked(".rs")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("//"):
                yield line.lstrip().lstrip("/!")
    for path in filter(is_production, tracked(".py")):
        yield from python_words(path.read_text(encoding="utf-8"))


def vague_per_10_000(texts: Iterator[str]) -> float:
    words = vague = 0
    for text in texts:
        words += len(text.split())
        vague += len(VAGUE.findall(text))
    assert words > 10_000, "the texts are not read"
    return 1e4 * vague / words


def test_each_type_has_a_name_of_its_own() -> None:
    names = rust_types()
    assert len(names) > 500, "the types are not read"
    same = sum(count for count in Counter(names).values() if count > 1)
    assert same / len(names) <= MAX_SAME_NAME
    one_word = [name for name in names if len(re.findall("[A-Z]", name)) == 1]
    assert len(one_word) / len(names) <= MAX_ONE_WORD, one_word


def test_comments_name_their_subject() -> None:
    assert vague_per_10_000(comments()) <= MAX_VAGUE


def test_pages_name_their_subject() -> None:
    pages = [path for path in tracked(".md") if "lab" not in path.relative_to(ROOT).parts]
    assert vague_per_10_000(path.read_text(encoding="utf-8") for path in pages) <= MAX_VAGUE


def test_the_limit_counts() -> None:
    assert VAGUE.findall("What is left goes to whoever waits behind.") == [
        "What is",
        "whoever",
        "behind",
    ]
    assert not VAGUE.findall("The rest goes to the next waiting writer.")
