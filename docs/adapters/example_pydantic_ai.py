"""An agent of Pydantic AI that recalls what it was told, and a conversation on disk."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from episodica.adapters.pydantic_ai import EpisodicaConversationStore, EpisodicaMemory


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A scripted model: says whether it was told of Lyon."""
    recalled = "I moved to Lyon last week" in str(info.instructions)
    return ModelResponse(parts=[TextPart("You live in Lyon." if recalled else "Noted.")])


model = FunctionModel(answer)


async def main() -> None:
    agent = Agent(model, capabilities=[EpisodicaMemory("memories", "alice")])
    for text in ["I moved to Lyon last week.", "Where do I live?"]:
        print((await agent.run(text)).output)

    store = EpisodicaConversationStore("memories")  # was: InMemoryConversationStore()
    for text in ["Hello", "Me again"]:
        known = await store.load("chat") or Conversation(messages=[], conversation_id="chat")
        await store.save(await agent.run(text, conversation=known))
    found = await store.load("chat")
    print(len(found.messages), "messages in the conversation")


asyncio.run(main())
