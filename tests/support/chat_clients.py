"""Clients of chat APIs with scripted answers, and the messages that a memory has of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace as Object
from typing import Any

from episodica import MemorySystem


def completion(text: str | None, calls: Any = None) -> Any:
    message = Object(role="assistant", content=text, tool_calls=calls)
    return Object(id="c", choices=[Object(index=0, message=message)])


def chunks(*texts: str) -> list[Any]:
    other = Object(choices=[Object(index=1, delta=Object(content="other", tool_calls=None))])
    deltas = [Object(content=text, tool_calls=None) for text in texts]
    return [
        *[Object(choices=[Object(index=0, delta=delta)]) for delta in deltas],
        other,
        Object(choices=[]),
    ]


def call(name: str, arguments: str) -> Any:
    return Object(function=Object(name=name, arguments=arguments), id="1", type="function")


class Stream:
    """A stream of an SDK: pieces, and whether it was closed."""

    def __init__(self, pieces: list[Any]) -> None:
        self.pieces = iter(pieces)
        self.closed = False
        self.response = "http"

    def __iter__(self) -> Iterator[Any]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True


class AsyncStream:
    def __init__(self, pieces: list[Any]) -> None:
        self.pieces = pieces
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[Any]:
        for piece in self.pieces:
            yield piece

    async def close(self) -> None:
        self.closed = True


class Resource:
    """A resource such as ``chat.completions``: notes each call, and answers by the script."""

    def __init__(self, *answers: Any) -> None:
        self.answers = iter(answers)
        self.asked: list[dict[str, Any]] = []

    def create(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def other(self) -> str:
        return "as it was"


class AsyncResource(Resource):
    async def create(self, **arguments: Any) -> Any:
        return super().create(**arguments)


class Client:
    """A client with the resources that a test needs."""

    def __init__(self, **resources: Any) -> None:
        self.__dict__.update(resources)
        self.api_key = "key"

    def with_options(self, **_: Any) -> Client:
        made = Client()
        made.__dict__.update(self.__dict__)
        return made


def chat_client(*answers: Any, kind: type[Resource] = Resource) -> tuple[Any, Resource]:
    resource = kind(*answers)
    return Client(chat=Object(completions=resource, other=1)), resource


def said(memory: MemorySystem, user: str = "alice") -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.messages(user)]


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}
