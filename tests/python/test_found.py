"""Whether a context says that the answer is probably not in this memory."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from episodica import AsyncMemorySystem, Context, MemorySystem

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
TALK = [
    ("Nora", "I bought a red kayak in May and paddle it on Lake Siljan."),
    ("Emil", "Nice! I play the cello in the town orchestra on Tuesdays."),
    ("Nora", "My sister Vera teaches chemistry at the school in Mora."),
    ("Emil", "I broke my wrist on the ice rink in January."),
    ("Nora", "I am allergic to hazelnuts, so no cake for me."),
    ("Emil", "My brother runs a bicycle shop in Falun."),
    ("Nora", "I am learning Portuguese with a teacher from Lisbon."),
    ("Emil", "I painted the kitchen yellow last weekend."),
]
GERMAN = [
    ("Greta", "Ich habe im Mai ein rotes Kajak gekauft und paddle auf dem Bodensee."),
    ("Jonas", "Ich spiele dienstags Cello im Stadtorchester."),
    ("Greta", "Ich bin allergisch gegen Haselnüsse."),
    ("Jonas", "Ich habe mir im Januar auf der Eisbahn das Handgelenk gebrochen."),
]
CHINESE = [
    ("王芳", "我五月买了一条红色的皮划艇。"),
    ("李强", "我每周二在市乐团拉大提琴。"),
    ("王芳", "我对榛子过敏。"),
    ("李强", "我一月在冰场摔断了手腕。"),
]


def long_talk(talk: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The talk after so many greetings that its memory is long enough to tell what is missing."""
    names = list(dict.fromkeys(name for name, _ in talk))
    return [(names[number % len(names)], "Good morning!") for number in range(300)] + talk


def told(memory: MemorySystem, talk: list[tuple[str, str]], user: str = "u") -> None:
    memory.add_messages(
        user,
        [
            {
                "role": "user",
                "name": name,
                "content": text,
                "timestamp": START + timedelta(minutes=number),
                "session_id": "s",
            }
            for number, (name, text) in enumerate(talk)
        ],
    )
    memory.flush(user)
    memory.wait(user)


ASKED = [
    (TALK, "What colour is {}'s kayak?", "Nora", "Emil"),
    (TALK, "On which day does {} play the cello in the orchestra?", "Emil", "Nora"),
    (TALK, "Where did {} break a wrist?", "Emil", "Nora"),
    (TALK, "Is {} allergic to hazelnuts?", "Nora", "Emil"),
    (TALK, "Which language is {} learning with a teacher from Lisbon?", "Nora", "Emil"),
    (TALK, "What did {} paint yellow?", "Emil", "Nora"),
    (GERMAN, "Wann hat {} das rote Kajak gekauft?", "Greta", "Jonas"),
    (GERMAN, "Wo hat sich {} das Handgelenk gebrochen?", "Jonas", "Greta"),
    (CHINESE, "{}的皮划艇是什么颜色的?", "王芳", "李强"),
    (CHINESE, "{}在哪里摔断了手腕?", "李强", "王芳"),
]


@pytest.mark.parametrize(("talk", "question", "who", "other"), ASKED)
def test_what_only_others_said_of_themselves_is_not_found(
    memory: MemorySystem, talk: list[tuple[str, str]], question: str, who: str, other: str
) -> None:
    told(memory, long_talk(talk))
    right, wrong = (memory.context("u", question.format(name)) for name in (who, other))
    assert right.found
    assert not wrong.found
    assert 0 < wrong.relevance < 0.5 <= right.relevance < 1


@pytest.mark.parametrize(
    "question", ["Where does Emil work?", "What is Emil's job?", "Who works at the bakery?"]
)
def test_what_another_says_about_the_person_counts(memory: MemorySystem, question: str) -> None:
    told(
        memory, long_talk([*TALK, ("Nora", "Emil works at the bakery in Falun now, his new job.")])
    )
    assert memory.context("u", question).found


