"""Questions of a word or two, which may look like small talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from episodica import MemorySystem


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("周末我去看房", ["看房", "去看房", "周末我去看房"]),
        ("食堂的面条很好吃,婚礼在十月。", ["食堂", "婚礼"]),
        ("Our wedding is in October.", ["wedding", "our wedding"]),
        ("Wir feiern die Taufe im Mai.", ["Taufe"]),
    ],
)
def test_a_word_that_was_said_once_is_found(said: str, asked: list[str], store: Path) -> None:
    with MemorySystem(store) as memory:
        memory.add_messages("ann", [{"role": "user", "content": said}])
        for question in asked:
            assert memory.context("ann", question).messages, question


def test_a_greeting_brings_nothing(store: Path) -> None:
    with MemorySystem(store) as memory:
        for text in ["Hello! We moved to Bath.", "Hello again!", "The roof leaks."]:
            memory.add_messages("ann", [{"role": "user", "content": text}])
        for question in ["Hello!", "Thanks!", "你好"]:
            assert "roof" not in memory.context("ann", question).text, question


def test_a_chinese_question_without_a_mark_is_no_greeting(memory: MemorySystem) -> None:
    for day, text in (("2026-03-01", "以后回答我请用简短的句子。"), ("2026-03-02", "我住在里昂。")):
        memory.add_messages("mei", [{"role": "user", "content": text, "timestamp": day}])
    memory.flush("mei")
    assert "简短" in memory.context("mei", "回答时注意什么").text
    assert memory.context("mei", "谢谢！").text == ""
