"""The conversations in eight languages, and the command that asks their questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.languages.command import DATA, separation
from evaluation.languages.words import asking, content, shared
from evaluation.locomo.data import load

FILES = sorted(DATA.glob("*.json"))
# Fewest answerable questions of a file; the one across languages has more.
QUESTIONS = {"mixed": 40}


def sample_of(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def test_there_are_eight_languages_and_a_mix() -> None:
    languages = {sample_of(file)["language"] for file in FILES}
    assert languages == {"de", "en", "es", "fr", "ja", "ko", "mixed", "ru", "zh"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_well_formed(file: Path) -> None:
    dataset = load(file)
    (conversation,) = dataset.conversations
    assert not dataset.problems
    ids = [one["message_id"] for one in conversation.messages]
    assert len(ids) == len(set(ids))
    assert 80 <= len(ids) <= 140
    assert 6 <= len({one["session_id"] for one in conversation.messages}) <= 10
    answerable = [one for one in conversation.questions if one.category_code != 5]
    unanswerable = [one for one in conversation.questions if one.category_code == 5]
    assert len(answerable) >= QUESTIONS.get(file.stem, 25)
    assert len(unanswerable) >= 5
    assert all(one.cited and set(one.cited) <= set(ids) for one in answerable)
    assert all(not one.cited and one.trap for one in unanswerable)
    texts = [one.text for one in conversation.questions]
    assert len(texts) == len(set(texts))
    assert {"multi-hop", "temporal"} <= {one.category for one in answerable}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_questions_do_not_repeat_their_evidence(file: Path) -> None:
    sample = sample_of(file)
    names = sample["names"]
    talk = sample["conversation"].values()
    texts = {turn["dia_id"]: turn["text"] for part in talk if type(part) is list for turn in part}
    common = asking([one["question"] for one in sample["qa"]], names)
    copied = {}
    for entry in sample["qa"]:
        share = shared(
            entry["question"], " ".join(texts[one] for one in entry["evidence"]), names, common
        )
        if share > 0.6:
            copied[entry["question"]] = share
    assert not copied


def test_shared_words_ignore_names_numbers_and_endings() -> None:
    assert content("Maya bought 40 brackets", ["Maya"]) == {"bough", "brack"}
    assert content("瓷砖贴歪了", []) == {"瓷砖", "砖贴", "贴歪", "歪了"}
    assert content("냉장고가 DC-81 안", []) == {"냉장"}
    assert content("花火のカメラ", []) == {"花火", "カメラ"}
    assert shared("Which bracket rattled?", "The brackets rattle", [], {"which"}) == 1.0
    assert shared("Which bracket fell?", "The brackets rattle", [], {"which"}) == 0.5
    assert shared("Maya?", "Maya", ["Maya"], set()) == 0.0


def test_separation_is_the_area_under_the_curve() -> None:
    assert separation([0.9, 0.8], [0.1]) == 1.0
    assert separation([0.5], [0.5, 0.9]) == 0.25
    assert separation([0.5], []) is None


def test_the_command_measures_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "runs" / "english.json"
    assert main(["languages", "--data", str(DATA / "english.json"), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("| | questions | recall@5 | recall@10 | recall@20 | coverage@1000 |")
    assert "\n| english | " in said
    result = json.loads(out.read_text(encoding="utf-8"))
    figures, rows = result["figures"]["english"], result["questions"]["english"]
    assert figures["questions"] == sum("evidence" in row for row in rows) < len(rows)
    assert 0.6 < figures["recall@10"] <= figures["recall@20"] <= 1
    assert 0.6 < figures["coverage@1000"] <= 1
    # Nothing in the file is asked in another language.
    assert figures["crossing"] is None


def test_a_folder_without_data_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["languages", "--data", str(tmp_path)]) == 1
    assert f"no data at `{tmp_path}`" in capsys.readouterr().out
