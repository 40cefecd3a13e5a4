"""Searches and contexts of a whole memory: kinds, methods, filters, and refused arguments."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from episodica import Episode, InvalidInputError, MemorySystem, count_tokens


def test_search_finds_each_kind(lyon: MemorySystem) -> None:
    hits = lyon.search(
        "alice",
        "where does Alice live, Lyon?",
        kinds=["episodic", "semantic", "message"],
        explain=True,
    )
    assert {hit.kind for hit in hits} == {"episodic", "semantic", "message"}
    assert hits.degraded == ()
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert 0 < scores[-1] <= scores[0] < 1
    message = hits.messages[0]
    assert [found.content for found in message.messages] == ["I moved to Lyon last Friday."]
    episode = hits.episodic[0]
    assert episode.messages[0].content == "I moved to Lyon last Friday."
    assert len(episode.messages) == 2
    assert isinstance(episode.record, Episode)
    for hit in hits:
        assert lyon.get("alice", hit.id) == lyon.get("alice", hit.uri) == hit.record
        (raw,) = hit.explain().children
        assert (hit.explain().name, hit.explain().value) == ("relevance", hit.score)
        assert sum(term.value for term in raw.children) == pytest.approx(raw.value)
        assert hit.scores["raw"] == raw.value
    assert pickle.loads(pickle.dumps(hits)) == hits


def test_what_was_just_added_is_found_and_top_k_is_the_total(
    memory: MemorySystem, talk: list[dict[str, Any]]
) -> None:
    memory.add_messages("alice", talk)
    assert [hit.kind for hit in memory.search("alice", "Lyon")] == ["message"] * len(talk)
    memory.flush("alice")
    memory.wait("alice")
    assert len(memory.search("alice", "Lyon", top_k=2)) == 2
    each = memory.search("alice", "Lyon", top_k={"message": 1, "episodic": 1})
    assert sorted(hit.kind for hit in each) == ["episodic", "message"]
    with pytest.raises(InvalidInputError, match="top_k names other kinds"):
        memory.search("alice", "Lyon", kinds=["message"], top_k={"episodic": 1})


def test_the_tree_of_a_score_comes_only_when_asked_for(lyon: MemorySystem) -> None:
    plain, explained = (lyon.search("alice", "Lyon", explain=asked)[0] for asked in (False, True))
    assert plain.explanation is None
    assert explained.explanation is not None
    assert plain.scores == explained.scores


def test_fewer_hits_are_the_head_of_more(lyon: MemorySystem) -> None:
    most = [(hit.id, hit.score) for hit in lyon.search("alice", "Lyon", top_k=50)]
    for top_k in range(1, len(most)):
        hits = lyon.search("alice", "Lyon", top_k=top_k)
        assert [(hit.id, hit.score) for hit in hits] == most[:top_k]


def test_a_threshold_is_the_least_relevance(lyon: MemorySystem) -> None:
    hits = lyon.search("alice", "where does Alice live, Lyon?")
    least = hits[0].score
    kept = lyon.search("alice", "where does Alice live, Lyon?", threshold=least)
    assert [hit.id for hit in kept] == [hit.id for hit in hits if hit.score >= least]
    assert 0 < len(kept) < len(hits)
    assert len(lyon.search("alice", "where does Alice live, Lyon?", threshold=1.0)) == 0
    assert lyon.context("alice", "where does Alice live, Lyon?", threshold=1.0).messages == ()


def test_words_find_what_was_said_in_another_language(memory: MemorySystem) -> None:
    talk = [
        ("Steffi", "Das ist der Hund, und er ist nicht alt."),
        ("Steffi", "Ich bin mit dem Fahrrad und nicht mit dem Zug da."),
        ("Steffi", "Wir haben auch das Haus und den Garten."),
        ("Callum", "The weather is fine and the coffee is good."),
    ]
    messages = [{"role": "user", "name": name, "content": text} for name, text in talk]
    memory.add_messages("u", messages)
    for question, answer in [("What about the bicycle?", 1), ("¿Qué edad tiene el perro?", 0)]:
        (hit,) = memory.search("u", question, kinds=["message"], top_k=1)
        assert hit.content == talk[answer][1], question


def test_a_query_has_a_greatest_length(lyon: MemorySystem) -> None:
    lyon.search("alice", "Lyon" + " and Paris" * 3_000, kinds=["message"])
    with pytest.raises(InvalidInputError, match="longer than 32768 characters: `40000`"):
        lyon.search("alice", "a" * 40_000)


@pytest.mark.parametrize("method", ["hybrid", "rrf", "vector", "bm25", "norlift"])
@pytest.mark.requirement("RET-3")
def test_every_method_answers(lyon: MemorySystem, method: Any) -> None:
    assert lyon.search("alice", "Lyon", method=method)


def test_unflushed_messages_are_found_at_once(
    memory: MemorySystem, talk: list[dict[str, Any]]
) -> None:
    memory.add_messages("alice", talk)
    assert memory.search("alice", "Lyon", kinds=["message"])[0].content == talk[0]["content"]
    context = memory.context("alice", "Lyon")
    assert "Alice: I moved to Lyon last Friday [8 March 2024]." in context.text
    assert context.messages[0].content == talk[0]["content"]


@pytest.mark.requirement("RET-6")
def test_filters(lyon: MemorySystem, talk: list[dict[str, Any]]) -> None:
    later = [
        {
            **talk[0],
            "content": "Lyon again.",
            "session_id": "s2",
            "timestamp": "2024-04-01T12:00:00Z",
            "metadata": {"channel": "app"},
        }
    ]
    lyon.add_messages("alice", later)

    def found(**options: Any) -> set[str]:
        return {hit.content for hit in lyon.search("alice", "Lyon", kinds=["message"], **options)}

    first, last = "I moved to Lyon last Friday.", "Lyon again."
    assert {first, last} <= found()
    assert found(session_id="s2") == {last}
    assert found(since="2024-03-12") == {last}
    assert last not in found(until=datetime(2024, 4, 1, 11, tzinfo=UTC))
    assert last in found(until=date(2024, 4, 1))
    assert found(where={"channel": "sms"}) == {first}
    assert found(where={"channel": "none"}) == set()
    assert len(lyon.search("alice", "Lyon", kinds=["message"], top_k=1)) == 1
    assert [one.content for one in lyon.messages("alice", since="2024-03-12")] == [last]


def test_context_stays_within_its_budget(lyon: MemorySystem) -> None:
    for budget in (1, 5, 20, 200):
        context = lyon.context("alice", "where does she live?", max_tokens=budget)
        assert context.token_count == count_tokens(context.text) <= budget
        for message in context.messages:
            assert message.content in re.sub(r" \[.*?\]", "", context.text)
        for fact in context.facts:
            assert fact.content in context.text
            assert fact.is_current
    assert "I moved to Lyon last Friday." in [message.content for message in context.messages]
    assert context.hits


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"top_k": 0}, "top_k must be between 1 and 1000: `0`"),
        ({"top_k": 1001}, "top_k must be between 1 and 1000: `1001`"),
        ({"top_k": 2.0}, "top_k must be a whole number, not `float`"),
        ({"top_k": None}, "top_k must be a whole number, not `NoneType`"),
        ({"top_k": True}, "top_k must be a whole number, not `bool`"),
        ({"kinds": []}, "kinds is empty"),
        ({"kinds": ["episode"]}, "kind is unknown: `episode`"),
        ({"kinds": 5}, "kinds must be a list of names, not `int`"),
        ({"method": "vectors"}, "method is unknown: `vectors`"),
        ({"since": "2024-02-01", "until": "2024-01-01"}, "since is later than until: "),
        ({"since": "soon"}, "since is not an ISO 8601 date: `soon`"),
        ({"where": ["channel"]}, "where must be a mapping of metadata keys to values, not `list`"),
        ({"where": {"a": float("nan")}}, "where.a is not JSON: `nan`"),
        ({"threshold": 2}, "threshold is a relevance, between 0 and 1: `2`"),
        ({"session_id": 5}, "session_id must be a str, not `int`"),
    ],
)
def test_wrong_search_options(memory: MemorySystem, options: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        memory.search("alice", "query", **options)
    assert str(caught.value).startswith(text)


def test_wrong_options_suggest_the_nearest(memory: MemorySystem) -> None:
    with pytest.raises(InvalidInputError) as caught:
        memory.search("alice", "query", kinds=["episode"])  # type: ignore[list-item]
    assert caught.value.hint == "did you mean `episodic`?"


@pytest.mark.parametrize("query", ["", "  \n", None, 5, "\ud800"])
def test_wrong_queries(memory: MemorySystem, query: Any) -> None:
    for method in (memory.search, memory.context):
        with pytest.raises(InvalidInputError, match="query"):
            method("alice", query)


def test_now_is_what_relative_dates_in_a_question_are_reckoned_from(store: Path) -> None:
    with MemorySystem(store) as memory:
        for day in ("2024-03-04", "2024-03-11", "2024-03-18"):
            memory.add_messages(
                "ann",
                [
                    {
                        "role": "user",
                        "content": f"rowing notes of {day}",
                        "timestamp": f"{day}T10:00:00Z",
                    }
                ],
            )
        for now, found in (("2024-03-12", "2024-03-11"), ("2024-03-19T08:00:00Z", "2024-03-18")):
            best = memory.search(
                "ann", "what rowing was there yesterday?", kinds=["message"], now=now
            )[0]
            assert best.content == f"rowing notes of {found}"
        with pytest.raises(InvalidInputError, match="now"):
            memory.search("ann", "rowing", now="soon")


@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did I do on 5 March 2025?", "2025-03-05"),
        ("What did Rosa do last week?", "2025-03-05"),
        ("What happened in March 2025?", "2025-03-05"),
        ("Was war am 6. Januar 2025?", "2025-01-06"),
        ("What happened on 31 December?", "2024-12-31"),
        ("What did I do yesterday?", "2025-03-11"),
        ("3月5日我做了什么？", "2025-03-05"),
    ],
)
def test_the_day_outweighs_all_in_a_question_that_has_nothing_else(
    memory: MemorySystem, question: str, day: str
) -> None:
    for said, text in [
        ("2024-12-31", "We ate fondue with Ines."),
        ("2025-01-06", "I began my new job."),
        ("2025-03-05", "A molar was pulled."),
        ("2025-03-11", "Soup again."),
    ]:
        noon = f"{said}T12:00:00Z"
        memory.add_messages(
            "u", [{"role": "user", "name": "Rosa", "content": text, "timestamp": noon}]
        )
    hits = memory.search("u", question, kinds=["message"], now="2025-03-12T10:00:00Z")
    assert hits[0].messages[0].timestamp.date().isoformat() == day


def test_what_holds_now_is_found_before_what_it_superseded(memory: MemorySystem) -> None:
    for day, town in (("2024-01-08", "Paris"), ("2024-03-11", "Lyon"), ("2024-07-20", "Grenoble")):
        memory.remember(
            "alice", f"Alice lives in {town} now.", valid_from=day, attribute="home", value=town
        )
    known = memory.semantic_memories("alice", include_superseded=True)
    assert sum(not fact.is_current for fact in known) == 2
    hits = memory.search("alice", "Where does Alice live?", kinds=["semantic"])
    assert "Grenoble" in hits[0].content


def test_the_newer_of_two_that_say_the_same_comes_first(store: Path) -> None:
    with MemorySystem(store) as memory:
        said = [
            ("2025-01-03", "The gate code is 7712."),
            ("2025-02-03", "New gate code: 3390."),
            ("2025-03-03", "As I told you, the gate code is 3390."),
            ("2025-04-03", "My dentist is Ola Berg."),
            ("2025-05-03", "My dentist is Ida Moe, not Ola Berg."),
        ]
        messages = [
            {"role": "user", "content": text, "timestamp": f"{day}T10:00:00Z"} for day, text in said
        ]
        memory.add_messages("sam", messages)
        for asked, text in (("what is the gate code?", "3390"), ("who is my dentist?", "Ida")):
            hits = memory.search("sam", asked, kinds=["message"], explain=True)
            first = hits[0]
            assert text in first.content
            terms = {term.name: term.value for term in first.explain().children[0].children}
            assert terms["newer"] > 0
            assert sum(terms.values()) == first.scores["raw"]
            assert memory.search("sam", asked, kinds=["message"], top_k=1)[0].id == first.id
        lines = memory.context("sam", "who is my dentist?", max_tokens=40).text
        assert "Ida Moe" in lines
        # The past is asked for: no message is preferred for being later.
        past = memory.search("sam", "what was the gate code?", kinds=["message"], explain=True)
        for hit in past:
            assert "newer" not in {term.name for term in hit.explain().children[0].children}


def test_an_answer_for_an_unknown_user_says_so_and_names_near_ones(memory: MemorySystem) -> None:
    memory.remember("martha", "Martha rows.")
    hits, packed = memory.search("Marta", "rows"), memory.context("Marta", "rows")
    assert hits.notes == packed.notes == ("no such user: `Marta`; did you mean `martha`?",)
    assert "no such user: `Marta`" in repr(hits)
    assert "no such user: `Marta`" in repr(packed)
    assert memory.search("quentin", "rows").notes == ("no such user: `quentin`",)
    assert memory.search("martha", "rows").notes == memory.context("martha", "rows").notes == ()
    # A user without an answer is known.
    assert memory.search("martha", "rows", kinds=["message"]).notes == ()
