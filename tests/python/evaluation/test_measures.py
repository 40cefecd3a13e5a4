"""Measures against figures worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evaluation.datasets import Conversation, Question, load
from evaluation.measures import (
    Found,
    Packed,
    bootstrap,
    estimate,
    f1,
    leaks,
    paired,
    recall,
    scores_of,
    separated,
    separation,
    stands_in,
    unmarked,
    wilson,
    word_recall,
    words,
)
from evaluation.systems import Bm25, Chance, Fts5, FullContext, FusedFts5, Sum

from episodica import count_tokens

RANKED = ["a", "b", "c", "d"]


def packed(
    whole: list[str], quoted: list[str] | None = None, cited: tuple[str, ...] = ()
) -> Packed:
    return Packed("He keeps bees.", 4, whole, quoted or whole, list(cited))


def test_rankings() -> None:
    assert recall(RANKED[:2], {"b", "x"}) == 0.5


def test_the_scores_of_a_question() -> None:
    question = Question("u", 0, "q", "c", "bees", ("a", "d"), ("s1", "s2"))
    contexts = {"400": packed(["a"], ["a", "d"]), "1000": packed(["a", "d"])}
    sessions = {"a": "s1", "b": "s3", "c": "s3", "d": "s2"}
    made = scores_of(question, Found(RANKED), contexts, sessions)
    assert (made["recall@5"], made["all@10"], made["any@10"]) == (1.0, 1.0, 1.0)
    assert (made["session_recall@5"], made["session_all@5"]) == (1.0, 1.0)
    assert (made["coverage@400"], made["quoted@400"], made["coverage@1000"]) == (0.5, 1.0, 1.0)
    assert (made["monotony"], made["answer_words@400"]) == (1.0, 1.0)
    shrunk = {"400": packed(["a"]), "1000": packed(["d"])}
    assert scores_of(question, Found(RANKED), shrunk, sessions)["monotony"] == 0.0
    # A system that ranks nothing has no score of a ranking, rather than 0.
    assert "recall@5" not in scores_of(question, Found(None), contexts, sessions)


def test_a_small_context_that_shows_only_the_old_statement_is_stale() -> None:
    question = Question("u", 0, "q", "c", "9", ("a", "d"), updates=(("a", "b"), ("b", "d")))
    for context, stale in (
        (packed(["a"]), 1.0),
        (packed(["a", "d"]), 0.0),
        (packed(["b"]), 0.0),
        (packed(["a"], cited=("d",)), 0.0),
        (packed([], cited=("a",)), 1.0),
        (packed([]), 0.0),
    ):
        assert scores_of(question, Found(RANKED), {"400": context}, {})["stale"] == stale


def test_parts_and_leaks() -> None:
    asked = Question("u", 0, "q", "utility", parts=("bees?", "keeps"))
    assert scores_of(asked, Found([]), {"400": packed([])}, {})["parts@400"] == 1.0
    gone = Question("u", 1, "q", "deletion", answerable=False, leaks=("KEEPS\nBees", "wasps"))
    assert scores_of(gone, Found([]), {"400": packed([])}, {}) == {"leak_deletion@400": 1.0}
    assert leaks(("7719",), "the code is 77 19") == 0.0
    assert leaks(("Lena",), "Elena said") == 0.0
    assert leaks(("(555) 1",), "call (555) 1.") == 1.0


def test_a_message_counts_as_quoted_by_a_sentence_of_it() -> None:
    text = unmarked("Ines: I moved\nto Ghent yesterday [3 May 2024]. […] Note [1] says so.")
    assert stands_in("I moved to Ghent yesterday. Then I left.", text)
    assert stands_in("Note [1] says so.", text)
    assert not stands_in("[3 May 2024]", text)
    assert not stands_in("I moved to Bruges.", text)
    assert not stands_in(" \n ", text)


def test_words() -> None:
    assert words("Mira's dog, the Greyhound!") == ["miras", "dog", "greyhound"]
    # Answer {red, red, cello}, gold {red, cello, bow}: two in common of three each.
    assert f1("a red red cello", "the red cello and bow") == pytest.approx(2 / 3)
    # A repeated word gains nothing: {ghent} thrice against {ghent}: p = 1/3, r = 1.
    assert f1("Ghent Ghent Ghent", "Ghent") == pytest.approx(0.5)
    assert (f1("", "Ghent"), f1("", "")) == (0.0, 1.0)
    assert word_recall("She sold the red cello.", "a red bow") == 0.5
    assert word_recall("anything", "no") is None


def test_separation_is_the_area_under_the_curve() -> None:
    assert separation([0.9, 0.8], [0.1]) == 1.0
    assert separation([0.5], [0.5, 0.9]) == 0.25
    assert separation([0.5], []) is None
    made = separated([0.9, 0.8, 0.4], [0.1, 0.5])
    assert made.mean == pytest.approx(5 / 6)
    assert made.low is not None
    assert made.high is not None
    assert made.low <= made.mean <= made.high
    assert separated([], [0.1]).mean is None


def test_wilson_by_hand() -> None:
    # 8 of 10: centre (0.8 + 0.19207) / 1.38415, half width 0.22658.
    made = wilson(8, 10)
    assert (made.mean, made.n) == (0.8, 10)
    assert made.low == pytest.approx(0.4902, abs=1e-4)
    assert made.high == pytest.approx(0.9433, abs=1e-4)
    assert wilson(0, 4).low == 0.0
    assert wilson(0, 0).mean is None


def test_the_bootstrap_is_repeatable_and_holds_the_mean() -> None:
    values = [0.0, 0.5, 1.0, 0.25] * 10
    made = bootstrap(values)
    assert made == bootstrap(values)
    # Standard error 0.3698 / sqrt(40) = 0.0585; 1.96 of them on both sides.
    assert made.mean == pytest.approx(0.4375)
    assert made.low == pytest.approx(0.4375 - 0.1146, abs=0.02)
    assert made.high == pytest.approx(0.4375 + 0.1146, abs=0.02)
    assert estimate([1.0, 0.0, 1.0]) == wilson(2, 3)
    assert estimate([1.0, 0.5]) == bootstrap([1.0, 0.5])


def test_paired_differences_are_narrower_than_two_intervals() -> None:
    first = {str(n): 0.1 * n for n in range(10)}
    made = paired(first, {key: value + 0.05 for key, value in first.items()} | {"other": 1.0})
    assert (made.n, made.mean) == (10, pytest.approx(0.05))
    assert (made.low, made.high) == (pytest.approx(0.05), pytest.approx(0.05))


# The baselines.


@pytest.fixture
def conversation(talk: Path) -> Conversation:
    return load("locomo", talk).conversations[0]


def asked(text: str) -> Question:
    return Question("t-1", 9, text, "c")


def test_bm25_by_hand(conversation: Conversation) -> None:
    # Only two turns hold a stem of the question, and one of them holds both stems.
    question = asked("rowing in Ghent")
    found = Bm25().ask(conversation, question, 5)
    assert found.messages is not None
    assert found.messages[:2] == ["D2:2", "D2:1"]
    assert Bm25().ask(conversation, question, 4).messages != found.messages, "D2:2 is not said yet"
    for budget in (1, 20, 40, 80):
        made = Bm25().pack(conversation, question, 5, budget)
        assert count_tokens(made.text) == made.tokens <= budget
    # Without the other speaker's messages, words have other weights, and his message isn't found.
    users = Bm25(users_only=True)
    assert users.name == "bm25-user"
    assert set(users.ask(conversation, question, 5).messages or ()) == {"D1:1", "D1:3", "D2:2"}


class Stub:
    """Vectors along which the third message is nearest to any question."""

    model = "stub"

    def __call__(self, texts: list[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 2))
        rows[:, 0] = [1.0 if "Look" in one or "town" not in one else 0.5 for one in texts]
        rows[:, 1] = [1.0 if "Look" in one else 0.0 for one in texts]
        return rows


def test_the_sum_scales_both_parts(conversation: Conversation) -> None:
    made = Sum(Stub()).scores(conversation, asked("rowing in Ghent"), 5)
    assert made.max() <= 2.0
    assert int(np.argmax(made)) in (3, 4)
    assert Sum(Stub()).top(made) is None


def test_sqlite_ranks_only_what_shares_a_word(conversation: Conversation) -> None:
    question = asked('rowing "in" Ghent*')
    words = Fts5()
    found = words.ask(conversation, question, 5).messages or []
    assert found[0] == "D2:2"
    assert Fts5().ask(conversation, asked("?!"), 5).messages == []
    assert "D2:2" not in (words.ask(conversation, question, 4).messages or [])
    users = Fts5(users_only=True)
    assert users.name == "fts5-user"
    assert set(users.ask(conversation, question, 5).messages or ()) <= {"D1:1", "D1:3", "D2:2"}
    scores = FusedFts5(Stub()).scores(conversation, question, 5)
    assert len(scores) == 5
    assert 1 / 65 <= scores.min() <= scores.max() <= 2 / 61, "each is in the list of the vectors"


def test_the_other_baselines(conversation: Conversation) -> None:
    chance = Chance()
    one, other = (chance.ask(conversation, asked("q"), 5).messages for _ in range(2))
    assert one == other
    everything = FullContext().pack(conversation, asked("q"), 5, 1)
    assert len(everything.whole) == 5
    assert everything.tokens == count_tokens(everything.text)
    assert len(FullContext().pack(conversation, asked("q"), 2, 1).whole) == 2
