"""Nothing new is an answer; of a lazy or over-eager model's facts, what was said stands beside."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from episodica import MemorySystem

Rows = list[list[str]]
Finder = Callable[[list[tuple[int, str]], dict[str, int]], Rows]

SAID = [
    ["I'm Ida and I keep 9 beehives behind the mill.", "My brother Jon is a potter in Delft."],
    ["As I said, I keep 9 beehives behind the mill.", "And Jon, the potter, says hello."],
]


def row(sentence: str, number: int, ends: str = "", **parts: str) -> list[str]:
    """A fact in the form that the prompt asks for."""
    named = {
        "kind": "personal_info",
        "importance": "high",
        "subject": "user",
        "attribute": "matter",
        "value": "",
        "when": "",
        "from": "",
        "ends": ends,
        "messages": str(number),
        "sentence": sentence,
    }
    return list({**named, **parts}.values())


def model(find: Finder) -> Callable[..., str]:
    """A model that finds facts in the messages and known facts of a prompt."""

    def answer(messages: Any, response_format: Any = None, max_tokens: Any = None) -> str:
        prompt = messages[-1]["content"]
        known = re.findall(r"(?m)^(\d+) \| [^|]* \| [^|]* \| [0-9/-]+ \| (.+)$", prompt)
        talk = prompt.rpartition("<material-")[2]
        shown = re.findall(r"(?m)^(\d+) \| \d\d:\d\d \| [^:]*: (.*)$", talk)
        numbers = [(int(number), text) for number, text in shown]
        facts = find(numbers, {sentence: int(number) for number, sentence in known})
        told = {"title": "A talk", "narrative": "The user talked."}
        episode = {"first": numbers[0][0], "last": numbers[-1][0], "confidence": 0.9, **told}
        return json.dumps({"episodes": [episode], "facts": facts}, ensure_ascii=False)

    return answer


def say(memory: MemorySystem, session: int, *texts: str) -> None:
    memory.add_messages(
        "ida",
        [
            {
                "role": "user",
                "content": text,
                "timestamp": 1_710_000_000 + 90_000 * session + 60 * number,
                "session_id": str(session),
                "message_id": f"m{session}-{number}",
            }
            for number, text in enumerate(texts)
        ],
    )
    memory.close_session("ida", str(session))
    assert memory.wait("ida", timeout=60)


BEES, JON = "The user keeps 9 beehives behind the mill.", "The user's brother Jon is a potter."


def finds(words: dict[str, str]) -> Finder:
    """Finds these sentences where the messages have the words."""

    def find(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
        return [
            row(sentence, number)
            for number, text in shown
            for key, sentence in words.items()
            if key in text
        ]

    return find


@pytest.mark.parametrize("repeats", ["not", "word for word", "by number"])
def test_nothing_new_is_an_answer_and_a_repeated_fact_a_proof(
    repeats: str, open_memory: Callable[..., MemorySystem]
) -> None:
    def find(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
        if not known:
            return finds({"I keep": BEES, "potter": JON})(shown, known)
        if repeats == "not":
            return []
        if repeats == "word for word":
            return [row(BEES, shown[0][0])]
        return [row("She has hives there.", shown[0][0], ends=f"={known[BEES]}")]

    memory = open_memory(llm=model(find))
    for session, texts in enumerate(SAID):
        say(memory, session, *texts)
    facts = list(memory.semantic_memories("ida"))
    assert {fact.content for fact in facts} == {BEES, JON}
    assert memory.health()["status"] == "ok"
    proofs = {"m0-0"} if repeats == "not" else {"m0-0", "m1-0"}
    assert {one for fact in facts if fact.content == BEES for one in fact.source_messages} == proofs
    text = memory.context("ida", "Where does she keep the hives?", max_tokens=200).text
    assert text.count(BEES) <= 1
    assert [line.content for line in memory.profile("ida")].count(BEES) == 1
    memory.delete("ida", "m1-0")
    assert {fact.content for fact in memory.semantic_memories("ida")} == {BEES, JON}
    assert memory.verify("ida").errors == 0


TALK = [
    "I live in Ghent with my cat Moos.",
    "I work as a baker at Korenmarkt.",
    "My sister Lea was born in 1990.",
    "I am allergic to walnuts.",
]
KNOWN = {text: f"The user said: {text}" for text in TALK}


def all_ended(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
    ends = ", ".join(map(str, known.values()))
    texts = [(number, text) for number, text in shown if text in KNOWN or known]
    return [row(KNOWN.get(text, "The user sang."), number, ends) for number, text in texts]


def a_trifle(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
    return [row("The user talked with the assistant.", shown[0][0])]


def in_chinese(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
    return [row(f"用户说了第 {number} 件关于自己生活的事情。", number) for number, _ in shown]


def trifle_that_ends(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
    return [row("The user talked with the assistant.", shown[0][0], "0" if known else "")]


@pytest.mark.parametrize("find", [a_trifle, in_chinese, trifle_that_ends])
def test_a_doubtful_answer_leaves_contexts_as_they_are_without_a_model(
    find: Finder, open_memory: Callable[..., MemorySystem], tmp_path: Path
) -> None:
    """Once, trifles stood before the words that answer the question, and ended facts."""
    memories = [open_memory(llm=model(find)), open_memory(path=tmp_path / "rules")]
    for memory in memories:
        say(memory, 0, *TALK)
        say(memory, 1, *(text.replace("Ghent", "Bruges") for text in reversed(TALK)))
    assert all(fact.is_current for fact in memories[0].semantic_memories("ida"))
    for question in ("Where does the user live?", "What is the user allergic to?"):
        for budget in (60, 150):
            texts = [one.context("ida", question, max_tokens=budget).text for one in memories]
            assert texts[0] == texts[1]


def test_a_model_that_takes_people_for_each_other_changes_no_context(
    open_memory: Callable[..., MemorySystem], tmp_path: Path
) -> None:
    """Once, the facts that were by chance about the speaker stood before all words."""
    people = ["Ida", "Jon", "Ida", "Jon"]

    def find(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
        return [row(f"Ida said: {text}", number, subject="Ida") for number, text in shown]

    memories = [open_memory(llm=model(find)), open_memory(path=tmp_path / "rules")]
    for memory in memories:
        said = [
            {"role": "user", "name": name, "content": text, "timestamp": 1_710_000_000 + number}
            for number, (name, text) in enumerate(zip(people, TALK, strict=True))
        ]
        memory.add_messages("ida", said)
        memory.flush("ida")
        assert memory.wait("ida", timeout=60)
    stats = memories[0].stats()
    assert stats["mended"]["facts_answers_misplaced"] == 1
    assert stats["rejected_statements"]["other_speaker"] == 2
    assert "facts_answers_misplaced, 1 so far" in memories[0].health()["last_failure"]
    for question in ("Who works as a baker?", "Who is allergic to walnuts?"):
        texts = [one.context("ida", question, max_tokens=60).text for one in memories]
        assert texts[0] == texts[1]


def test_beside_an_answer_that_breaks_off_stands_what_it_does_not_reach(
    open_memory: Callable[..., MemorySystem],
) -> None:
    whole = model(finds(KNOWN))

    def cut(messages: Any, response_format: Any = None, max_tokens: Any = None) -> str:
        return whole(messages).partition(TALK[2])[0]

    memory = open_memory(llm=cut)
    say(memory, 0, *TALK)
    facts = [fact.content for fact in memory.semantic_memories("ida")]
    assert {KNOWN[text] for text in TALK[:2]} <= set(facts)
    said = [fact for fact in facts if fact not in KNOWN.values()]
    assert [text for text in TALK if any(text in fact for fact in said)] == TALK[2:]
    assert "facts_answers_cut, 1 so far" in memory.health()["last_failure"]


@pytest.mark.parametrize(
    ("find", "doubt"),
    [
        (all_ended, "facts_answers_ending_too_much"),
        (a_trifle, "facts_answers_sparse"),
        (in_chinese, "facts_answers_other_language"),
    ],
)
def test_a_doubtful_answer_hides_nothing_and_ends_nothing(
    find: Finder, doubt: str, open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(llm=model(find))
    say(memory, 0, *TALK)
    say(memory, 1, "I sing in a choir on Mondays.", "I ride a red bicycle to the bakery.")
    facts = list(memory.semantic_memories("ida", include_superseded=True))
    assert not [fact for fact in facts if not fact.is_current]
    assert memory.stats()["mended"][doubt] >= 1
    assert f"{doubt}, " in memory.health()["last_failure"]
    said = " ".join(fact.content for fact in facts)
    for word in ("bicycle",) if find is all_ended else ("Moos", "walnuts"):
        assert word in said


def test_a_context_tells_what_held_before_in_the_line_of_the_fact(
    open_memory: Callable[..., MemorySystem],
) -> None:
    def find(shown: list[tuple[int, str]], known: dict[str, int]) -> Rows:
        number, text = shown[0]
        goats = {"attribute": "goats"}
        if "9" in text:
            return [row("The user keeps 9 goats.", number, value="9", **goats)]
        if "14" in text:
            ends = str(known["The user keeps 9 goats."])
            return [row("The user keeps 14 goats.", number, ends, value="14", **goats)]
        ends = str(known["The user keeps 14 goats."])
        return [row("The user gave the goats to Jon.", number, ends)]

    memory = open_memory(llm=model(find))
    question, budget = "How many goats does the user keep?", {"max_tokens": 150}
    say(memory, 0, "I keep 9 goats.")
    assert "before" not in memory.context("ida", question, **budget).text
    say(memory, 1, "It is 14 goats since today.")
    text = memory.context("ida", question, **budget).text
    assert "The user keeps 14 goats, before 9\n" in text
    say(memory, 2, "Jon has the goats now.")
    text = memory.context("ida", "Who has the goats?", **budget).text
    assert "The user gave the goats to Jon; before: The user keeps 14 goats\n" in text
