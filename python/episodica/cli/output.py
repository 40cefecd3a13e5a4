"""The output of commands: text that fits the terminal, or JSON; notes and errors on stderr.

Control characters of stored texts never reach a terminal through either stream.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TextIO, TypeVar

from ..errors import EpisodicaError
from ..reports import DeleteReport, ExportReport
from ..status import leaves
from ..value import jsonable
from ..visible import visible, visible_json

_MIN_WIDTH = 40
_MAX_WIDTH = 140
_MIN_COLUMN = 8
_MIN_LAST_COLUMN = 20
# Invisible parts of emoji and of Indic and Persian words.
_JOINERS = "\u200c\u200d\ufe0f"
COLOURS = ("auto", "always", "never")
_STYLES = {
    "bold": "1",
    "dim": "2",
    "struck": "9",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
T = TypeVar("T")
_STYLED = re.compile(rf"(\x1b\[(?:0|{'|'.join(_STYLES.values())})m)")


class Output:
    """The two output streams of a command."""

    def __init__(self, as_json: bool, colour: str = "auto") -> None:
        self.as_json = as_json
        self._colour = _wants_colour(sys.stdout, colour)
        for stream in (sys.stdout, sys.stderr):
            # A character that the terminal can't show must not stop the command.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")

    @property
    def width(self) -> int | None:
        """Columns to fill.

        ``None`` where the output goes to a file or a pipe, which wants whole lines.
        """
        if not sys.stdout.isatty():
            return None
        return max(_MIN_WIDTH, min(_MAX_WIDTH, shutil.get_terminal_size().columns))

    def line(self, text: str = "") -> None:
        """One line of data."""
        # Odd places have the output of `style`, which has escaped its text already.
        parts = _STYLED.split(text) if self._colour else [text]
        parts[::2] = (visible(part, lines=True) for part in parts[::2])
        sys.stdout.write("".join(parts) + "\n")

    def flush(self) -> None:
        """Flushes standard output."""
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """One line on stderr."""
        sys.stderr.write(visible(text, lines=True) + "\n")

    def json(self, data: Any) -> None:
        """The data as one JSON document."""
        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        document = json.dumps(jsonable(data), ensure_ascii=ascii_only, indent=1)
        sys.stdout.write(visible_json(document) + "\n")

    def printed_json(self, data: Any) -> bool:
        """Prints the data as JSON if the command is asked for JSON; whether it is."""
        if self.as_json:
            self.json(data)
        return self.as_json

    def printed_list(self, items: Iterable[Any]) -> bool:
        """Prints the items as a JSON list if the command is asked for JSON; whether it is."""
        if self.as_json:
            self.json_list(items)
        return self.as_json

    def json_list(self, items: Iterable[Any]) -> None:
        """The items as one JSON list, written one by one."""
        ascii_only = "utf" not in (sys.stdout.encoding or "").lower()
        separator = "["
        for item in items:
            document = json.dumps(jsonable(item), ensure_ascii=ascii_only)
            sys.stdout.write(f"{separator}\n{visible_json(document)}")
            separator = ","
        sys.stdout.write("[]\n" if separator == "[" else "\n]\n")

    def listing(
        self, items: Iterable[T], head: Sequence[str], row: Callable[[T], Sequence[object]]
    ) -> None:
        """The items as a JSON list, or as a table with a row for each."""
        if not self.printed_list(items):
            self.table(head, map(row, items))

    def result(self, data: Any, text: str) -> None:
        """The data as JSON, or the text on stderr."""
        if not self.printed_json(data):
            self.note(text)

    def tree(self, data: Mapping[str, Any]) -> None:
        """Prints nested mappings, as a table of paths and values or as JSON."""
        if not self.printed_json(data):
            rows = ((_in_words(path), cell(value)) for path, value in leaves(data, "."))
            self.table(("", ""), rows)

    def ask(self, text: str) -> None:
        """A question on stderr."""
        sys.stderr.write(visible(text))
        sys.stderr.flush()

    def style(self, text: str, style: str) -> str:
        """``text`` in a style, if colours are on."""
        shown = visible(text)
        return f"\x1b[{_STYLES[style]}m{shown}\x1b[0m" if self._colour and text else shown

    def heading(self, text: str) -> None:
        """An empty line, then the text in bold."""
        self.line()
        self.line(self.style(text, "bold"))

    def paragraph(self, text: str, indent: int, max_lines: int) -> None:
        """Indented text, cut after ``max_lines`` on a terminal."""
        flat = printable(text)
        lines = [flat] if self.width is None else wrap(flat, self.width - indent, max_lines)
        for line in lines:
            self.line(" " * indent + line)

    def glyph(self, mark: str, ascii_mark: str) -> str:
        """A mark, or its ASCII form on streams without Unicode."""
        return mark if "utf" in (sys.stdout.encoding or "").lower() else ascii_mark

    def cut(self, text: str, reserved: int) -> str:
        """``text`` cut to the terminal's width minus ``reserved`` columns; whole elsewhere."""
        return text if self.width is None else cut(text, max(self.width - reserved, _MIN_COLUMN))

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]], indent: int = 0) -> None:
        """Columns as wide as their widest cell, cut to what the terminal has room for.

        Columns of numbers are aligned to the right and never cut.
        """
        cells = [[printable(str(cell)) for cell in row] for row in rows]
        by_column = list(zip(*cells, strict=True)) or [()] * len(head)
        right = [bool(column) and all(map(_is_number, column)) for column in by_column]
        widths = [
            max(map(columns, (name, *column))) for name, column in zip(head, by_column, strict=True)
        ]
        if self.width is not None:
            widths = _fitted(widths, right, self.width - indent - 2 * (len(head) - 1))
        for row in [list(head), *cells] if any(head) else cells:
            line = "  ".join(
                pad(cut(cell, width), width, to_right)
                for cell, width, to_right in zip(row, widths, right, strict=True)
            )
            line = " " * indent + line.rstrip()
            self.line(self.style(line, "dim") if row == list(head) else line)


