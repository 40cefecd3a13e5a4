"""No message passes for the structure around it, in any form of a context."""

from __future__ import annotations

import html
import json
import re
from importlib import resources
from typing import Any

import pytest
from forgeries import FENCED, FORGERIES, unfenced

from episodica import InvalidInputError, MemorySystem, count_tokens, fence
from episodica.fence import fenced, fenced_context
from episodica.readers import read_conversations

SPEAKERS = ("Ann", "Ben")
WORD = "kingfisher"


def messages() -> list[dict[str, Any]]:
    """Each forgery as words of Ann, and as the name of a speaker; dated in another year.

    In the same year, some forgeries would be true quotations: a message of the day that they name.
    """
    said = [
        {"role": "user", "name": "Ann", "content": f"{WORD} {n}: {text}"}
        for n, text in enumerate(FORGERIES)
    ]
    named = [
        {"role": "user", "name": f"Cy{text}", "content": f"{WORD} {n}"}
        for n, text in enumerate(FORGERIES, len(FORGERIES))
    ]
    return [
        {**message, "timestamp": f"2023-03-11T{9 + n // 60:02}:{n % 60:02}:00Z", "session_id": "s"}
        for n, message in enumerate(said + named)
    ]


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with MemorySystem(tmp_path_factory.mktemp("forged"), semantic_memory=False) as memory:
        memory.add_messages("ann", messages())
        yield memory


def test_there_are_two_hundred_forgeries() -> None:
    assert len(set(FORGERIES)) >= 200


def test_json_holds_every_message_word_for_word(forged: MemorySystem) -> None:
    packed = forged.context("ann", WORD, max_tokens=200_000, format="json", kinds=["message"])
    data = json.loads(packed.text)
    assert list(data) == ["messages"]
    found = [(one["speaker"], one["content"]) for one in data["messages"]]
    assert found == [(one.speaker, one.content) for one in packed.messages]
    assert len(found) == len(messages())
    assert {one["date"] for one in data["messages"]} == {"2023-03-11"}
    assert all(
        one.keys() <= {"date", "speaker", "content", "after_gap"} for one in data["messages"]
    )


NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
TAG = re.compile(r'<(/?)(memory|day|message|fact|summary|left-out)((?: [a-z]+="[^"<>]*")*)(/?)>')


def test_tags_hold_every_message_word_for_word(forged: MemorySystem) -> None:
    packed = forged.context("ann", WORD, max_tokens=200_000, format="xml", kinds=["message"])
    body = r'<memory>\n<day date="2023-03-11">\n(.*)</day>\n</memory>'
    found = re.fullmatch(body, packed.text, re.DOTALL)
    assert found
    said = re.findall(r'<message from="([^"<>]*)">([^<>]*)</message>\n', found[1])
    # Characters that XML lacks are replaced.
    legal = [NO_XML.sub("\ufffd", one.content) for one in packed.messages]
    assert [html.unescape(text) for _, text in said] == legal
    assert len(said) == len(messages())
    # Nothing but these tags is left, so no message made another.
    assert re.sub(r'<message from="[^"<>]*">[^<>]*</message>\n', "", found[1]) == ""
    assert {name for name, _ in said if not name.startswith("Cy")} == {"Ann"}


def test_text_begins_no_line_but_its_own(forged: MemorySystem) -> None:
    packed = forged.context("ann", WORD, max_tokens=200_000, kinds=["message"])
    first, *lines = re.split("[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", packed.text)
    assert first == "# Sat 11 Mar 2023"
    own = [line for line in lines if line and not line.startswith(" ")]
    assert all(re.match(r"(Ann|Cy[^:]*): kingfisher \d+", line) for line in own)
    # Only the first of Ann's messages has her name: the others continue it.
    assert len(own) == 1 + len(FORGERIES)
    assert len(packed.messages) == len(messages())


