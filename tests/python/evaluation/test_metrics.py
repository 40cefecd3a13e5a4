"""Metrics against figures worked out by hand."""

from __future__ import annotations

import math

import pytest
from evaluation.common import ranking
from evaluation.common.intervals import bootstrap, estimate, paired, wilson
from evaluation.common.text_scores import bleu1, f1_multiset, f1_set, token_recall, words

RANKED = ["a", "b", "c", "d"]


def test_ranking_metrics() -> None:
    assert ranking.recall(RANKED, {"b", "x"}, 2) == 0.5
    assert ranking.recall(RANKED, {"c"}, 2) == 0.0
    assert ranking.all_found(RANKED, {"a", "c"}, 3) == 1.0
    assert ranking.all_found(RANKED, {"a", "c"}, 2) == 0.0
    assert ranking.reciprocal_rank(RANKED, {"c", "d"}, 4) == pytest.approx(1 / 3)
    assert ranking.reciprocal_rank(RANKED, {"d"}, 3) == 0.0
    # Gains at places 2 and 4 over the ideal at places 1 and 2.
    by_hand = (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3))
    assert ranking.ndcg(RANKED, {"b", "d"}, 4) == pytest.approx(by_hand)
    assert ranking.ndcg(RANKED, {"a", "b"}, 10) == 1.0
    assert ranking.group_recall([["a", "x"], ["b"]], {"a", "b"}, 1) == 0.5


def test_only_whole_contents_count_as_covered() -> None:
    contents = {"1": "I moved  to Ghent.", "2": "I moved to Ghent. Then I left."}
    assert ranking.verbatim("Tomas: I moved\nto Ghent.", contents) == ["1"]


def test_f1_as_multiset_and_as_set() -> None:
    # Words without articles: answer {red, red, cello}, gold {red, cello, bow}. Two in common of
    # three each.
    assert f1_multiset("a red red cello", "the red cello and bow") == pytest.approx(2 / 3)
    # As sets of space-separated words: {a, red, cello} and {the, red, cello, and, bow}: p = 2/3, r
    # = 2/5.
    assert f1_set("a red red cello.", "the red cello and bow") == pytest.approx(0.5)
    # A repeated word gains nothing: {ghent} thrice against {ghent}: p = 1/3, r = 1.
    assert f1_multiset("Ghent Ghent Ghent", "Ghent") == pytest.approx(0.5)
    assert f1_set("Ghent Ghent Ghent", "Ghent") == 1.0
    assert f1_multiset("", "Ghent") == f1_set("", "Ghent") == 0.0
    assert words("Mira's dog, the Greyhound!") == ["miras", "dog", "greyhound"]


def test_bleu1_by_hand() -> None:
    # 2 of 3 words match; longer than the gold answer, so no brevity penalty.
    assert bleu1("in Ghent now", "in Ghent") == pytest.approx(2 / 3)
    # 1 of 1 matches, the gold answer has 3: exp(1 - 3).
    assert bleu1("Ghent", "Ghent near water") == pytest.approx(math.exp(-2))
    # A word counts as often as the gold answer has it.
    assert bleu1("the the the", "the town") == pytest.approx(1 / 3)
    assert bleu1("", "Ghent") == bleu1("Oslo", "Ghent") == 0.0


def test_gold_answer_token_recall() -> None:
    assert token_recall("She sold the red cello.", "a red bow") == 0.5
    assert token_recall("anything", "no") is None


def test_wilson_by_hand() -> None:
    # 8 of 10: centre (0.8 + 0.19207) / 1.38415, half width 0.22658.
    made = wilson(8, 10)
    assert (made.mean, made.n) == (0.8, 10)
    assert made.low == pytest.approx(0.4902, abs=1e-4)
    assert made.high == pytest.approx(0.9433, abs=1e-4)
    nothing = wilson(0, 4)
    assert nothing.low == 0.0
    assert nothing.high == pytest.approx(0.4899, abs=1e-4)
    assert wilson(0, 0).mean is None


def test_bootstrap_is_repeatable_and_holds_the_mean() -> None:
    values = [0.0, 0.5, 1.0, 0.25] * 10
    made = bootstrap(values)
    assert made == bootstrap(values)
    assert made.mean == pytest.approx(0.4375)
    # Standard error 0.3698 / sqrt(40) = 0.0585; 1.96 of them on both sides.
    assert made.low == pytest.approx(0.4375 - 0.1146, abs=0.02)
    assert made.high == pytest.approx(0.4375 + 0.1146, abs=0.02)
    assert bootstrap([0.3, 0.3]).low == pytest.approx(0.3)


def test_shares_get_wilson_and_means_the_bootstrap() -> None:
    assert estimate([1.0, 0.0, 1.0]) == wilson(2, 3)
    assert estimate([1.0, 0.5]) == bootstrap([1.0, 0.5])
    assert estimate([]).mean is None


def test_paired_differences_are_narrower_than_two_intervals() -> None:
    first = [0.1 * n for n in range(10)]
    made = paired(first, [value + 0.05 for value in first])
    assert made.mean == pytest.approx(0.05)
    assert made.low == pytest.approx(0.05)
    assert made.high == pytest.approx(0.05)
