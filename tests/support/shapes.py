"""Shapes of input whose cost has to grow no faster than their size."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Text = Callable[[int], str]
Talk = Callable[[int], list[dict[str, Any]]]


def repeated(piece: str) -> Text:
    return lambda size: (piece * (size // len(piece) + 1))[:size]


def counted(pattern: str) -> Text:
    """The pattern with rising numbers."""

    def text(size: int) -> str:
        pieces, length, number = [], 0, 0
        while length < size:
            pieces.append(pattern.replace("#", str(number)))
            length, number = length + len(pieces[-1]), number + 1
        return "".join(pieces)[:size]

    return text


def characters(first: int, count: int) -> Text:
    """Different characters of a script, as many as there are."""
    return lambda size: "".join(chr(first + number % count) for number in range(size))


def nested(opening: str, closing: str) -> Text:
    def text(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + closing * depth

    return text


def drawn(alphabet: str, word: int) -> Text:
    """Random words of a length; the same at every call."""

    def text(size: int) -> str:
        chance = random.Random(7)
        letters = [chance.choice(alphabet) for _ in range(size)]
        letters[word::word] = " " * len(letters[word::word])
        return "".join(letters)

    return text


PIECES = (
    *("a", "Z", " ", "\n", "\t", "\r\n", ".", ",", "!", "?", "-", "_", "1", "0", '"', "'", "’"),
    *("“", "”", "(", ")", "[", "]", "{", "<", ">", "/", "\\", "|", "*", "#", "`", "$", "%", "@"),
    *("&", "~", "=", ":", ";", "…", "—", "。", "，", "「", "？"),
    *("猫", "の", "한", "ก", "م", "ש", "я", "é", "e\u0301", "\u0301", "\u200b", "\u202e", "\x85"),
    *("\x1b[31m", "\x00", "\u2028", "😀", "👨‍👩‍👧‍👦", "🇫🇷", "𝔘", "\ufeff"),
)
PHRASES = (
    "https://example.org/a/b?c=d&e=f ",
    "ann@example.org ",
    "/usr/local/lib/python3 ",
    "&amp;&lt;",
    "1,234.56 ",
    "3.14159",
    "2024-03-11 ",
    "2024-03-11T09:30:00Z ",
    "on 3 May 2024 ",
    "last Friday ",
    "in the first week of March ",
    "at half past five ",
    "two years ago, ",
    "三月十一日",
    "上个星期五我去了北京。",
    "am 3. Mai 2024 ",
    "el 3 de mayo de 2024 ",
    "le 3 mai 2024 ",
    "I live in Paris. ",
    "I no longer live in Paris. ",
    "I don't like tea. ",
    "My sister's husband's brother is a nurse. ",
    "If it rains we stay, and if it does not we go, ",
    "because I said so because ",
    "and then and then ",
    "who knows who knows ",
    "the man who saw the man who saw ",
    "Ann said that Ann said that ",
    '"Ann said "Bob said ',
    "Mr. Dr. Prof. St. ",
    "e.g. i.e. etc. ",
    "What?! ",
    "well-known-and-long-",
    "it's that's they're ",
    "ANN BOB CY ",
    "Ann Bob Cy ",
    "camelCaseWordsAllTheWay",
    "# Heading\n\n",
    "- an item\n",
    "  - a deeper item\n",
    "| a | b |\n",
    "```\ncode\n```\n",
    "<b>bold</b>",
    '{"a": [1, 2, {"b": "c"}]}, ',
    "Ann: Hi!\nBob: Hello!\n",
    "2024-03-11 09:30:00 INFO started\n",
    "#tag @name ",
    "$5 and €6 and 7% ",
    "+49 170 1234567 ",
    "5 km, 3 kg, 20 °C, ",
    "Ich wohne in Berlin und meine Schwester wohnt in Wien. ",
    "Vivo en Madrid con mi hermana. ",
    "J'habite à Lyon depuis deux ans. ",
    "我住在巴黎，我姐姐住在里昂。",
    "私は東京に住んでいます。",
    "ok ok ok. ",
    "[image",
    "[image: a red door] ",
)
COUNTED = (
    "I live in Town#. ",
    "My favourite colour # is blue#. ",
    "On day # we rowed to island #. ",
    "word# ",
    "Name# met Name#. ",
    "I moved to Town# in 2024. ",
    "# ",
    "#",
    '"quoted # ',
    "(# ",
    "我的第#个朋友叫小#。",
)
TEXTS: dict[str, Text] = {
    **{f"{piece!a}": repeated(piece) for piece in (*PIECES, *PHRASES)},
    **{f"{pattern!a} counted": counted(pattern) for pattern in COUNTED},
    "different Chinese characters": characters(0x4E00, 20_000),
    "different Korean characters": characters(0xAC00, 11_000),
    "different symbols": characters(0x2190, 4_000),
    "nested brackets": nested("(", ")"),
    "nested quotation": nested("“", "”"),
    "nested JSON": nested('{"a":[', "]}"),
    "nested tags": nested("<a>", "</a>"),
    "random words": drawn("abcdefghijklmnopqrstuvwxyz", 6),
    "random long words": drawn("abcdefghijklmnopqrstuvwxyz", 4_000),
    "random digits": drawn("0123456789", 5_000),
    "base64": drawn("ABCDEFGHIJKLMNOPqrstuvwxyz0123456789+/", 1_000_000),
}


def talk(count: int, **fields: Callable[[int], object]) -> list[dict[str, Any]]:
    """Messages whose fields follow from their number."""
    usual: dict[str, Callable[[int], object]] = {
        "role": lambda n: "user",
        "content": lambda n: f"Did you see kingfisher {n % 97} near bridge {n % 31}?",
        "timestamp": lambda n: 1_700_000_000 + 40 * n,
        "message_id": str,
    }
    usual |= fields
    return [{key: value(n) for key, value in usual.items()} for n in range(count)]


TALKS: dict[str, Talk] = {
    "ordinary": talk,
    "one text": lambda n: talk(n, content=lambda _: "ok"),
    "one long text": lambda n: talk(n, content=lambda _: "We rowed to the island. " * 20),
    "different words": lambda n: talk(n, content=lambda k: f"word{k} thing{k * 7} place{k * 13}"),
    "Chinese": lambda n: talk(n, content=lambda k: f"我昨天第{k}次看到翠鸟，在第{k % 31}座桥边。"),
    "one time": lambda n: talk(n, timestamp=lambda _: 1_700_000_000),
    "backwards in time": lambda n: talk(n, timestamp=lambda k: 1_700_000_000 - 40 * k),
    "far apart": lambda n: talk(n, timestamp=lambda k: 1_000_000_000 + 90_000 * k),
    "a session each": lambda n: talk(n, session_id=lambda k: f"s{k}"),
    "one session": lambda n: talk(n, session_id=lambda _: "s"),
    "two sessions in turn": lambda n: talk(n, session_id=lambda k: f"s{k % 2}"),
    "a name each": lambda n: talk(n, name=lambda k: f"Name{k} Surname{k}"),
    "long names": lambda n: talk(n, name=lambda k: f"Name{k} " * 10),
    "metadata": lambda n: talk(n, metadata=lambda k: {"a": k, "tags": ["x", str(k)]}),
    "questions": lambda n: talk(n, content=lambda k: f"Where is Name{k}? Who is Name{k + 1}?"),
    "one fact again": lambda n: talk(n, content=lambda _: "I live in Paris."),
    "one fact that changes": lambda n: talk(n, content=lambda k: f"I live in Town{k} now."),
    "facts": lambda n: talk(n, content=lambda k: f"My favourite drink number {k} is Tea{k}."),
    "facts of many": lambda n: talk(n, content=lambda k: f"Name{k} works as a nurse in Town{k}."),
    "moves": lambda n: talk(n, content=lambda k: f"I moved to Town{k % 500} last week."),
    "denials": lambda n: talk(n, content=lambda k: f"I no longer like thing {k % 100}."),
    "dates": lambda n: talk(n, content=lambda k: f"Day {k} was {1 + k % 28} May {1990 + k % 40}."),
}
