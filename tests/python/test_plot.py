"""Charts draw any text without a warning, and no label covers another."""

from __future__ import annotations

import inspect
import io
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    AsyncMemorySystem,
    AsyncPlots,
    Episode,
    InvalidInputError,
    MemorySystem,
    MissingExtraError,
    Plots,
    SearchResults,
)
from episodica.readers import read_conversations, with_ids
from episodica.records import SemanticMemory

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from episodica.plot import map as plot_map  # noqa: E402
from episodica.plot import scores as plot_scores  # noqa: E402
from episodica.plot import style as plot_style  # noqa: E402
from episodica.plot import timeline as plot_timeline  # noqa: E402
from episodica.plot import usage as plot_usage  # noqa: E402

WHEN = datetime(2024, 3, 11, 8, 30, tzinfo=UTC)
TITLES = [
    *(
        "$x_1$ & \\frac{a}{b}",
        "שלום! אני גרה בליון",
        "مرحبا بالعالم",
        "林晓禾搬家了",
        "👩‍👩‍👧‍👦 family day 🎉",
        "",
    ),
    *("W" * 4000, "many words " * 400, "tab\tnew\nline\x07", "plain"),
]
REASONS = [
    "session",
    "time_gap",
    "topic_shift",
    "intent",
    "closing",
    "size",
    "flush",
    "llm",
    "imported",
    None,
]
USAGE = {
    "by_phase": {
        "facts": {"calls": 12, "prompt_tokens": 22031, "completion_tokens": 1911, "seconds": 20.7},
        "boundary_with_a_very_long_name_indeed": {
            "calls": 1,
            "prompt_tokens": 3,
            "completion_tokens": 0,
        },
    }
}


def episode(number: int, **changes: Any) -> Episode:
    title = TITLES[number % len(TITLES)]
    when = WHEN + timedelta(days=9 * number)
    boundary = {"reason": REASONS[number % len(REASONS)]}
    return Episode(
        f"e{number}",
        "u",
        title,
        title,
        title,
        (),
        3,
        "why",
        when,
        when,
        ended_at=when + timedelta(hours=number),
        boundary=boundary,
        **changes,
    )


def fact(number: int, source: str) -> SemanticMemory:
    when = WHEN + timedelta(days=40 * (number - 5))
    end = when + timedelta(days=30 * number) if number % 3 else None
    return SemanticMemory(
        f"f{number}",
        "u",
        TITLES[number % len(TITLES)],
        "preference" if number % 4 else "event",
        1.0,
        0.5,
        when,
        end,
        None,
        (source,),
        when,
        when,
    )


