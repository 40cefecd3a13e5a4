"""An ADK agent that recalls an earlier session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory
from google.genai import types

from episodica.adapters.google_adk import EpisodicaMemoryService


class ScriptedModel(BaseLlm):
    """Looks up questions and says what it found; put your own model here."""

    async def generate_content_async(
        self, llm_request: Any, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        latest = llm_request.contents[-1].parts[-1]
        if latest.function_response is not None:
            recalled = "Lyon" in str(latest.function_response.response)
            part = types.Part(text="You live in Lyon." if recalled else "I don't know.")
        elif "?" in latest.text:
            call = types.FunctionCall(name="load_memory", args={"query": latest.text})
            part = types.Part(function_call=call)
        else:
            part = types.Part(text="Noted.")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main() -> None:
    service = EpisodicaMemoryService("memories")  # was: InMemoryMemoryService()
    sessions = InMemorySessionService()
    agent = LlmAgent(name="assistant", model=ScriptedModel(model="x"), tools=[load_memory])
    runner = Runner(agent=agent, app_name="app", session_service=sessions, memory_service=service)

    for name, text in [("monday", "I moved to Lyon."), ("friday", "Where do I live?")]:
        await sessions.create_session(app_name="app", user_id="alice", session_id=name)
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for event in runner.run_async(user_id="alice", session_id=name, new_message=message):
            if event.is_final_response():
                print(f"{name}: {event.content.parts[0].text}")
        session = await sessions.get_session(app_name="app", user_id="alice", session_id=name)
        await service.add_session_to_memory(session)
    service.close()


asyncio.run(main())
