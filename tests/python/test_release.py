"""What the release workflow relies on: links of README.md, versions of actions, names of tests."""

import re
import subprocess
import sys
from pathlib import Path


def test_links_of_the_readme_become_addresses_of_files(root: Path) -> None:
    command = [sys.executable, str(root / "tools" / "release_metadata.py"), "me/it", "v1"]
    done = subprocess.run(
        [*command, "--check"], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_actions_are_pinned_by_their_major_version(root: Path) -> None:
    used = [
        action
        for path in (root / ".github" / "workflows").glob("*.yml")
        for action in re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))
    ]
    assert len(used) > 20
    pinned = re.compile(r"[\w.-]+/[\w./-]+@(v\d+|release/v\d+|stable|\d+\.\d+)")
    assert [action for action in used if not pinned.fullmatch(action)] == []


def test_the_fast_tests_are_there(root: Path) -> None:
    script = (root / "tools" / "fast_tests.py").read_text(encoding="utf-8")
    names = re.findall(r'^    "(\w+)",$', script, re.MULTILINE)
    assert len(names) > 10
    assert [name for name in names if not (root / f"tests/python/test_{name}.py").exists()] == []