def check(figure: Figure) -> None:
    """Checks that the figure draws, that its texts lie inside, and that no text covers another."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [
        text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()
    ]
    boxes = [
        (text.get_text(), *map(float, text.get_window_extent(renderer).extents)) for text in texts
    ]
    width, height = figure.get_size_inches() * figure.dpi
    for words, left, low, right, high in boxes:
        assert left >= -1, words
        assert low >= -1, words
        assert right <= width + 1, words
        assert high <= height + 1, words
    for (first, left, low, right, high), (second, left2, low2, right2, high2) in combinations(
        boxes, 2
    ):
        across = min(right, right2) - max(left, left2)
        up = min(high, high2) - max(low, low2)
        assert across <= 2 or up <= 0.35 * min(high - low, high2 - low2), (first, second)


@pytest.fixture
def sample(memory: MemorySystem, root: Path) -> MemorySystem:
    conversation = read_conversations(root / "python/episodica/data/sample_conversation.json")[0]
    memory.add_messages("demo", with_ids(conversation)[:80])
    memory.flush("demo")
    memory.wait("demo")
    return memory


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_four_pictures(sample: MemorySystem, theme: Any) -> None:
    hits = sample.search(
        "demo", "What is the dog called?", kinds=["episodic", "semantic", "message"]
    )
    figures = [
        sample.plot.timeline("demo", theme=theme),
        sample.plot.scores(hits, theme=theme),
        sample.plot.map("demo", theme=theme),
        sample.plot.usage(theme=theme),
    ]
    for figure in figures:
        assert isinstance(figure, Figure)
        check(figure)
        data, size = figure._repr_png_()  # type: ignore[attr-defined]
        assert data.startswith(b"\x89PNG")
        assert size["width"] == 1056
        assert (sum(figure.get_facecolor()[:3]) > 1.5) == (theme == "light")
    assert (
        "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()
    )


def test_nothing_to_show(memory: MemorySystem) -> None:
    for figure in (
        memory.plot.timeline("nobody"),
        memory.plot.map("nobody"),
        memory.plot.scores(SearchResults()),
        memory.plot.usage(),
    ):
        check(figure)


@pytest.mark.parametrize("count", [1, 2, 12])
def test_timeline_of_ugly_texts(count: int) -> None:
    episodes = [episode(number) for number in range(count)]
    facts = [fact(number, f"e{number % count}") for number in range(4 * count)]
    figure = plot_timeline.draw("$user$ <b>", episodes, facts, 3, True, "light")
    check(figure)
    assert "".join(text.get_text() for text in figure.findobj(Text)).count("more fact") == count


def test_timeline_of_extreme_dates() -> None:
    first = replace(episode(1), timestamp=datetime(1, 1, 1, tzinfo=UTC), ended_at=None)
    last = replace(
        episode(2),
        timestamp=datetime(9999, 12, 31, 23, tzinfo=UTC),
        ended_at=datetime(9999, 12, 31, 23, 59, tzinfo=UTC),
    )
    check(plot_timeline.draw("u", [first, last], [], 3, False, "light"))
    check(plot_timeline.draw("u", [last], [], 3, False, "light"))


def test_facts_are_struck_through_when_they_ended() -> None:
    ended = replace(fact(1, "e1"), valid_to=WHEN)
    lines = [
        len(plot_timeline.draw("u", [episode(1)], [one], 3, False, "light").artists)
        for one in (replace(ended, valid_to=None), ended)
    ]
    assert lines[1] == lines[0] + 1


def test_an_event_is_a_point_in_time() -> None:
    def lines(kind: str) -> list[int]:
        one = replace(fact(5, "e1"), kind=kind, valid_to=None)
        figure = plot_timeline.draw("u", [episode(1), episode(9)], [one], 3, False, "light")
        key = " ".join(text.get_text() for text in figure.findobj(Text))
        assert ("current" in key) == (kind != "event")
        assert ("event" in key) == (kind == "event")
        return sorted(len(line.get_xdata()) for line in figure.axes[0].lines)  # type: ignore[arg-type]

    # An event has no line that goes on until today.
    assert lines("preference").count(2) == lines("event").count(2) + 1


def test_every_day_on_an_axis_names_its_month() -> None:
    figure = plot_timeline.draw("u", [episode(0), episode(3)], [], 3, False, "light")
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels
    assert all(any(letter.isalpha() for letter in label) for label in labels), labels


def test_terms_add_up_to_the_raw_score(sample: MemorySystem) -> None:
    for method in ("hybrid", "rrf", "vector", "bm25", "norlift"):
        hits = sample.search(
            "demo",
            "What is the dog called?",
            kinds=["episodic", "semantic", "message"],
            method=method,
            explain=True,
        )
        assert len(hits) > 3, method
        for hit in hits:
            (raw,) = hit.explain().children
            assert sum(plot_scores.terms(hit).values()) == pytest.approx(raw.value, abs=1e-4)
            if method != "norlift":
                flat = plot_scores.terms(replace(hit, explanation=None))
                assert sum(flat.values()) == pytest.approx(raw.value, abs=1e-4)


def test_scores_of_strange_hits(lyon: MemorySystem) -> None:
    [hit] = lyon.search("alice", "Lyon", kinds=["message"], top_k=1)
    strange = [
        replace(hit, scores={f"term {number}": (-1) ** number * 0.1 for number in range(40)}),
        replace(hit, scores={}, rank=2),
        replace(hit, scores={"words": float("nan"), "vector": float("inf")}, rank=3),
        replace(hit, messages=(), title="", content="$\\bad{" * 10_000, rank=4, kind="other"),
        replace(hit, scores={"words": -1.0}, score=-1.0, rank=5),
    ]
    looks = plot_scores._looks([f"term {number}" for number in range(30)])
    assert len(set(looks.values())) == 30
    for hits in (strange[1:], [strange[4]], [strange[1]]):
        check(lyon.plot.scores(hits))
    lyon.plot.scores(strange).canvas.draw()


@pytest.mark.parametrize("count", [1, 2, 3, 40, 200])
def test_map_of_many(count: int) -> None:
    numpy = pytest.importorskip("numpy")
    vectors = numpy.random.default_rng(7).normal(size=(count, 5))
    vectors /= numpy.linalg.norm(vectors, axis=1)[:, None]
    places = plot_map.coordinates(vectors @ vectors.T)
    assert places.shape == (count, 2)
    assert places.min() >= -1e-9
    assert places.max() <= 1 + 1e-9
    figure = plot_map.draw(
        "u", [episode(number) for number in range(count)], vectors @ vectors.T, "dark"
    )
    check(figure)
    check(
        plot_map.draw(
            "u", [episode(number) for number in range(count)], numpy.ones((count, count)), "light"
        )
    )


def test_the_map_names_long_episodes_from_all_parts_of_it() -> None:
    numpy = pytest.importorskip("numpy")
    crowd = numpy.random.default_rng(7).uniform(0.4, 0.5, size=(50, 2))
    points = numpy.concatenate([crowd, [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]]])
    sizes = [40 if place == 30 else 4 for place in range(53)]
    named = plot_map.landmarks(points, sizes, 10)
    assert named == sorted(set(named))
    assert len(named) == 10
    assert {30, 50, 51, 52} <= set(named)
    assert plot_map.landmarks(points[:3], sizes[:3], 10) == [0, 1, 2]
    assert len(plot_map.landmarks(numpy.ones((30, 2)), [1] * 30, 10)) == 10


def test_the_title_of_every_number_is_beside_the_map() -> None:
    numpy = pytest.importorskip("numpy")
    episodes = [replace(episode(0), title=f"talk {number}") for number in range(44)]
    figure = plot_map.draw("u", episodes, numpy.eye(44), "light")
    texts = [text.get_text() for text in figure.findobj(Text)]
    numbers = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(map(int, numbers)) == list(range(1, 21))
    assert sum(text.startswith("talk ") for text in texts) == 20
    assert any("20 of them" in text for text in texts)


def test_the_question_of_the_pictures_is_answered_by_each_kind(
    memory: MemorySystem, root: Path
) -> None:
    source = (root / "tools/screenshots.py").read_text()
    question = re.search(r'^QUESTION = "(.*)"$', source, re.MULTILINE)
    assert question
    assert question[1] in (root / "docs/guide/notebooks.md").read_text()
    conversation = read_conversations(root / "python/episodica/data/sample_conversation.json")[0]
    memory.add_messages("demo", with_ids(conversation))
    memory.flush("demo")
    memory.wait("demo")
    kinds = ("episodic", "semantic", "message")
    hits = [hit for kind in kinds for hit in memory.search("demo", question[1], kinds=[kind])[:1]]
    assert len(hits) == len(kinds)
    assert all("Teresa" in (hit.title + hit.content) for hit in hits)


def test_map_keeps_distances() -> None:
    """For vectors in a plane, the two axes of the map span this plane."""
    numpy = pytest.importorskip("numpy")
    angles = numpy.array([0.0, 0.3, 1.0, 2.5])
    vectors = numpy.stack([numpy.cos(angles), numpy.sin(angles)], axis=1)
    places = plot_map.coordinates(vectors @ vectors.T)
    true = numpy.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    drawn = numpy.linalg.norm(places[:, None] - places[None], axis=2)
    assert numpy.allclose(drawn / drawn.max(), true / true.max())


def test_the_map_puts_alike_episodes_together(memory: MemorySystem) -> None:
    for session, words in enumerate(
        [
            "My dog Pickle ran after a cat",
            "The dog Pickle chased a cat",
            "We booked flights to Tokyo",
        ]
    ):
        memory.add_messages("u", [{"role": "user", "content": words}], session_id=str(session))
        memory.close_session("u", str(session))
    cosines = plot_map.similarities(memory, "u", list(memory.episodes("u")))
    assert cosines[0, 1] > max(cosines[0, 2], cosines[1, 2])


def test_what_a_notebook_shows_has_the_colours_that_were_drawn() -> None:
    numpy = pytest.importorskip("numpy")
    image = pytest.importorskip("PIL.Image")
    figure = plot_timeline.draw(
        "u", [episode(number) for number in range(10)], [], 3, False, "light"
    )
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", facecolor=figure.get_facecolor())
    pictures = [
        image.open(io.BytesIO(data)).convert("RGB")
        for data in (drawn.getvalue(), figure._repr_png_()[0])
    ]
    first, second = (numpy.asarray(picture).astype(int) for picture in pictures)
    assert numpy.abs(first - second).max() <= 16


def test_usage() -> None:
    much = {
        "facts": {
            "calls": 1_234_567,
            "prompt_tokens": 10**9,
            "completion_tokens": 10**8,
            "seconds": 123_456.7,
        }
    }
    for theme in ("light", "dark"):
        check(plot_usage.draw(USAGE, theme))
        check(
            plot_usage.draw({"by_phase": {"episode": {"calls": 1, "seconds": 0.2}, **much}}, theme)
        )


def test_labels_are_cut_to_fit() -> None:
    prop = plot_style.font(9.0)
    assert plot_style.fit("short", 3, prop) == "short"
    cut = plot_style.fit("W" * 500, 1, prop)
    assert cut.endswith("…")
    assert plot_style._inches(cut, prop) <= 1
    assert plot_style.drawable("a\u200db\U0001f468") in ("ab\N{WHITE SQUARE}", "ab\U0001f468")


def test_letters_without_a_font_are_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plot_style, "_known", lambda char: char.isascii())
    plot_style._warn_of_fonts.cache_clear()
    assert plot_style.drawable("Map of 小红") == "Map of □□"
    assert plot_style.drawable("😀") == "□"
    plot_style.drawable("小红")
    assert [record.name for record in caplog.records] == ["episodica.plot"]
    assert "Noto Sans CJK" in caplog.text


def test_the_theme_follows_matplotlib(memory: MemorySystem) -> None:
    assert plot_style.theme_of(None).name == "light"
    with matplotlib.rc_context({"figure.facecolor": "black"}):
        assert plot_style.theme_of(None).name == "dark"
    with pytest.raises(InvalidInputError, match="theme is unknown: `drak`") as caught:
        memory.plot.usage(theme="drak")  # type: ignore[arg-type]
    assert "dark" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["timeline", "scores", "map", "usage"])
async def test_async(name: str, lyon: MemorySystem) -> None:
    here, there = (inspect.signature(getattr(cls, name)) for cls in (AsyncPlots, Plots))
    assert here == there
    assert inspect.iscoroutinefunction(getattr(AsyncPlots, name))
    path = lyon.path
    lyon.close()
    async with AsyncMemorySystem(path) as memory:
        given = {
            "timeline": ["alice"],
            "map": ["alice"],
            "scores": [await memory.search("alice", "Lyon")],
            "usage": [],
        }[name]
        assert isinstance(await getattr(memory.plot, name)(*given), Figure)


def test_bounds(memory: MemorySystem) -> None:
    for call in (
        lambda: memory.plot.timeline("u", limit=0),
        lambda: memory.plot.map("u", limit=1000),
        lambda: memory.plot.timeline("u", facts=-1),
    ):
        with pytest.raises(InvalidInputError):
            call()


def test_without_matplotlib(memory: MemorySystem, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if re.match(r"episodica\.plot\.(?!pictures)|matplotlib", name)
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as caught:
        memory.plot.timeline("alice")
    assert caught.value.hint == "pip install 'episodica[plot]'"
