"""Dates are shown by the clock of the message they come from, or in the zone of the setting."""

from __future__ import annotations

import json
import pickle
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from episodica import AsyncMemorySystem, ConfigError, InvalidInputError, MemorySystem, Message
from episodica.cli.app import main

# Half past midnight in Shanghai is the day before in London.
TALK = [
    {
        "role": "user",
        "name": "Lin",
        "content": "I moved to Lyon today.",
        "timestamp": "2024-03-08T00:30:00+08:00",
        "session_id": "s1",
    },
    {
        "role": "assistant",
        "content": "How do you like it there?",
        "timestamp": "2024-03-08T00:31:00+08:00",
        "session_id": "s1",
    },
]
DAYS = {
    None: "2024-03-08",
    "Asia/Shanghai": "2024-03-08",
    "UTC": "2024-03-07",
    "-05:00": "2024-03-07",
}
CLOCKS = {None: "00:30", "Asia/Shanghai": "00:30", "UTC": "16:30", "-05:00": "11:30"}


@pytest.fixture
def filled(store: Path) -> Path:
    with MemorySystem(store) as memory:
        memory.add_messages("lin", TALK)
        memory.flush("lin")
        memory.wait("lin")
    return store


@pytest.mark.parametrize("zone", DAYS)
def test_every_date_is_shown_in_the_zone(filled: Path, zone: str | None) -> None:
    day, clock = DAYS[zone], CLOCKS[zone]
    with MemorySystem(filled, timezone=zone) as memory:
        [first, _] = memory.messages("lin")
        [episode] = memory.episodes("lin")
        hits = memory.search("lin", "Lyon", kinds=["message", "episodic"])
        moments = [first.timestamp, episode.timestamp, episode.original_messages[0].timestamp]
        moments += [hit.timestamp for hit in hits if "today" in hit.content]
        for moment in moments:
            assert (moment.date().isoformat(), f"{moment:%H:%M}") == (day, clock)
            assert moment == datetime(2024, 3, 7, 16, 30, tzinfo=UTC)
        for shown in (repr(first), repr(episode), str(hits), first._repr_html_()):
            assert f"{day} {clock}" in shown
        for fact in memory.semantic_memories("lin"):
            # The fact's day is the speaker's, whose clock shows midnight.
            assert fact.valid_from.utcoffset() == first.timestamp.utcoffset()
        number = int(day[-2:])
        assert f" {number} Mar 2024\n" in memory.context("lin", "Lyon").text
        for form in ("json", "xml"):
            assert f'"{day}"' in memory.context("lin", "Lyon", format=form).text
        frame = memory.messages("lin").to_pandas()
        assert str(frame["timestamp"][0]) == "2024-03-07 16:30:00+00:00"


def test_records_keep_their_clock(filled: Path) -> None:
    with MemorySystem(filled) as memory:
        [first, _] = memory.messages("lin")
        assert first.timestamp.isoformat() == "2024-03-08T00:30:00+08:00"
        assert first.to_dict()["timestamp"] == "2024-03-08T00:30:00+08:00"
        for copy in (Message.from_dict(first.to_dict()), pickle.loads(pickle.dumps(first))):
            assert copy == first
            assert copy.timestamp.utcoffset() == timedelta(hours=8)
        memory.add_messages("copy", [first])
        [again] = memory.messages("copy")
        assert again.timestamp.isoformat() == "2024-03-08T00:30:00+08:00"


def test_summer_time_is_that_of_the_date(store: Path) -> None:
    with MemorySystem(store, timezone="Europe/Paris") as memory:
        for month in ("01", "07"):
            message = {"role": "user", "content": month, "timestamp": f"2024-{month}-05T12:00:00Z"}
            memory.add_messages("ann", [message])
        assert [f"{one.timestamp:%H %z}" for one in memory.messages("ann")] == [
            "13 +0100",
            "14 +0200",
        ]


