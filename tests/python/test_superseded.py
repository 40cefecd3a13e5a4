"""An outdated fact is marked wherever it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.text import Text

from episodica import MemorySystem, SemanticMemory
from episodica.cli.app import main


def old_and_new(memory: MemorySystem) -> tuple[SemanticMemory, SemanticMemory]:
    known = list(memory.semantic_memories("al", include_superseded=True))
    [old] = [fact for fact in known if "in Paris" in fact.content]
    [new] = [fact for fact in known if "in Lyon" in fact.content]
    return old, new


def test_values_say_it(moved: MemorySystem) -> None:
    old, new = old_and_new(moved)
    assert (old.is_current, new.is_current) == (False, True)
    assert repr(old).endswith(", outdated>")
    hits = moved.search("al", "Where does Alice live?", include_superseded=True, kinds=["semantic"])
    [gone] = [hit for hit in hits if hit.id == old.memory_id]
    [holds] = [hit for hit in hits if hit.id == new.memory_id]
    assert (gone.is_current, holds.is_current) == (False, True)
    assert repr(gone).endswith(", outdated>")
    assert f"(outdated) {old.content}" in str(hits)
    assert f"(outdated) {new.content}" not in str(hits)
    facts = moved.search("al", "Paris", kinds=["semantic"])
    assert facts
    assert all(hit.is_current for hit in facts)


def test_a_message_that_says_what_was_superseded_is_marked(moved: MemorySystem) -> None:
    old, new = old_and_new(moved)
    hits = moved.search("al", "Where does Alice live?", kinds=["message"])
    [told] = [hit for hit in hits if hit.id in old.source_messages]
    assert not told.is_current
    assert told.superseded_by == (new.memory_id,)
    assert repr(told).endswith(", outdated>")
    assert "(outdated) " in str(hits)
    [later] = [hit for hit in hits if hit.id in new.source_messages]
    assert later.is_current
    assert later.superseded_by == ()
    assert type(told).from_dict(told.to_dict()) == told


def test_notebooks_say_it_in_words_and_style(moved: MemorySystem) -> None:
    old, new = old_and_new(moved)
    hits = moved.search("al", "Where does Alice live?", include_superseded=True, kinds=["semantic"])
    [gone] = [hit for hit in hits if hit.id == old.memory_id]
    listing = moved.semantic_memories("al", include_superseded=True)
    for value in (old, gone, hits, listing):
        html = value._repr_html_()
        assert html is not None
        assert html.count("<s>") == html.count(">outdated<") >= 1
    assert ">outdated<" not in new._repr_html_()


def test_data_frames_say_it(moved: MemorySystem) -> None:
    old, _ = old_and_new(moved)
    frame = moved.semantic_memories("al", include_superseded=True).to_pandas()
    assert frame.set_index("memory_id")["is_current"].to_dict()[old.memory_id] is False
    assert frame["is_current"].sum() == len(frame) - 1
    hits = moved.search("al", "Where does Alice live?", include_superseded=True).to_pandas()
    gone = {old.memory_id, *old.source_messages}
    assert set(hits.loc[~hits["is_current"], "id"]) == gone
    assert moved.semantic_memories("nobody").to_pandas()["is_current"].dtype == bool


def test_the_command_line_and_charts_say_it(
    moved: MemorySystem, capsys: pytest.CaptureFixture[str], store: Path
) -> None:
    old, _ = old_and_new(moved)
    hits = moved.search("al", "Where does Alice live?", include_superseded=True, kinds=["semantic"])
    drawn = [text.get_text() for text in moved.plot.scores(hits).findobj(Text)]
    assert sum("(outdated)" in text for text in drawn) == 1
    moved.close()
    assert main(["facts", "al", "--all", "--store", str(store)]) == 0
    out = capsys.readouterr().out
    assert f"{old.content} (outdated)" in out
    assert out.count("(outdated)") == 1
    assert main(["timeline", "al", "--store", str(store)]) == 0
    assert capsys.readouterr().out.count("(2024-01-05 – 2024-02-02)") == 1
