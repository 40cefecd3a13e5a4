"""A denial ends the state that it denies; each clause of a sentence is a fact of its own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from episodica import MemorySystem, SemanticMemory

ENDED = [
    ("I live in a small flat in Leeds.", "I don't live in Leeds any more, by the way."),
    ("i live in lyon with my cousin", "dont live in lyon anymore"),
    ("I take metformin twice a day.", "Sadly I no longer take metformin."),
    ("Ich bin mit Lena zusammen.", "Mit Lena bin ich nicht mehr zusammen."),
    ("wohn in kassel in ner wg", "wohn nicht mehr in kassel"),
    ("Tomo omeprazol todas las mañanas.", "Ya no tomo omeprazol."),
    ("J'ai un chien.", "Je n'ai plus de chien."),
    ("j'habite à Rennes", "j'habite plus à Rennes"),
    ("我在一家广告公司上班。", "我不在那家广告公司工作了。"),
    ("我养了一只橘猫。", "那只橘猫我已经不养了。"),
]

NOT_ENDED = [
    ("I live in Leeds.", "My sister no longer lives in Leeds."),
    ("My sister lives in Leeds.", "I no longer live in Leeds."),
    ("I take metformin.", "I no longer take aspirin."),
    # Real chats: one word in common says too little.
    ("I need to get up early.", "I had enough food and I dont really need any more."),
    ("I'm talking to my sister on the phone.", "We don't talk anymore."),
    (
        "I know the site has students working on it.",
        "I want to work so I don't have to work anymore.",
    ),
    ("I love coffee.", "I don't drink coffee after six anymore."),
    ("I live in Leeds.", "Tom says I no longer live in Leeds."),
    ("I fixed the mower with my dad.", "So I gave up on that mower."),
    ("I work at a school.", "If I no longer work at the school I'll be free."),
    ("I broke my leg skiing in Tignes.", "I no longer ski."),
    ("Ich habe einen Hund.", "Ich habe keine Lust mehr."),
    ("Vivo en Lugo.", "Mi tía ya no vive en Lugo."),
    ("J'ai deux chats.", "J'ai plus de chats que toi."),
    ("我在学日语。", "他说他不学日语了。"),
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySystem]:
    with MemorySystem(tmp_path_factory.mktemp("denials")) as memory:
        yield memory


users = (f"user{number}" for number in count())


def learned(memory: MemorySystem, *said: str, name: str | None = None) -> list[SemanticMemory]:
    """The facts of one user who says these texts, a month apart."""
    user = next(users)
    for month, text in enumerate(said, start=1):
        message = {"role": "user", "content": text, "timestamp": f"2024-{month:02}-01T10:00:00Z"}
        memory.add_messages(user, [{**message, "name": name} if name else message])
        memory.flush(user)
    memory.wait(user)
    return list(memory.semantic_memories(user, include_superseded=True))


@pytest.mark.parametrize(("before", "then"), ENDED)
def test_a_denial_ends_what_it_denies(memory: MemorySystem, before: str, then: str) -> None:
    facts = learned(memory, before, then)
    assert [fact.is_current for fact in facts if fact.valid_from.month == 1] == [False]
    assert any(fact.is_current for fact in facts if fact.valid_from.month == 2)


@pytest.mark.parametrize(("before", "then"), NOT_ENDED)
def test_a_denial_ends_nothing_else(memory: MemorySystem, before: str, then: str) -> None:
    facts = learned(memory, before, then)
    assert facts
    assert all(fact.is_current for fact in facts)


@pytest.mark.parametrize(
    ("said", "then", "ended", "stays"),
    [
        ("I live in Oslo and I also have a dog.", "I moved to Bergen.", "Oslo", "dog"),
        (
            "I live in Oslo, my husband's name is Tom and I'm a nurse at Acme.",
            "I moved to Bergen.",
            "Oslo",
            "Acme",
        ),
        ("我住在成都，养了两只猫。", "我搬到重庆了。", "成都", "猫"),
    ],
)
def test_a_clause_that_is_still_true_stays(
    memory: MemorySystem, said: str, then: str, ended: str, stays: str
) -> None:
    facts = learned(memory, said, then, name="Rosa")
    assert [ended in fact.content for fact in facts if not fact.is_current] == [True]
    assert any(stays in fact.content for fact in facts if fact.is_current)


def test_a_name_that_is_known_is_no_fact(memory: MemorySystem) -> None:
    assert not learned(memory, "I am Rosa.", name="Rosa")
    assert [fact.content for fact in learned(memory, "I am Rosa.")] == ["The user is Rosa."]


@pytest.mark.parametrize(
    "text",
    [
        'Ann: "I moved to Oslo last week."\nThe flat is tiny and I pay too much rent.',
        "Look what he sent:\n\nI quit my job at Acme. I live in Bergen now.",
        "Das hat Tom geschrieben:\nIch wohne jetzt in Bergen.",
    ],
)
def test_lines_after_the_words_of_another_are_not_learned(memory: MemorySystem, text: str) -> None:
    assert not learned(memory, text, name="Rosa")


@pytest.mark.parametrize("text", ["i mean", "I have to stop myself from"])
def test_a_sentence_that_breaks_off_is_no_fact(memory: MemorySystem, text: str) -> None:
    assert not learned(memory, text, name="Jordan")
