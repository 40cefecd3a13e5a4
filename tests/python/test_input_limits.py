"""Input that is too long, too deep or too large: a clear error that names the place, at once."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from episodica import (
    ConfigError,
    EmbeddingConfig,
    InvalidInputError,
    LLMConfig,
    MemoryConfig,
    MemorySystem,
)
from episodica.cli.app import main

LONG = "x" * 10**6
HUGE = 10**400
# More digits than Python writes.
DIGITS = 10**5000


def nested(kind: type) -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = [value] if kind is list else {"a": value}
    return value


def said(**keys: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "hello", **keys}]


Call = Callable[[MemorySystem], Any]
REFUSED: dict[str, tuple[Call, str]] = {
    "seconds beyond every float": (
        lambda m: m.add_messages("a", said(timestamp=HUGE)),
        "message 0",
    ),
    "seconds of 5,000 digits": (lambda m: m.add_messages("a", said(timestamp=DIGITS)), "message 0"),
    "text of 5,000 digits": (
        lambda m: m.add_messages("a", said(timestamp="9" * 5000)),
        "message 0",
    ),
    "NaT": (lambda m: m.add_messages("a", said(timestamp=pd.NaT)), "`timestamp` is missing"),
    "NA": (lambda m: m.add_messages("a", said(timestamp=pd.NA)), "`timestamp` is missing"),
    "since NaT": (lambda m: m.search("a", "x", since=pd.NaT), "since is missing"),
    "since of 1 MB": (lambda m: m.search("a", "x", since="9" * 10**6), "since is not"),
    "max_tokens": (lambda m: m.context("a", "x", max_tokens=10**30), "max_tokens must be at most"),
    "max_tokens of 5,000 digits": (lambda m: m.context("a", "x", max_tokens=DIGITS), "max_tokens"),
    "top_k": (lambda m: m.search("a", "x", top_k=DIGITS), "top_k must be between"),
    "limit": (lambda m: m.messages("a", limit=HUGE), "limit must be at most"),
    "threshold": (lambda m: m.search("a", "x", threshold=DIGITS), "threshold is a relevance"),
    "deep metadata": (
        lambda m: m.add_messages("a", said(metadata={"k": nested(list)})),
        r"message 0: metadata.k\[0\]\[0\].* is nested too deeply",
    ),
    "deep mappings": (
        lambda m: m.add_messages("a", said(metadata=nested(dict))),
        "message 0: metadata.a.a.* is nested too deeply",
    ),
    "deep where": (
        lambda m: m.search("a", "x", where=nested(dict)),
        "where.* is nested too deeply",
    ),
    "name of 1 MB": (lambda m: m.add_messages("a", said(name=LONG)), "message 0: `name` has more"),
    "role of 1 MB": (
        lambda m: m.add_messages("a", [{"role": LONG, "content": "hello"}]),
        "message 0: `role` has more than 100 characters: `1,000,000`",
    ),
    "role of parts": (
        lambda m: m.add_messages("a", [{"role": LONG, "content": [{"text": "hello"}]}]),
        "message 0: `role` has more",
    ),
    "session of a message": (
        lambda m: m.add_messages("a", said(session_id=LONG)),
        "message 0: `session_id` has more than 1,000 characters",
    ),
    "session of a call": (
        lambda m: m.add_messages("a", said(), session_id=LONG),
        "session_id has more than 1,000 characters",
    ),
    "agent of a message": (lambda m: m.add_messages("a", said(agent_id=LONG)), "`agent_id` has"),
    "agent of a call": (lambda m: m.add_messages("a", said(), agent_id=LONG), "agent_id has more"),
    "agent of a fact": (lambda m: m.remember("a", "I ski.", agent_id=LONG), "agent_id has more"),
    "id of 1 MB": (lambda m: m.add_messages("a", said(message_id=LONG)), "`message_id` has more"),
    "id under another name": (lambda m: m.add_messages("a", said(id=LONG)), "`message_id` has"),
    "metadata of 2 MB": (
        lambda m: m.add_messages("a", said(metadata={"k": [LONG, LONG]})),
        "message 0: metadata has more than 1,000,000 characters",
    ),
    "metadata of a key that is none": (
        lambda m: m.add_messages("a", said(weather=[LONG, LONG])),
        "message 0: metadata has more",
    ),
    "metadata of a fact": (
        lambda m: m.remember("a", "I ski.", metadata={"k": LONG}),
        "metadata has more than 1,000,000 characters",
    ),
    "a number in metadata": (
        lambda m: m.add_messages("a", said(metadata={"n": DIGITS})),
        "message 0: metadata is not JSON",
    ),
    "a long key": (
        lambda m: m.add_messages("a", said(metadata={LONG: object()})),
        "message 0: metadata.xxx",
    ),
    "a long query": (lambda m: m.search("a", LONG), "query is longer than"),
    "a long user": (lambda m: m.add_messages(LONG, said()), "user_id is longer than"),
    "a long id": (lambda m: m.update("a", LONG, "x"), "no record"),
    "a long option": (lambda m: m.search("a", "x", **{LONG: 1}), "unknown option"),  # type: ignore[arg-type]
    "a long method": (lambda m: m.search("a", "x", method=LONG), "method is unknown"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_input_beyond_the_limits_is_refused_at_once(memory: MemorySystem, name: str) -> None:
    memory.add_messages("a", [{"role": "user", "content": "I live in Lyon."}])
    call, text = REFUSED[name]
    with pytest.raises(InvalidInputError, match=text) as caught:
        call(memory)
    assert len(str(caught.value)) < 5_000
    assert memory.stats("a")["messages"] == 1


@pytest.mark.parametrize("name", ["timestamp", "created_at"])
def test_digits_are_seconds_or_refused_but_never_another_date(name: str) -> None:
    from episodica.inputs.messages import normalise

    def read(text: str) -> str:
        return str(normalise(said(**{name: text}))[0]["timestamp"])

    assert read("1710149400") == "2024-03-11T09:30:00+00:00"
    assert read("1710149400.25") == "2024-03-11T09:30:00.250000+00:00"
    assert read("20240311") == "2024-03-11T00:00:00+00:00"
    assert read("1710149400000") == "2024-03-11T09:30:00+00:00"  # milliseconds
    # Some libraries read these as days, years, months and hours.
    for text in (
        *("0", "1", "-1", "2024", "202403", "2024071", "240311", "11111111", "99999999", "9" * 12),
        *("2024031109", "2024123123", "202403110930", "20240311093000", "1.7e9"),
    ):
        refusal = "message 0: `timestamp` is not an ISO 8601 date"
        with pytest.raises(InvalidInputError, match=refusal):
            read(text)


def test_thousands_of_unknown_keys_cost_nothing(memory: MemorySystem) -> None:
    started = time.process_time()
    memory.add_messages("a", said(**{f"column {number}": 1 for number in range(20_000)}))
    rows = [
        {f"c{n}": n for n in range(5)} | {"role": "user", "content": f"{n}"} for n in range(500)
    ]
    memory.add_messages("a", rows)
    assert time.process_time() - started < 3
    with pytest.raises(InvalidInputError, match="unknown key: `contents`"):
        memory.add_messages("a", [{"role": "user", "contents": "x", "a": 1, "b": 2}])


FILES = {
    "deep.json": ("[\n" * 200_000, "line 200000: nested too deeply in `deep.json`"),
    "deep.jsonl": (
        '{"role": "user", "content": ""}\n{"a": ' + "[" * 200_000,
        "line 2: nested too deeply",
    ),
    "number.json": ('[{"role": "user",\n"n": ' + "1" * 5_000 + "}]", "line 2: a number of"),
    "key.json": (json.dumps({LONG: 1}), "an object with the keys"),
    "date.json": (
        json.dumps(
            [
                {
                    "question_id": "q",
                    "haystack_sessions": [[]],
                    "haystack_dates": [LONG],
                    "question": "",
                }
            ]
        ),
        "date is not like",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_beyond_the_limits_are_errors_that_name_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    content, text = FILES[name]
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert main(["ingest", name, "--user", "ann"]) == 1
    error = capsys.readouterr().err
    assert text in error
    assert len(error) < 5_000


@pytest.mark.skipif(sys.platform == "win32", reason="devices of POSIX")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_devices_are_no_files(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest", device, "--user", "ann"]) == 1
    assert capsys.readouterr().err == f"error: not a file: `{device}`\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="FIFOs of POSIX")
def test_a_pipe_is_read_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read, write = os.pipe()
    os.write(write, json.dumps(said()).encode())
    os.close(write)
    assert main(["ingest", f"/dev/fd/{read}", "--user", "ann"]) == 0
    assert "1 message added" in capsys.readouterr().err


class NoArray:
    """An array of another library: it has a shape, but gives NumPy nothing to read."""

    def __init__(self, count: int) -> None:
        self.shape, self.dtype = (count, 3), "float32"

    def __len__(self) -> int:
        return self.shape[0]


class OtherArray(NoArray):
    """An array of another library that can be turned into one of NumPy."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(self.shape, dtype)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (NoArray, "must return a 2-D array of numbers, not `NoArray`"),
        (lambda count: None, "must return a 2-D array of numbers, not one of the shape `()`"),
        (
            lambda count: np.ones(3),
            "must return a 2-D array of numbers, not one of the shape `(3,)`",
        ),
        (lambda count: "abc", "must return a 2-D array of numbers, not `str`"),
        (lambda count: np.ones((count, 0)), "must return one row a text"),
        (lambda count: np.full((count, 3), np.nan), "returned a number that is not finite"),
        (OtherArray, None),
        (lambda count: [[1, 2, 3]] * count, None),
    ],
)
def test_what_an_embedder_returns_is_an_array_or_named(
    store: Path, answer: Callable[[int], Any], text: str | None
) -> None:
    def embed(texts: list[str]) -> Any:
        return answer(len(texts))

    with MemorySystem(store, embedding=embed) as memory:
        memory.add_messages("a", said())
        told = memory.health().last_failure
    assert told is None if text is None else text in str(told)


