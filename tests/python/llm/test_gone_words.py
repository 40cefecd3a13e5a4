"""After an edit or a deletion, nothing that a model wrote from the words that go holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import Request
from model_server import ModelServer, asks_for_facts, shown, telling, user_of

from episodica import AddResult, LightweightSearchSystem, MemorySystem

OLD, NEW = "zqlupus", "zqgout"
SAID = "I was diagnosed with {}."


def message(id: str, text: str, minute: int, session: str = "s") -> dict[str, Any]:
    when = f"2026-01-05T10:{minute:02}:00Z"
    about = {"role": "user", "name": "Ida", "session_id": session}
    return {**about, "message_id": id, "content": text, "timestamp": when}


def told(word: str) -> list[dict[str, Any]]:
    return [
        message("m0", "Good morning, it rains.", 0),
        message("m1", SAID.format(word), 1),
        message("m2", "I have the appointment on Thursday.", 2),
        message("m3", "My sister Vera drives me there.", 3),
    ]


def row(sentence: str, number: int, kind: str = "personal_info") -> list[str]:
    """A fact in the form that the prompt asks for."""
    return [kind, "high", "Ida", "", "", "", "", "", str(number), sentence]


def clear_alone(request: Request) -> str | None:
    """Writes sentences that are clear alone, so with words of messages that they don't cite."""
    if not asks_for_facts(request):
        return None
    prompt = user_of(request)
    illness = next((word for word in (NEW, OLD) if word in prompt), "illness")
    facts = []
    for number, text in shown(prompt):
        if text.startswith("I was diagnosed"):
            facts.append(row(f"Ida has {illness}.", number))
        elif "appointment" in text:
            facts.append(row(f"Ida has an appointment for her {illness} on Thursday.", number))
        elif "sister" in text:
            facts.append(row(f"Vera drives Ida to the {illness} clinic.", number, "relationship"))
    return telling(request, facts)


def words(memory: MemorySystem | LightweightSearchSystem) -> str:
    """Everything that holds, that is shown, and that is found."""
    texts = [one.content for one in memory.messages("ida")]
    texts += [one.content for one in memory.semantic_memories("ida", include_superseded=True)]
    for one in memory.episodes("ida"):
        texts += [one.title, one.summary, one.content, *one.topics]
    for query in (f"does Ida have {OLD}?", "which appointment", "who drives"):
        texts += [hit.content for hit in memory.search("ida", query)]
        texts.append(memory.context("ida", query).text)
    texts.append(memory.profile("ida").to_markdown())
    return " | ".join(texts)


def hear(memory: MemorySystem, messages: list[dict[str, Any]]) -> AddResult:
    """Adds messages of Ida, and waits until everything is learned from them."""
    added = memory.add_messages("ida", messages)
    memory.flush("ida")
    assert memory.wait("ida", timeout=60)
    return added


def learn(memory: MemorySystem, word: str = OLD) -> None:
    hear(memory, told(word))


def edit(memory: MemorySystem, text: str = SAID.format(NEW)) -> None:
    assert hear(memory, [message("m1", text, 1)]).edited == 1


def test_what_a_model_wrote_from_the_earlier_words_goes(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    memory = open_memory(serve(clear_alone))
    learn(memory)
    by_model = [one.content for one in memory.semantic_memories("ida")]
    assert sum(OLD in text for text in by_model) == 3, by_model
    edit(memory)
    now = words(memory)
    assert OLD not in now
    # The model was asked again, with the newer words.
    assert f"appointment for her {NEW}" in now
    assert f"Ida has {NEW}." in now
    assert memory.verify("ida").errors == 0
    # The earlier words are the message's history, and no other record's.
    assert [one.content for one in memory.history("ida", "m1")] == [
        SAID.format(OLD),
        SAID.format(NEW),
    ]
    with LightweightSearchSystem(memory.path) as reader:
        assert OLD not in words(reader)


@pytest.mark.parametrize("newer", ["I feel fine.", "Sorry, wrong chat.", SAID.format(NEW)])
def test_without_an_answer_nothing_of_the_earlier_words_stays(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], newer: str
) -> None:
    is_away = threading.Event()

    def answer(request: Request) -> str | None:
        return "not an answer" if is_away.is_set() else clear_alone(request)

    memory = open_memory(serve(answer))
    learn(memory)
    is_away.set()
    edit(memory, newer)
    assert OLD not in words(memory)
    assert memory.verify("ida").errors == 0
    is_away.clear()
    memory.retry_pending()
    memory.wait("ida", timeout=60)
    assert OLD not in words(memory)


