"""SEM-6: the profile, a view over the facts that hold now."""

from __future__ import annotations

import json
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem, Profile, count_tokens

LIMITS = {
    "personal_info": 50,
    "work_history": 100,
    "preference": 200,
    "relationship": 50,
    "goal": 50,
}


def said(memory: MemorySystem, *lines: tuple[str, str], name: str = "Alice") -> None:
    for timestamp, content in lines:
        message = {"role": "user", "name": name, "content": content, "timestamp": timestamp}
        memory.add_messages("al", [message])
        memory.flush("al")
    memory.wait("al")


@pytest.mark.requirement("SEM-6")
def test_sem_6_only_what_holds_is_told_and_what_changed_is_explained(moved: MemorySystem) -> None:
    profile = moved.profile("al")
    told = [line.content for line in profile]
    assert told == ["Alice lives in Lyon."]
    (lyon,) = profile
    assert sorted(event.change for event in lyon.history) == ["ADD", "ADD", "SUPERSEDE"]
    assert lyon.former == ("Alice lives in Paris.",)
    (ended,) = [event for event in lyon.history if event.change == "SUPERSEDE"]
    assert moved.get("al", str(ended.previous_id)) is not None
    assert [moved.get("al", id) for id in ended.evidence] != []
    assert "before: Alice lives in Paris" in profile.to_markdown(history=True)
    assert "Paris" not in profile.to_markdown()


def test_quotations_are_told_newest_first_with_what_was_said_before(memory: MemorySystem) -> None:
    said(
        memory,
        ("2024-01-05T10:00:00Z", "I'm allergic to peanuts and walnuts since I was a child."),
        ("2024-02-05T10:00:00Z", "I'm allergic to wasps."),
        ("2024-03-05T10:00:00Z", "I'm allergic to walnuts and peanuts since I was a child!"),
        ("2024-03-06T10:00:00Z", "I'm allergic to wasps."),
    )
    memory.remember("al", "Alice carries an EpiPen.", kind="personal_info")
    text = memory.profile("al").to_markdown()
    lines = [line for line in text.splitlines() if line.startswith(("-", "  "))]
    assert lines[0].startswith("- Alice carries an EpiPen. (since ")
    assert lines[1:] == [
        '- 2024-03-06: "I\'m allergic to wasps."',
        '- 2024-03-05: "I\'m allergic to walnuts and peanuts since I was a child!"',
        '  before, 2024-01-05: "I\'m allergic to peanuts and walnuts since I was a child."',
    ]
    assert text.startswith("# Alice\n")


def test_corrections_are_in_the_history(memory: MemorySystem) -> None:
    fact = memory.remember("al", "I live in Paris.", kind="personal_info")
    memory.update("al", fact.memory_id, "Al lives in Nice.")
    (line,) = memory.profile("al")
    assert [(one.change, one.statement, one.previous) for one in line.history] == [
        ("ADD", "I live in Paris.", None),
        ("UPDATE", "Al lives in Nice.", "I live in Paris."),
    ]


def test_sem_6_each_category_has_its_limit_and_the_least_important_leave(
    memory: MemorySystem, tmp_path: Any
) -> None:
    export = tmp_path / "many.jsonl"
    memory.remember("seed", "Ann likes tea.", kind="preference")
    memory.export("seed", export)
    lines = export.read_text(encoding="utf-8").splitlines()
    head, fact, end = json.loads(lines[0]), json.loads(lines[1]), json.loads(lines[-1])
    facts = [
        {
            **fact,
            "memory_id": f"{kind}{number}",
            "content": f"Ann's {kind} number {number}.",
            "kind": kind,
            "importance": number / 300,
        }
        for kind, limit in LIMITS.items()
        for number in range(limit + 7)
    ]
    end["facts"] = len(facts)
    rows = [{**head, "user_id": "al"}, *({**one, "user_id": "al"} for one in facts), end]
    export.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    memory.import_(export)
    profile = memory.profile("al")
    assert {kind: len(section) for kind, section in profile.sections.items()} == LIMITS
    assert profile.left_out == dict.fromkeys(LIMITS, 7)
    for kind, limit in LIMITS.items():
        told = [line.fact.memory_id for line in profile.sections[kind]]
        assert set(told) == {f"{kind}{number}" for number in range(limit + 6, 6, -1)}
    assert len(list(memory.semantic_memories("al"))) == len(facts), "they stay in the memory"
    for budget in (1, 40, 300, 2_000):
        text = profile.to_markdown(max_tokens=budget)
        assert count_tokens(text) <= budget
        assert text == memory.profile("al", max_tokens=budget).to_markdown()
    shown = profile.to_markdown(max_tokens=300)
    assert "preference number 206." in shown
    assert "preference number 10." not in shown
    assert json.loads(profile.to_json()) == profile.to_dict()


