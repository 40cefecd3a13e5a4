"""SECURITY.md promises nothing without a test, and quotes no test that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.fixture
def page(root: Path) -> str:
    return (root / "SECURITY.md").read_text(encoding="utf-8")


def promises(page: str) -> list[str]:
    section = page.partition("## What is promised")[2].partition("\n## ")[0]
    return re.findall(r"^\* .*?(?=^\* |\Z)", section, re.DOTALL | re.MULTILINE)


def quoted(promise: str) -> list[str]:
    return re.findall(r"`([a-z0-9_]+)`", promise.partition("Tests:")[2])


def test_every_promise_names_its_tests(page: str) -> None:
    assert len(promises(page)) >= 10
    for promise in promises(page):
        assert quoted(promise), promise.partition(".")[0]


def test_every_test_that_is_quoted_exists(root: Path, page: str) -> None:
    sources = "\n".join(
        file.read_text(encoding="utf-8")
        for folder in ("tests", "src")
        for pattern in ("*.py", "*.rs")
        for file in (root / folder).rglob(pattern)
    )
    known = set(re.findall(r"^\s*(?:async )?(?:def|fn) ([a-z0-9_]+)\(", sources, re.MULTILINE))
    names = [name for promise in promises(page) for name in quoted(promise)]
    assert len(names) >= 40
    assert [name for name in names if name not in known] == []


def test_the_table_counts_what_the_torture_counts(root: Path, page: str) -> None:
    torture = (root / "tools" / "torture.py").read_text(encoding="utf-8")
    parts = re.findall(r'^    "([a-z_]+)": "', torture, re.MULTILINE)
    assert len(parts) >= 10
    rows = re.findall(r"^\| .* \| `([a-z_]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(parts)
