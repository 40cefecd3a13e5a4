"""Notebook display: sound HTML of every value, whatever the texts hold.

Short, however long they are.
"""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest

from episodica import (
    AddResult,
    Context,
    Episode,
    Event,
    Events,
    Explanation,
    Hit,
    LearningReport,
    MemorySystem,
    Message,
    SearchResults,
    SemanticMemory,
    VerifyReport,
)
from episodica.visible import visible

WHEN = datetime(2024, 3, 11, 8, 30, tzinfo=UTC)
TAGS = {
    "div",
    "style",
    "p",
    "strong",
    "bdi",
    "em",
    "s",
    "pre",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}
UGLY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></div></td></table>",
    "&lt;b&gt; &amp;amp; '",
    "שלום! אני גרה בליון",
    "مرحبا بالعالم \u202e reversed",
    "👩‍👩‍👧‍👦 family, 林晓禾搬家了",
    "tabs\tand\nlines\r\n and \x00 \x1b[31m \x07",
    "lone \ud800 surrogate",
    "",
    "   ",
    "$x_1$ \\frac{a}{b}",
]
# An escape sequence, its C1 form, bidirectional controls, separators, tags, a lone surrogate.
ACTING = "\x1b\x07\x9b\x85\x7f\u202e\u2066\u2028\u2029\u200f\U000e0041\ud800"


