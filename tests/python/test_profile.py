"""SEM-6: the profile, a view over the facts that hold now."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem, Profile, SemanticMemory, count_tokens
from episodica.changes import Followed
from episodica.profiling import profile_of

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
    assert lines[0] == "- Alice carries an EpiPen.", "nobody said since when"
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
            "subject": "al",
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


def test_a_fact_about_someone_else_is_in_their_profile(memory: MemorySystem) -> None:
    said(memory, ("2024-01-05T10:00:00Z", "I'm allergic to wasps."), name="Alice Holt")
    said(memory, ("2024-01-06T10:00:00Z", "I'm allergic to cats."), name="Tobi Haas")
    for text, subject in (
        ("Hazelnuts are dangerous for him.", "Tobi"),
        ("Carries an EpiPen.", "Tobi Haas"),
        ("Opens at nine.", "The bakery"),
        ("Sings in a choir.", "alice"),
    ):
        memory.remember("al", text, subject=subject)
    memory.remember("al", "The spare key is under the stone.")
    own = memory.profile("al", of=None).to_markdown()
    of_tobi = memory.profile("al", of="tobi").to_markdown()
    assert of_tobi == memory.profile("al", of="Tobi Haas").to_markdown()
    for text in ("wasps", "choir", "spare key"):
        assert text in own
        assert text not in of_tobi
    for text in ("cats", "Hazelnuts", "EpiPen"):
        assert text in of_tobi
        assert text not in own
    assert "nine" not in own
    assert "nine" in memory.profile("al", of="the bakery").to_markdown()


def test_nobody_else_is_the_user_where_nothing_else_is_known(memory: MemorySystem) -> None:
    memory.remember("al", "Allergic to hazelnuts.", subject="Tobi")
    assert not memory.profile("al")
    assert len(memory.profile("al", of="Tobi")) == 1


def test_facts_follow_their_user_to_another_id(memory: MemorySystem, tmp_path: Any) -> None:
    memory.remember("al", "Plays chess.")
    memory.remember("al", "Plays go.", subject="Tobi")
    memory.export("al", tmp_path / "al.jsonl")
    memory.import_(tmp_path / "al.jsonl", "ann")
    assert "chess" in memory.profile("ann").to_markdown()
    assert "go" not in memory.profile("ann").to_markdown()
    assert "go" in memory.profile("ann", of="Tobi").to_markdown()


@pytest.mark.parametrize("user", ["alice", "ALICE", "holt", "Alice Holt"])
def test_an_id_that_is_a_name_of_one_speaker_means_them(memory: MemorySystem, user: str) -> None:
    for session, name, text in (
        ("1", "Tobi Haas", "I'm allergic to cats."),
        ("2", "Tobi Haas", "I love my dog."),
        ("1", "Alice Holt", "I'm allergic to wasps."),
    ):
        one = {"role": "user", "name": name, "content": text, "session_id": session}
        memory.add_messages(user, [one])
    memory.flush(user)
    memory.wait(user)
    told = memory.profile(user).to_markdown()
    assert "wasps" in told
    assert "cats" not in told


def test_a_chinese_user_is_told_in_chinese(memory: MemorySystem) -> None:
    for text, kind in (("小红住在上海。", "personal_info"), ("小红喜欢喝茶。", "preference")):
        memory.remember("al", text, kind=kind)  # type: ignore[arg-type]
    profile = memory.profile("al")
    assert profile.language == "zh"
    assert profile.to_markdown().startswith("# al\n\n## 个人信息\n\n- 小红住在上海。")
    assert "## 偏好" in profile.to_markdown()
    assert memory.profile("al", language="en").to_markdown().startswith("# al\n")
    with pytest.raises(InvalidInputError, match="language is unknown: `xx`"):
        memory.profile("al", language="xx")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("language", "text", "heading", "since"),
    [
        ("en", "She lives with her sister in the old mill.", "## Personal information", " (since "),
        ("de", "Sie wohnt mit ihrer Schwester in der alten Mühle.", "## Persönliches", " (seit "),
        ("fr", "Elle habite avec sa sœur dans le vieux moulin.", "## Informations", " (depuis le "),
        ("es", "Vive con su hermana en el viejo molino.", "## Información personal", " (desde "),
        ("zh", "她和妹妹住在老磨坊里。", "## 个人信息", "（自 "),
    ],
)  # fmt: skip
def test_headings_follow_the_language_of_the_facts(
    memory: MemorySystem, language: Any, text: str, heading: str, since: str
) -> None:
    memory.remember("al", text, kind="personal_info", valid_from="2024-03-08")
    for told in (memory.profile("al"), memory.profile("al", language=language)):
        assert told.language == language
        assert heading in told.to_markdown()
        assert text + since in told.to_markdown()
    memory.remember("al", "Die Schwester ist mit dem Boot nach Kiel gefahren.")
    assert memory.profile("al", language=language).language == language


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


def quoted(memory: MemorySystem, *texts: str) -> list[SemanticMemory]:
    """Facts that quote each text, said on the days of January 2024."""
    said(memory, *((f"2024-01-{day:02}T10:00:00Z", text) for day, text in enumerate(texts, 1)))
    facts = sorted(memory.semantic_memories("al"), key=lambda fact: fact.valid_from)
    assert [fact.quote for fact in facts] == list(texts)
    return facts


@pytest.mark.parametrize("kind", ["work_history", "personal_info", "event", "goal"])
def test_what_was_said_later_stands_above_the_earlier_in_whatever_section(
    memory: MemorySystem, kind: Any
) -> None:
    home, allergy, move = quoted(
        memory, "I live in Oslo, by the harbour.", "I'm allergic to wasps.", "I moved to Bergen."
    )
    facts = [replace(home, kind="personal_info"), allergy, replace(move, kind=kind)]
    links = Followed({home.memory_id: {move.memory_id}}, {})
    told = profile_of("al", "Alice", facts, {}, followed=links)
    first = next(line for line in told if line.fact.memory_id == move.memory_id)
    assert [one.memory_id for one in first.earlier] == [home.memory_id]
    text = told.to_markdown()
    assert text.count("Oslo") == 1
    assert '"I moved to Bergen."\n  before, 2024-01-01: "I live in Oslo' in text
    assert ("## Work history" in text) == (kind == "work_history")
    # A later fact that ended says nothing.
    ended = [facts[0], allergy, replace(move, kind=kind, valid_to=move.valid_from)]
    text = profile_of("al", "Alice", ended, {}, followed=links).to_markdown()
    assert '"I live in Oslo, by the harbour."\n' in text
    assert "Bergen" not in text


@pytest.mark.parametrize("of", [None, "Alice"])
def test_what_was_said_later_stands_above_words_of_the_same_time(
    memory: MemorySystem, of: str | None
) -> None:
    home, _, move = quoted(
        memory, "I live in Oslo, by the harbour.", "I'm allergic to wasps.", "I moved to Bergen."
    )
    for ids in (("a", "b"), ("b", "a")):
        old = replace(home, kind="personal_info", memory_id=ids[0])
        new = replace(move, kind="personal_info", memory_id=ids[1], valid_from=home.valid_from)
        links = Followed({old.memory_id: {new.memory_id}}, {})
        (line,) = profile_of("al", "Alice", [old, new], {}, followed=links, of=of)
        assert line.fact == new
        assert line.earlier == (old,)


@pytest.mark.parametrize(
    ("language", "mark"),
    [
        ("en", ' [later, 2024-01-02: "I moved to Bergen."]'),
        ("zh", '[后来\uff0c2024-01-02: "I moved to Bergen."]'),
        ("de", ' [später, 2024-01-02: "I moved to Bergen."]'),
        ("fr", ' [plus tard, 2024-01-02: "I moved to Bergen."]'),
        ("es", ' [más tarde, 2024-01-02: "I moved to Bergen."]'),
    ],
)
def test_a_line_carries_the_mark_of_what_was_said_later_about_a_part(
    memory: MemorySystem, language: Any, mark: str
) -> None:
    both, move = quoted(memory, "I'm allergic to wasps and live in Oslo.", "I moved to Bergen.")
    links = Followed({}, {both.memory_id: {move.memory_id}})
    facts = [replace(both, kind="personal_info"), replace(move, kind="event")]
    told = profile_of("al", "Alice", facts, {}, language, followed=links)
    assert both.content.removeprefix("Alice: ") + mark in told.to_markdown()
    (line,) = told
    assert line.to_dict()["later"] == move.memory_id


def test_a_chinese_earlier_line_has_no_stray_space(memory: MemorySystem) -> None:
    for day, end in (("2024-01-05", "。"), ("2024-02-05", "\uff01")):
        said(memory, (f"{day}T10:00:00Z", f"我对花生过敏\uff0c很严重{end}"), name="小红")
    assert "\n  此前\uff0c2024-01-05: “" in memory.profile("al").to_markdown()


def test_a_pet_and_a_relative_are_no_part_of_the_users_own_section(memory: MemorySystem) -> None:
    said(
        memory,
        ("2024-01-05T10:00:00Z", "我家有只猫。叫年糕\uff0c今年三岁。"),
        ("2024-01-06T10:00:00Z", "我姐姐是兽医\uff0c住在杭州。"),
        ("2024-01-07T10:00:00Z", "叫豆豆\uff0c今年五岁。"),
        ("2024-01-08T10:00:00Z", "我对虾过敏。"),
        name="小红",
    )
    sections = memory.profile("al").sections
    assert [line.fact.quote for line in sections["personal_info"]] == ["我对虾过敏。"]
    assert {line.fact.quote for line in sections["relationship"]} == {
        "我家有只猫。叫年糕\uff0c今年三岁。",
        "我姐姐是兽医\uff0c住在杭州。",
    }


def test_rules_of_like_form_are_lines_of_their_own(memory: MemorySystem) -> None:
    rules = [f"Never use {one} in your answers." for one in ("emojis", "tables", "hashtags")]
    for rule in rules:
        agreed = {"role": "assistant", "content": "All right."}
        memory.add_messages("ann", [{"role": "user", "content": rule}, agreed])
    memory.flush("ann")
    text = memory.profile("ann").to_markdown()
    assert all(f'"{rule}"' in text for rule in rules)
    assert "before" not in text