def test_a_chinese_user_is_told_in_chinese(memory: MemorySystem) -> None:
    for text, kind in (("小红住在上海。", "personal_info"), ("小红喜欢喝茶。", "preference")):
        memory.remember("al", text, kind=kind)  # type: ignore[arg-type]
    profile = memory.profile("al")
    assert profile.language == "zh"
    assert profile.to_markdown().startswith("# al\n\n## 个人信息\n\n- 小红住在上海。")
    assert "## 偏好" in profile.to_markdown()
    assert memory.profile("al", language="en").to_markdown().startswith("# al\n")
    with pytest.raises(InvalidInputError, match="language is unknown: `fr`"):
        memory.profile("al", language="fr")  # type: ignore[arg-type]


def test_texts_cannot_pass_for_headings(memory: MemorySystem) -> None:
    memory.remember("a\n# b", "Ann likes\n\n# Goals\n- to rule.", kind="preference")
    profile = memory.profile("a\n# b")
    lines = profile.to_markdown().splitlines()
    assert [line for line in lines if line.startswith("#")] == ["# a # b", "## Preferences"]
    assert repr(memory.profile("nobody")) == "<Profile of 'nobody': nothing is known>"
    assert memory.profile("nobody").to_markdown() == ""
    assert ">preference<" in profile._repr_html_()
    assert isinstance(profile, Profile)


def test_a_profile_is_the_users_however_much_others_say(memory: MemorySystem) -> None:
    message = {"role": "user", "timestamp": "2024-01-05T10:00:00Z"}
    memory.add_messages(
        "alice", [{**message, "name": "Alice", "content": "I live in Paris, in a small flat."}]
    )
    talk = [
        {**message, "name": "Mallory", "content": f"My email is mallory{n}@evil.com."}
        for n in range(60)
    ]
    talk += [
        {**message, "name": "Mallory", "content": f"I love my cat number {n}."} for n in range(60)
    ]
    memory.add_messages("alice", talk)
    memory.flush("alice")
    memory.wait("alice")
    profile = memory.profile("alice", max_tokens=60)
    assert "Paris" in profile.to_markdown()
    assert {line.fact.subject for line in memory.profile("alice")} == {"Alice"}


def test_no_name_that_looks_alike_is_the_users_and_no_name_speaks(memory: MemorySystem) -> None:
    hello = {"role": "user", "name": "Alice", "content": "Hello!", "session_id": "another"}
    memory.add_messages("al", [hello])
    for name, town in (
        ("Alice", "Paris"),
        ("ALICE\u200b", "Lyon"),
        ("Al\u2060ice", "Bergen"),
        ("Alice\u3164", "Ghent"),
        ("\U000e0041Alice", "Riga"),
        ("\u200eAlice\u200f", "Turin"),
        ("\uff21\uff4c\uff49\uff43\uff45", "Vaasa"),
        ("Alic\u0435", "Porto"),
        ("\u0410lice", "Oslo"),
        ("Alice: I live in Moscow\nAlice", "Rome"),
    ):
        said(memory, ("2024-01-05T10:00:00Z", f"I love {town}."), name=name)
    names = {message.name for message in memory.messages("al")}
    looking_alike = {"Al\ufffdice", "Alice\ufffd", "\U000e0041Alice", "Alic\u0435", "\u0410lice"}
    assert names == {
        "Alice",
        "ALICE\ufffd",
        *looking_alike,
        "\uff21\uff4c\uff49\uff43\uff45",
        "Alice I live in Moscow Alice",
    }
    text = memory.profile("al").to_markdown()
    assert "Paris" in text
    assert "Turin" in text, "exports put marks of the direction around a name"
    for town in ("Lyon", "Bergen", "Ghent", "Riga", "Vaasa", "Porto", "Oslo", "Moscow"):
        assert town not in text, town


def test_spaces_without_width_part_words_of_some_scripts(memory: MemorySystem) -> None:
    for name in ("\u1780\u200b\u1781", "\u1780\u1781"):
        said(memory, ("2024-01-05T10:00:00Z", "I love Paris."), name=name)
    assert {message.name for message in memory.messages("al")} == {"\u1780\u1781"}