class Checker(HTMLParser):
    """Every tag is closed in its order, and only tags and attributes of our own are there."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= {"class", "dir"}, attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data + "\n"


def shown(value: Any) -> str:
    """The text that a reader sees."""
    html = value._repr_html_()
    html.encode("utf-8")
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    return checker.text


def values(text: str) -> list[Any]:
    """A value of every kind with ``text`` wherever a text can be."""
    message = Message("m1", text, text, WHEN, text, text, {"a": text})
    change = Event(WHEN, text, "SUPERSEDE", "f1", text, f"{text} before", reason=text)
    episode = Episode(
        "e1",
        text,
        text,
        text,
        text,
        (message,),
        1,
        text,
        WHEN,
        WHEN,
        text,
        (text,),
        (text,),
        ended_at=WHEN,
    )
    fact = SemanticMemory(
        "f1",
        text,
        text,
        text,
        0.9,
        0.7,
        WHEN,
        None,
        None,
        ("e1",),
        WHEN,
        WHEN,
        subject=text,
        attribute=text,
    )
    tree = Explanation(text, 1.0, text, (Explanation(text, -0.5, text),))
    hits = [
        Hit(
            "episodic",
            "e1",
            text,
            1.5,
            1,
            text,
            text,
            WHEN,
            (message,),
            {text: 1.0},
            text,
            episode,
            tree,
        ),
        Hit("semantic", "f1", text, 0.5, 1, text, "", WHEN, (), {text: 0.5}, text, fact),
        Hit("message", "m1", text, -0.5, 1, text, "", WHEN, (message,), {}, text, message),
    ]
    results = SearchResults(hits, query=text, intent=text, degraded=[text])
    return [
        *(
            message,
            episode,
            fact,
            replace(fact, valid_to=WHEN),
            tree,
            *hits,
            results,
            SearchResults([], query=text),
        ),
        *(
            Context(text, results, (message,), (), 3),
            AddResult(1, 0, 0, (text,), 0),
            VerifyReport(1, 0, 0, 1, ()),
            Events((change,)),
            LearningReport(True, (change,)),
        ),
    ]


@pytest.mark.parametrize("text", UGLY, ids=range(len(UGLY)))
def test_ugly_texts_stay_texts(text: str) -> None:
    for value in values(text):
        seen = shown(value)
        for word in text.split():
            assert visible(word) in seen or isinstance(value, (AddResult, VerifyReport))


@pytest.mark.parametrize("text", UGLY, ids=range(len(UGLY)))
def test_no_display_acts_on_a_terminal_or_a_page(text: str) -> None:
    for value in values(f"{text} {ACTING}"):
        for seen in (
            value._repr_html_(),
            repr(value),
            "" if isinstance(value, Context) else str(value),
        ):
            acting = set(seen) & set(ACTING) - {" "}
            assert not acting, (type(value), ascii(acting))


def test_notebooks_do_not_read_dollar_signs_as_formulas() -> None:
    html = Message("m1", "user", "$5 and $6", WHEN)._repr_html_()
    assert html.startswith('<div class="episodica mathjax_ignore tex2jax_ignore">')
    assert html.count("<div") == 1


def test_long_texts_are_cut() -> None:
    for value in values("many words and more " * 500_000):
        assert len(value._repr_html_()) < 40_000


def test_long_lists_are_cut() -> None:
    message = Message("m1", "user", "hi", WHEN)
    hit = Hit("message", "m1", "u", 0.5, 1, "hi", "", WHEN, (message,), {}, "", message)
    assert "and 980 more" in shown(SearchResults([hit] * 1000))
    many = Episode(
        "e", "u", "t", "s", "c", (message,) * 1000, 1000, "", WHEN, WHEN, topics=("topic",) * 100
    )
    assert "and 980 more" in shown(many)
    assert "and 80 more" in shown(many)
    deep = Explanation("leaf", 1.0)
    for _ in range(3000):
        deep = Explanation("sum", 1.0, "", (deep,))
    assert "more" in shown(deep)


def test_what_a_reader_learns(lyon: MemorySystem) -> None:
    hits = lyon.search("alice", "Lyon", kinds=["episodic", "message"], explain=True)
    assert "I moved to Lyon last Friday." in shown(hits)
    assert "L2" in shown(hits[0].explain())
    assert "I moved to Lyon last Friday." in shown(next(lyon.episodes("alice")))
    assert "Alice: I moved to Lyon" in shown(lyon.context("alice", "Lyon"))
    assert "messages_added\n3\n" in shown(AddResult(3))
    assert "none" in shown(lyon.search("nobody", "Lyon"))
    assert "errors\n0\n" in shown(lyon.verify())


def test_facts_that_ended_are_struck_through() -> None:
    fact = SemanticMemory(
        "f1", "u", "She lives in Paris", "personal_info", 0.9, 0.7, WHEN, None, None, (), WHEN, WHEN
    )
    assert "<s>" not in fact._repr_html_()
    assert "<s>" in replace(fact, valid_to=WHEN)._repr_html_()


def test_reports_are_mappings_with_a_display(lyon: MemorySystem) -> None:
    for report in (lyon.stats(), lyon.stats("alice"), lyon.health(), lyon.usage()):
        assert isinstance(report, Mapping)
        assert json.loads(json.dumps(report.to_dict())).keys() == report.keys()
        assert report == dict(report) == copy.deepcopy(report) == pickle.loads(pickle.dumps(report))
        assert shown(report)
    assert "vectors · messages" in shown(lyon.stats("alice"))


def test_a_listing_shows_its_first_records_and_keeps_them(lyon: MemorySystem) -> None:
    for listing in (
        lyon.messages("alice"),
        lyon.episodes("alice"),
        lyon.semantic_memories("alice"),
        lyon.messages("nobody"),
    ):
        shown(listing)
    listing = lyon.messages("alice")
    assert "I moved to Lyon last Friday." in shown(listing)
    assert len(list(listing)) == 2
    lyon.close()
    assert listing._repr_html_() is None


def test_a_long_listing_says_that_there_is_more(memory: MemorySystem) -> None:
    memory.add_messages(
        "alice", [{"role": "user", "content": f"message {number}"} for number in range(30)]
    )
    assert "and more" in shown(memory.messages("alice"))
    assert "and more" not in shown(memory.messages("alice", limit=20))


def test_styles_concern_nothing_else_on_the_page() -> None:
    rules = AddResult()._repr_html_().partition("<style>")[2].partition("</style>")[0]
    selectors = [
        one for rule in rules.split("}") for one in rule.partition("{")[0].split(",") if one
    ]
    assert all(one.startswith(".episodica ") for one in selectors)


def test_a_terminal_gets_a_line_a_hit(lyon: MemorySystem) -> None:
    hits = lyon.search("alice", "Lyon", kinds=["episodic", "message"])
    assert repr(hits).count("\n") == 0
    first, *rest = str(hits).splitlines()
    assert first == repr(hits)
    assert len(rest) == len(hits)
    assert any("Alice: I moved to Lyon last Friday." in line for line in rest)


def test_columns_of_listings_have_names(moved: MemorySystem) -> None:
    for listing, names in (
        (moved.messages("al"), ("date", "speaker", "message")),
        (moved.episodes("al"), ("date", "messages", "title")),
        (moved.semantic_memories("al"), ("since", "kind", "fact")),
    ):
        html = listing._repr_html_() or ""
        assert all(f">{name}</bdi></th>" in html for name in names)
