"""What a person can attach to a chat: a profile, episodes and facts; and the prompt ``recall``.

Texts are fenced like the answers of the tools, and have a maximum length.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote, unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from .. import _native
from ..aio import AsyncMemorySystem
from ..errors import InvalidInputError
from ..fence import fenced
from ..hints import shown
from ..value import clip, longest
from .answers import moment_of, text_of
from .arguments import MAX_TOKENS, Recall
from .tools import Tools

_MARKDOWN = "text/markdown"
# The most episodes that the list of resources names.
_LISTED = 20
_FOLDERS = ("episodes", "facts", "messages")

PROMPT = Prompt(
    name="recall",
    title="Recall",
    description="What is remembered about a topic, for the conversation that follows.",
    arguments=[PromptArgument(name="topic", description="a question or a topic", required=True)],
)


class Resources:
    """The resources and the prompt of one user."""

    def __init__(self, memory: AsyncMemorySystem, tools: Tools) -> None:
        self._memory = memory
        self._tools = tools
        self._root = f"episodica://{quote(tools.user, safe='')}"

    def templates(self) -> list[ResourceTemplate]:
        """The addresses of all records."""
        return [
            ResourceTemplate(
                name=name,
                title=title,
                uri_template=f"{self._root}/{name}/{{id}}",
                mime_type=_MARKDOWN,
            )
            for name, title in (("episodes", "An episode"), ("facts", "A fact"))
        ]

    async def listed(self) -> list[Resource]:
        """The profile, and the newest episodes."""
        profile = Resource(
            name="profile",
            title="Profile",
            uri=f"{self._root}/profile",
            description="What is known about the person; a quotation tells of its day.",
            mime_type=_MARKDOWN,
        )
        episodes = self._memory.episodes(self._tools.user, newest_first=True, limit=_LISTED)
        return [profile] + [
            Resource(
                name=one.episode_id,
                title=f"{one.timestamp:%Y-%m-%d}: {clip(one.title)}",
                uri=f"{self._root}/episodes/{quote(one.episode_id, safe='')}",
                mime_type=_MARKDOWN,
            )
            async for one in episodes
        ]

    async def read(self, uri: str) -> TextResourceContents:
        """The text at an address of this user; the address may also be a record's own URI."""
        if uri == f"{self._root}/profile":
            text = await self._profile()
        else:
            text = await self._record(uri)
        return TextResourceContents(uri=uri, mime_type=_MARKDOWN, text=text)

    async def _record(self, uri: str) -> str:
        folder, mark, name = uri.removeprefix(f"{self._root}/").partition("/")
        known = uri.startswith(f"{self._root}/") and mark and folder in _FOLDERS
        try:
            record = await self._tools.find(unquote(name) if known else uri)
            text = await self._tools.place(uri, "L2") if record is None else text_of(record, "L2")
        except InvalidInputError as error:
            raise MCPError(INVALID_PARAMS, f"no such resource: `{shown(uri)}`") from error
        times = [] if record is None else [moment_of(record)]
        return _capped(text, lambda part: fenced(part, source=uri, times=times))

    async def _profile(self) -> str:
        profile = await self._memory.profile(self._tools.user)
        times = [line.fact.valid_from for line in profile]
        # Leaves room for the fence.
        text = profile.to_markdown(max_tokens=MAX_TOKENS - 200).strip()
        return (
            fenced(text, source=f"{self._root}/profile", times=times) or "No facts are known yet."
        )

    async def prompt(self, name: str, arguments: dict[str, str]) -> GetPromptResult:
        """The prompt, with the context of its topic."""
        if name != PROMPT.name:
            raise MCPError(INVALID_PARAMS, f"no such prompt: `{shown(name)}`")
        for given in arguments:
            if given != "topic":
                hint = "; did you mean `topic`?"
                raise MCPError(INVALID_PARAMS, f"unknown argument: `{shown(given)}`{hint}")
        topic = arguments.get("topic", "")
        try:
            recalled = await self._tools.context(Recall(conversation=None, query=topic))
        except InvalidInputError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        text = recalled.text or "Nothing is remembered about this topic."
        return GetPromptResult(
            description=PROMPT.description,
            messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))],
        )


def _capped(text: str, write: Callable[[str], str]) -> str:
    """The result of ``write`` for as much of the text as fits."""
    length = longest(len(text), lambda n: _native.count_tokens(write(text[:n])) < MAX_TOKENS)
    whole = length == len(text)
    return write(text if whole else f"{text[:length]}…")
