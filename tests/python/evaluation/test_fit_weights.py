"""The fit of the weights of a message's terms, on invented talk."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from evaluation.datasets import load
from tools import fit_weights

from episodica import MemoryConfig, MemorySystem

SHIPPED = tuple(MemoryConfig().message_weights)
THINGS = ("kayak", "lantern", "teapot", "violin", "compass", "ladder")
THINGS += ("quilt", "anvil", "basket", "easel", "flute", "hammock")
QUESTIONS = {
    "Where did Ada leave the kayak?": ["D1:1"],
    "Who repaired a musical instrument?": ["D1:11", "D1:4"],
    "When was the lantern painted green?": ["D2:2"],
    "Which of Ada's things does Bo envy?": ["D1:6", "D2:5"],
}


def written(path: Path, name: str) -> Path:
    """Two sessions, each of which mentions every thing."""
    said = ["was left at the mill", "was painted green"]
    talk = {"speaker_a": "Ada", "speaker_b": "Bo"}
    for number, end in enumerate(said, 1):
        talk[f"session_{number}_date_time"] = f"9:00 am on {number} May, 2024"
        talk[f"session_{number}"] = [
            {
                "speaker": "Ada" if at % 2 else "Bo",
                "dia_id": f"D{number}:{at}",
                "text": f"My {thing} {end}.",
            }
            for at, thing in enumerate(THINGS, 1)
        ]
    asked = [{"question": q, "evidence": ids, "category": 4} for q, ids in QUESTIONS.items()]
    path.write_text(json.dumps([{"sample_id": name, "conversation": talk, "qa": asked}]))
    return path


def found_by_search(path: Path) -> float:
    """Mean recall among ten hits of the search itself."""
    (talk,) = load("real", path).conversations
    shares = []
    with MemorySystem(path.with_suffix(".store")) as memory:
        memory.add_messages(talk.user, talk.messages)
        memory.flush(talk.user)
        memory.wait(talk.user)
        for question in talk.questions:
            hits = memory.search(talk.user, question.text, kinds=["message"], top_k=10)
            ids = {hit.messages[0].message_id for hit in hits}
            shares.append(fmean(one in ids for one in question.messages))
    return fmean(shares)


def test_the_shipped_column_is_what_the_search_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fit_weights, "OWN", {})
    first, second = written(tmp_path / "a.json", "a"), written(tmp_path / "b.json", "b")
    command = [f"walks={first}", f"crafts={second}", f"walks={tmp_path / 'absent.json'}"]
    command += ["--cache", str(tmp_path / "cache")]
    fit_weights.main(command)
    printed, skipped = capsys.readouterr()
    rows = {cells[1]: cells[2:-1] for cells in map(split, printed.splitlines()) if len(cells) > 1}
    recall = found_by_search(first)
    assert 0 < recall < 1, "a share that any weights have shows nothing"
    share = f"{recall:.3f}".removeprefix("0")
    assert rows["walks"][:2] == rows["crafts"][:2] == [str(len(QUESTIONS)), share]
    assert rows["mean"][0] == str(2 * len(QUESTIONS))
    assert tuple(map(float, rows["shipped"])) == SHIPPED
    assert "absent.json" in skipped

    # A repeated run reads the terms instead of asking.
    monkeypatch.delattr(fit_weights, "MemorySystem")
    fit_weights.main(command)
    assert capsys.readouterr().out == printed


def split(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def kind(name: str, right: dict[str, float], wrong: dict[str, float]) -> fit_weights.Kind:
    """One question: a right message, and thirty wrong ones."""
    terms = [[one.get(name, 0.0) for name in fit_weights.COLUMNS] for one in [right] + 30 * [wrong]]
    holds = np.zeros((1, 31), dtype=bool)
    holds[0, 0] = True
    return fit_weights.Kind(name, [fit_weights.Asked(np.array(terms, np.float32), holds)])


def test_a_kind_changes_the_weights_only_of_a_fit_that_includes_it() -> None:
    # The right message of `more` needs more weight for `date`, that of `less` less of it.
    strong = SHIPPED[fit_weights.TERMS.index("date")]
    more_words, fewer_words = ({"words": share * strong / SHIPPED[0]} for share in (1.4, 0.6))
    more = kind("more", {"date": 1.0}, more_words)
    less = kind("less", fewer_words, {"date": 1.0})
    assert more.recalls(SHIPPED) == less.recalls(SHIPPED) == [0.0, 0.0, 0.0]
    for one, factor in [(more, 1.5), (less, 0.0)]:
        weights = fit_weights.fit([one], SHIPPED)
        assert one.recalls(weights) == [1.0, 1.0, 1.0]
        assert dict(zip(fit_weights.TERMS, weights, strict=True))["date"] == factor * strong
    kinds = [more, kind("again", {"date": 1.0}, more_words), less]
    rows = [split(line)[1:-1] for line in fit_weights.report(kinds, SHIPPED)]
    assert rows[2][:4] + rows[2][5:] == ["more", "1", ".000", "1.000", "1.000"]
    assert rows[4] == ["less", "1", ".000", ".000", ".000", "1.000"]


def test_parts_of_an_answer_are_sought_in_the_messages_before_the_question() -> None:
    said = [{"message_id": str(at), "content": text} for at, text in enumerate(["7%", "9%", "9%"])]
    question = fit_weights.Question("u", 0, "How much?", "utility", parts=("9%", "12%"))
    assert fit_weights.evidence_of(question, said) == [{"1", "2"}]
    assert fit_weights.evidence_of(question, said[:2]) == [{"1"}]


@pytest.mark.parametrize(
    ("given", "message"),
    [("walks={}", "leaving a kind out needs two kinds"), ("{}", "not KIND=PATH: `{}`")],
)
def test_arguments_that_make_no_table_are_refused(
    given: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(fit_weights, "OWN", {})
    path = written(tmp_path / "a.json", "a")
    with pytest.raises(SystemExit):
        fit_weights.main([given.format(path)])
    assert message.format(path) in capsys.readouterr().err
