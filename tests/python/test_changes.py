"""What was said later: listed, marked in contexts, folded in profiles, decided."""

from __future__ import annotations

import asyncio
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    AsyncMemorySystem,
    Change,
    InvalidInputError,
    LightweightSearchSystem,
    MemorySystem,
    ReadOnlyStoreError,
)
from episodica.cli import main

TUESDAY = "The choir meets on Tuesdays in the old school."
THURSDAY = "From now on the choir meets on Thursdays in the old school."
GYM = "My locker number is 4417 in the old gym."
POOL = "My locker number is 4471 now."
MARK = '[later, 10 Feb 2025: "From now on the choir meets on Thursdays in the old school"]'


def message(day: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "name": "Ida", "content": text, "timestamp": f"{day}T09:00:00Z", **more}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemorySystem]:
    with MemorySystem(tmp_path / "store") as memory:
        for number, (day, text) in enumerate(
            [
                ("2025-01-10", f"{TUESDAY} My cat weighs four kilos."),
                ("2025-01-20", "It rained the whole weekend here."),
                ("2025-02-10", THURSDAY),
            ]
        ):
            memory.add_messages("ida", [message(day, text, message_id=f"m{number}")])
            memory.flush("ida")
        memory.wait("ida")
        yield memory


def test_a_decision_shows_in_the_change_itself(memory: MemorySystem) -> None:
    (change,) = memory.changes("ida")
    for side in ("new", "both", "old", "both"):
        change.keep(side)  # type: ignore[arg-type]
        assert change.kept == side
        assert [one.kept for one in memory.changes("ida")] == [side]
    memory.keep_change("ida", change, "new")
    assert change.kept == "new"
    with pytest.raises(InvalidInputError):
        change.keep("neither")  # type: ignore[arg-type]
    assert change.kept == "new"


def test_a_change_has_both_sides(memory: MemorySystem) -> None:
    (change,) = memory.changes("ida")
    old, new = change.old, change.new
    assert (old.content, new.content) == (TUESDAY, THURSDAY)
    assert (old.source_messages, new.source_messages) == (("m0",), ("m2",))
    assert (old.speaker, str(new.timestamp.date())) == ("Ida", "2025-02-10")
    assert change.kind == "later"
    assert 0.375 < change.score < 1
    assert change.kept is None
    assert Change.from_dict(json.loads(json.dumps(change.to_dict()))) == change
    assert pickle.loads(pickle.dumps(change)) == change
    assert "2025-01-10" in repr(change)
    assert "2025-02-10" in repr(change)


def test_changes_are_chosen_by_time_and_kind(memory: MemorySystem) -> None:
    assert len(memory.changes("ida", since="2025-02-10")) == 1
    assert memory.changes("ida", since="2025-02-11") == []
    assert len(memory.changes("ida", kind="later")) == 1
    assert memory.changes("ida", kind="cancelled") == []
    assert memory.changes("nobody") == []
    with pytest.raises(InvalidInputError, match="did you mean `change`"):
        memory.changes("ida", kind="chagne")  # type: ignore[arg-type]


def test_a_context_marks_the_earlier_words_right_after_them(memory: MemorySystem) -> None:
    text = memory.context("ida", "When does the choir meet?", max_tokens=200).text
    assert f"The choir meets on Tuesdays in the old school {MARK}. My cat" in text
    for form in ("json", "xml"):
        packed = memory.context("ida", "When does the choir meet?", format=form)  # type: ignore[arg-type]
        assert "later, 10 Feb 2025" in packed.text
    # What is said later is not known before.
    then = memory.context("ida", "When does the choir meet?", until="2025-02-01").text
    assert "Tuesdays" in then
    assert "later" not in then
    assert "Thursdays" not in then
    # No mark on anything else.
    assert memory.context("ida", "rain at the weekend").text.count("[later") <= 1


def test_a_deletion_takes_the_mark_along(memory: MemorySystem) -> None:
    memory.delete("ida", "m2")
    assert memory.changes("ida") == []
    assert "later" not in memory.context("ida", "When does the choir meet?").text


@pytest.mark.parametrize(("side", "marked"), [("new", True), ("both", False), ("old", False)])
def test_a_decision_is_remembered(
    memory: MemorySystem, tmp_path: Path, side: Any, marked: bool
) -> None:
    (change,) = memory.changes("ida")
    change.keep(side)
    facts = {
        fact.memory_id: fact for fact in memory.semantic_memories("ida", include_superseded=True)
    }
    ended = [not facts[one.memory_id].is_current for one in change.sides]
    assert ended == {"new": [True, False], "both": [False, False], "old": [False, True]}[side]
    assert ("later," in memory.context("ida", "When does the choir meet?").text) == marked
    with LightweightSearchSystem(tmp_path / "store") as reader:
        (kept,) = reader.changes("ida")
        assert kept.kept == side
        with pytest.raises(ReadOnlyStoreError):
            kept.keep("both")


def test_a_decision_needs_a_change_and_a_side(memory: MemorySystem) -> None:
    (change,) = memory.changes("ida")
    with pytest.raises(InvalidInputError, match="side"):
        change.keep("newer")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="without its memory"):
        pickle.loads(pickle.dumps(change)).keep("new")
    with pytest.raises(InvalidInputError, match="must be a Change"):
        memory.keep_change("ida", "m2", "new")  # type: ignore[arg-type]
    memory.delete("ida", "m0")
    with pytest.raises(InvalidInputError, match="not linked"):
        change.keep("new")


