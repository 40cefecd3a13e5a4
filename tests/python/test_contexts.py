"""What a context quotes, why, and what it leaves out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from episodica import Context, MemorySystem
from episodica.fence import fenced_context

START = datetime(2024, 3, 1, 9, tzinfo=UTC)


def said(*lines: str, day: int = 0, speakers: tuple[str, ...] = ("Ann", "Ben")) -> Any:
    return [
        {
            "role": "user",
            "name": speakers[number % len(speakers)],
            "content": text,
            "timestamp": START + timedelta(days=day, minutes=number),
            "session_id": f"day {day}",
            "message_id": f"{day}/{number}",
        }
        for number, text in enumerate(lines)
    ]


def add(memory: MemorySystem, *sessions: Any) -> None:
    for session in sessions:
        memory.add_messages("ann", session)
    memory.flush("ann")
    memory.wait("ann")


FILLER = "The committee met in the usual room and spoke about the usual things at length. "
ANSWER = "The spare key of the boathouse hangs under the third step. "
QUESTION = "Where is the key of the boathouse?"


@pytest.mark.parametrize(("size", "budget"), [(1_600, 300), (4_900, 1_000), (16_000, 2_000)])
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_long_message_is_quoted_where_it_matches(
    memory: MemorySystem, size: int, budget: int, place: str
) -> None:
    parts = [FILLER] * (size // len(FILLER))
    parts.insert({"first": 0, "middle": len(parts) // 2, "last": len(parts)}[place], ANSWER)
    add(memory, said("".join(parts)))
    for tokens in (150, 300, budget):
        context = memory.context("ann", QUESTION, max_tokens=tokens)
        assert ANSWER.strip() in context.text
        assert context.token_count <= tokens
        [message] = context.messages
        assert (message.message_id in context.excerpts) == ("[…]" in context.text)
        assert Context.from_dict(context.to_dict()).excerpts == context.excerpts


def test_excerpts_are_marked_in_every_form(memory: MemorySystem) -> None:
    add(memory, said(FILLER * 60 + ANSWER + FILLER * 60))
    for form in ("text", "json", "xml"):
        context = memory.context("ann", QUESTION, max_tokens=300, format=form)
        assert context.excerpts == ("0/0",)
        assert ANSWER.strip() in context.text
        if form == "json":
            [message] = json.loads(context.text)["messages"]
            assert message["excerpt"] is True
            assert message["content"].startswith("[…] ")
        elif form == "xml":
            assert '<message from="Ann" excerpt="true">[…] ' in context.text
        else:
            assert "Ann: […] " in context.text


def test_one_message_of_many_megabytes_is_quoted(memory: MemorySystem) -> None:
    noise = [f"line {n}: nothing to report\n" for n in range(150_000)]
    noise.insert(75_000, "pump 7 lost its pressure at noon\n")
    add(memory, said("".join(noise)))
    context = memory.context("ann", "Which pump lost its pressure?", max_tokens=200)
    assert "pump 7 lost its pressure at noon\n" in context.text
    assert context.excerpts == ("0/0",)


def test_short_talk_is_quoted_whole_around_a_long_message(memory: MemorySystem) -> None:
    add(
        memory, said(FILLER * 60 + ANSWER, "Thanks, and the oars are in the boathouse too?", "Yes.")
    )
    context = memory.context("ann", QUESTION, max_tokens=300)
    assert ANSWER.strip() in context.text
    assert "Thanks, and the oars are in the boathouse too?" in context.text
    assert context.excerpts == ("0/0",)


def test_each_line_tells_why_it_is_there(memory: MemorySystem) -> None:
    add(memory, said("How long have you owned the violin?", "Since 2019."))
    context = memory.context("ann", "Who owns a violin?", max_tokens=400)
    assert [message.message_id for message in context.messages] == ["0/0", "0/1"]
    assert context.reasons == {"0/1": "reply"}
    lines = context.explain().splitlines()
    assert len(lines) == len(context.messages) + len(context.facts)
    assert "hit 1: How long have you owned the violin?" in lines
    assert "reply: Since 2019." in lines
    assert Context.from_dict(context.to_dict()) == context
    assert Context.from_dict(context.to_dict()).reasons == context.reasons
    old = {**context.to_dict()}
    del old["reasons"]
    assert Context.from_dict(old).explain()


def test_what_was_said_later_comes_along_from_the_same_speaker(memory: MemorySystem) -> None:
    add(
        memory,
        said("I keep bees on the roof of the bakery.", "Lovely."),
        said("The bees left the roof, the bakery is empty.", "Oh, my bees are fine.", day=9),
        *(said(f"Tram number {day} was late.", "It always is.", day=day) for day in range(10, 60)),
    )
    context = memory.context("ann", "Who keeps bees on a roof?", max_tokens=300)
    assert {"0/0", "9/0"} <= {message.message_id for message in context.messages}
    assert "Tram" not in context.text


DENTIST = "My dentist is Doctor Lindqvist on Mill Lane, the crown wobbles."
RETIRED = "Lindqvist retired, so I go to Doctor Osei now. She hums while she drills."


def test_later_words_come_into_small_budgets_if_they_stand_out(memory: MemorySystem) -> None:
    neighbours = [said(f"The baker on Mill Lane, number {n}, is dear.", day=n) for n in range(20)]
    add(memory, *neighbours, said(DENTIST, day=30), said(RETIRED, day=39))
    question = "Which dentist on Mill Lane does Ann have?"
    for tokens in (80, 100, 150):
        context = memory.context("ann", question, max_tokens=tokens)
        # As a line of its own, or in the mark of the line that it changes.
        assert "Doctor Osei" in context.text, context.text
    # A question about the past does not ask for what came later.
    past = question.replace("does", "did")
    context = memory.context("ann", past, max_tokens=150)
    assert "later" not in context.reasons.values(), context.text


def test_what_somebody_often_returns_to_has_no_later_state(memory: MemorySystem) -> None:
    add(memory, said(DENTIST), *(said(RETIRED, day=day) for day in range(9, 20)))
    context = memory.context("ann", "Who is Ann's dentist?", max_tokens=80)
    assert "later" not in context.reasons.values(), context.text


def test_a_short_reply_never_stands_without_its_question(memory: MemorySystem) -> None:
    add(
        memory,
        said("The violin lessons cost more again, is that hobbies or education?", "Sanity."),
        *(said(f"The violin was out of tune on day {day}.", "Sad.", day=day) for day in range(60)),
    )
    for tokens in range(20, 200, 12):
        context = memory.context("ann", "What about violin lessons?", max_tokens=tokens)
        inside = {message.message_id for message in context.messages}
        assert "0/1" not in inside or "0/0" in inside, context.text


MOVES = (
    said("I live in Paris.", "Since when?"),
    said("I live in Nantes now, and I am allergic to peanuts.", "Good to know.", day=2),
    said("I moved to Lyon last week.", "Nice.", day=9),
)


@pytest.mark.parametrize("tokens", [60, 150, 400, 2_000])
def test_what_was_said_stands_in_order_of_time_without_a_fact_or_a_mark(
    memory: MemorySystem, tokens: int
) -> None:
    add(memory, *MOVES)
    context = memory.context("ann", "Where does Ann live?", max_tokens=tokens)
    assert context.facts == ()
    assert "# Facts" not in context.text
    assert "outdated" not in context.text
    if tokens >= 150:
        lines = context.text.splitlines()
        assert lines[:2] == ["# Fri 1 Mar 2024", "Ann: I live in Paris."]
        assert lines[-2] == "Ann: I moved to Lyon last week [26 February 2024 to 3 March 2024]."
        assert "Ann: I live in Nantes now, and I am allergic to peanuts." in lines


def test_what_the_application_states_comes_first_if_it_bears_on_the_question(
    memory: MemorySystem,
) -> None:
    add(memory, *MOVES, *(said(f"Tram {day} was late.", day=day) for day in range(20, 80)))
    stated = memory.remember("ann", "Ann lives in Lyon with her brother Théo.")
    memory.remember("ann", "Otto's barge is green.", subject="Otto")
    context = memory.context("ann", "Where does Ann live?", max_tokens=300)
    assert context.facts == (stated,)
    assert context.text.startswith("# Facts\n- Ann lives in Lyon")
    assert "green" not in context.text
    assert stated not in memory.context("ann", "Was tram 33 late?", max_tokens=300).facts
    # Who asks for facts gets those that quote messages, too.
    for options in ({"kinds": ["semantic"]}, {"min_importance": 0.1}):
        asked: Any = options
        found = memory.context("ann", "What is Ann allergic to?", max_tokens=300, **asked)
        assert found.messages == ()
        assert "peanuts" in found.text


@pytest.mark.parametrize("question", ["asdf qwer", "zzz", "Qui habite au phare ?"])
def test_a_budget_is_a_maximum(memory: MemorySystem, question: str) -> None:
    add(memory, *(said(f"Tram number {day} was late.", "Was it?", day=day) for day in range(60)))
    context = memory.context("ann", question, max_tokens=1_000)
    assert context.token_count < 400
    assert memory.context("ann", "Which tram was late?", max_tokens=1_000).token_count > 600


TURNS = 4


def stored(context: Context, form: str) -> str:
    question = "Where does Ann live?"
    if form == "fenced":
        return f"{fenced_context(context)}\n\n{question}"
    if form == "code":
        return f"Use this:\n```\n{context.text}\n```\n{question}"
    if form == "json string":
        return json.dumps({"context": context.text, "question": question})
    return f"{context.text}\n\n{question}"


@pytest.mark.parametrize("form", ["plain", "fenced", "code", "json string", "json", "xml"])
@pytest.mark.parametrize("role", ["user", "system"])
def test_recalled_text_does_not_come_back(memory: MemorySystem, form: str, role: str) -> None:
    add(memory, said("I live in Lyon, near the river.", "Since when have you lived there?"))
    written: Any = form if form in ("json", "xml") else "text"
    sizes = []
    for turn in range(TURNS):
        context = memory.context("ann", "Where does Ann live?", max_tokens=2_000, format=written)
        sizes.append(context.token_count)
        assert {message.session_id for message in context.messages} == {"day 0"}
        prompt = said(stored(context, form), "In Lyon.", day=1 + turn, speakers=("Ann", "Bot"))
        add(memory, [{**prompt[0], "role": role}])
    assert max(sizes) == sizes[0], sizes
    hits = memory.search("ann", "Where does Ann live?", kinds=["message"])
    assert {hit.messages[0].session_id for hit in hits} == {"day 0"}


def test_what_stands_beside_recalled_text_is_not_lost(memory: MemorySystem) -> None:
    add(memory, said("I live in Lyon, near the river.", "Nice."))
    context = memory.context("ann", "Where does Ann live?")
    add(memory, said(f"{context.text}\n\nBy the way, I adopted a parrot called Kiwi.", day=1))
    found = memory.context("ann", "What is the parrot called?")
    assert "I adopted a parrot called Kiwi." in found.text
    assert found.text.count("near the river") == 1
    assert found.excerpts


def test_a_diary_in_the_same_form_is_no_recalled_text(memory: MemorySystem) -> None:
    diary = "# Fri 1 Mar 2024\nMood: good, walked to the lighthouse.\nFood: soup."
    add(memory, said(diary))
    assert memory.search("ann", "lighthouse", kinds=["message"])
    assert "walked to the lighthouse" in memory.context("ann", "lighthouse").text


STATED = "Hazelnuts make the throat swell."


@pytest.mark.parametrize("subject", ["Tobi", "tobi haas", "小雨"])
def test_a_fact_about_somebody_else_names_them_everywhere(
    memory: MemorySystem, subject: str
) -> None:
    add(memory, *MOVES)
    fact = memory.remember("ann", STATED, subject=subject)
    told = f"{subject}: {STATED}"
    assert fact.content == told
    assert memory.remember("ann", STATED, subject=subject).outcome == "repeats"
    assert memory.remember("ann", STATED, subject="Eva").outcome == "added"
    for format in ("text", "json", "xml"):
        text = memory.context("ann", "Which throat swells from hazelnuts?", format=format).text
        assert told in text
    hits = memory.search("ann", "Who swells from hazelnuts?", kinds=["semantic"])
    assert told in [hit.content for hit in hits]
    corrected = memory.update("ann", fact.memory_id, "Walnuts, not hazelnuts.")
    assert corrected.content == f"{subject}: Walnuts, not hazelnuts."


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (None, STATED),
        ("ann", STATED),
        ("ANN", STATED),
        ("user", STATED),
        ("Tobi", "Hazelnuts make Tobi's throat swell."),
        ("Tobi Haas", "TOBI HAAS can't eat hazelnuts."),
        ("小雨", "我妹妹小雨对榛子过敏。"),
    ],
)
def test_a_statement_of_the_user_or_with_the_name_stays(
    memory: MemorySystem, subject: str | None, text: str
) -> None:
    add(memory, *MOVES)
    assert memory.remember("ann", text, subject=subject).content == text


def test_a_correction_of_what_another_said_names_them(memory: MemorySystem) -> None:
    said_first = [("Ann", "I live in Paris, near the river."), ("Tobi", "I live in Ulm.")]
    for at, (name, text) in enumerate([*said_first, ("Ann", "I love my garden.")]):
        one = {"role": "user", "name": name, "content": text, "session_id": str(at)}
        memory.add_messages("me", [one])
    memory.flush("me")
    memory.wait("me")
    facts = {
        fact.speaker: fact for fact in memory.semantic_memories("me") if "live" in fact.content
    }
    assert memory.update("me", facts["Tobi"].memory_id, "Lives in Kiel.").content == (
        "Tobi: Lives in Kiel."
    )
    assert memory.update("me", facts["Ann"].memory_id, "Lives in Bonn.").content == "Lives in Bonn."


@pytest.mark.parametrize(
    ("format", "mark"),
    [
        ("text", "Ann [outdated since 9 Feb 2025]: I live in Oslo."),
        ("json", '"outdated":true,"outdated_since":"2025-02-09"'),
        ("xml", 'outdated="true" outdated_since="2025-02-09"'),
    ],
)
def test_a_fact_that_was_closed_says_since_when(
    memory: MemorySystem, format: Any, mark: str
) -> None:
    one = {"role": "user", "name": "Ann", "content": "I live in Oslo.", "timestamp": "2024-05-01"}
    memory.add_messages("ann", [one])
    memory.flush("ann")
    memory.wait("ann")
    [fact] = memory.semantic_memories("ann")
    memory.close_fact("ann", fact.memory_id, at="2025-02-09")
    assert mark in memory.context("ann", "Where does Ann live?", format=format).text
    memory.close_fact("ann", fact.memory_id, at="2024-05-01")
    told = memory.context("ann", "Where does Ann live?").text
    assert "Oslo" not in told or "Ann [outdated]: " in told, "it never held"


def test_a_stated_fact_about_another_matter_stays_out(memory: MemorySystem) -> None:
    """Once, the only fact stood before every answer, since it was compared with none."""
    said = [
        "My dog Bruno is afraid of thunder.",
        "I live in a lock-keeper's house near Namur.",
        "My sister Ines restores clocks.",
        "I row on the Meuse every Sunday morning.",
        "My knee was operated on in April.",
    ]
    for number, text in enumerate(said):
        message = {"role": "user", "name": "Ida", "content": text, "session_id": "s"}
        memory.add_messages("ida", [{**message, "timestamp": 1_710_000_000 + 3_600 * number}])
    memory.flush("ida")
    memory.wait("ida")
    memory.remember("ida", "Ida collects stamps of lighthouses.", subject="Ida")

    def tells(question: str) -> bool:
        return "stamps" in memory.context("ida", question, max_tokens=60).text

    assert tells("What does Ida collect?")
    for question in ("What is the name of Ida's dog?", "Where does Ida live?"):
        assert not tells(question)


FACTS = [
    "Vera is allergic to walnuts.",
    "Vera lives in Tromsø.",
    "Vera prefers answers in bullet points.",
    "Vera's dentist is Dr Lund.",
    "Vera's brother Emil keeps bees.",
    "The staging database runs on port 6543.",
    "Vera drives a red Skoda.",
    "Vera runs every Tuesday.",
]
TALK = [
    "I planted three apple trees behind the shed today.",
    "The kiln arrived and the glaze came out green.",
    "We drove to the fjord and saw two eagles.",
    "My guitar string snapped during the second song.",
    "I finished the night shift and slept until noon.",
    "The neighbour's goat ate our tulips again.",
    "Our boiler is broken, the plumber comes on Thursday.",
    "I read a whole novel on the train to Bodø.",
    "We deploy to staging on Friday.",
    "I ate at the new ramen place, the broth was salty.",
    "Mum called, she wants to visit at Easter.",
    "I lost my gloves in the tram.",
]


def test_only_stated_facts_that_bear_on_a_question_open_a_context(memory: MemorySystem) -> None:
    """Once, the best of the stated facts stood before every answer, whatever it was."""
    said = {"role": "user", "name": "Vera"}
    memory.add_messages(
        "vera",
        [
            {**said, "content": text, "timestamp": f"2025-03-{day:02d}T10:00:00Z"}
            for day, text in enumerate(TALK, 1)
        ],
    )
    for fact in FACTS:
        memory.remember("vera", fact)
    memory.flush("vera")
    memory.wait("vera")

    def told(question: str) -> list[str]:
        return [fact.content for fact in memory.context("vera", question, 400).facts]

    for question, fact in {
        "Where does Vera live?": 1,
        "What can Vera not eat?": 0,
        "Who keeps bees?": 4,
        "Which port has the staging database?": 5,
        "What car does she have?": 6,
        "How are answers to be written?": 2,
    }.items():
        assert FACTS[fact] in told(question), question
        assert len(told(question)) <= 2, question
    for question in (
        "What did the goat do?",
        "Which novel did I read?",
        "When does the plumber come?",
        "What came out green?",
        "What happened with the guitar?",
        "When does Mum visit?",
        "How was the ramen?",
    ):
        assert told(question) == [], question