def test_an_edit_while_the_model_writes(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def slow(request: Request) -> str | None:
        if asks_for_facts(request) and OLD in user_of(request):
            asked.set()
            may_answer.wait(30)
        return clear_alone(request)

    memory = open_memory(serve(slow))
    memory.add_messages("ida", told(OLD))
    forming = threading.Thread(target=memory.flush, args=("ida",))
    forming.start()
    assert asked.wait(30)
    memory.add_messages("ida", [message("m1", SAID.format(NEW), 1)])
    may_answer.set()
    forming.join(30)
    memory.flush("ida")
    assert memory.wait("ida", timeout=60)
    now = words(memory)
    assert OLD not in now
    assert f"Ida has {NEW}." in now


def test_a_fact_from_another_episode_whose_words_were_shown(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """The model reads known facts beside an episode; what it writes with their words goes, too."""

    def with_known(request: Request) -> str | None:
        if not asks_for_facts(request):
            return None
        prompt = user_of(request)
        illness = OLD if OLD in prompt else NEW if NEW in prompt else "illness"
        facts = [row(f"Ida has {illness}.", at) for at, text in shown(prompt) if "diagn" in text]
        facts += [
            row(f"Ida takes pills against {illness}.", at)
            for at, text in shown(prompt)
            if "pills" in text
        ]
        return telling(request, facts)

    memory = open_memory(serve(with_known))
    learn(memory)
    hear(memory, [message("m9", "I take the pills at eight now.", 40, "later")])
    assert f"pills against {OLD}" in words(memory)
    edit(memory)
    assert OLD not in words(memory)
    assert memory.verify("ida").errors == 0


def test_any_history_of_edits_leaves_the_last_words_only(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """Each version has a word of its own, and the model puts all words of its prompt together."""

    def gathering(request: Request) -> str | None:
        if not asks_for_facts(request):
            return None
        said = shown(user_of(request))
        every = " ".join(text.rstrip(".") for _, text in said)
        return telling(request, [row(f"Ida says: {every}.", at) for at, _ in said])

    memory = open_memory(serve(gathering))
    versions = {id: f"I like zq{id}v0." for id in ("m0", "m1", "m2", "m3")}
    places = {id: (at, "s" if at < 2 else "t") for at, id in enumerate(versions)}
    hear(memory, [message(id, versions[id], *places[id]) for id in versions])
    for step, id in enumerate(("m1", "m0", "m1", "m3", "m2", "m1"), 1):
        before, versions[id] = versions[id], f"I like zq{id}v{step}."
        hear(memory, [message(id, versions[id], *places[id])])
        now = words(memory)
        assert before.split()[-1].rstrip(".") not in now, step
        assert all(text.split()[-1].rstrip(".") in now for text in versions.values()), step
    assert memory.verify("ida").errors == 0


def is_on_disk(memory: MemorySystem, word: str) -> bool:
    files = (path for path in Path(memory.path).rglob("*") if path.is_file())
    return any(word.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("answers", [True, False])
def test_words_of_a_deleted_message_leave_facts_that_cite_another(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], answers: bool
) -> None:
    is_away = threading.Event()

    def answer(request: Request) -> str | None:
        return "not an answer" if is_away.is_set() else clear_alone(request)

    memory = open_memory(serve(answer), trace=True)
    learn(memory)
    cites_another = [
        one
        for one in memory.semantic_memories("ida")
        if OLD in one.content and "m1" not in one.source_messages
    ]
    assert len(cites_another) == 2
    if not answers:
        is_away.set()
    memory.delete("ida", "m1")
    # At once, and after the model was asked again.
    assert OLD not in words(memory)
    assert not is_on_disk(memory, OLD)
    assert memory.wait("ida", timeout=60)
    now = words(memory)
    assert OLD not in now
    assert not is_on_disk(memory, OLD)
    if answers:
        assert "appointment for her illness" in now
    assert "appointment on Thursday" in now
    assert memory.verify("ida").errors == 0


@pytest.mark.parametrize("said", ["one line", "several lines"])
def test_what_a_context_showed_is_learned_again(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], said: str
) -> None:
    """A context shows words of messages that came before it: these are no copies of it."""
    memory = open_memory(serve(clear_alone))
    learn(memory)
    if said == "several lines":
        hear(memory, [message("m3", "My sister Vera drives me there.\nIt rains.", 3)])
    assert "Vera drives" in memory.context("ida", "which appointment? who drives?").text
    memory.delete("ida", "m1")
    assert memory.wait("ida", timeout=60)
    told = [one.content for one in memory.semantic_memories("ida")]
    assert "Ida has an appointment for her illness on Thursday." in told
    assert "Vera drives Ida to the illness clinic." in told


def test_who_waits_for_anothers_deletion_waits_for_the_model(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem], tmp_path: Path
) -> None:
    """As soon as the message is gone, the question about the rest of its episode is due."""
    server = serve(clear_alone)
    for number in range(2):
        memory = open_memory(server, path=tmp_path / f"m{number}")
        learn(memory)
        deleting = threading.Thread(target=memory.delete, args=("ida", "m1"))
        deleting.start()
        until = time.monotonic() + 60
        while memory.get("ida", "m1") is not None:
            assert time.monotonic() < until
        assert memory.wait("ida", timeout=60)
        told = [one.content for one in memory.semantic_memories("ida")]
        deleting.join(60)
        assert any("appointment for her illness" in one for one in told), number
        memory.close()


def test_words_of_a_deleted_message_leave_facts_of_later_talks(
    serve: Callable[..., ModelServer], open_memory: Callable[..., MemorySystem]
) -> None:
    """The later talk showed the model a known fact; its own facts have words of it."""

    def with_known(request: Request) -> str | None:
        if not asks_for_facts(request):
            return None
        prompt = user_of(request)
        town = "Zqtown" if "Zqtown" in prompt else "another town"
        facts = [
            row(f"Ida moved from {town} to Lyon.", at)
            for at, text in shown(prompt)
            if "moved" in text
        ]
        facts += [row(f"Ida lives in {town}.", at) for at, text in shown(prompt) if "live" in text]
        return telling(request, facts)

    memory = open_memory(serve(with_known))
    hear(memory, [message("m0", "I live in Zqtown.", 0)])
    hear(memory, [message("m1", "I moved to Lyon.", 40, "later")])
    assert "moved from Zqtown" in words(memory)
    memory.delete("ida", "m0")
    memory.wait("ida", timeout=60)
    assert "Zqtown" not in words(memory)
    assert not is_on_disk(memory, "Zqtown")
    assert "Lyon" in words(memory)


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("gone", ["m0", "m1"])
def test_a_fact_of_two_messages_that_say_the_same_outlives_one_of_them(
    serve: Callable[..., ModelServer],
    open_memory: Callable[..., MemorySystem],
    gone: str,
    answers: bool,
) -> None:
    is_away = threading.Event()

    def first_only(request: Request) -> str | None:
        if is_away.is_set():
            return "not an answer"
        if not asks_for_facts(request):
            return None
        said = [number for number, text in shown(user_of(request)) if "peanuts" in text]
        return telling(request, [row("Ida is allergic to peanuts.", at) for at in said[:1]])

    memory = open_memory(serve(first_only))
    texts = ["I'm allergic to peanuts.", "I'm allergic to peanuts.", "My dog is called Rex."]
    hear(memory, [message(f"m{at}", text, at) for at, text in enumerate(texts)])
    if not answers:
        is_away.set()
    memory.delete("ida", gone)
    memory.wait("ida", timeout=60)
    left = "m1" if gone == "m0" else "m0"
    told = [one for one in memory.semantic_memories("ida") if "peanuts" in one.content]
    assert told
    assert all(one.source_messages == (left,) for one in told), told
