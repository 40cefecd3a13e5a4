"""An agent of Microsoft's Agent Framework that recalls an earlier session."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from episodica.adapters.agent_framework import EpisodicaContextProvider


class ScriptedClient(BaseChatClient):
    """Says whether it was told of Lyon; put the client of your model here."""

    def _inner_get_response(
        self, *, messages: Any, stream: bool, options: Any, **kwargs: Any
    ) -> Any:
        prompt = f"{options.get('instructions')} {[one.text for one in messages[:-1]]}"
        recalled = "I moved to Lyon last week" in prompt

        async def answer() -> ChatResponse:
            text = "You live in Lyon." if recalled else "Noted."
            return ChatResponse(messages=[Message("assistant", [text])])

        return answer()


client = ScriptedClient()


async def main() -> None:
    provider = EpisodicaContextProvider("memories", "alice")
    agent = Agent(client=client, context_providers=[provider])
    for name, text in [("monday", "I moved to Lyon last week."), ("friday", "Where do I live?")]:
        answer = await agent.run(text, session=agent.create_session(session_id=name))
        print(f"{name}: {answer.text}")
    provider.close()


asyncio.run(main())
