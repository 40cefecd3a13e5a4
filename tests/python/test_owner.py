"""Whose memory a chat becomes: found in the file, asked for, chosen, and told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from episodica import MemorySystem
from episodica.cli.app import main

GREG, MINA = "I'm allergic to walnuts.", "I'm allergic to cats."


def chat(path: Path, *people: str) -> str:
    said = {"Greg": GREG, "Mina": MINA}
    lines = [
        f"05/04/2025, 09:{at} - {name}: {said.get(name, 'I sing.')}\n"
        for at, name in enumerate(people * 2, 10)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def told_by_profile(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    capsys.readouterr()
    assert main(["profile", *options]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["WhatsApp Chat with Greg.txt", "WhatsApp Chat mit greg.txt", "Greg"]
)
def test_a_chat_that_is_named_after_the_other_tells_who_i_am(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    file = chat(tmp_path / name, "Greg", "Mina")
    assert main(["ingest", file, "--user", "me"]) == 0
    assert "note: me is Mina, because the chat is named after the other" in capsys.readouterr().err
    profile = told_by_profile(capsys)
    assert profile.startswith("# Mina\n")
    assert MINA in profile
    assert GREG not in profile
    assert "My name" not in profile
    capsys.readouterr()
    assert main(["context", "me", "What is Mina allergic to?"]) == 0
    assert "My name" not in capsys.readouterr().out
    of_greg = told_by_profile(capsys, "--of", "greg")
    assert GREG in of_greg
    assert MINA not in of_greg


def test_a_chinese_name_needs_no_spaces_around_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = chat(tmp_path / "与陈建国的聊天.txt", "陈建国", "林小雨")
    assert main(["ingest", file, "--user", "me"]) == 0
    assert "me is 林小雨" in capsys.readouterr().err


@pytest.mark.parametrize("people", [("Greg", "Mina"), ("Greg", "Mina", "Al")])
def test_ingest_says_whose_profile_it_is_and_me_chooses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], people: tuple[str, ...]
) -> None:
    file = chat(tmp_path / "Alan.txt", *people)
    assert main(["ingest", file, "--user", "me"]) == 0
    told = capsys.readouterr().err
    assert all(name in told for name in people)
    assert "nothing says which of them me is" in told
    taken = next(name for name in people if f"the profile is {name}'s" in told)
    assert told_by_profile(capsys).startswith(f"# {taken}\n")
    for me, others in (("mina", GREG), ("Greg", MINA)):
        assert main(["ingest", file, "--user", "me", "--me", me]) == 0
        assert f"me is {me.title()}" in capsys.readouterr().err
        profile = told_by_profile(capsys)
        assert profile.startswith(f"# {me.title()}\n")
        assert others not in profile
    assert main(["ingest", file, "--user", "me"]) == 0
    assert "speak here" not in capsys.readouterr().err, "it is told already"


@pytest.mark.parametrize(
    ("me", "whole"),
    [
        ("mina", "Mina Lindqvist"),
        ("LINDQVIST", "Mina Lindqvist"),
        ("René", "Rene\u0301 Osei-Bonsu"),
        ("osei-bonsu", "Rene\u0301 Osei-Bonsu"),
        ("greg holm", "Greg Holm"),
    ],
)
def test_a_first_name_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], me: str, whole: str
) -> None:
    people = ("Greg Holm", "Greg Ode", "Mina Lindqvist", "Rene\u0301 Osei-Bonsu")
    file = chat(tmp_path / "chat.txt", *people)
    where = ["--store", str(tmp_path / "other")]
    assert main(["ingest", file, "--user", me, *where]) == 0
    assert ("--me" in capsys.readouterr().err) is (me != "greg holm"), "a whole name is clear"
    assert main(["ingest", file, "--user", "x", "--me", me]) == 0
    assert f"x is {whole}" in capsys.readouterr().err.replace("é", "e\u0301")


def test_a_name_of_two_is_not_taken_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = chat(tmp_path / "chat.txt", "Greg Holm", "Greg Ode", "Mina")
    assert main(["ingest", file, "--user", "greg"]) == 0
    told = capsys.readouterr().err
    assert "Greg Holm and Greg Ode speak here" in told
    assert "with `--me NAME`" in told
    assert main(["ingest", file, "--user", "greg", "--me", "Greg"]) == 1
    told = capsys.readouterr().err
    assert "several people in the chat are called `Greg`" in told
    assert "Greg Holm or Greg Ode" in told


def test_the_owner_of_an_exported_account_is_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(number: int, name: str, own: str, text: str) -> dict[str, object]:
        about = {"id": number, "type": "message", "from": name, "from_id": own, "text": text}
        return {**about, "date": f"2025-04-0{number}T09:30:00"}

    talk = [said(1, "Greg", "user5", GREG), said(2, "Mina 🎻", "user7", MINA)]
    talk += [said(3, "Greg", "user5", "I sing."), said(4, "Al", "user8", "I dance.")]
    about = {"user_id": 7, "first_name": "Mina", "last_name": "Lind", "phone_number": "+1"}
    whole = {"personal_information": about, "chats": {"list": [{"id": 3, "messages": talk}]}}
    file = tmp_path / "result.json"
    file.write_text(json.dumps(whole), encoding="utf-8")
    assert main(["ingest", str(file), "--user", "me"]) == 0
    assert "me is Mina 🎻, the owner of the exported account" in capsys.readouterr().err
    profile = told_by_profile(capsys)
    assert MINA in profile
    assert GREG not in profile
    assert main(["ingest", str(file), "--user", "greg", "--store", str(tmp_path / "other")]) == 0
    assert "owner" not in capsys.readouterr().err, "the id says who it is"


@pytest.mark.parametrize("of", [None, "mi", "Greg"])
def test_an_empty_profile_says_whose_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], of: str | None
) -> None:
    file = chat(tmp_path / "chat.txt", "Mina Lind", "Mina Holm")
    text = Path(file).read_text(encoding="utf-8").replace("I sing.", MINA)
    Path(file).write_text(text.replace("Holm: " + MINA, "Holm: Yes."), encoding="utf-8")
    assert main(["ingest", file, "--user", "x", "--me", "Mina Holm"]) == 0
    capsys.readouterr()
    assert main(["profile", *(["--of", of] if of else [])]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "facts are known of Mina Lind: `--of NAME`" in told.err


def test_an_unknown_name_is_refused_with_the_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = chat(tmp_path / "chat.txt", "Greg", "Mina")
    assert main(["ingest", file, "--user", "me", "--me", "Nina"]) == 1
    told = capsys.readouterr().err
    assert "nobody in the chat is called `Nina`" in told
    assert "Greg or Mina" in told
    said = [("user", "Orla", "I row."), ("assistant", "Dev", "Nice!")]
    talk = [{"role": role, "name": name, "content": text} for role, name, text in said]
    (tmp_path / "talk.json").write_text(json.dumps(talk), encoding="utf-8")
    assert main(["ingest", str(tmp_path / "talk.json"), "--user", "me", "--me", "dev"]) == 1
    told = capsys.readouterr().err
    assert "`dev` is an assistant here, not a person" in told
    assert "`--me` is one of Orla" in told


@pytest.mark.parametrize("user", ["Mina", "mina", "greg"])
def test_a_user_with_a_name_of_the_chat_needs_no_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], user: str
) -> None:
    file = chat(tmp_path / "chat.txt", "Greg", "Mina")
    assert main(["ingest", file, "--user", user]) == 0
    told = capsys.readouterr().err
    assert "speak here" not in told
    assert "--me" not in told
    assert told_by_profile(capsys).startswith(f"# {user.title()}\n")


def test_the_only_name_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = [("user", "Mina", MINA), ("assistant", "Helper", "I see."), ("user", "Mina", "Yes.")]
    lines = [{"role": role, "name": name, "content": text} for role, name, text in said]
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert main(["ingest", str(file), "--user", "me"]) == 0
    assert "note: the profile of me is Mina's\n" in capsys.readouterr().err
    assert told_by_profile(capsys).startswith("# Mina\n")


def test_a_program_may_state_the_name_as_well(memory: MemorySystem) -> None:
    for name, text in (("Greg", GREG), ("Mina", MINA)):
        memory.add_messages("me", [{"role": "user", "name": name, "content": text}])
    memory.flush("me")
    memory.wait("me")
    about = {"subject": "me", "attribute": "name"}
    memory.remember("me", "My name is Mina.", value="Mina", **about)
    assert MINA in memory.profile("me").to_markdown()
    memory.remember("me", "My name is Greg.", value="Greg", **about)
    told = memory.profile("me").to_markdown()
    assert GREG in told
    assert MINA not in told


def test_a_stated_name_of_something_else_is_not_the_users(memory: MemorySystem) -> None:
    said = {"role": "user", "name": "Greg", "content": GREG}
    memory.add_messages("me", [said])
    memory.flush("me")
    memory.wait("me")
    memory.remember("me", "My dog is Rex.", subject="dog", attribute="name", value="Rex")
    assert GREG in memory.profile("me").to_markdown()
    assert not memory.profile("me", of="Rex")


def test_a_profile_of_nobody_names_the_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ingest", chat(tmp_path / "chat.txt", "Greg", "Mina"), "--user", "me"]) == 0
    assert main(["profile", "me", "--of", "Nina"]) == 0
    told = capsys.readouterr().err
    assert "facts are known of " in told
    assert "Greg" in told
    assert "Mina" in told


def test_a_note_that_was_learned_as_well_is_told_once(memory: MemorySystem) -> None:
    text = "I've been allergic to peanuts since yesterday."
    said = {"role": "user", "name": "me", "content": text, "timestamp": "2026-03-11T09:30:00Z"}
    memory.add_messages("me", [said])
    memory.flush("me")
    memory.wait("me")
    memory.remember("me", text, valid_from="2026-03-11T09:30:00Z")
    [line] = memory.profile("me")
    assert "yesterday [10 March 2026]" in line.content


def test_people_whose_profile_is_empty_are_not_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MemorySystem(tmp_path / "gate") as memory:
        code = {"role": "user", "name": "Greg", "content": "The gate code is 7712."}
        memory.add_messages("crew", [code])
        memory.flush("crew")
        memory.wait("crew")
        assert [fact.speaker for fact in memory.semantic_memories("crew")] == ["Greg"]
    for of in ([], ["--of", "Greg"]):
        assert main(["profile", "crew", *of, "--store", str(tmp_path / "gate")]) == 0
        told = capsys.readouterr().err
        assert "no fact belongs in a profile" in told
        assert "--of" not in told, "the very command that was just used"


@pytest.mark.parametrize("sessions", [True, False])
def test_a_person_heard_most_is_the_user_even_without_a_line_in_the_profile(
    tmp_path: Path, sessions: bool
) -> None:
    said = [
        ("Zoe", "What a day."),
        ("Adam", "I am allergic to peanuts."),
        ("Zoe", "See you on the stairs."),
        ("Zoe", "It rained."),
    ]
    with MemorySystem(tmp_path / "stairs") as memory:
        for number, (name, text) in enumerate(said):
            one = {"role": "user", "name": name, "content": text}
            one |= {"session_id": f"s{number // 2}"} if sessions else {}
            memory.add_messages("me", [one])
        memory.flush("me")
        memory.wait("me")
        assert "peanuts" not in memory.profile("me").to_markdown()
        assert "peanuts" in memory.profile("me", of="Adam").to_markdown()
