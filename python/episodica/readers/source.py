"""Files as readers see them: text that can be read several times, wherever it comes from.

A source is a file, standard input (``-``), or a ZIP archive or folder with such files, as accounts
are exported. Nothing is read whole: JSON comes value by value, everything else line by line.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self, TypeVar

from ..errors import InvalidInputError, StoreIOError
from .conversation import LeftOut

STDIN = "-"
# Standard input is kept in memory up to this size, then in a temporary file.
_IN_MEMORY = 32 << 20
_PIECE = 1 << 20
# The most characters of a line: the longest message, with every character escaped.
_LONGEST_LINE = 64 << 20
# An error this near to the end of the part in memory may only mean that more must be read.
_NEAR_END = 16
# First lines by which a file with one document per line is recognised.
_FIRST_LINES = 20
# A string, whose brackets don't count, or a bracket. A string without an end goes to the end.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[][{}]', re.DOTALL)
# A number with more digits than Python reads; see `sys.set_int_max_str_digits`.
_LONG_NUMBER = re.compile(r"(?<![0-9])[0-9]{4301}")
_SPACE = " \t\r\n"
# Files that programs put into archives and folders for themselves.
_HIDDEN = re.compile(r"(?:^|/)(?:\.|__MACOSX/|Thumbs\.db$)")
_NUMBER = re.compile(r"(\d+)")
# Messenger counts its files from the newest.
_NEWEST_FIRST = re.compile(r"message_(\d+)\.json$")
# Control characters that no text of any encoding has.
_NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
# The file by which a folder is a store of this package.
_STORE = "episodica.json"
# Bytes of a file that is cut off within a letter.
_CUT_LETTER = "episodica.cut-letter"
_CUT_OFF = ("unexpected end of data", "truncated data")
_ENCODINGS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Item:
    """A top-level JSON value of a file, or an element of a top-level list.

    ``group`` is the number of its list in a file with one list per line.
    """

    value: Any
    line: int
    group: int | None = None


class Source:
    """An open file that can be read several times; ``name`` is for people.

    ``members`` has the names of the files in an archive or a folder, else it is ``None``. ``date``
    is the date of the file. ``left_out`` names the places read so far that are not JSON. ``zone``
    is that of times without an offset; ``None``: UTC. ``keys`` has our names of the file's own
    keys: objects and tables come under ours.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        zone: str | None = None,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        self.zone = zone
        self.keys = keys or {}
        self.is_stdin = os.fspath(path) == STDIN
        self.name = (
            "standard input" if self.is_stdin else self.path.name or self.path.resolve().name
        )
        self.stem = "stdin" if self.is_stdin else self.path.stem
        self.is_open = False
        self.members: list[str] | None = None
        self.date: str | None = None
        self.left_out: list[LeftOut] = []
        self._archive: zipfile.ZipFile | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        try:
            if not self.is_stdin and self.path.is_dir():
                self._list(
                    file.relative_to(self.path).as_posix()
                    for file in self.path.rglob("*")
                    if file.is_file()
                )
            else:
                self._bytes = self._opened()
        except OSError as error:
            self._stack.close()
            raise StoreIOError(
                f"cannot read `{self.path}`", path=str(self.path), errno=error.errno
            ) from error
        except InvalidInputError:
            self._stack.close()
            raise
        self.is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open = False
        self._stack.close()

    @contextmanager
    def member(self, name: str) -> Iterator[Source]:
        """A file of the archive or folder, open."""
        if self._archive is None:
            with Source(self.path / name, self.zone, self.keys) as opened:
                opened.name = name
                yield opened
            return
        inner = Source(self.path, self.zone, self.keys)
        inner.name, inner.stem = name, PurePosixPath(name).stem
        with inner._stack:
            try:
                with self._archive.open(name) as file:
                    # A file within an archive can be read once only.
                    inner._bytes = inner._kept(file)
                inner.date = _iso(datetime(*self._archive.getinfo(name).date_time))
            except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError) as error:
                raise InvalidInputError("the ZIP archive is damaged or encrypted") from error
            inner.is_open = True
            yield inner

    def values(self, name: str) -> list[Any]:
        """The values of a JSON file of the archive or folder; see :meth:`take`."""
        return [item.value for item in self.take(name, Source.items)]

    def take(self, name: str, read: Callable[[Source], Iterable[T]]) -> list[T]:
        """What a reader finds in a file of the archive or folder.

        The other files can be read without this one: where it is broken, it is left out, from its
        first fault on, and named.
        """
        found: list[T] = []
        try:
            with self.member(name) as member:
                try:
                    found.extend(read(member))
                    if not found and not member.text(_CUT_LETTER).read(_PIECE).strip():
                        raise InvalidInputError("the file is empty")
                except UnicodeDecodeError as error:
                    raise member.not_utf8() from error
                finally:
                    self.left_out += (
                        replace(one, place=f"{name}, {one.place}") for one in member.left_out
                    )
        except InvalidInputError as error:
            self.left_out.append(LeftOut(name, error.message, is_fault=True))
        return found

    def not_utf8(self) -> InvalidInputError:
        """The error for a file that is not UTF-8: no text at all, or text of another encoding."""
        number = 0
        if self.is_open:
            self._bytes.seek(0)
            if _NO_TEXT.search(self._bytes.read(_PIECE)):
                return InvalidInputError("the file is no text")
            self._bytes.seek(0)
            number = next((at for at, one in enumerate(self._bytes, 1) if not _is_utf8(one)), 0)
        where = f"line {number} is" if number else "the end is"
        return InvalidInputError(f"{where} not UTF-8 text", hint="save the file as UTF-8")

    def _opened(self) -> IO[bytes]:
        file: IO[bytes] = sys.stdin.buffer
        if not self.is_stdin:
            file = self._stack.enter_context(self.path.open("rb"))
            state = os.fstat(file.fileno())
            mode = state.st_mode
            if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not file.isatty()):
                # A device may have no end.
                raise InvalidInputError(f"not a file: `{self.path}`", path=str(self.path))
            if stat.S_ISREG(mode):
                self.date = _iso(datetime.fromtimestamp(state.st_mtime, UTC))
        if self.is_stdin or not stat.S_ISREG(mode):
            file = self._kept(file)
        if file.read(4).startswith(b"PK\x03\x04"):
            self._open_archive(file)
        return file

    def _kept(self, stream: IO[bytes]) -> IO[bytes]:
        """A copy of a stream, because the stream can be read only once."""
        kept = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self._stack.callback(kept.close)
        shutil.copyfileobj(stream, kept)
        kept.seek(0)
        return kept

    def _open_archive(self, file: IO[bytes]) -> None:
        try:
            self._archive = self._stack.enter_context(zipfile.ZipFile(file))
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise InvalidInputError("the ZIP archive is damaged or encrypted") from error
        names = [one.filename for one in self._archive.infolist() if not one.is_dir()]
        outside = {one for one in names if ".." in re.split(r"[\\/]", one)}
        why = "the name leads out of the archive"
        self.left_out += (LeftOut(one, why, is_fault=True) for one in sorted(outside))
        self._list(one for one in names if one not in outside)

    def _list(self, names: Iterable[str]) -> None:
        """Takes the files of a folder or an archive, without those of stores in it."""
        found = _in_order(names)
        stores = [one.removesuffix(_STORE) for one in found if one.split("/")[-1] == _STORE]
        if "" in stores:
            raise InvalidInputError(
                f"the folder is a store of episodica: `{self.path}`",
                hint=f"look into it with `--store {self.path}`",
                path=str(self.path),
            )
        self.members = [one for one in found if not one.startswith(tuple(stores))]
        self.left_out += (LeftOut(one.rstrip("/"), "a store of episodica") for one in stores)

    def bytes(self) -> IO[bytes]:
        """The bytes from their beginning."""
        self._bytes.seek(0)
        return self._bytes

    def text(self, errors: str = "strict") -> io.TextIOWrapper:
        """The text from its beginning. Invalid UTF-8 raises ``UnicodeDecodeError``."""
        self._bytes.seek(0)
        encoding = _ENCODINGS.get(self._bytes.read(2), "utf-8-sig")
        self._bytes.seek(0)
        # Not closed with the wrapper: the next reading needs the bytes again.
        unclosed = io.BufferedReader(_Unclosed(self._bytes))
        return io.TextIOWrapper(unclosed, encoding=encoding, errors=errors)

    def head(self, size: int) -> str:
        """The first characters, whatever the encoding."""
        text = self.text()
        text.reconfigure(errors="replace")
        return text.read(size)

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines with their numbers, without their ends."""
        text, number = self.text(), 0
        while line := text.readline(_LONGEST_LINE + 2):
            number += 1
            line = line.removesuffix("\n")
            if len(line) > _LONGEST_LINE:
                raise InvalidInputError(
                    f"line {number} has more than {_LONGEST_LINE:,} characters", line=number
                )
            yield number, line

    def ends_with_line(self) -> bool:
        """Whether the last line has an end, as programs write it."""
        size = self._bytes.seek(0, os.SEEK_END)
        self._bytes.seek(max(size - 2, 0))
        return b"\n" in self._bytes.read()

    def items(self) -> Iterator[Item]:
        """The values of a JSON file: one document, the elements of a list, or a document per line.

        A line that is not a document is left out. In other files, reading ends at the first fault.
        """
        text = self.text(_CUT_LETTER)
        head = text.read(_PIECE)
        if _has_document_a_line(head):
            found = self._by_line()
        else:
            found = self._to_the_fault(_values(head, text))
        if not self.keys:
            return found
        return (replace(item, value=_renamed(item.value, self.keys)) for item in found)

    def _by_line(self) -> Iterator[Item]:
        group = 0
        for number, line in self.lines():
            if not line.strip():
                continue
            try:
                value = _decoded(line, number)
            except InvalidInputError as error:
                self.left_out.append(LeftOut(f"line {number}", error.message, is_fault=True))
                continue
            if isinstance(value, list):
                yield from (Item(one, number, group) for one in value)
                group += 1
            else:
                yield Item(value, number)

    def _to_the_fault(self, values: Iterator[Item]) -> Iterator[Item]:
        is_read = False
        try:
            for item in values:
                yield item
                is_read = True
        except InvalidInputError as error:
            if not is_read:
                raise InvalidInputError(
                    f"line {error.line}: {error.message}", line=error.line
                ) from error
            why = f"{error.message}; the rest of the file is not read"
            self.left_out.append(LeftOut(f"line {error.line}", why, is_fault=True))


def _renamed(value: Any, keys: Mapping[str, str]) -> Any:
    """A value of JSON with our names of keys, at every depth."""
    if isinstance(value, list):
        return [_renamed(one, keys) for one in value]
    if not isinstance(value, dict):
        return value
    named = {keys[key]: one for key, one in value.items() if key in keys}
    kept = {key: one for key, one in value.items() if key not in keys}
    return {key: _renamed(one, keys) for key, one in (kept | named).items()}


def _without_cut_letter(error: UnicodeError) -> tuple[str, int]:
    """Passes over half a letter at the end of a file; JSON that is cut is found as such."""
    if isinstance(error, UnicodeDecodeError) and error.reason in _CUT_OFF:
        return "", error.end
    raise error


codecs.register_error(_CUT_LETTER, _without_cut_letter)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _has_document_a_line(head: str) -> bool:
    """Whether at least half of the first lines are JSON documents, each complete."""
    lines = [line for line in head.split("\n", _FIRST_LINES)[:_FIRST_LINES] if line.strip(_SPACE)]
    if len(lines) > 1 and is_document(lines[0]):
        return True
    whole = [line for line in lines if line.lstrip(_SPACE)[:1] == "{" and is_document(line)]
    return len(lines) > 1 and lines[0].lstrip(_SPACE)[:1] == "{" and 2 * len(whole) >= len(lines)


def _in_order(names: Iterable[str]) -> list[str]:
    """The names of files that are not hidden, with numbers in numeric order."""

    def key(name: str) -> list[tuple[int, str]]:
        newest = _NEWEST_FIRST.search(name)
        start = name[: newest.start()] if newest else name
        parts = [(int(one), "") if one.isdecimal() else (0, one) for one in _NUMBER.split(start)]
        return [*parts, (-int(newest[1]), "")] if newest else parts

    return sorted((name for name in names if not _HIDDEN.search(name)), key=key)


def _iso(date: datetime) -> str:
    return date.replace(tzinfo=UTC).isoformat(timespec="seconds")


class _Unclosed(io.RawIOBase):
    """Reads from a file that stays open when its text wrapper is collected."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._file.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