def cell(value: object) -> str:
    """A value as text for people."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, (int, float)):
        return f"{value:,}"
    if isinstance(value, (list, tuple, dict)):
        return ", ".join(map(str, value)) or "-"
    return str(value)


def _fitted(widths: list[int], fixed: list[bool], room: int) -> list[int]:
    """The widths, narrowed until they fit: first the last column, then the widest ones."""
    fitted = list(widths)
    for least in (_MIN_LAST_COLUMN, _MIN_COLUMN):
        if not fixed[-1]:
            fitted[-1] = min(fitted[-1], max(room - sum(fitted[:-1]), least))
        while sum(fitted) > room:
            candidates = [
                index
                for index, width in enumerate(fitted[:-1])
                if width > _MIN_COLUMN and not fixed[index]
            ]
            if not candidates:
                break
            fitted[max(candidates, key=lambda index: fitted[index])] -= 1
    return fitted


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").isdigit()


def report(error: EpisodicaError, colour: str = "auto") -> None:
    """Prints an error with its causes and its hint."""
    label = "\x1b[31merror:\x1b[0m" if _wants_colour(sys.stderr, colour) else "error:"
    sys.stderr.write(f"{label} {printable(error.message)}\n")
    cause = error.__cause__
    while cause is not None:
        sys.stderr.write(f"caused by: {printable(str(cause))}\n")
        cause = cause.__cause__
    if error.hint:
        sys.stderr.write(f"hint: {printable(error.hint)}\n")


def _in_words(path: str) -> str:
    """The name of a value, with the word that people read for a kind of records."""
    return path.replace("semantic_memories", "facts").replace("_", " ")


def counted(number: int, noun: str) -> str:
    """``1 hit``, ``2 hits``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counted_records(report: DeleteReport | ExportReport) -> tuple[str, str, str]:
    """``2 messages``, ``1 episode``, ``1 fact``."""
    return (
        counted(report.messages, "message"),
        counted(report.episodes, "episode"),
        counted(report.semantic_memories, "fact"),
    )


def printable(text: str) -> str:
    """``text`` on one line, without control characters."""
    return visible(" ".join(text.split()))


def columns(text: str) -> int:
    """Terminal columns of ``text``: two for wide East Asian letters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(char) for char in text)


def _columns_of(char: str) -> int:
    if unicodedata.combining(char) or char in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    """``text`` cut to ``room`` columns, with an ellipsis if cut."""
    if columns(text) <= room:
        return text
    taken = 0
    for index, char in enumerate(text):
        taken += _columns_of(char)
        if taken > room - 1:
            return text[:index].rstrip() + "…"
    return text


def pad(text: str, width: int, to_right: bool = False) -> str:
    """``text`` padded with spaces to ``width`` columns."""
    fill = " " * (width - columns(text))
    return fill + text if to_right else text + fill


def wrap(text: str, room: int, max_lines: int) -> list[str]:
    """``text`` in lines of at most ``room`` columns, broken at spaces if possible."""
    lines: list[str] = []
    rest = text
    while rest and len(lines) < max_lines:
        if columns(rest) <= room or len(lines) == max_lines - 1:
            lines.append(cut(rest, room))
            break
        head = cut(rest, room).removesuffix("…")
        space = head.rfind(" ")
        end = space if space > room // 2 else len(head)
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return lines


def _wants_colour(stream: TextIO, choice: str) -> bool:
    """Whether to use colours: as ``--color`` says.

    Without it, on terminals, unless ``NO_COLOR`` (https://no-color.org) or ``TERM=dumb`` is set.
    """
    if choice != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
