"""What all value types share: JSON, a one-line ``repr`` and the notebook display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from datetime import datetime
from functools import cache, singledispatch
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args, get_origin, get_type_hints

from .dates import aware
from .visible import escaped, visible

V = TypeVar("V", bound="Portable")

_CLIP = 60
# What other libraries call the fields of a record or a hit.
_OTHER_NAMES = {
    "memory": "content",
    "text": "content",
    "page_content": "content",
    "relevance": "score",
    "metadata": "record.metadata",
}


class Fields:
    """Mixin of frozen data classes: compares and shows them by their fields.

    The classes say ``eq=False, repr=False``, because writing and compiling these functions for each
    class would take a fifth of the import.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fields) or other.__class__ is not self.__class__:
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def __repr__(self) -> str:
        told = (f"{one.name}={getattr(self, one.name)!r}" for one in _fields(self) if one.repr)
        return f"{self.__class__.__qualname__}({', '.join(told)})"

    def _compared(self) -> tuple[Any, ...]:
        return tuple(getattr(self, one.name) for one in _fields(self) if one.compare)


class Value(Fields):
    """Mixin of the frozen value types."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as plain JSON types; dates become RFC 3339 text.

        Returns
        -------
        dict of str to Any
            Fields by name.

        Examples
        --------
        >>> memory.messages("alice")[0].to_dict()["timestamp"]
        '2024-03-11T09:30:00+01:00'
        """
        return {field.name: jsonable(getattr(self, field.name)) for field in _fields(self)}

    def _repr_html_(self) -> str:
        return to_html(self)


class Portable(Value):
    """A value that can be read back from what ``to_dict`` wrote."""

    __slots__ = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Reads what :meth:`to_dict` writes.

        Parameters
        ----------
        data
            Fields by name, as plain JSON types. Unknown names are ignored.

        Returns
        -------
        Portable
            A value of this class, equal to the written one.

        Raises
        ------
        KeyError
            If a field without a default is missing.

        Examples
        --------
        >>> message = memory.messages("alice")[0]
        >>> Message.from_dict(message.to_dict()) == message
        True
        """
        return from_fields(cls, data)


class Keyed(Portable):
    """A record or a hit, whose fields can also be read like the keys of a mapping.

    Other libraries' names of a field work, too: ``hit["memory"]`` and ``hit.text`` are
    ``hit.content``.
    """

    __slots__ = ()

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"a {type(self).__name__} has fields, no items: `{name!r}`")
        found = _nothing if name.startswith("_") else getattr(self, name, _nothing)
        if callable(found):
            known = ", ".join(one.name for one in _fields(self))
            raise KeyError(f"{name}: a {type(self).__name__} has {known}")
        return found

    def get(self, name: str, default: Any = None) -> Any:
        """The field of a name, as :meth:`dict.get` reads it.

        Parameters
        ----------
        name
            The field, or another library's name of it.
        default
            The value to return if the field is missing.

        Returns
        -------
        Any
            The field's value.

        Raises
        ------
        TypeError
            For a name that is not a text.

        Examples
        --------
        >>> memory.messages("alice")[0].get("text")
        'I moved to Lyon last Friday.'
        """
        try:
            return self[name]
        except KeyError:
            return default

    if not TYPE_CHECKING:  # type checkers shall go on to find unknown names

        def __getattr__(self, name: str) -> Any:
            owner, _, meant = _OTHER_NAMES.get(name, "").rpartition(".")
            if not meant or (owner and owner not in (one.name for one in _fields(self))):
                text = f"a {type(self).__name__} has no `{name}`"
                raise AttributeError(text, name=name, obj=self)
            return getattr(getattr(self, owner) if owner else self, meant)


def from_fields(cls: type[V], data: Mapping[str, Any]) -> V:
    """A value made from plain JSON types, by the types of its fields.

    A null stands for the default of its field.
    """
    read = {}
    # `Any`: a type checker asks whether values of the class have a hash, not the class.
    own: Any = cls
    for name, is_needed, is_optional, reader in _readers(own):
        value = data.get(name)
        if value is not None:
            read[name] = reader(value)
        elif is_needed:
            read[name] = None if is_optional else data[name]
    return cls(**read)


def types_of(cls: type[Any]) -> dict[str, Any]:
    """The types of the fields of a data class, by name."""
    # Public classes name the package as their module, where their types are not imported.
    return get_type_hints(cls, getattr(cls.__init__, "__globals__", None))


@cache
def _readers(cls: type[Any]) -> list[tuple[str, bool, bool, Callable[[Any], Any]]]:
    """Of each field: its name, whether it has no default, may be ``None``, and how it is read."""
    types = types_of(cls)
    return [
        (
            one.name,
            one.default is MISSING and one.default_factory is MISSING,
            NoneType in get_args(types[one.name]),
            _reader(types[one.name]),
        )
        for one in fields(cls)
    ]


def _reader(wanted: Any) -> Callable[[Any], Any]:
    """Reads a value of a type from plain JSON types."""
    kind = get_origin(wanted) or wanted
    inner = [one for one in get_args(wanted) if one is not NoneType]
    if kind is UnionType:
        return _reader(inner[0]) if len(inner) == 1 else lambda value: _record(inner, value)
    if kind is datetime:
        return aware
    if kind is tuple:
        item = _reader(inner[0])
        return lambda value: tuple(map(item, value))
    if kind in (dict, Mapping):
        return dict
    if isinstance(kind, type) and issubclass(kind, Portable):
        return kind.from_dict
    return lambda value: value


def _record(kinds: list[type[V]], data: Mapping[str, Any]) -> V:
    """A record of one of these kinds; the first field of each is its id."""
    for kind in kinds:
        if fields(kind)[0].name in data:  # type: ignore[arg-type]
            return kind.from_dict(data)
    raise KeyError("the id of a record")


def _nothing() -> None:
    """Stands for a missing field; it is callable, as methods are, which are not fields either."""


def _fields(value: Fields) -> tuple[Field[Any], ...]:
    """The fields. A type checker does not know that only data classes use the mixin."""
    return fields(value)  # type: ignore[arg-type]


@singledispatch
def to_html(value: object) -> str:
    """The value as HTML for a notebook. The package ``display`` registers a function per type."""
    return escaped(visible(repr(value)))


def jsonable(value: Any) -> Any:
    """Dates, tuples and values inside ``value`` turned into JSON types."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [jsonable(item) for item in value]
    return value


def clip(text: str, limit: int = _CLIP) -> str:
    """``text`` on one line for people, cut after ``limit`` characters with an ellipsis."""
    return visible(_line(text, limit))


def quoted(text: str) -> str:
    """``text`` for a ``repr``: like :func:`clip`, in quotes."""
    return repr(_line(text, _CLIP))


def _line(text: str, limit: int) -> str:
    flat = " ".join(text[: 4 * limit].split())
    return (
        flat if len(flat) <= limit and len(text) <= 4 * limit else flat[: limit - 1].rstrip() + "…"
    )


def longest(most: int, fits: Callable[[int], bool]) -> int | None:
    """The largest length up to ``most`` that fits; ``None`` if not even 0 does."""
    if not fits(0):
        return None
    low, high = 0, 1
    while high < most and fits(high):
        low, high = high, high * 2
    high = min(high, most)
    if fits(high):
        return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def day(moment: datetime) -> str:
    """The moment as people write it in a line: date, hour and minute on its own clock."""
    return moment.isoformat(" ", "minutes")[:16]
