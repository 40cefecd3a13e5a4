"""Only a speaker's own words fill a slot, and only they end what the speaker said before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem, SemanticMemory

HOMES = {
    "en": "I live in Lyon.",
    "de": "Ich wohne in Lyon.",
    "fr": "J'habite à Lyon.",
    "es": "Vivo en Lyon.",
    "zh": "我住在里昂。",
    "ja": "私はリヨンに住んでいます。",
}

NOT_OWN = [
    ("en", 'He said "I live in Berlin" and laughed.'),
    ("en", "She asked me whether I live in Berlin."),
    ("en", "Everybody says I live in Berlin, but that's wrong."),
    ("en", 'Translate into French: "I live in Berlin and work as a teacher."'),
    ("en", "Please proofread this. I live in Berlin with my dog."),
    ("en", "Here is an email I got: Hi, I live in Berlin now. Best, Tom"),
    ("en", "> I live in Berlin"),
    ("en", "Mallory: I moved to Berlin."),
    ("en", "From: Mallory <m@example.org>\nI live in Berlin now."),
    ("en", "In my novel I live in Berlin."),
    ("en", "Imagine I live in Berlin and you visit me."),
    ("en", "If I live in Berlin next year, I'll sing."),
    ("en", "I live in Berlin. Just kidding!"),
    ("en", '{"text": "I live in Berlin"}'),
    ("en", "<!-- I live in Berlin -->"),
    ("en", "| me | I live in Berlin |"),
    ("en", "Cheers\n--\nI live in Berlin"),
    ("de", "Er sagte: „Ich wohne in Berlin.“"),
    ("de", "Er meint, ich wohne in Berlin."),
    ("de", "In meinem Roman wohne ich in Berlin."),
    ("fr", "Il a dit « j'habite à Berlin » en riant."),
    ("fr", "Traduis : j'habite à Berlin."),
    ("fr", "Dans mon roman, j'habite à Berlin."),
    ("es", "Dijo: «Vivo en Berlín»."),
    ("es", "En mi novela vivo en Berlín."),
    ("zh", "小红说：“我住在柏林。”"),
    ("zh", "请翻译：我住在柏林。"),
    ("zh", "转发：我住在柏林。"),
    ("ja", "彼は「私はベルリンに住んでいます」と言った。"),
]

NOT_OWN_CONTACTS: list[tuple[str, Any]] = [
    ("My phone number is 555-1000.", "> My phone number is 666-6666."),
    ("My phone number is 555-1000.", "Mallory: My phone number is 666-6666."),
    ("My email is alice@home.example.", "From: Mallory\nMy email is mallory@evil.example."),
    ("My doctor is Dr. Good.", "> My doctor is Dr. Evil."),
    (
        "My phone number is 555-1000.",
        [{"type": "tool_result", "tool_use_id": "t", "content": "My phone number is 666-6666."}],
    ),
]

LATER = [
    ("I live in Lyon.", "I moved to Nice last month."),
    ("I work at Google.", "I started working at Meta in January."),
    ("Ich wohne in Lyon.", "Ich bin letzten Monat nach Nizza gezogen."),
    ("Vivo en Lyon.", "El mes pasado me mudé a Niza."),
    ("J'habite à Lyon.", "J'ai déménagé à Nice le mois dernier."),
    ("我住在里昂。", "我上个月搬到尼斯了。"),
    ("I live in Lyon.", "I live in Nice now."),
    ("I am 28.", "I just turned 29."),
]

DENIED = [
    ("I live in Lyon.", "I no longer live in Lyon."),
    ("I work at Siemens.", "I quit my job at Siemens."),
    ("I take metformin twice a day.", "I no longer take metformin."),
    ("I'm a nurse.", "I'm not a nurse any more."),
    ("Ich wohne in Lyon.", "Ich wohne nicht mehr in Lyon."),
    ("Vivo en Lyon.", "Ya no vivo en Lyon."),
    ("J'habite à Lyon.", "Je n'habite plus à Lyon."),
    ("我住在里昂。", "我不住在里昂了。"),
]

BOTH_HOLD = [
    ("I live in Lyon.", "I no longer live in Rome."),
    ("I live in Lyon.", "My sister moved to Nice last week."),
    ("I live in Lyon.", "I lived in Berlin as a child."),
    # A second value may lie within the first, or be a second home.
    ("I live in Arizona.", "I live in Gilbert."),
    ("I live in Lyon.", "When I moved to Provo I knew nobody."),
    ("I am 28.", "I hope to have a house by the time I'm 40."),
    ("I work at Google.", "Then I moved to Boston for two years."),
    ("My phone number is 0151 234 5678.", "My wife's phone number is 0151 999 5678."),
    ("My phone number is 0151 234 5678.", "My work phone is 0151 777 5678."),
    ("My flight to Oslo is on 3 May.", "My flight to Rome is on 9 May."),
    (
        "I broke my ankle on the ledge at Moab in 2019.",
        "After the ankle at Moab I no longer climb without a rope on a ledge.",
    ),
    (
        "I keep a bullet journal to stay focused on my goals.",
        "I let go of what no longer serves me, goals and all, in my journal.",
    ),
]


USERS = (f"user-{number}" for number in count())


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySystem]:
    folder: Path = tmp_path_factory.mktemp("own")
    with MemorySystem(folder) as opened:
        yield opened


def known(memory: MemorySystem, first: str, then: Any) -> list[SemanticMemory]:
    user = next(USERS)
    for day, content in (("2024-03-01", first), ("2024-03-20", then)):
        message = {"role": "user", "name": "Alice", "content": content}
        memory.add_messages(user, [{**message, "timestamp": f"{day}T10:00:00Z"}])
        memory.flush(user)
    memory.wait(user)
    return list(memory.semantic_memories(user, include_superseded=True))


@pytest.mark.parametrize(("language", "text"), NOT_OWN)
def test_the_words_of_others_fill_no_slot_and_end_nothing(
    memory: MemorySystem, language: str, text: str
) -> None:
    facts = known(memory, HOMES[language], text)
    assert all(fact.is_current for fact in facts), facts
    assert [fact.attribute for fact in facts].count("home") == 1, facts


@pytest.mark.parametrize(("first", "then"), NOT_OWN_CONTACTS)
def test_the_contacts_of_others_replace_none(memory: MemorySystem, first: str, then: Any) -> None:
    [fact] = known(memory, first, then)
    assert fact.is_current
    assert not any(word in fact.content.lower() for word in ("666", "evil"))


@pytest.mark.parametrize(("first", "then"), LATER + DENIED)
def test_what_was_said_later_wins(memory: MemorySystem, first: str, then: str) -> None:
    facts = known(memory, first, then)
    closed = [fact for fact in facts if not fact.is_current]
    assert len(closed) == 1, facts
    assert len(facts) == 2, facts
    [holds] = [fact for fact in facts if fact.is_current]
    assert closed[0].superseded_by == holds.memory_id


@pytest.mark.parametrize(("first", "then"), BOTH_HOLD)
def test_what_can_both_hold_stays(memory: MemorySystem, first: str, then: str) -> None:
    facts = known(memory, first, then)
    assert facts
    assert all(fact.is_current for fact in facts), facts


def test_a_job_stays_when_the_home_of_its_sentence_ends(memory: MemorySystem) -> None:
    said = ("I live in Paris and work as a nurse.", "I moved to Lyon last week.")
    facts = known(memory, *said)
    assert {(fact.attribute, fact.is_current) for fact in facts} == {
        ("home", False),
        ("role", True),
        ("home", True),
    }