def test_a_profile_has_the_earlier_words_below_the_later(memory: MemorySystem) -> None:
    for number, (day, text) in enumerate([("2025-03-01", GYM), ("2025-04-01", POOL)]):
        memory.add_messages("ida", [message(day, text, message_id=f"p{number}")])
        memory.flush("ida")
    memory.wait("ida")
    told = memory.profile("ida").to_markdown()
    assert f'- 2025-04-01: "{POOL}"\n  before, 2025-03-01: "{GYM}"' in told
    (line,) = (line for line in memory.profile("ida") if line.fact.quote == POOL)
    assert [fact.quote for fact in line.earlier] == [GYM]


def test_words_that_were_decided_against_stay_below_the_kept_ones(memory: MemorySystem) -> None:
    told = "I keep bees in the old gym and my locker number is 4417."
    for number, (day, text) in enumerate([("2025-03-01", told), ("2025-04-01", POOL)]):
        memory.add_messages("ida", [message(day, text, message_id=f"p{number}")])
        memory.flush("ida")
    memory.wait("ida")
    change = next(one for one in memory.changes("ida") if one.new.content == POOL)
    change.keep("new")
    earlier = memory.get("ida", change.old.memory_id)
    assert not earlier.is_current  # type: ignore[union-attr]
    profile = memory.profile("ida")
    assert f'- 2025-04-01: "{POOL}"\n  before, 2025-03-01: "{told}"' in profile.to_markdown()
    assert all(line.fact.is_current for line in profile)
    assert told.rstrip(".") in memory.context("ida", "Who keeps bees?").text
    change.keep("old")
    told_now = memory.profile("ida").to_markdown()
    assert f'- 2025-03-01: "{told}"' in told_now
    assert POOL not in told_now


@pytest.mark.parametrize(
    ("side", "texts"),
    [
        ("new", ["My locker number is 4417. They gave it to me for five years.", POOL]),
        ("old", [GYM, "My locker number is 4471 now. They gave it to me for five years."]),
    ],
)
def test_a_fact_that_says_more_than_the_change_stays_open(
    tmp_path: Path, side: Any, texts: list[str]
) -> None:
    with MemorySystem(tmp_path / "more") as memory:
        for day, text in zip(("2025-03-01", "2025-04-01"), texts, strict=True):
            memory.add_messages("ida", [message(day, text)])
            memory.flush("ida")
        memory.wait("ida")
        (change,) = memory.changes("ida")
        facts = {fact.memory_id: fact for fact in memory.semantic_memories("ida")}
        loser = change.old if side == "new" else change.new
        assert loser.content != facts[loser.memory_id].quote, "a part of the fact"
        change.keep(side)
        assert change.kept == side
        assert {fact.quote for fact in memory.semantic_memories("ida")} == set(texts)


def test_the_coroutines_do_the_same(tmp_path: Path) -> None:
    async def run() -> list[str | None]:
        async with AsyncMemorySystem(tmp_path / "async") as memory:
            for day, text in [("2025-01-10", TUESDAY), ("2025-02-10", THURSDAY)]:
                await memory.add_messages("ida", [message(day, text)])
                await memory.flush("ida")
            await memory.wait("ida")
            (change,) = await memory.changes("ida")
            await memory.keep_change("ida", change, "new")
            return [one.kept for one in await memory.changes("ida")]

    assert asyncio.run(run()) == ["new"]


def test_the_command_lists_and_decides(
    memory: MemorySystem, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "store")]
    assert main(["changes", *store, "--user", "ida"]) == 0
    told = capsys.readouterr().out
    assert THURSDAY in told
    assert TUESDAY in told
    assert main(["changes", *store, "--user", "ida", "--keep", "new"]) != 0
    capsys.readouterr()
    assert main(["changes", *store, "--user", "ida", "--of", "m2", "--keep", "new"]) == 0
    assert "kept: new" in capsys.readouterr().out
    assert main(["changes", *store, "--user", "ida", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["kept"] == "new"


def test_each_linked_later_message_is_a_line_of_its_own(tmp_path: Path) -> None:
    asked = "Does the choir of town {} meet in a school or a gym, and is there a locker?"
    said = [("2025-01-10", "Ida", f"{TUESDAY} {GYM}")]
    said += [(f"2025-01-{day}", "Ben", asked.format(day)) for day in range(11, 27)]
    said += [("2025-02-10", "Ida", THURSDAY), ("2025-02-11", "Ida", POOL)]
    with MemorySystem(tmp_path / "store") as memory:
        for number, (day, name, text) in enumerate(said):
            one = message(day, text, message_id=f"m{number}")
            memory.add_messages("ida", [one | {"name": name}])
        memory.flush("ida")
        memory.wait("ida")
        question = "When does the choir meet in the old school, and which locker number is Ida's?"
        packed = memory.context("ida", question, max_tokens=150)
        assert packed.reasons == {"m17": "later", "m18": "later"}
        # What no hit says is about another part of the message.
        cat = memory.context("ida", "school", max_tokens=60)
        assert "m18" not in cat.reasons
