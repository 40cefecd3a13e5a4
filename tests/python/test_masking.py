"""Secrets in messages: masked, kept or refused, by every way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.inputs.secrets import hide_in_fact

# Put together here, so that no file of the repository looks like it holds a key.
KEY = "AKIA" + "QYLPMN5HHHFPZAM2"
CARD = "4111 1111 1111 1111"
SAID = f"The key is {KEY} and the card {CARD}."
MASKED = "The key is [secret: aws access key] and the card [secret: card number]."


def _stored(memory: MemorySystem, user: str = "u") -> list[str]:
    return [message.content for message in memory.messages(user)]


@pytest.mark.parametrize(
    ("setting", "call", "role", "hides"),
    [
        ("auto", None, "user", False),
        ("auto", None, "assistant", False),
        ("auto", None, "tool", True),
        ("mask", None, "user", True),
        ("mask", "keep", "user", False),
        ("keep", None, "tool", False),
        ("keep", "mask", "user", True),
    ],
)
def test_the_call_wins_over_the_setting_and_the_setting_over_the_role(
    store: Path, setting: Any, call: Any, role: str, hides: bool
) -> None:
    with MemorySystem(store, secrets=setting) as memory:
        added = memory.add_messages("u", [{"role": role, "content": SAID}], secrets=call)
        assert _stored(memory) == [MASKED if hides else SAID]
        assert added.secrets == (2 if hides else 0)
        assert ("secrets=2" in repr(added)) is hides


def test_a_refusal_names_the_place_and_not_the_secret(store: Path) -> None:
    with MemorySystem(store, secrets="refuse") as memory:
        with pytest.raises(
            InvalidInputError, match="message 1: `content` holds a secret"
        ) as caught:
            memory.add_messages("u", [{"role": "user", "content": one} for one in ("hello", SAID)])
        assert KEY not in str(caught.value)
        for call in (
            lambda: memory.remember("u", SAID),
            lambda: memory.remember_procedure("u", "Log in", [{"action": "login", "result": KEY}]),
        ):
            with pytest.raises(InvalidInputError, match="holds a secret") as caught:
                call()
            assert KEY not in str(caught.value)
        assert memory.users() == []
    with (
        MemorySystem(store) as memory,
        pytest.raises(InvalidInputError, match="secrets is unknown"),
    ):
        memory.add_messages("u", "hi", secrets="hide")  # type: ignore[arg-type]


def test_no_file_holds_a_masked_secret(store: Path) -> None:
    with MemorySystem(store, secrets="mask", trace=True) as memory:
        metadata = {"args": {"password": "pelican!417"}, "card": 4111111111111111, "n": 1}
        message = {"role": "user", "name": "Kim", "content": SAID, "metadata": metadata}
        memory.add_messages("u", [message], session_id="s")
        memory.remember("u", f"The deploy key is {KEY}.", metadata={"token": KEY})
        memory.remember_procedure("u", "Log in", [{"action": "login", "result": {"key": KEY}}])
        memory.flush("u")
        memory.wait("u")
        kept = next(memory.messages("u")).metadata
        assert kept == {
            "args": {"password": "[secret: password]"},
            "card": "[secret: card number]",
            "n": 1,
        }
        fact = next(memory.semantic_memories("u"))
        updated = memory.update("u", fact.memory_id, f"The new key is {KEY}.")
        assert KEY not in updated.content
    secrets = [KEY, CARD, "4111111111111111", "pelican"]
    for file in store.rglob("*"):
        if file.is_file():
            held = file.read_bytes()
            assert not [one for one in secrets if one.encode() in held], file


def test_imports_mask_and_a_second_import_adds_nothing(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps([{"role": "user", "content": SAID, "timestamp": 1700000000}]))
    with MemorySystem(store) as memory:
        report = memory.import_(file, "u")
        assert (report.messages, report.secrets) == (1, 2)
        assert memory.import_(file, "u").known == 1
        assert _stored(memory) == [MASKED]
        assert memory.import_(file, "v", secrets="keep").secrets == 0
        assert _stored(memory, "v") == [SAID]
        with pytest.raises(InvalidInputError, match="holds a secret"):
            memory.import_(file, "w", secrets="refuse")
        # A file of this package is what its memory held.
        memory.export("v", tmp_path / "v.jsonl")
        memory.import_(tmp_path / "v.jsonl", "x")
        assert _stored(memory, "x") == [SAID]


def test_every_text_of_a_fact_is_masked(tmp_path: Path) -> None:
    fact = {"kind": "goal", "valid_from": KEY, "source": KEY, "later_field": KEY, "number": 3.0}
    masked = hide_in_fact(fact, "mask")
    assert masked == {**fact, "later_field": "[secret: aws access key]"}
    with pytest.raises(InvalidInputError, match="aws access key"):
        hide_in_fact(fact, "refuse")
    with MemorySystem(tmp_path / "store", secrets="mask") as memory:
        memory.remember("u", "It is new.", subject=KEY, attribute=f"key {KEY}", value=KEY)
    files = (file for file in (tmp_path / "store").rglob("*") if file.is_file())
    held = b"".join(file.read_bytes() for file in files).lower()
    assert b"it is new." in held
    assert KEY.lower().encode() not in held
