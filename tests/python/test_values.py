"""Value types: JSON and pickle round trips, equality, freezing, reprs, notebook display."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import episodica
from episodica import (
    Context,
    Episode,
    Explanation,
    Hit,
    Message,
    Problem,
    SearchResults,
    SemanticMemory,
    VerifyReport,
)

WHEN = datetime(2024, 3, 11, 8, 30, tzinfo=UTC)
MESSAGE = Message(
    "m1",
    "user",
    "I moved to <b>Lyon</b>\nlast Friday. " + "x" * 200,
    WHEN,
    "Alice",
    "s1",
    {"a": [1, None]},
    7,
)
EPISODE = Episode(
    "e1",
    "alice",
    "Moving to Lyon",
    "Alice moved.",
    "Alice said that she moved.",
    (MESSAGE,),
    1,
    "flush",
    WHEN,
    WHEN,
    topics=("move",),
    metadata={"k": {"v": 1}},
    uri="episodica://default/alice/episode/e1",
    ended_at=WHEN,
)
FACT = SemanticMemory(
    "f1",
    "alice",
    "Alice lives in Lyon",
    "personal_info",
    0.9,
    0.75,
    WHEN,
    None,
    None,
    ("e1",),
    WHEN,
    WHEN,
)
TREE = Explanation(
    "score", 1.5, "sum", (Explanation("bm25", 1.0), Explanation("vector", 0.5, "0.5 x 1"))
)
HIT = Hit(
    "episodic",
    "e1",
    EPISODE.uri,
    1.5,
    1,
    EPISODE.content,
    EPISODE.title,
    WHEN,
    (MESSAGE,),
    {"bm25": 1.0},
    "Lyon",
    EPISODE,
    TREE,
)
MESSAGE_HIT = Hit(
    "message", "m1", "u", 0.5, 1, MESSAGE.content, "", WHEN, (MESSAGE,), {}, "", MESSAGE
)
FACT_HIT = Hit("semantic", "f1", "u", 0.5, 1, FACT.content, "", WHEN, (), {"bm25": 0.5}, "", FACT)
RESULTS = SearchResults(
    [HIT, MESSAGE_HIT, FACT_HIT], query="where?", intent="factual", degraded=["vector"]
)
CONTEXT = Context("text", RESULTS, (MESSAGE,), (FACT,), 1)
REPORTS = [
    episodica.AddResult(1, 2, 3, ("e1",), 4),
    episodica.DeleteReport(1, 2, 3, 4),
    episodica.RebuildReport(1, 2, 3, 4, 0.5),
    Problem("a.jsonl", 3, "torn", "cut it"),
    VerifyReport(3, 1, 1, 1, (Problem("a.jsonl", None, "torn", ""),)),
]
VALUES: list[Any] = [
    MESSAGE,
    EPISODE,
    FACT,
    TREE,
    HIT,
    MESSAGE_HIT,
    FACT_HIT,
    RESULTS,
    CONTEXT,
    *REPORTS,
]
each = pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)


@each
def test_json_round_trip(value: Any) -> None:
    data = json.loads(json.dumps(value.to_dict()))
    assert type(value).from_dict(data) == value


@each
def test_pickle_and_copy(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == copy.copy(value) == value


@each
def test_repr_is_one_short_line(value: Any) -> None:
    assert "\n" not in repr(value)
    assert len(repr(value)) < 160


@each
def test_html_is_escaped(value: Any) -> None:
    html = value._repr_html_()
    assert html.startswith("<")
    assert "<b>" not in html


@each
def test_values_are_frozen(value: Any) -> None:
    name = "query" if isinstance(value, SearchResults) else dataclasses.fields(value)[0].name
    with pytest.raises(AttributeError):
        setattr(value, name, "other")
    with pytest.raises((AttributeError, TypeError)):
        value.brand_new = 1


def test_records_are_hashable_and_differ_by_content() -> None:
    assert len({MESSAGE, EPISODE, FACT, HIT, CONTEXT}) == 5
    assert dataclasses.replace(MESSAGE, content="other") != MESSAGE


def test_equal_values_have_one_hash_and_another_class_is_never_equal() -> None:
    report = episodica.DeleteReport(messages=2)
    assert report == episodica.DeleteReport(messages=2)
    assert hash(report) == hash(episodica.DeleteReport(messages=2))
    assert report != episodica.DeleteReport(messages=3)
    assert episodica.ExportReport() != episodica.BackupReport()
    assert repr(episodica.ExportReport(1)) == (
        "ExportReport(messages=1, episodes=0, semantic_memories=0)"
    )
    # The address of a record is not part of its content.
    assert dataclasses.replace(MESSAGE, uri="elsewhere") == MESSAGE


def test_no_import_compiles_how_each_class_compares_and_looks() -> None:
    """See ``value.Fields``: this would take a fifth of the import time."""
    classes = [getattr(episodica, name) for name in episodica.__all__]
    made = [one for one in classes if dataclasses.is_dataclass(one)]
    assert len(made) > 30
    assert [one.__name__ for one in made if one.__dataclass_params__.eq] == []


def test_dates_keep_the_clock_that_they_were_written_by() -> None:
    data = {**MESSAGE.to_dict(), "timestamp": "2024-03-11T09:30:00+01:00"}
    message = Message.from_dict(data)
    assert message.timestamp.utcoffset() == timedelta(hours=1)
    assert message == MESSAGE


def test_a_message_without_a_name_is_its_roles() -> None:
    assert Message("m", "assistant", "hm", WHEN).speaker == "assistant"


def test_superseded_facts_are_not_current() -> None:
    assert FACT.is_current
    old = dataclasses.replace(FACT, valid_to=WHEN, superseded_by="f2")
    assert not old.is_current
    assert "outdated" in repr(old)


def test_the_tree_reads_as_indented_text() -> None:
    assert str(TREE) == "1.5000  score: sum\n  1.0000  bm25\n  0.5000  vector: 0.5 x 1"
    assert HIT.explain() is TREE


def test_without_a_tree_explain_lists_the_scores() -> None:
    assert [(child.name, child.value) for child in FACT_HIT.explain().children] == [("bm25", 0.5)]


def test_results_by_kind_and_slice() -> None:
    assert RESULTS.episodic == (HIT,)
    assert RESULTS.messages == (MESSAGE_HIT,)
    assert RESULTS.semantic == (FACT_HIT,)
    assert list(RESULTS[1:]) == [MESSAGE_HIT, FACT_HIT]
    assert RESULTS[-1] is FACT_HIT
    assert RESULTS[:0].degraded == ("vector",)
    assert HIT in RESULTS
    with pytest.raises(IndexError):
        RESULTS[3]
    assert not SearchResults()


class Source:
    """Stands for the engine's results and counts what is fetched."""

    degraded: list[str] = []  # noqa: RUF012
    intent = "general"

    def __init__(self) -> None:
        self.fetched: list[int] = []

    def __len__(self) -> int:
        return 3

    def kinds(self) -> list[str]:
        return ["episodic"] * 3

    def hit(self, index: int) -> Hit:
        self.fetched.append(index)
        return dataclasses.replace(HIT, rank=index + 1)


