"""Files of a run: rows that survive a kill, and a manifest with which a run can be repeated."""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import episodica
from episodica import _native
from evaluation import measures
from evaluation.datasets import Dataset, checksums, read

# A run can be continued only if these are unchanged.
FIXED = ("dataset", "data", "episodica", "engine", "settings")


class ManifestError(ValueError):
    """The folder contains the results of another run."""


class Journal:
    """Rows by key, each on disk as soon as it is finished; the last row of a key counts.

    The next start removes a last line that a kill cut off. Several threads may write rows.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            data = path.read_bytes()
            whole = data.rfind(b"\n") + 1
            if whole < len(data):
                path.write_bytes(data[:whole])
        self._rows = {row["key"]: row for row in rows_of(path)}
        self._file = path.open("a", encoding="utf-8")

    def get(self, key: str) -> dict[str, Any] | None:
        """The row with this key."""
        return self._rows.get(key)

    def lacks(self, key: str) -> bool:
        """Whether the row is missing or records a failure."""
        row = self._rows.get(key)
        return row is None or bool(row.get("failure"))

    def rows(self) -> dict[str, dict[str, Any]]:
        """All rows, in the order in which their keys first appeared."""
        with self._lock:
            return dict(self._rows)

    def append(self, row: dict[str, Any]) -> None:
        """Writes a row and hands it to the operating system."""
        line = json.dumps(row, ensure_ascii=False)
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()
            self._rows[row["key"]] = row

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def rows_of(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a journal; none if the file does not exist."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n") and line.strip():
                    yield json.loads(line)


def write(path: Path, data: Any) -> None:
    """Replaces a file with a text or JSON in one step: a kill leaves the old or the new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def open_manifest(out: Path, dataset: Dataset, settings: dict[str, Any]) -> dict[str, Any]:
    """Returns the manifest in ``out``, and begins one if the folder has none.

    Rows of two configurations must not mix: other data, builds or settings are an error.
    """
    fresh = {
        "dataset": dataset.name,
        "data": dataset.checksums,
        "conversations": len(dataset.conversations),
        "questions": len(dataset.questions),
        "episodica": episodica.__version__,
        "engine": checksums(Path(_native.__file__)),
        "settings": settings,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "seeds": {"bootstrap": measures.SEED, "resamples": measures.RESAMPLES},
        # File names without their folders on this machine.
        "command": [
            Path(one).name if "/" in one and "://" not in one else one for one in sys.argv[1:]
        ],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path = out / "manifest.json"
    if not path.exists():
        write(path, fresh)
        return fresh
    known: dict[str, Any] = read(path)
    for name in FIXED:
        if known.get(name) != fresh[name]:
            raise ManifestError(
                f"{out} holds a run with another `{name}` ({known.get(name)}, now {fresh[name]}): "
                "choose another --out, or delete this folder"
            )
    return known


def note(out: Path, section: str, name: str, value: Any) -> None:
    """Adds an entry to a section of the manifest, such as a system's configuration."""
    manifest = read(out / "manifest.json")
    known = manifest.setdefault(section, {}).setdefault(name, value)
    if known != json.loads(json.dumps(value)):
        raise ManifestError(
            f"{out} was begun with another {section} `{name}` ({known}, now {value}): "
            "choose another --out"
        )
    write(out / "manifest.json", manifest)


def in_parallel(label: str, items: list[Any], work: Any, workers: int) -> None:
    """Does the work on each item. After the first error it only finishes the work under way."""
    said = Said(label, len(items))
    with ThreadPoolExecutor(max(1, workers)) as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
                said.step()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


class Said:
    """Prints the progress of a stage to stderr, now and then."""

    SECONDS = 15.0

    def __init__(self, label: str, total: int, earlier: int = 0) -> None:
        self._label, self._total, self._done = label, total, 0
        self._earlier = f", {earlier} of an earlier run" if earlier else ""
        self._last = self._started = datetime.now(UTC)

    def step(self) -> None:
        """One item is finished."""
        self._done += 1
        now = datetime.now(UTC)
        ends = self._done == self._total
        if ends or (now - self._last).total_seconds() > self.SECONDS:
            self._last = now
            seconds = (now - self._started).total_seconds()
            sys.stderr.write(
                f"{self._label}: {self._done}/{self._total} in {seconds:.0f} s{self._earlier}\n"
            )
