"""Typical code in notebooks, for mypy --strict and pyright. Checked, never run."""

from __future__ import annotations

from typing import Any, assert_type

from matplotlib.figure import Figure

from episodica import Episode, Message, Plots, SearchResults
from episodica import MemorySystem as Memory


def pictures(memory: Memory, hits: SearchResults) -> None:
    assert_type(memory.plot, Plots)
    figure = memory.plot.timeline("alice", since="2024-01-01", facts=2, theme="dark")
    assert_type(figure, Figure)
    figure.savefig("timeline.png")
    memory.plot.scores(hits[:3]).savefig("scores.png")
    memory.plot.scores([hit for hit in hits if hit.score > 0])
    memory.plot.map("alice", limit=10)
    memory.plot.usage(theme="light")


def frames(memory: Memory, hits: SearchResults) -> int:
    frame = hits.to_pandas()
    return len(frame) + len(memory.messages("alice").to_pandas())


def keep(message: Message, episode: Episode) -> tuple[Message, dict[str, Any]]:
    return Message.from_dict(message.to_dict()), episode.to_dict()
