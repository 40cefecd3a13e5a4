"""A crew of CrewAI that recalls what another one remembered."""

from __future__ import annotations

import os
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}

from crewai import Agent, BaseLLM, Crew, Task

from episodica.adapters.crewai import memory_tools


class ScriptedLLM(BaseLLM):
    """Uses one tool, then answers; put your own model here."""

    step: str

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        step, self.step = self.step, ""
        seen = [str(one["content"]) for one in messages]
        recalled = any("<memory-" in text and "in Lyon." in text for text in seen)
        return step or f"Final Answer: {'You live in Lyon.' if recalled else 'Noted.'}"

    def supports_function_calling(self) -> bool:
        return False


steps = [
    'Action: remember\nAction Input: {"text": "Alice lives in Lyon."}',
    'Action: recall\nAction Input: {"question": "Where does Alice live?"}',
]
for step in steps:
    agent = Agent(
        role="Assistant",
        goal="Help Alice",
        backstory="You remember.",
        llm=ScriptedLLM(model="scripted", step=f"Thought: I use a tool.\n{step}"),
        tools=memory_tools("memories", "alice"),
    )
    task = Task(description="Help.", expected_output="An answer.", agent=agent)
    print(Crew(agents=[agent], tasks=[task]).kickoff())
