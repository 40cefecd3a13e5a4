"""Exceptions: kinds, second bases, causes, and agreement with the engine's kinds."""

from __future__ import annotations

import errno
import pickle
import re
import traceback
from pathlib import Path

import pytest

import episodica
from episodica import EpisodicaError, errors

CLASSES = sorted(
    {
        cls
        for cls in vars(episodica).values()
        if isinstance(cls, type) and issubclass(cls, EpisodicaError)
    },
    key=str,
)


def test_every_kind_of_the_engine_has_a_class(root: Path) -> None:
    source = (root / "src/episodica-core/src/error.rs").read_text(encoding="utf-8")
    kinds = set(re.findall(r'Self::\w+ => "(\w+)"', source))
    assert "invalid_input" in kinds
    assert kinds <= {cls.kind for cls in CLASSES}


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (episodica.InvalidInputError, ValueError),
        (episodica.ConfigError, ValueError),
        (episodica.EmbeddingMismatchError, ValueError),
        (episodica.StoreIOError, OSError),
        (episodica.ClosedError, RuntimeError),
        (episodica.LLMError, RuntimeError),
    ],
)
def test_second_bases(cls: type[EpisodicaError], builtin: type[Exception]) -> None:
    assert issubclass(cls, builtin)


def test_from_native_carries_place_hint_and_causes() -> None:
    error = errors.from_native(
        "corrupt_store",
        "record is not valid JSON in `a.jsonl` line 3",
        "restore it",
        "a.jsonl",
        3,
        ["bad byte", "disk"],
    )
    assert type(error) is episodica.CorruptStoreError
    assert str(error).splitlines() == [error.message, "hint: restore it"]
    assert (error.message, error.kind, error.hint, error.path, error.line) == (
        "record is not valid JSON in `a.jsonl` line 3",
        "corrupt_store",
        "restore it",
        "a.jsonl",
        3,
    )
    assert str(error.__cause__) == "bad byte"
    assert error.__cause__ is not None
    assert str(error.__cause__.__cause__) == "disk"
    assert "".join(traceback.format_exception(error)).count("hint: restore it") == 1


def test_the_number_of_the_operating_system_reaches_python(tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_text("not a directory")
    with pytest.raises(episodica.StoreIOError) as caught:
        episodica.MemorySystem(file)
    assert caught.value.errno in (errno.ENOTDIR, errno.EEXIST)
    assert "a file stands where a directory should be" in str(caught.value)
    assert str(file) in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).errno == caught.value.errno


def test_an_unknown_kind_is_an_internal_error() -> None:
    assert (
        type(errors.from_native("brand_new", "x", None, None, None, [])) is episodica.InternalError
    )


@pytest.mark.parametrize("cls", CLASSES)
def test_errors_pickle(cls: type[EpisodicaError]) -> None:
    error = cls("what went wrong", hint="do this", path="p", line=4)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls
    assert (again.message, again.hint, again.path, again.line) == (
        "what went wrong",
        "do this",
        "p",
        4,
    )


def test_names_are_public() -> None:
    assert all(cls.__module__ == "episodica" for cls in CLASSES)