@pytest.mark.parametrize(
    ("zone", "lines"),
    [
        (None, ["# Fri 8 Mar 2024", "Lin: I fly today, yesterday [7 March 2024] I packed."]),
        (
            "UTC",
            [
                "# Thu 7 Mar 2024",
                "Lin: I fly today [8 March 2024], yesterday [7 March 2024] I packed.",
            ],
        ),
    ],
)
def test_days_in_the_lines_of_a_context_are_the_speakers(
    store: Path, zone: str | None, lines: list[str]
) -> None:
    said = {"role": "user", "name": "Lin", "content": "I fly today, yesterday I packed."}
    with MemorySystem(store, timezone=zone) as memory:
        memory.add_messages("lin", [{**said, "timestamp": "2024-03-08T00:30:00+08:00"}])
        assert memory.context("lin", "When does Lin fly?").text.splitlines() == lines


@pytest.mark.parametrize(
    ("zone", "instant", "heading", "days"),
    [
        ("America/Los_Angeles", "2026-07-03T05:30:00Z", "Thu 2 Jul", "[3 July 2026] [1 July 2026]"),
        ("Asia/Tokyo", "2026-07-03T20:30:00+00:00", "Sat 4 Jul", "[5 July 2026] [3 July 2026]"),
        ("Asia/Tokyo", "2026-07-03T20:30:00", "Sat 4 Jul", "[5 July 2026] [3 July 2026]"),
        ("+05:30", "2026-07-03T20:30:00Z", "Sat 4 Jul", "[5 July 2026] [3 July 2026]"),
        # An offset of its own is the writer's.
        ("UTC", "2026-07-02T22:30:00-07:00", "Fri 3 Jul", "[3 July 2026] [1 July 2026]"),
        (None, "2026-07-03T20:30:00Z", "Fri 3 Jul", "[4 July 2026] [2 July 2026]"),
    ],
)
@pytest.mark.parametrize("is_view", [False, True])
def test_tomorrow_is_counted_from_the_day_that_is_shown(
    store: Path, zone: str | None, instant: str, heading: str, days: str, is_view: bool
) -> None:
    said = "Tomorrow I fly to Osaka, yesterday I packed."
    with MemorySystem(store, timezone=None if is_view else zone) as memory:
        seen = memory.in_timezone(zone) if zone and is_view else memory
        seen.add_messages("ann", [{"role": "user", "content": said, "timestamp": instant}])
        title, line = seen.context("ann", "When do I fly to Osaka?").text.splitlines()
        assert title.startswith(f"# {heading}")
        assert " ".join(re.findall(r"\[[^]]*\]", line)) == days
        [message] = seen.messages("ann")
        aware = datetime.fromisoformat(instant)
        assert message.timestamp == (aware if aware.tzinfo else aware.replace(tzinfo=UTC))


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Lima"])
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_ends_of_the_calendar_are_kept_in_a_zone(store: Path, zone: str, text: str) -> None:
    message = {"role": "user", "content": "The end.", "timestamp": text}
    with MemorySystem(store, timezone=zone) as memory:
        memory.add_messages("ann", [message])
    with MemorySystem(store) as memory:
        [kept] = memory.messages("ann")
        assert kept.timestamp == datetime.fromisoformat(text)


async def test_one_memory_shows_each_user_their_zone(filled: Path) -> None:
    with MemorySystem(filled) as memory:
        for zone, day in DAYS.items():
            shown = memory if zone is None else memory.in_timezone(zone)
            [first, _] = shown.messages("lin")
            assert first.timestamp.date().isoformat() == day
            assert f" {int(day[-2:])} Mar 2024\n" in shown.context("lin", "Lyon").text
            assert shown.config.timezone == zone
        assert memory.config.timezone is None
        for wrong in ("Mars/Base", ""):
            with pytest.raises(InvalidInputError, match="timezone"):
                memory.in_timezone(wrong)
        shown.close()
        assert memory.closed
    async with AsyncMemorySystem(filled) as memory:
        [first, _] = [one async for one in memory.in_timezone("UTC").messages("lin")]
        assert first.timestamp.date().isoformat() == DAYS["UTC"]


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_the_ends_of_the_calendar(store: Path, text: str) -> None:
    for zone in ("+12:00", "-12:00", None):
        with MemorySystem(store, timezone=zone) as memory:
            message = {"role": "user", "content": "x", "timestamp": text, "message_id": "1"}
            memory.add_messages("ann", [message])
            assert next(memory.messages("ann")).timestamp == datetime.fromisoformat(text)
            memory.messages("ann").to_pandas()


