"""Only a person's own words become facts about the person."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from episodica import MemorySystem, SemanticMemory

NOT_OWN = [
    ("en", 'He said "I live in Berlin" and laughed.'),
    ("en", 'Translate into French: "I live in Berlin and work as a teacher."'),
    ("en", "Please proofread this. I live in Berlin with my dog."),
    ("en", "Here is an email I got: Hi, I live in Berlin now. Best, Tom"),
    ("en", "> I live in Berlin"),
    ("en", "Mallory: I moved to Berlin."),
    ("en", "From: Mallory <m@example.org>\nI live in Berlin now."),
    ("en", '{"text": "I live in Berlin"}'),
    ("en", "<!-- I live in Berlin -->"),
    ("en", "| me | I live in Berlin |"),
    ("en", "Cheers\n--\nI live in Berlin"),
    ("de", "Er sagte: „Ich wohne in Berlin.“"),
    ("de", "In meinem Roman wohne ich in Berlin."),
    ("fr", "Traduis : j'habite à Berlin."),
    ("fr", "Dans mon roman, j'habite à Berlin."),
    ("es", "Dijo: «Vivo en Berlín»."),
    ("es", "En mi novela vivo en Berlín."),
    ("zh", "小红说：“我住在柏林。”"),
    ("zh", "请翻译：我住在柏林。"),
    ("zh", "转发：我住在柏林。"),
    ("ja", "彼は「私はベルリンに住んでいます」と言った。"),
]

users = count()


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySystem]:
    folder: Path = tmp_path_factory.mktemp("own")
    with MemorySystem(folder) as opened:
        yield opened


def quotes(memory: MemorySystem, text: str) -> list[SemanticMemory]:
    """The facts of one user who says this."""
    user = f"user{next(users)}"
    memory.add_messages(user, [{"role": "user", "name": "Alice", "content": text}])
    memory.flush(user)
    memory.wait(user)
    return list(memory.semantic_memories(user))


@pytest.mark.parametrize(("language", "text"), NOT_OWN)
def test_the_words_of_others_become_no_fact(memory: MemorySystem, language: str, text: str) -> None:
    told = [one.content for one in quotes(memory, text)]
    assert not any(town in one for one in told for town in ("Berl", "柏林", "ベルリン")), language