def test_a_question_without_a_speaker_is_found(memory: MemorySystem) -> None:
    told(memory, TALK)
    for question in ("Who plays the cello?", "Who is allergic?", "cello orchestra"):
        assert memory.context("u", question).found, question
    talk = [("", "I live in Mora."), ("", "I have a cat, Sixten.")]
    told(memory, talk, "one")
    assert memory.context("one", "What is my cat called?").found


@pytest.mark.parametrize("question", ["hi", "thanks!", "👍"])
def test_nothing_to_recall_is_not_found(memory: MemorySystem, question: str) -> None:
    told(memory, TALK)
    for user in ("u", "nobody"):
        context = memory.context(user, question)
        assert (context.found, context.relevance) == (False, 0.0)


def test_a_long_talk_without_a_word_of_the_question_is_no_answer(memory: MemorySystem) -> None:
    told(memory, TALK)
    assert memory.context("u", "xylophone quasar").found, "a short talk says it in other words"
    rooms = [("Nora", f"I swept room {number} of the boathouse.") for number in range(300)]
    told(memory, rooms, "long")
    assert memory.context("long", "xylophone quasar").relevance == 0
    assert memory.context("long", "Who swept room 17?").found


def test_neither_budget_nor_form_decides_what_is_found(memory: MemorySystem) -> None:
    told(memory, long_talk(TALK))
    for question in ("What did Emil paint yellow?", "What did Nora paint yellow?"):
        likely = {
            memory.context("u", question, max_tokens=tokens, format=form).relevance
            for tokens in (1, 8, 60, 2_000)
            for form in ("text", "json", "xml")
        }
        assert len(likely) == 1
        texts = memory.context("u", question, kinds=["message"]).text
        assert "yellow" in texts


def test_a_short_talk_is_told_to_have_all(memory: MemorySystem) -> None:
    told(memory, TALK)
    for question in ("What did Nora paint yellow?", "Where did Nora break a wrist?"):
        assert memory.context("u", question).found


def test_a_stated_fact_answers(memory: MemorySystem) -> None:
    told(memory, long_talk(TALK))
    memory.remember("u", "I'm allergic to walnuts.")
    assert memory.context("u", "What is Emil allergic to?").found


@pytest.mark.parametrize(
    ("subject", "found"),
    [(None, True), ("Emil", True), ("Vera", True), ("Nora", False), ("Nora's sister", False)],
)
def test_a_stated_fact_about_another_speaker_answers_nothing(
    memory: MemorySystem, subject: str | None, found: bool
) -> None:
    told(memory, long_talk(TALK))
    memory.remember("u", "is allergic to walnuts and wasps.", subject=subject)
    assert memory.context("u", "Is Emil allergic to wasps?").found is found
    assert memory.context("u", "Is Nora allergic to wasps?").found is (subject != "Emil")


def test_a_context_that_was_not_found_says_so(memory: MemorySystem) -> None:
    told(memory, long_talk(TALK))
    wrong = memory.context("u", "What did Nora paint yellow?")
    first = wrong.explain().splitlines()[0]
    assert first == f"probably not in this memory: relevance {wrong.relevance:.2f}"
    right = memory.context("u", "What did Emil paint yellow?")
    assert "probably" not in right.explain()
    for one in (wrong, right):
        again = Context.from_dict(one.to_dict())
        assert (again.found, again.relevance) == (one.found, one.relevance)


def test_the_asynchronous_memory_tells_it_too(tmp_path: Path) -> None:
    async def ask() -> list[bool]:
        async with AsyncMemorySystem(tmp_path) as memory:
            await memory.add_messages(
                "u",
                [{"role": "user", "name": name, "content": text} for name, text in long_talk(TALK)],
            )
            await memory.flush("u")
            await memory.wait("u")
            questions = ("What did Emil paint yellow?", "What did Nora paint yellow?")
            return [(await memory.context("u", one)).found for one in questions]

    assert asyncio.run(ask()) == [True, False]
