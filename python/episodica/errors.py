"""Every exception of the package, under one root.

The native code raises these classes too: it passes kind, message and causes of a failure to
:func:`from_native` and raises the result. No exception contains a key, a prompt or the text of a
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .visible import visible

# The most characters of a failure, hint or cause. Only long names of files come near it.
_LONGEST = 4_000


class EpisodicaError(Exception):
    """Root of all exceptions of the package.

    Parameters
    ----------
    message
        One line: the failure, with the offending value last.
    hint
        What to do about it.
    path
        The affected file.
    line
        The line in that file, from 1.

    Attributes
    ----------
    kind : str
        A stable word for the kind of failure, e.g. ``"invalid_input"``.
    message : str
        The failure without the hint; ``str(error)`` has both.

    Examples
    --------
    >>> from episodica import EpisodicaError
    >>> try:
    ...     memory.search("alice", "  ")
    ... except EpisodicaError as error:
    ...     print(error.kind)
    invalid_input
    """

    kind: ClassVar[str] = "internal"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(_told(message))
        self.hint = None if hint is None else _told(hint)
        self.path = path
        self.line = line

    @property
    def message(self) -> str:
        """The failure, without the hint."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class InvalidInputError(EpisodicaError, ValueError):
    """An argument is invalid; nothing was changed."""

    kind = "invalid_input"


class ConfigError(EpisodicaError, ValueError):
    """A setting is unknown or out of range."""

    kind = "config"


class StoreLockedError(EpisodicaError, RuntimeError):
    """Another process holds a lock for longer than a write takes: it may have been stopped.

    Any number of processes may write a store; each holds a user's lock while it appends. The
    message names the process that holds the lock.
    """

    kind = "store_locked"


class StoreUnavailableError(EpisodicaError, ConnectionError):
    """The database of a store can't be reached in time, or refuses to work.

    The call may have been done all the same. Repeat it once the database answers: a message with
    the same id is stored once.
    """

    kind = "store_unavailable"


class StoreRolledBackError(EpisodicaError, RuntimeError):
    """The database of a store lacks acknowledged records.

    A standby was promoted before it had received everything, or a backup was restored. Nothing was
    overwritten; the next call goes on with what the database has.
    """

    kind = "store_rolled_back"


class CorruptStoreError(EpisodicaError):
    """A file of the store breaks its format; ``path`` and ``line`` say where."""

    kind = "corrupt_store"


class UnsupportedFormatError(EpisodicaError):
    """The store was written by a newer version of the format."""

    kind = "unsupported_format"


class ReadOnlyStoreError(EpisodicaError):
    """The store was opened for reading only."""

    kind = "read_only"


class StoreIOError(EpisodicaError, OSError):
    """The operating system refused: disk full, no permission, no directory, no file handles.

    ``errno`` is the number of the system's error, as for every ``OSError``.
    """

    kind = "io"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        path: str | None = None,
        line: int | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(message, hint=hint, path=path, line=line)
        self.errno = errno

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, {**vars(self), "errno": self.errno}


class EmbeddingMismatchError(EpisodicaError, ValueError):
    """The vectors on disk come from another embedding model or dimension.

    ``rebuild_indices`` computes them again.
    """

    kind = "embedding_mismatch"


class EmbeddingError(EpisodicaError, RuntimeError):
    """The embedder failed or returned the wrong shape."""

    kind = "embedding"


class VectorIndexError(EpisodicaError, RuntimeError):
    """The vector index failed."""

    kind = "index"


class LLMError(EpisodicaError, RuntimeError):
    """The LLM endpoint failed, or its answer is unusable."""

    kind = "llm"


class InterruptedOperationError(EpisodicaError, RuntimeError):
    """The operation was cancelled; everything committed before is kept."""

    kind = "interrupted"


class ClosedError(EpisodicaError, RuntimeError):
    """The memory system is closed."""

    kind = "closed"


class MissingExtraError(EpisodicaError, ImportError):
    """An optional package is missing; the hint is the command that installs it."""

    kind = "missing_extra"


class InternalError(EpisodicaError, RuntimeError):
    """An invariant of the engine is broken: please report this bug."""

    kind = "internal"


_BY_KIND: dict[str, type[EpisodicaError]] = {
    cls.kind: cls for cls in EpisodicaError.__subclasses__()
}


def from_native(
    kind: str,
    message: str,
    hint: str | None,
    path: str | None,
    line: int | None,
    causes: Sequence[str],
) -> EpisodicaError:
    """The exception for a failure of the native code.

    Causes are chained as ``__cause__``, nearest first. An unknown kind becomes an
    :class:`InternalError`, so that a newer engine does not turn a failure into a ``KeyError``.
    """
    error = _BY_KIND.get(kind, InternalError)(message, hint=hint, path=path, line=line)
    effect: BaseException = error
    for text in causes:
        cause = Exception(_told(text))
        effect.__cause__ = cause
        effect = cause
    return error


def _told(text: str) -> str:
    """One line of limited length, even if values in it have line feeds or very long texts."""
    line = visible(text[: _LONGEST + 1])
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