def is_document(text: str) -> bool:
    """Whether the text is a value of JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _decoded(text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _invalid(line) from error
    except (ValueError, RecursionError) as error:
        raise _unusable(error, text, line) from error


def _invalid(line: int) -> InvalidInputError:
    return InvalidInputError("not valid JSON", line=line)


def _unusable(error: Exception, text: str, line: int) -> InvalidInputError:
    """The error for JSON that Python does not read. ``line`` is the number of the first line."""
    if isinstance(error, RecursionError):
        place, fault = _deepest(text), "nested too deeply"
    else:
        found = _LONG_NUMBER.search(text)
        place, fault = found.start() if found else 0, "a number of thousands of digits"
    line += text.count("\n", 0, place)
    return InvalidInputError(fault, line=line)


def _deepest(text: str) -> int:
    """Where the brackets of a document are nested deepest."""
    depth = deepest = place = 0
    for found in _BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > deepest:
            deepest, place = depth, found.start()
    return place


def _values(head: str, text: io.TextIOBase) -> Iterator[Item]:
    """The values of a document, of a list element by element, or of documents in a row."""
    scanner = _Scanner(head, text)
    while start := scanner.peek():
        if start == "[":
            yield from _elements(scanner)
        else:
            line = scanner.line
            yield Item(scanner.value(), line)


def _elements(scanner: _Scanner) -> Iterator[Item]:
    scanner.skip()
    if scanner.peek() == "]":
        scanner.skip()
        return
    while True:
        if not scanner.peek():
            raise _invalid(scanner.line)
        line = scanner.line
        yield Item(scanner.value(), line)
        mark = scanner.peek()
        if mark not in (",", "]"):
            raise _invalid(scanner.line)
        scanner.skip()
        if mark == "]":
            return


class _Scanner:
    """Takes JSON values from the beginning of a text of which only a piece is in memory."""

    def __init__(self, head: str, text: io.TextIOBase) -> None:
        self._buffer = head
        self._text = text
        self._at = 0
        self._ended = False
        self._decoder = json.JSONDecoder()
        self.line = 1

    def _read(self) -> bool:
        """Reads on, at least as much again as is in memory; ``False`` at the end."""
        left = self._buffer[self._at :]
        more = self._text.read(max(_PIECE, len(left)))
        self._buffer, self._at = left + more, 0
        self._ended = not more
        return bool(more)

    def peek(self) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self.skip()
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._read():
                return ""

    def skip(self) -> None:
        """Passes over a character."""
        self.line += self._buffer[self._at] == "\n"
        self._at += 1

    def value(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                # A string without an end is reported at its beginning.
                cut = error.msg.startswith("Unterminated") or (
                    error.pos > len(self._buffer) - _NEAR_END
                )
                if cut and not self._ended and self._read():
                    continue
                at = len(self._buffer) if cut else error.pos
                passed = self._buffer[self._at : at].rstrip(_SPACE)
                raise _invalid(self.line + passed.count("\n")) from error
            except (ValueError, RecursionError) as error:
                raise _unusable(error, self._buffer[self._at :], self.line) from error
            # A number at the end of the part in memory may go on.
            if end == len(self._buffer) and not self._ended and self._read():
                continue
            self.line += self._buffer.count("\n", self._at, end)
            self._at = end
            return value
