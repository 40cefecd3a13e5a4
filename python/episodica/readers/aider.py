"""The history that Aider keeps of its chats, as Markdown in the folder of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import InvalidInputError
from ..hints import shown
from .coding import repository
from .conversation import Conversation, Talk
from .dates import parse
from .source import Source

_BEGIN = re.compile(r"# aider chat started at (?P<date>\d{4}-\d{2}-\d{2} \d{1,2}:\d{2}:\d{2})\s*")
_ASKED = "####"
_COMMAND = re.compile(r"/([a-z-]{2,24})(?:\s+(.*))?", re.DOTALL)
# Commands whose arguments are words to the model; those of all others are settings.
_TALK = ("architect", "ask", "code", "context", "chat-mode")
_OUTPUT = "output of the program"


def is_aider(head: str) -> bool:
    """Whether the beginning of a file is a history of Aider."""
    lines = head.lstrip("\ufeff \t\r\n").split("\n", 1)
    return _BEGIN.fullmatch(lines[0].rstrip("\r")) is not None


def aider(source: Source) -> Iterator[Conversation]:
    """The chats of a history, one conversation for each."""
    chat: _Chat | None = None
    for number, line in source.lines():
        begun = _BEGIN.fullmatch(line.strip("\ufeff\r"))
        if begun is not None:
            if chat is not None:
                chat.say()
                yield chat.talk.conversation()
            chat = _Chat(source, begun["date"])
        elif chat is not None:
            chat.take(line, number)
        elif line.strip():
            raise InvalidInputError(
                f"line {number} begins no chat of Aider: `{shown(line.strip())}`", line=number
            )
    if chat is not None:
        chat.say()
        yield chat.talk.conversation()


class _Chat:
    """A chat that is being read."""

    def __init__(self, source: Source, date: str) -> None:
        session = f"aider {date}"
        self.talk = Talk(source.name, session, session=session, date=parse(date))
        if not source.is_stdin and source.path.name == source.name:
            self.talk.about |= repository(str(source.path.absolute().parent))
        self._role = ""
        self._lines: list[str] = []
        self._number = 0

    def take(self, line: str, number: int) -> None:
        written = line.rstrip()
        if written.startswith(_ASKED) and written[len(_ASKED) :][:1] in ("", " "):
            self._add("user", written[len(_ASKED) :].strip(), number)
        elif written.startswith(">"):
            self.say()
            self.talk.cut(_OUTPUT)
        elif written or self._role == "assistant":
            self._add("assistant", written, number)

    def _add(self, role: str, line: str, number: int) -> None:
        if role != self._role:
            self.say()
            self._role, self._number = role, number
        self._lines.append(line)

    def say(self) -> None:
        """Adds the message whose lines were read."""
        text = "\n".join(self._lines).strip()
        role, self._role, self._lines = self._role, "", []
        if not text:
            return
        command = _COMMAND.fullmatch(text) if role == "user" else None
        if command is not None and not (command[1] in _TALK and command[2]):
            self.talk.leave(f"a setting of the program: `/{command[1]}`", self._number)
            return
        words = command[2] if command else text
        self.talk.add({"role": role, "content": words}, self._number)
