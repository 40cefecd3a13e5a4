"""Every public method documents parameters, result and errors, with an example that runs."""

from __future__ import annotations

import ast
import asyncio
import builtins
import contextlib
import doctest
import inspect
import io
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

import episodica
from episodica import AsyncMemorySystem, AsyncPlots, AsyncRecall, MemorySystem
from episodica.value import Value

# Coroutines have the documentation of the synchronous method, without its examples.
COROUTINES = (AsyncMemorySystem, AsyncPlots, AsyncRecall)
# Methods that raise nothing, or only what their class says of all its methods.
NOTHING_OF_THEIR_OWN = {
    *("concerns", "explain", "to_dict"),
    *("get", "history", "retry_pending", "sessions", "stats", "trace", "verify"),
}


def public_classes() -> Iterator[type]:
    """The public classes that are no exceptions."""
    for name in episodica.__all__:
        item = getattr(episodica, name)
        if isinstance(item, type) and not issubclass(item, BaseException):
            yield item


def public_methods() -> Iterator[Any]:
    """The methods of these classes that the package itself defines."""
    for cls in public_classes():
        for name in dir(cls):
            static = inspect.getattr_static(cls, name)
            method = getattr(cls, name)
            if name.startswith("_") or not inspect.isroutine(method) or static is None:
                continue
            if (getattr(method, "__module__", None) or "").startswith("episodica"):
                yield pytest.param(cls, method, id=f"{cls.__name__}.{name}")


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring in numpy's style, by title."""
    parts = re.split(r"^(\w+)\n-+$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(text: str) -> list[str]:
    """The names that a section describes, in order."""
    named = re.findall(r"^\**(\w[\w, ]*?)(?: : .*)?$", text, re.MULTILINE)
    return [name for line in named for name in line.split(", ")]


@pytest.mark.parametrize(("cls", "method"), list(public_methods()))
def test_every_method_has_all_sections(cls: type, method: Callable[..., Any]) -> None:
    signature = inspect.signature(method)
    parameters = [name for name in signature.parameters if name != "self"]
    found = sections(inspect.getdoc(method) or "")
    assert sorted(entries(found.get("Parameters", ""))) == sorted(parameters)
    assert ("Returns" in found) == (signature.return_annotation not in (None, "None"))
    assert ("Examples" in found) != (cls in COROUTINES and hasattr(method, "__wrapped__"))
    if parameters and method.__name__ not in NOTHING_OF_THEIR_OWN:
        errors = entries(found["Raises"])
        assert errors
        for error in errors:
            assert error in dir(episodica) or hasattr(builtins, error)


@pytest.mark.parametrize("cls", list(public_classes()))
def test_every_field_and_property_is_described(cls: type) -> None:
    found = sections(inspect.getdoc(cls) or "")
    if is_dataclass(cls):
        described = entries(found.get("Attributes", found.get("Parameters", "")))
        inherited = [
            name
            for base in cls.__mro__[1:]
            if is_dataclass(base)
            for name in (field.name for field in fields(base))
        ]
        names = [field.name for field in fields(cls) if field.name not in inherited]
        assert described == names or sorted(described) == sorted(names)
    for name, value in inspect.getmembers(cls, lambda one: isinstance(one, property)):
        assert name.startswith("_") or inspect.getdoc(value), name


def test_the_rules_above_see_the_package() -> None:
    methods = [param.values for param in public_methods()]
    assert len({(cls, method.__name__) for cls, method in methods}) > 150
    assert any(issubclass(cls, Value) for cls, _ in methods)
    assert sections("One.\n\nReturns\n-------\nint\n    Two.") == {"Returns": "\nint\n    Two."}
    assert entries("\na, b\n    Text.\nc : int\n    Text.") == ["a", "b", "c"]


def documented() -> list[tuple[str, str]]:
    """Every public docstring with an example, by name."""
    found = {"episodica": episodica.__doc__ or ""}
    for name in episodica.__all__:
        item = getattr(episodica, name)
        found[name] = inspect.getdoc(item) or ""
        for member, value in inspect.getmembers(item) if isinstance(item, type) else []:
            if not member.startswith("_") and inspect.isroutine(value):
                found[f"{name}.{member}"] = inspect.getdoc(value) or ""
    seen: dict[str, str] = {}
    for name, text in found.items():  # what is inherited runs once
        if ">>>" in text:
            seen.setdefault(text, name)
    return [(name, text) for text, name in seen.items()]


@pytest.mark.parametrize(
    ("name", "text"), documented(), ids=lambda value: value if " " not in str(value) else ""
)
def test_docstring_examples(
    name: str,
    text: str,
    lyon: MemorySystem,
    talk: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Examples of coroutines run in one event loop, with ``await`` at the top."""
    monkeypatch.setattr(sys, "displayhook", lambda value: value is None or print(repr(value)))
    names: dict[str, Any] = {one: getattr(episodica, one) for one in episodica.__all__}
    with asyncio.Runner() as loop, contextlib.ExitStack() as stack:
        names["memory"] = lyon
        if name.startswith("Async"):
            names["memory"] = memory = AsyncMemorySystem("async")
            stack.callback(lambda: loop.run(memory.close()))
            loop.run(memory.add_messages("alice", talk))
            loop.run(memory.flush("alice"))
            loop.run(memory.wait("alice"))
        for example in doctest.DocTestParser().get_examples(text):
            told = output(example, names, loop)
            right = doctest.OutputChecker().check_output(
                example.want, told, doctest.NORMALIZE_WHITESPACE
            )
            assert right, f"{example.source}gives\n{told}and not\n{example.want}"


def output(example: doctest.Example, names: dict[str, Any], loop: asyncio.Runner) -> str:
    """What an example prints, or its error as the docstring has it."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(example.source, "example", "single", flags=flags, dont_inherit=True)
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        try:
            if inspect.iscoroutine(result := eval(code, names)):
                loop.run(result)
        except episodica.EpisodicaError as error:
            told.write("Traceback (most recent call last):\n")
            told.write("".join(traceback.format_exception_only(error)))
    return told.getvalue()