def test_an_unknown_zone_is_refused(store: Path) -> None:
    with pytest.raises(ConfigError, match="timezone is unknown: `Mars/Base`"):
        MemorySystem(store, timezone="Mars/Base")
    with pytest.raises(ConfigError, match="timezone must be text"):
        MemorySystem(store, timezone=2)


def test_the_command_line_shows_the_zone(
    filled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(*args: str) -> str:
        assert main([*args, "--store", str(filled)]) == 0
        return capsys.readouterr().out

    for command in (["episodes", "lin"], ["timeline", "lin"], ["search", "lin", "Lyon"]):
        assert "2024-03-08 00:30" in shown(*command)
        assert "2024-03-07 16:30" in shown(*command, "--timezone", "UTC")
    monkeypatch.setenv("EPISODICA_TIMEZONE", "America/New_York")
    assert "2024-03-07 11:30" in shown("episodes", "lin")
    [episode] = json.loads(shown("episodes", "lin", "--json"))
    assert episode["timestamp"] == "2024-03-07T11:30:00-05:00"


def test_a_chart_names_its_zone(filled: Path) -> None:
    from matplotlib.text import Text

    with MemorySystem(filled) as memory:
        drawn = [text.get_text() for text in memory.plot.timeline("lin").findobj(Text)]
    assert any("times in UTC+08:00" in text for text in drawn)
    assert "2024-03-08" in drawn


# Half past eight in Tokyo on the 12th is the 11th in UTC.
EARLY = {"role": "user", "content": "I baked bread.", "timestamp": "2024-03-11T23:30:00Z"}


@pytest.mark.parametrize(
    ("zone", "day", "other"),
    [
        ("Asia/Tokyo", "2024-03-12", "2024-03-11"),
        ("+09:00", "2024-03-12", "2024-03-11"),
        ("America/New_York", "2024-03-11", "2024-03-12"),
        (None, "2024-03-11", "2024-03-12"),
    ],
)
def test_a_day_without_a_time_is_a_day_of_the_zone_that_is_shown(
    store: Path, zone: str | None, day: str, other: str
) -> None:
    with MemorySystem(store, timezone=zone) as memory:
        memory.add_messages("ann", [EARLY])
        memory.flush("ann")
        assert memory.messages("ann")[0].timestamp.date().isoformat() == day
        for when in (day, date.fromisoformat(day)):
            window: dict[str, Any] = {"since": when, "until": when}
            assert len(memory.messages("ann", **window)) == 1
            assert len(memory.episodes("ann", **window)) == 1
            assert len(memory.search("ann", "bread", kinds=["message"], **window)) == 1
            assert "bread" in memory.context("ann", "bread", **window).text
            assert memory.delete_where("ann", dry_run=True, **window).messages == 1
        window = {"since": other, "until": other}
        assert len(memory.messages("ann", **window)) == 0
        assert len(memory.search("ann", "bread", kinds=["message"], **window)) == 0
        # The zone does not change a time with an offset.
        assert len(memory.messages("ann", since="2024-03-11T23:30:00Z")) == 1
        there = memory.in_timezone("Asia/Tokyo")
        assert len(there.messages("ann", since="2024-03-12", until="2024-03-12")) == 1


def test_the_command_line_has_the_days_of_its_zone(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemorySystem(store) as memory:
        memory.add_messages("ann", [EARLY])
    where = ["--store", str(store), "--timezone", "Asia/Tokyo", "--json"]
    for day, count in (("2024-03-12", 1), ("2024-03-11", 0)):
        assert main(["messages", *where, "--since", day, "--until", day]) == 0
        assert len(json.loads(capsys.readouterr().out)) == count
