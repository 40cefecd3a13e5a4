"""The first use of the package with a chat that it does not know, in English and in Chinese."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from episodica import Episode, MemorySystem
from episodica import cli as command_line
from episodica.cli.output import columns

Cli = Callable[..., CompletedProcess[str]]
CHATS = Path(__file__).parents[1] / "support" / "chats"


def remembered(memory: MemorySystem, name: str, user: str) -> list[dict[str, Any]]:
    chat: list[dict[str, Any]] = json.loads((CHATS / f"{name}.json").read_text(encoding="utf-8"))
    memory.add_messages(user, chat)
    memory.flush(user)
    memory.wait(user)
    return chat


@pytest.fixture
def nora(memory: MemorySystem) -> MemorySystem:
    assert len(remembered(memory, "english", "nora")) >= 40
    return memory


@pytest.fixture
def zhou(memory: MemorySystem) -> MemorySystem:
    assert len(remembered(memory, "chinese", "zhou")) >= 40
    return memory


def facts(memory: MemorySystem, user: str) -> dict[str, bool]:
    listed = memory.semantic_memories(user, include_superseded=True)
    return {fact.content: fact.is_current for fact in listed}


def holding(known: dict[str, bool], *words: str) -> list[bool]:
    return [current for text, current in known.items() if all(word in text for word in words)]


def test_what_an_english_chat_teaches(nora: MemorySystem) -> None:
    known = facts(nora, "nora")
    assert all(known.values()), "nothing ends without a model"
    said = [message.content for message in nora.messages("nora")]
    for fact in nora.semantic_memories("nora"):
        assert any(fact.quote in text for text in said), fact.quote
    for words in (
        ("live in Bristol",),
        ("moved to Bath",),
        ("allergic to walnuts",),
        ("husband Tom", "spinach"),
        ("Genesis Croix de Fer",),
    ):
        assert set(holding(known, *words)) == {True}, words
    assert not [text for text in known if "9 April" in text]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is Nora allergic to?", "walnuts"),
        ("What are the rabbits called?", "Salt and Pepper"),
        ("What does Tom hate?", "spinach"),
        ("When is the trip to Lisbon?", "from the 9th to the 12th"),
        ("What is the reference of the police?", "BTP 4471-25"),
        ("What bike did she buy?", "Genesis Croix de Fer"),
        ("Where does Nora live?", "moved to Bath"),
        ("Who runs the practice in Bath?", "Priya"),
    ],
)
def test_questions_about_an_english_chat(nora: MemorySystem, question: str, answer: str) -> None:
    hits = nora.search("nora", question, top_k=5)
    assert any(answer in hit.content for hit in hits)
    assert answer in nora.context("nora", question, max_tokens=200).text


def test_a_context_never_says_that_she_still_lives_in_bristol(nora: MemorySystem) -> None:
    for tokens in (250, 500, 2000):
        text = nora.context("nora", "Where does Nora live?", max_tokens=tokens).text
        assert "Bath" in text, tokens
        # The message also says where she works, which still holds, so it is not marked.
        if "I live in Bristol" in text:
            assert text.index("I live in Bristol") < text.index("moved to Bath")


def is_said(title: str, episode: Episode) -> bool:
    """True if the title is a span of a message, with or without the speaker's name."""
    return any(
        title.removeprefix(message.speaker).lstrip(":： ") in " ".join(message.content.split())
        for message in episode.original_messages
    )


def test_episodes_of_an_english_chat(nora: MemorySystem) -> None:
    episodes = list(nora.episodes("nora"))
    assert len(episodes) == 7
    assert len({episode.timestamp.date() for episode in episodes}) == 7
    for episode in episodes:
        assert 10 <= len(episode.title) <= 120
        assert is_said(episode.title, episode), episode.title


def test_what_a_chinese_chat_teaches(zhou: MemorySystem) -> None:
    known = facts(zhou, "zhou")
    assert all(known.values()), "nothing ends without a model"
    said = [message.content for message in zhou.messages("zhou")]
    for fact in zhou.semantic_memories("zhou"):
        assert any(fact.quote in text for text in said), fact.quote
    for words in (("住在成都",), ("搬到杭州",), ("对花生过敏",), ("猫", "年糕")):
        assert set(holding(known, *words)) == {True}, words


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("周敏对什么过敏？", "花生"),
        ("猫叫什么名字？", "年糕"),
        ("她先生是做什么的？", "数学老师"),
        ("什么时候去博洛尼亚？", "下个月我要去博洛尼亚"),
        ("护照号码是多少？", "E12345678"),
        ("周敏现在住在哪里？", "杭州"),
        ("房租的预算是多少？", "六千块"),
        ("飞机几点起飞？", "早上九点"),
    ],
)
def test_questions_about_a_chinese_chat(zhou: MemorySystem, question: str, answer: str) -> None:
    hits = zhou.search("zhou", question, top_k=5)
    assert any(answer in hit.content for hit in hits)
    text = zhou.context("zhou", question, max_tokens=250).text
    assert answer in re.sub(r"\[[^\]]*\]", "", text), text


def test_episodes_of_a_chinese_chat(zhou: MemorySystem) -> None:
    episodes = list(zhou.episodes("zhou"))
    assert len(episodes) == 7
    for episode in episodes:
        assert 4 <= len(episode.title) <= 60
        assert is_said(episode.title, episode), episode.title
        assert not episode.title.startswith(("不错", "好的", "是啊"))


def test_the_second_time_nothing_is_new(nora: MemorySystem) -> None:
    before = facts(nora, "nora")
    again = remembered(nora, "english", "nora")
    assert len(nora.messages("nora")) == len(again)
    assert facts(nora, "nora") == before


def test_ingest_counts_every_fact_that_is_kept(cli: Cli, store: Path) -> None:
    place = ("--store", str(store), "--json")
    [row] = json.loads(cli("ingest", str(CHATS / "english.json"), "--user", "nora", *place).stdout)
    kept = json.loads(cli("facts", "nora", "--all", *place).stdout)
    assert row["facts"] == len(kept) > 10
    [again] = json.loads(
        cli("ingest", str(CHATS / "english.json"), "--user", "nora", *place).stdout
    )
    assert (again["messages_added"], again["duplicates"], again["facts"]) == (0, 47, 0)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("wide", [80, 200])
@pytest.mark.parametrize("chat", ["english", "chinese"])
def test_what_the_command_line_shows_fits(
    memory: MemorySystem, store: Path, monkeypatch: pytest.MonkeyPatch, chat: str, wide: int
) -> None:
    remembered(memory, chat, "me")
    memory.close()
    monkeypatch.setenv("COLUMNS", str(wide))
    monkeypatch.setenv("EPISODICA_STORE", str(store))
    for command in (
        ("users",),
        ("stats", "me"),
        ("episodes", "me"),
        ("facts", "me", "--all"),
        ("messages", "me"),
        ("timeline", "me"),
        ("search", "me", "Where does she live? 她住在哪里？"),
        ("explain", "me", "Priya 年糕"),
    ):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        assert command_line.main([*command, "--color", "never"]) == 0
        lines = terminal.getvalue().splitlines()
        assert lines
        assert max(map(columns, lines)) <= wide, command