@pytest.mark.parametrize("form", ["text", "json", "xml"])
def test_no_form_exceeds_its_budget(forged: MemorySystem, form: Any) -> None:
    used = {}
    for budget in (*range(1, 40), 55, 80, 150, 400, 1_000, 3_000, 10_000):
        packed = forged.context("ann", f"Where is the {WORD}?", max_tokens=budget, format=form)
        assert packed.token_count == count_tokens(packed.text) <= budget
        used[budget] = packed.token_count
        if form == "json":
            json.loads(packed.text)
        if form == "xml" and packed.text:
            assert packed.text.startswith("<memory")
            assert packed.text.endswith(">")
    assert used[1_000] > 700
    assert used[10_000] > 7_000
    empty = forged.context("nobody", WORD, format=form)
    assert empty.text == {"text": "", "json": "{}", "xml": "<memory/>"}[form]
    assert empty.token_count == count_tokens(empty.text)


def test_a_fence_holds_whatever_stands_inside(forged: MemorySystem) -> None:
    packed = forged.context("ann", WORD, max_tokens=200_000, kinds=["message"])
    text = fenced_context(packed, source="episodica://default/ann")
    assert unfenced(text) == packed.text
    found = FENCED.fullmatch(text)
    assert found
    assert (found["source"], found["time"]) == ("episodica://default/ann", "2023-03-11")
    for forgery in FORGERIES:
        # Also as the source of the text, and with the closing mark of its own fence after it.
        once = fenced(forgery, source=forgery)
        assert unfenced(once) == forgery
        end = once.rpartition("\n")[2]
        again = f"{forgery}\n{end}\n{end.upper()}"
        assert unfenced(fenced(again)) == again
    assert fenced(" \n") == fenced_context(forged.context("nobody", WORD)) == ""


def test_a_text_never_has_its_own_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fence, "_DIGITS", 1)
    for last in range(500):
        text = f"0123 45 67 89 ABCDE {last}"
        mark = fenced(text).splitlines()[1].removeprefix("<memory-").removesuffix(">")
        assert mark == "f", "the only one that is left"


@pytest.mark.parametrize("form", ["text", "json", "xml"])
def test_facts_and_what_ended_are_told_in_every_form(moved: MemorySystem, form: Any) -> None:
    packed = moved.context("al", "Where does Alice live?", max_tokens=250, format=form)
    [fact] = [one for one in packed.facts if "in Lyon" in one.content]
    day = fact.valid_from.date().isoformat()
    told = fact.content.rstrip(".") + "; before: Alice lives in Paris"
    line = "I moved to Lyon last Friday [2 February 2024]."
    if form == "json":
        data = json.loads(packed.text)
        assert {"since": day, "fact": told} in data["facts"]
        [old] = [one for one in data["messages"] if "Paris" in one["content"]]
        assert old["outdated"] is True
        assert old["outdated_since"] == day
        assert line in [one["content"] for one in data["messages"]]
    elif form == "xml":
        assert f'<fact since="{day}">{told}</fact>\n' in packed.text
        marks = f'outdated="true" outdated_since="{day}"'
        assert f'<message from="Alice" {marks}>I live in Paris, in a small flat.' in packed.text
        assert f'<message from="Alice">{line}' in packed.text
    else:
        assert f"- {fact.valid_from:%-d %b}: {told}\n" in packed.text
        since = fact.valid_from.strftime("%-d %b %Y")
        assert f"Alice [outdated since {since}]: I live in Paris, in a small flat." in packed.text
        assert f"{line}\n" in f"{packed.text}\n"


def test_the_text_form_costs_next_to_nothing() -> None:
    """The indent of further lines: at most 2 % more tokens than the messages without it."""
    sample = resources.files("episodica").joinpath("data/sample_conversation.json")
    with resources.as_file(sample) as file:
        [talk] = read_conversations(file)
    said = [message["content"] for message in talk.messages]
    poem = [
        f"{a}\n{b}\n\n- {c}" for a, b, c in zip(said[::3], said[1::3], said[2::3], strict=False)
    ]
    for texts in (said, poem):
        plain = sum(map(count_tokens, texts))
        indented = sum(count_tokens(re.sub("(\n)", "\\1 ", text)) for text in texts)
        assert indented <= 1.02 * plain


def test_an_unknown_form_is_refused(memory: MemorySystem) -> None:
    with pytest.raises(InvalidInputError, match="format is unknown: `yaml`"):
        memory.context("ann", "x", format="yaml")  # type: ignore[arg-type]
