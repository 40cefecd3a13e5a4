"""SECURITY.md promises nothing without a test, and quotes no test that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.fixture
def page(root: Path) -> str:
    return (root / "SECURITY.md").read_text(encoding="utf-8")


def promises(page: str) -> list[str]:
    section = page.partition("## Promises")[2].partition("\n## Attacks")[0]
    found = re.findall(r"^\* .*?(?=^\* |\Z)", section, re.DOTALL | re.MULTILINE)
    # Limits may name a test as well.
    return [one for one in found if "Test" in one or one in section.partition("\n## Limits")[0]]


def quoted(promise: str) -> list[tuple[str, str]]:
    """The tests that a promise names: file and function."""
    tests = re.split(r"^  Tests?: ", promise, maxsplit=1, flags=re.MULTILINE)[1:]
    return [pair for text in tests for pair in re.findall(r"`([\w/]+\.\w+)::(\w+)`", text)]


def test_every_promise_names_its_tests(page: str) -> None:
    assert len(promises(page)) >= 14
    for promise in promises(page):
        names = quoted(promise)
        assert names, promise.partition(".")[0]
        assert len(names) == promise.partition("Test")[2].count("`") / 2, promise


def functions_of(file: Path) -> set[str]:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        return set(re.findall(r"^\s*(?:async )?def (test_\w+)\(", text, re.MULTILINE))
    return set(re.findall(r"#\[test\](?:\s*#\[[^\]]*\])*\s*fn (\w+)\(", text))


def test_every_test_that_is_named_is_a_test_of_its_file(root: Path, page: str) -> None:
    names = [name for promise in promises(page) for name in quoted(promise)]
    assert len(names) >= 80
    sources = [
        file
        for folder in ("tests", "src")
        for pattern in ("*.py", "*.rs")
        for file in (root / folder).rglob(pattern)
    ]
    for place, test in names:
        found = [file for file in sources if file.as_posix().endswith(f"/{place}")]
        assert len(found) == 1, f"{place} names {len(found)} files"
        assert test in functions_of(found[0]), f"{place}::{test}"


def test_the_table_counts_what_the_torture_counts(root: Path, page: str) -> None:
    torture = (root / "tools" / "torture.py").read_text(encoding="utf-8")
    parts = re.findall(r'^    "([a-z_]+)": "', torture, re.MULTILINE)
    assert len(parts) >= 10
    rows = re.findall(r"^\| .* \| `([a-z_]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(parts)
