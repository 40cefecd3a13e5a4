"""The conversations in eight languages, and the command that asks their questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from evaluation.__main__ import main
from evaluation.datasets import load
from evaluation.datasets.wording import asking, content, shared
from evaluation.runner import LANGUAGES

FILES = sorted(LANGUAGES.glob("*.json"))
# Fewest answerable questions of a file; the one across languages has more.
QUESTIONS = {"mixed": 40}


def sample_of(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def test_there_are_eight_languages_and_a_mix() -> None:
    languages = {sample_of(file)["language"] for file in FILES}
    assert languages == {"de", "en", "es", "fr", "ja", "ko", "mixed", "ru", "zh"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_files_are_well_formed(file: Path) -> None:
    dataset = load("languages", file)
    (conversation,) = dataset.conversations
    assert not dataset.problems
    ids = [one["message_id"] for one in conversation.messages]
    assert len(ids) == len(set(ids))
    assert 80 <= len(ids) <= 140
    assert 6 <= len({one["session_id"] for one in conversation.messages}) <= 10
    answerable = [one for one in conversation.questions if one.answerable]
    unanswerable = [one for one in conversation.questions if not one.answerable]
    assert len(answerable) >= QUESTIONS.get(file.stem, 25)
    assert len(unanswerable) >= 5
    assert all(one.messages for one in answerable)
    assert all(one.answer.startswith("not said; tempting") for one in unanswerable)
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


def test_the_command_measures_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--data", str(LANGUAGES / "english.json"), "--out", str(tmp_path)]
    assert main(["languages", *arguments, "--systems", "episodica"]) == 0
    assert "\n| english | 52 | " in capsys.readouterr().out
    scores = json.loads((tmp_path / "scores.json").read_text("utf-8"))["systems"]["episodica"]
    groups = scores["scores"]["recall@10"]
    assert 0.6 < groups["overall"]["mean"] <= scores["scores"]["recall@20"]["overall"]["mean"] <= 1
    assert 0.6 < scores["scores"]["coverage@1000"]["overall"]["mean"] <= 1
    assert {"typo", "paraphrase", "temporal", "development", "held out"} <= set(groups)
    # Nothing in the file is asked in another language.
    assert "crossing" not in groups