def test_hits_are_built_when_looked_at_and_once() -> None:
    source = Source()
    results = SearchResults._lazy(source, "q")
    assert (len(results), source.fetched) == (3, [])
    assert results[-1] is results[2]
    assert source.fetched == [2]
    assert [hit.rank for hit in results] == [1, 2, 3]
    assert source.fetched == [2, 0, 1]


def test_messages_of_an_episode_hit_are_those_of_its_record() -> None:
    hit = Hit.from_dict(HIT.to_dict())
    assert isinstance(hit.record, Episode)
    assert hit.messages[0] is hit.record.original_messages[0]


def test_context_reads_as_its_text() -> None:
    assert str(CONTEXT) == "text"


def test_reports() -> None:
    assert repr(episodica.AddResult(1, 2, 3, ("e1",), 4)) == (
        "AddResult(messages_added=1, duplicates=2, buffered=3, episodes=('e1',), "
        "pending_semantic=4)"
    )
    assert "episodes=('x', 'x', 'x', … 997 more)" in repr(
        episodica.AddResult(episodes=("x",) * 1000)
    )
    assert episodica.RebuildReport(1, 2, 3, 4, 0.5) + episodica.RebuildReport(
        1
    ) == episodica.RebuildReport(2, 2, 3, 4, 0.5)
    assert VerifyReport().ok
    assert not VerifyReport(errors=1).ok
    assert str(Problem("a.jsonl", 3, "torn", "cut it")) == "a.jsonl:3: torn (cut it)"
