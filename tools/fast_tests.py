"""Runs the tests that need NumPy and pytest only, against the installed package.

    python tools/fast_tests.py [pytest options]

For systems, interpreters or versions of NumPy without the development tools; takes minutes even
under an emulator. `make test` runs everything.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMES = (
    "async",
    "config",
    "deleting",
    "doctor",
    "events",
    "listings",
    "many_messages",
    "messages",
    "readers",
    "search",
    "status",
    "stores",
    "system",
    "transfer",
    "values",
)
# These tests need ruff.
NOT = (
    "test_async.py::test_the_methods_are_what_the_generator_writes",
    "test_config.py::test_what_is_written_from_the_table_is_up_to_date",
)


def main() -> int:
    """The command."""
    files = [str(ROOT / "tests" / "python" / f"test_{name}.py") for name in NAMES]
    without = [f"--deselect=tests/python/{name}" for name in NOT]
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(ROOT), *without]
    command += [*sys.argv[1:], *files]
    return subprocess.run(command, check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main())
