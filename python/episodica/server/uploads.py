"""Files on their way through the service: bounded, and never left in the temporary directory."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import InvalidInputError
from ..readers import Source, iter_conversations
from ..system import MemorySystem
from ..transfer import is_export, write_jsonl
from .problems import ServiceError
from .scratch import scratch
from .settings import ServerSettings

_ARCHIVE = b"PK\x03\x04"


def exported(memory: MemorySystem, user: str) -> IO[bytes]:
    """An export in a file without a name, which disappears with the process in any case."""
    if user not in memory.users():
        raise InvalidInputError("no such user")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the answer is sent
    try:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        write_jsonl(memory, user, text)
        text.detach()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


@contextmanager
def uploaded(body: bytes, settings: ServerSettings, format: str | None) -> Iterator[Path]:
    """A body as a file of a format, if it holds no more than an import may."""
    if body.startswith(_ARCHIVE):
        _check_archive(body, settings.max_body_bytes)
    with scratch("episodica-import-") as folder:
        path = folder / "import.jsonl"
        path.write_bytes(body)
        _check_count(path, settings.max_import, format)
        yield path


def _check_archive(body: bytes, most: int) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            # A member ends where its head says, whatever is packed in it.
            size = sum(one.file_size for one in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        # The reader reports the error.
        return
    if size > most:
        raise ServiceError(
            413,
            f"the archive has more than {most} bytes when it is unpacked",
            "unpack it and send its conversations in parts",
        )


def _check_count(path: Path, most: int, format: str | None) -> None:
    """Counts before anything is stored."""
    count = 0
    with Source(path) as source:
        try:
            if is_export(source):
                count = sum(1 for _ in source.lines())
            else:
                for conversation in iter_conversations(source, format):
                    count += len(conversation.messages)
                    if count > most:
                        break
        except (InvalidInputError, UnicodeDecodeError):
            # The import will fail at the same place, and report the error.
            pass
    if count > most:
        raise ServiceError(413, f"the import has more than {most} messages", "send it in parts")