def test_a_key_in_an_address_is_neither_shown_nor_pickled() -> None:
    url = "https://me:SECRET1@host/v1?api-version=2024-06-01&api_key=SECRET2&SECRET3#SECRET4"
    for part in (LLMConfig("m", base_url=url), EmbeddingConfig("m", base_url=url)):
        shown = [repr(part), str(part), str(pickle.dumps(part))]
        config = MemoryConfig(
            llm=LLMConfig("m", base_url=url, fallback=LLMConfig("n", base_url=url))
        )
        shown += [repr(config), json.dumps(config.to_dict())]
        assert not any("SECRET" in text for text in shown)
        assert "base_url='https://…@host/v1?api-version=2024-06-01&api_key=…&…'" in repr(part)
        copy = pickle.loads(pickle.dumps(part))
        assert copy.base_url == "https://host/v1?api-version=2024-06-01"
        assert part.base_url == url
    assert LLMConfig("m", base_url="https://[").base_url == "https://["
    assert "base_url='…'" in repr(LLMConfig("m", base_url="https://["))


@pytest.mark.parametrize("extra", [{"a": object()}, {"a": nested(list)}, {"a": DIGITS}])
def test_further_fields_of_requests_are_json(extra: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"llm\.extra is not JSON"):
        LLMConfig("m", extra=extra)


def test_an_unknown_setting_is_shown_in_short() -> None:
    with pytest.raises(ConfigError) as caught:
        MemoryConfig().replace(**{LONG: 1})
    assert len(str(caught.value)) < 1_000
