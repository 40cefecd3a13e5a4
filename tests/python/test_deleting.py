"""Several records deleted in one pass, and conditions on metadata wherever records are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, DeleteReport, InvalidInputError, MemorySystem


def said(number: int, **more: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "name": "Ann",
        "content": f"I saw the zq{number:03}w on day {number}.",
        "message_id": f"m{number}",
        "timestamp": 1_700_000_000 + 60 * number,
        "session_id": f"s{number // 10}",
        "metadata": {"n": number, "channel": ("sms", "chat")[number % 2], "tags": ["a", "b"]},
        **more,
    }


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with MemorySystem(tmp_path / "store") as memory:
        memory.add_messages("ann", [said(number) for number in range(40)])
        memory.flush("ann")
        yield memory


def files_with(place: Path, word: str) -> list[Path]:
    found = (path for path in place.rglob("*") if path.is_file())
    return [path for path in found if word.encode() in path.read_bytes()]


def test_many_ids_are_deleted_in_one_pass(memory: MemorySystem) -> None:
    report = memory.delete("ann", [f"m{number}" for number in range(5, 15)] + ["nothing", "m5"])
    assert (report.messages, report.episodes_rewritten) == (10, 2)
    left = [message.message_id for message in memory.messages("ann")]
    assert left == [f"m{number}" for number in (*range(5), *range(15, 40))]
    assert all(not files_with(memory.path, f"zq{number:03}w") for number in range(5, 15))
    assert files_with(memory.path, "zq015w")
    assert memory.verify("ann").errors == 0
    assert memory.delete("ann", []) == memory.delete("nobody", ["m1"]) == DeleteReport()


def test_what_meets_conditions_is_deleted(memory: MemorySystem) -> None:
    report = memory.delete_where("ann", where={"n": {"$lt": 20}, "channel": "sms"})
    assert report.messages == 10
    left = {message.message_id for message in memory.messages("ann")}
    assert left == {f"m{number}" for number in range(40) if number >= 20 or number % 2}
    assert not files_with(memory.path, "zq004w")
    # Messages that do not meet the conditions stay, whatever episode they are in.
    assert memory.delete_where("ann", since=1_700_000_000 + 60 * 35).messages == 5
    # An episode goes with all its messages.
    report = memory.delete_where("ann", where={"n": 31}, kinds=["episodic"])
    assert (report.messages, report.episodes) == (5, 1)
    assert memory.verify("ann").errors == 0


def test_conditions_mean_the_same_for_searches_listings_and_deletions(memory: MemorySystem) -> None:
    for where, numbers in [
        ({"n": {"$gte": 37}}, {37, 38, 39}),
        ({"n": {"$in": [3, 4, 99]}}, {3, 4}),
        ({"tags": {"$contains": "a"}, "n": {"$lt": 2}}, {0, 1}),
        ({"$or": [{"n": 7}, {"n": 8.0}]}, {7, 8}),
        ({"channel": {"$ne": "sms"}, "n": {"$not": {"$gt": 3}}}, {1, 3}),
        ({"missing": {"$exists": True}}, set()),
    ]:
        listed = {message.metadata["n"] for message in memory.messages("ann", where=where)}
        assert listed == numbers, where
        hits = memory.search("ann", "the day", kinds="message", where=where, top_k=100)
        assert {hit.messages[0].metadata["n"] for hit in hits} == numbers, where
    assert len(list(memory.episodes("ann", where={"n": 39}))) == 1


def test_conditions_that_are_not_understood_are_refused(memory: MemorySystem) -> None:
    for where, told in [
        ({"n": {"$near": 3}}, "unknown operator in where: `$near`"),
        ({"$xor": []}, "unknown operator in where: `$xor`"),
        ({"n": {"$in": 3}}, "operand in where must be a list: `$in`"),
    ]:
        for call in (
            lambda where=where: memory.search("ann", "day", where=where),
            lambda where=where: list(memory.messages("ann", where=where)),
            lambda where=where: memory.delete_where("ann", where=where),
        ):
            with pytest.raises(InvalidInputError) as error:
                call()
            assert error.value.message == told
    for call in (
        lambda: memory.delete_where("ann"),
        lambda: memory.delete_where("ann", where={}),
        lambda: memory.delete_where("ann", kinds="message"),
    ):
        with pytest.raises(InvalidInputError, match="needs a condition"):
            call()
    with pytest.raises(InvalidInputError, match="id must be a str or a list of them, not `int`"):
        memory.delete("ann", 3)  # type: ignore[arg-type]
    assert len(list(memory.messages("ann"))) == 40


async def test_coroutines_delete_alike(tmp_path: Path) -> None:
    async with AsyncMemorySystem(tmp_path) as memory:
        await memory.add_messages("ann", [said(number) for number in range(6)])
        assert (await memory.delete("ann", ["m0", "m1"])).messages == 2
        assert (await memory.delete_where("ann", where={"n": {"$gt": 3}})).messages == 2


def test_a_deleted_fact_says_which_messages_still_say_it(tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "told") as memory:
        said = {"role": "user", "name": "Ann", "content": "I'm allergic to walnuts."}
        memory.add_messages("ann", [{**said, "message_id": "m1"}])
        memory.add_messages("ann", [{**said, "message_id": "m2", "content": "I live in Oslo."}])
        memory.flush("ann")
        nuts, oslo = (
            next(one for one in memory.semantic_memories("ann") if word in one.content)
            for word in ("walnuts", "Oslo")
        )
        plan = memory.delete("ann", nuts.memory_id, dry_run=True)
        report = memory.delete("ann", nuts.memory_id)
        assert report.still_in_messages == plan.still_in_messages == nuts.source_messages
        # The message goes with the fact, so no words are left.
        assert memory.delete("ann", [oslo.memory_id, "m2"]).still_in_messages == ()
        assert memory.delete("ann", report.still_in_messages).still_in_messages == ()
        assert not files_with(memory.path, "walnuts")
        stated = memory.remember("ann", "I like tea.")
        assert memory.delete("ann", stated.memory_id).still_in_messages == ()
        assert memory.delete_user_data("ann").still_in_messages == ()


def test_facts_deleted_by_conditions_say_so_too(tmp_path: Path) -> None:
    with MemorySystem(tmp_path / "told") as memory:
        memory.add_messages("ann", [said(1, content="I'm allergic to walnuts.")])
        memory.flush("ann")
        report = memory.delete_where("ann", kinds="semantic", until="2030-01-01")
        assert report.still_in_messages == ("m1",)
