"""Addresses in the tree: a scheme and names, each percent-encoded.

Any id is a name: slashes, dots, control characters and scripts other than Latin are encoded, so
that no name can climb out of its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

from ..errors import InvalidInputError
from ..hints import shown
from ..value import Fields

CORTEX, EPISODICA = "cortex", "episodica"
# Stands for a session or an agent that has no id. The id "_" is encoded.
NONE = "_"
_MAX_LENGTH = 16_384


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Address(Fields):
    """A place in the tree: its scheme, and the names from the root down, as in the URI."""

    scheme: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.scheme}://{'/'.join(self.names)}"

    def child(self, name: str) -> Address:
        """The address of ``name`` in this folder; ``name`` is already :func:`encoded`."""
        return Address(self.scheme, (*self.names, name))

    def contains(self, other: Address) -> bool:
        """Whether ``other`` is this place or below it."""
        return self.scheme == other.scheme and self.names == other.names[: len(self.names)]

    def missing(self) -> InvalidInputError:
        """The error of an address where nothing is."""
        return InvalidInputError(
            f"nothing is at `{shown(str(self))}`", hint="list what is there with `ls(uri)`"
        )


def parse(uri: str) -> Address:
    """Reads a URI. Its names are returned in the form that :func:`encoded` writes."""
    scheme, mark, path = uri.partition("://")
    if not mark or scheme not in (CORTEX, EPISODICA) or len(uri) > _MAX_LENGTH:
        raise InvalidInputError(
            f"not an address: `{shown(uri)}`", hint="begin with `cortex://` or `episodica://`"
        )
    parts = path.split("/")
    if parts[-1] == "":
        parts.pop()
    names = []
    for part in parts:
        try:
            name = unquote_to_bytes(part).decode("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"not an address: `{shown(uri)}`") from error
        if part in ("", ".", ".."):
            raise InvalidInputError(
                f"not an address: `{shown(uri)}`",
                hint="an empty name, `.` and `..` lead nowhere; encode dots of ids as `%2E`",
            )
        names.append(part if part == NONE else encoded(name))
    return Address(scheme, tuple(names))


def encoded(name: str) -> str:
    """An id as a name."""
    text = quote(name, safe="-._~")
    if text in (".", "..", NONE):
        return text.replace(".", "%2E").replace(NONE, "%5F")
    return text


def decoded(name: str) -> str | None:
    """The id that a name stands for; None for the name of a place without an id."""
    return None if name == NONE else unquote_to_bytes(name).decode("utf-8")


def of_optional(name: str | None) -> str:
    """The name of an id that may be missing."""
    return NONE if name is None else encoded(name)
