"""A chat in LlamaIndex that recalls an earlier one."""

from __future__ import annotations

import asyncio

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

from episodica.adapters.llamaindex import EpisodicaMemoryBlock

# Scripted answers, in place of those that your model would write.
SCRIPT = ["Lyon is lovely!", "And how is the garden?", "Sunny again."]


async def main() -> None:
    block = EpisodicaMemoryBlock(memory="memories", user_id="alice", max_tokens=200)
    monday = Memory.from_defaults(
        session_id="monday",
        token_limit=100,
        token_flush_size=10,
        chat_history_token_ratio=0.2,
        memory_blocks=[block],
    )
    asked = ["I moved to Lyon last week.", "The garden has a walnut tree.", "How is the weather?"]
    for question, answer in zip(asked, SCRIPT, strict=True):
        await monday.aput(ChatMessage(role="user", content=question))
        await monday.aput(ChatMessage(role="assistant", content=answer))

    # What left the short-term memory on Monday is recalled on Friday.
    friday = Memory.from_defaults(session_id="friday", memory_blocks=[block])
    await friday.aput(ChatMessage(role="user", content="Where do I live?"))
    for message in await friday.aget():
        recalled = "I moved to Lyon last week" in str(message.content)
        print(f"{message.role.value}: {'Lyon was recalled' if recalled else message.content}")
    block.close()


asyncio.run(main())
