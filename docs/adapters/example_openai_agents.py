"""An agent of the OpenAI Agents SDK whose session is a memory."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import Agent, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from episodica import MemorySystem
from episodica.adapters.openai_agents import EpisodicaSession

set_tracing_disabled(True)


class ScriptedModel(Model):
    """A scripted model; put your own here."""

    def __init__(self, *script: str) -> None:
        self.script = iter(script)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        text = ResponseOutputText(type="output_text", text=next(self.script), annotations=[])
        message = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[text]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    model = ScriptedModel("Congratulations!", "Your dog Pickle.")
    agent = Agent(name="Assistant", model=model)
    with MemorySystem("memories") as memory:
        # Was: session = SQLiteSession("monday")
        session = EpisodicaSession("monday", memory, user_id="alice")
        await Runner.run(agent, "I adopted a dog called Pickle.", session=session)
        result = await Runner.run(agent, "Who sleeps on my sofa?", session=session)
        print(result.final_output)
        print(len(await session.get_items()), "items")

        # The session is part of Alice's memory.
        hits = memory.search("alice", "What is the dog called?", kinds=["message"], top_k=1)
        print(hits[0].content)


asyncio.run(main())
