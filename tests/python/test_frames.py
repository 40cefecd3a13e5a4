"""Data frames of results and listings."""

from __future__ import annotations

import copy
import sys
from datetime import UTC, datetime

import pytest

from episodica import AsyncMemorySystem, EpisodicaError, MemorySystem, SearchResults

pandas = pytest.importorskip("pandas")


def test_hits(lyon: MemorySystem) -> None:
    hits = lyon.search("alice", "Lyon", kinds=["episodic", "message"])
    frame = hits.to_pandas()
    assert list(frame["id"]) == [hit.id for hit in hits]
    assert frame["score"].dtype == "float64"
    assert frame["timestamp"].iloc[0] == hits[0].timestamp
    terms = [name for name in frame if name.startswith("scores.")]
    assert {f"scores.{term}" for hit in hits for term in hit.scores} == set(terms)
    assert frame[frame["kind"] == "message"]["scores.L2"].isna().all()


def test_no_hits_have_the_same_columns(lyon: MemorySystem) -> None:
    some = lyon.search("alice", "Lyon").to_pandas()
    for empty in (SearchResults().to_pandas(), lyon.search("nobody", "Lyon").to_pandas()):
        assert len(empty) == 0
        own = [name for name in some if not name.startswith("scores.")]
        assert list(empty) == own
        assert list(empty.dtypes) == list(some[own].dtypes)


def test_listings(lyon: MemorySystem) -> None:
    messages = lyon.messages("alice").to_pandas()
    assert list(messages["name"]) == ["Alice", None]
    assert list(messages["timestamp"]) == [
        datetime(2024, 3, 11, 8, 30, tzinfo=UTC),
        datetime(2024, 3, 11, 8, 30, 20, tzinfo=UTC),
    ]
    assert messages["metadata"].iloc[0] == {"channel": "sms"}
    episodes = lyon.episodes("alice").to_pandas()
    assert list(episodes["message_count"]) == [2]
    assert len(episodes["original_messages"].iloc[0]) == 2
    assert list(lyon.semantic_memories("alice").to_pandas()["user_id"].unique()) in ([], ["alice"])
    nothing = lyon.messages("nobody").to_pandas()
    assert list(nothing.dtypes) == list(messages.dtypes)


def test_a_begun_listing_gives_all_records(lyon: MemorySystem) -> None:
    listing = lyon.messages("alice")
    next(listing)
    assert len(listing.to_pandas()) == 2


def test_dates_beyond_nanoseconds(memory: MemorySystem) -> None:
    memory.add_messages(
        "old", [{"role": "user", "content": "long ago", "timestamp": "0101-01-01T00:00:00+00:00"}]
    )
    assert memory.messages("old").to_pandas()["timestamp"].iloc[0].year == 101


async def test_async_listings(lyon: MemorySystem) -> None:
    path = lyon.path
    lyon.close()
    async with AsyncMemorySystem(path) as memory:
        listing = memory.messages("alice")
        assert repr(listing) == "<AsyncRecords of messages of 'alice'>"
        assert "I moved to Lyon last Friday." in (listing._repr_html_() or "")
        with pytest.raises(TypeError, match="can't be copied or pickled"):
            copy.copy(listing)
        await anext(listing)
        assert len(await listing.to_pandas()) == 1
        assert (await memory.search("alice", "Lyon", kinds=["message"])).to_pandas()[
            "content"
        ].iloc[0] == "I moved to Lyon last Friday."


def test_without_pandas(lyon: MemorySystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError) as caught:
        lyon.messages("alice").to_pandas()
    assert isinstance(caught.value, EpisodicaError)
    assert caught.value.hint == "pip install 'episodica[pandas]'"
