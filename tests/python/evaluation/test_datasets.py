"""Every loader on invented files, with the gaps and oddities of the real ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from evaluation.datasets import DEVELOPMENT, HELD_OUT, Dataset, load
from evaluation.datasets.gatemem import patterns_found
from evaluation.datasets.locomo import session_date
from evaluation.datasets.longmemeval import session_date as longmemeval_date
from evaluation.runner import LANGUAGES, published

FIXTURES = Path(__file__).parents[2] / "fixtures"
INVENTED = FIXTURES / "evaluation"
SAMPLE = FIXTURES / "longmemeval_sample.json"
TALKS = FIXTURES / "conversations" / "small_talk.json"


def what(dataset: Dataset) -> list[tuple[str, str]]:
    return [(key, said) for key, said, _ in dataset.problems]


# LoCoMo


def test_bad_evidence_is_read_as_far_as_possible_and_listed(talk: Path) -> None:
    dataset = load("locomo", talk)
    where = dataset.questions[2]
    assert (where.messages, where.sessions) == (("D2:1", "D2:2"), ("session_2",))
    assert list(dataset.problems) == [
        ("t-1/2", "malformed evidence id, read as D2:1, D2:2", "D2:1; D2:2"),
        ("t-1/2", "evidence id that no turn has", "D9:9"),
        ("t-1/2", "malformed evidence id, not readable", "D:1:1"),
        ("t-1/3", "no evidence: retrieval not scored", "(none)"),
    ]


def test_the_audited_key_is_taken_and_the_published_one_kept(talk: Path) -> None:
    dataset = load("locomo", talk)
    when = dataset.questions[1]
    assert (when.answer, when.messages) == ("4 March 2024", ("D1:1",))
    before = published(dataset).questions[1]
    assert (before.answer, before.messages) == ("5 March 2024", ("D1:2",))
    assert published(dataset).questions[0] == dataset.questions[0]
    kinds = ["single-hop", "temporal", "multi-hop", "open-domain", "adversarial"]
    assert [one.category for one in dataset.questions] == kinds
    trap = dataset.questions[4]
    assert (trap.answerable, trap.messages) == (False, ())
    assert trap.answer == "not said; tempting but wrong: the oboe"


def test_the_audit_is_read_as_it_is_published(talk: Path, tmp_path: Path) -> None:
    audit = tmp_path / "audit"
    audit.mkdir()
    row = {"question_id": "locomo_0_qa1", "correct_answer": "4 March 2024"}
    row |= {"correct_evidence": ["D1:1"]}
    (audit / "errors_conv_0.json").write_text(json.dumps([row]), encoding="utf-8")
    (audit / "conv_0.json").write_text("not read", encoding="utf-8")
    assert load("locomo", talk, corrections=audit).questions == load("locomo", talk).questions


def test_messages_are_dated_attributed_and_captioned(talk: Path) -> None:
    third = load("real", talk).conversations[0].messages[2]
    assert third["content"] == "Look at it. [Image: a red cello on a chair]"
    assert third["timestamp"] == "2024-03-05T19:12:10+00:00"
    about = [third[name] for name in ("name", "role", "session_id", "message_id")]
    assert about == ["Ines", "user", "session_1", "D1:3"]
    assert session_date("12:05 am on 1 May, 2023").hour == 0
    with pytest.raises(ValueError, match="does not match format"):
        session_date("yesterday")


def test_a_folder_is_read_as_one_dataset(talk: Path) -> None:
    (talk.parent / "talk_notes.json").write_text("[]", encoding="utf-8")
    dataset = load("locomo", talk.parent)
    assert [one.user for one in dataset.conversations] == ["t-1"]
    assert sorted(dataset.checksums) == ["talk.json", "talk_corrections.json"]
    with pytest.raises(FileNotFoundError):
        load("locomo", talk.parent / "nowhere")


# LongMemEval


def test_all_types_of_longmemeval_are_read() -> None:
    dataset = load("longmemeval", SAMPLE)
    assert set(Counter(one.category for one in dataset.questions).values()) == {2}
    assert Counter(one.answerable for one in dataset.questions) == {True: 10, False: 2}
    assert not dataset.problems
    climbing = next(one for one in dataset.conversations if one.user == "t-1")
    question = climbing.questions[0]
    assert question.messages == ("a_climb:0", "a_shoes:0")
    assert question.sessions == ("a_climb", "a_shoes")
    assert question.asked_at == "2023/06/05 (Mon) 10:00"
    said = [one["timestamp"] for one in climbing.messages]
    assert said == sorted(said)
    assert said[1] == "2023-04-06T20:30:05+00:00"
    assert climbing.with_assistant
    with pytest.raises(ValueError, match="does not match format"):
        longmemeval_date("20 May")


def test_what_is_wrong_with_a_history_is_listed(tmp_path: Path) -> None:
    entry = json.loads(SAMPLE.read_text())[0]
    entry["answer_session_ids"].append("nowhere")
    entry["haystack_session_ids"][0] = entry["haystack_session_ids"][1]
    entry["haystack_dates"][2] = "2024/01/01 (Mon) 00:00"
    entry["haystack_sessions"][0].append({"role": "user", "content": " "})
    path = tmp_path / "broken.json"
    path.write_text(json.dumps([entry]))
    dataset = load("longmemeval", path)
    assert [said for _, said in what(dataset)] == [
        "empty turn, not added",
        "session dated after the question, kept",
        "evidence session that the history lacks",
    ]
    ids = [one["message_id"] for one in dataset.conversations[0].messages]
    assert len(set(ids)) == len(ids)


# BEAM


def test_beam_is_read_as_published() -> None:
    dataset = load("beam", INVENTED / "beam.json")
    (chat,) = dataset.conversations
    assert [one["message_id"] for one in chat.messages] == list("01245678")
    assert chat.messages[0]["content"].endswith("plan the watering?"), "the generator's mark goes"
    assert [one["session_id"] for one in chat.messages] == ["b1"] * 3 + ["b2"] * 3 + ["b3"] * 2
    said = [one["timestamp"] for one in chat.messages]
    assert said[0] == "2024-05-02T09:01:00+00:00"
    assert said == sorted(said), "time goes on where an anchor can't be read"
    assert said[-1] == "2024-05-20T09:02:00+00:00"
    asked = {one.category: one for one in chat.questions}
    assert not asked["abstention"].answerable
    assert asked["knowledge_update"].updates == (("0",), ("4",))
    assert asked["summarization"].messages == ("0", "4", "7")
    assert asked["summarization"].answer.startswith("Thyme was planted")
    assert asked["instruction_following"].answer == "An amount in litres"
    assert list(dataset.problems) == [
        ("garden/0", "turn without words or with a known id, not added", "3"),
        ("garden/0", "date not readable, time goes on", "some day in May"),
        ("garden/0", "turn without words or with a known id, not added", "5"),
        ("garden/4", "evidence id that no message has", "99"),
        ("garden/5", "no evidence: retrieval not scored", "(none)"),
    ]


def test_beams_repository_and_the_plain_form_give_the_same(tmp_path: Path) -> None:
    (row,) = json.loads((INVENTED / "beam.json").read_text())
    folder = tmp_path / "100K" / "1"
    (folder / "probing_questions").mkdir(parents=True)
    batches = [
        {"batch_number": at, "turns": [turns[:2], turns[2:]]}
        for at, turns in enumerate(row["chat"])
    ]
    (folder / "chat.json").write_text(json.dumps(batches))
    import ast

    asked = ast.literal_eval(row["probing_questions"])
    (folder / "probing_questions" / "probing_questions.json").write_text(json.dumps(asked))
    rows, cloned = load("beam", INVENTED / "beam.json"), load("beam", tmp_path / "100K")
    assert cloned.conversations[0].messages == rows.conversations[0].messages
    assert [one.messages for one in cloned.questions] == [one.messages for one in rows.questions]
    plain = {
        "id": '"garden"',
        "messages": rows.conversations[0].messages,
        "questions": [
            {"kind": "knowledge_update", "question": "How many?", "gold": ["0", "4"], "answer": "9"}
            | {"updates": {"original_info": [0], "updated_info": [4]}},
            {"kind": "abstention", "question": "What did it cost?", "gold": [], "answer": None},
        ],
    }
    lines = tmp_path / "plain.jsonl"
    lines.write_text(json.dumps(plain) + "\n")
    (question, other) = load("beam", lines).questions
    assert (question.key, question.updates) == ("garden/0", (("0",), ("4",)))
    assert not other.answerable
    with pytest.raises(FileNotFoundError):
        load("beam", tmp_path / "nowhere")


# GateMem


def test_gatemem_is_asked_at_its_turns() -> None:
    dataset = load("gatemem", INVENTED)
    choir, bakery = dataset.conversations
    said = [one["timestamp"] for one in choir.messages]
    assert said == sorted(said), "a turn without a date, or dated back, follows the one before"
    assert choir.messages[4]["content"] == "-"
    assert [one["name"] for one in choir.messages[:2]] == ["Ida Brandt", "alto_moe"]
    about = [(one.category, one.after) for one in choir.questions]
    assert about == [("utility", 1), ("utility", 3), ("privacy", 3), ("deletion", 5)]
    assert choir.questions[3].leaks == ("7719",)
    assert choir.questions[2].leaks == (), "a checkpoint may lack them"
    assert bakery.questions[0].after == 1
    assert what(dataset) == [
        ("choir/1", "leak too short to look for"),
        ("bakery/0", "asked at a turn that is not there"),
    ]
    assert patterns_found(("14 (?:EUR|euros)",), "it costs 14 euros")
    assert patterns_found(("rye (a",), "loaves of Rye (a new one)"), "no regular expression"
    assert not patterns_found(("9", "8"), "only 9")


# LoCoMo-Plus


def test_cues_are_put_between_sessions() -> None:
    dataset = load("locomo-plus", INVENTED / "locomo_plus.json", talks=TALKS)
    (one,) = dataset.conversations
    cues = [message for message in one.messages if message["session_id"].startswith("cue")]
    assert [message["content"] for message in cues][:2] == [
        "My knee has been stiff since the fall on the ice.",
        "That sounds painful.",
    ]
    first = one.questions[0]
    assert first.text == "I took the lift again today, the stairs can wait."
    assert first.messages == ("cue0-0", "cue0-1")
    said = [message["timestamp"] for message in one.messages]
    assert said == sorted(said)
    assert what(dataset) == [(f"{one.user}/2", "cue without words")]
    with pytest.raises(ValueError, match="--talks"):
        load("locomo-plus", INVENTED / "locomo_plus.json")


# Halves


def test_halves_are_the_same_whatever_is_left_out() -> None:
    whole = load("languages", LANGUAGES)
    halves = {one.user: whole.half_of(one) for one in whole.questions}
    assert Counter(halves.values()).keys() == {DEVELOPMENT, HELD_OUT}, "by conversation"
    for half in (DEVELOPMENT, HELD_OUT):
        part = whole.limited(half=half)
        assert {one.user for one in part.questions} == {u for u, of in halves.items() if of == half}
        assert all(part.half_of(one) == half for one in part.questions)
    german = whole.limited(only=["german"])
    assert {whole.half_of(one) for one in german.questions} == {halves["german"]}
    few = whole.limited(1, 3)
    assert len(few.questions) == 3
    assert {few.half_of(one) for one in few.questions} == {halves[few.questions[0].user]}


def test_a_small_set_is_halved_by_question() -> None:
    dataset = load("languages", LANGUAGES / "english.json")
    counts: Counter[Any] = Counter(map(dataset.half_of, dataset.questions))
    assert min(counts.values()) > 10
    held = dataset.limited(half=HELD_OUT)
    assert len(held.questions) == counts[HELD_OUT]
