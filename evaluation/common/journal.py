"""Append-only files of JSON rows: what makes every stage resumable after a kill."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Journal:
    """Rows by key, each on disk as soon as it is finished; a later row replaces an earlier one.

    A last line that a kill cut off is removed at the next start. May be written by several threads.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_torn_line(path)
        self._rows = {row["key"]: row for row in read_rows(path)}
        self._file = path.open("a", encoding="utf-8")

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: str) -> dict[str, Any] | None:
        """The row with this key."""
        return self._rows.get(key)

    def rows(self) -> list[dict[str, Any]]:
        """All rows, in the order in which their keys first came."""
        with self._lock:
            return list(self._rows.values())

    def append(self, row: dict[str, Any]) -> None:
        """Writes a row through to the operating system."""
        line = json.dumps(row, ensure_ascii=False)
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()
            self._rows[row["key"]] = row

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a journal; none where there is no file."""
    if path.exists():
        with path.open(encoding="utf-8") as file:
            for line in file:
                if line.endswith("\n") and line.strip():
                    yield json.loads(line)


def _drop_torn_line(path: Path) -> None:
    if path.exists():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)


def write_json(path: Path, data: Any) -> None:
    """Replaces a JSON file in one step, so that a kill leaves the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replaces a text file in one step."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))
