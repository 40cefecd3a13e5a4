"""Files with one field broken at a time: an error of ours, or a report of what was left out."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from episodica import EpisodicaError, InvalidInputError, MemorySystem
from episodica.conversations import checked
from episodica.readers import read_conversations

IMPORTS = Path(__file__).parents[1] / "fixtures" / "imports"
FILES = sorted(path.name for path in IMPORTS.glob("*.json*"))
VALUES: list[Any] = [
    *(None, 0, -1, "", "x", [], {}, True, 1e300, [None], {"x": None}),
    *("1970-01-01T00:00:00Z", "\ud800"),
]
MOST_FIELDS, VALUES_EACH = 30, 3


def read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def written(path: Path, value: Any) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in value), encoding="utf-8")
    else:
        path.write_text(json.dumps(value), encoding="utf-8")
    return path


def fields(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values inside of a value."""
    if place:
        yield place
    if isinstance(value, (dict, list)):
        for key, held in value.items() if isinstance(value, dict) else enumerate(value):
            yield from fields(held, (*place, key))


def broken(value: Any, place: tuple[Any, ...], by: Any) -> Any:
    """The value with another value, or (for ``...``) nothing, in one place."""
    whole = copy.deepcopy(value)
    holder = whole
    for key in place[:-1]:
        holder = holder[key]
    if by is ...:
        del holder[place[-1]]
    else:
        holder[place[-1]] = by
    return whole


@pytest.mark.parametrize("name", FILES)
def test_one_broken_field_is_no_fault_of_python(tmp_path: Path, name: str) -> None:
    value = read(IMPORTS / name)
    places = list(fields(value))
    # An application's own note, taken as it is.
    places = [one for one in places if one[-2:] != ("metadata", "createdAt")]
    chosen = places[:: max(1, len(places) // MOST_FIELDS)]
    values = cycle([..., *VALUES])
    for place in chosen:
        for by in islice(values, VALUES_EACH):
            path = written(tmp_path / name, broken(value, place, by))
            assert "1970" not in years_of(path), (place, by)


def years_of(path: Path) -> list[str]:
    """The years of the messages; none if the file is refused by its name."""
    try:
        talks = [checked(talk)[0] for talk in read_conversations(path)]
    except EpisodicaError as error:
        if error.path != str(path):
            raise AssertionError("the error does not name the file") from error
        return []
    return [str(one["timestamp"])[:4] for talk in talks for one in talk]


def slack(*times: Any) -> list[dict[str, Any]]:
    said = [{"type": "message", "user": "U1", "text": f"word {at}"} for at in range(len(times))]
    return [
        one if when is ... else {**one, "ts": when} for one, when in zip(said, times, strict=True)
    ]


NINE = "1712044800.000100"


@pytest.mark.parametrize("when", [None, ..., "", "soon", 0, "0", -5, [], {"ts": NINE}, True, "nan"])
def test_a_message_without_a_time_is_dated_like_its_neighbour_and_named(
    memory: MemorySystem, tmp_path: Path, when: Any
) -> None:
    folder = tmp_path / "work" / "quay"
    folder.mkdir(parents=True)
    (tmp_path / "work" / "users.json").write_text("[]", encoding="utf-8")
    written(folder / "2024-04-02.json", slack(NINE, when, "1712044860.000100"))
    report = memory.import_(tmp_path / "work", "ida")
    stored = list(memory.messages("ida"))
    assert len(stored) == 3
    assert {one.timestamp.date().isoformat() for one in stored} == {"2024-04-02"}
    assert any("message 1" in note and "time" in note for note in report.notes), report.notes


@pytest.mark.parametrize("name", ["telegram.json", "discord.json", "messenger.json"])
@pytest.mark.parametrize("when", [None, "soon", 0, {}])
def test_no_chat_is_dated_1970(memory: MemorySystem, tmp_path: Path, name: str, when: Any) -> None:
    value = read(IMPORTS / name)
    keys = {"date", "date_unixtime", "timestamp", "timestamp_ms"}
    for place in [one for one in fields(value) if one[-1] in keys][:2]:
        value = broken(value, place, when)
    memory.import_(written(tmp_path / name, value), "ida")
    assert all(one.timestamp.year > 2000 for one in memory.messages("ida"))


METADATA = (
    "Metadata-Version: 2.4\nName: skiff\nVersion: 0.1.0\nClassifier: Topic :: Software\n"
    "Classifier: Typing :: Typed\nRequires-Dist: numpy>=2\nRequires-Dist: rowing>=1\n"
    "Provides-Extra: boats\nLicense-File: LICENSE\n"
)


def test_a_file_of_keys_is_no_chat(memory: MemorySystem, tmp_path: Path) -> None:
    path = tmp_path / "METADATA.txt"
    path.write_text(METADATA, encoding="utf-8")
    with pytest.raises(InvalidInputError, match="METADATA"):
        memory.import_(path, "ida")
    names = ("Cy", "Kim", "Bo", "Dr. Reyes", "Mum")
    path.write_text("".join(f"{name}: I row.\n" for name in names * 2), encoding="utf-8")
    assert memory.import_(path, "ida").messages == 2 * len(names)
