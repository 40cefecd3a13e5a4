"""A chatbot with a memory: python chatbot.py NAME

Asks the model at OPENAI_BASE_URL, or OpenAI's with OPENAI_API_KEY; without both, a script.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from urllib.request import Request, urlopen

from episodica import MemorySystem

KEY = os.environ.get("OPENAI_API_KEY")
URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
MODEL = os.environ.get("CHAT_MODEL", "gpt-4.1-mini")


def ask(messages: list[dict[str, str]]) -> str:
    """The model's answer."""
    body = json.dumps({"model": MODEL, "messages": messages}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    with urlopen(Request(f"{URL}/chat/completions", body, headers), timeout=60) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


def scripted(messages: list[dict[str, str]]) -> str:
    """Stands in for a model: repeats the remembered words that are most like the question."""
    lines = messages[0]["content"].splitlines()
    parts = (line.removeprefix("[…] ").partition(": ") for line in lines)
    said = [text for speaker, _, text in parts if speaker == messages[-1]["name"]]
    asked = set(messages[-1]["content"].lower().split())
    best = max(said, key=lambda text: len(asked & set(text.lower().split())), default="")
    return f'You once said: "{best}"' if best else "Tell me more."


def chat(name: str) -> None:
    """Talks with one person until the input ends (Ctrl-D)."""
    model = ask if KEY or "OPENAI_BASE_URL" in os.environ else scripted
    started = datetime.now(UTC)
    turns: list[dict[str, str]] = []  # of this conversation
    with MemorySystem("memories") as memory:
        for line in filter(str.strip, sys.stdin):
            turn = {"role": "user", "name": name, "content": line.strip()}
            recalled = memory.context(name, turn["content"], max_tokens=1000, until=started)
            prompt = f"You are a helpful assistant. What you remember:\n{recalled}"
            answer = model([{"role": "system", "content": prompt}, *turns, turn])
            print(answer)
            reply = {"role": "assistant", "content": answer}
            memory.add_messages(name, [turn, reply], session_id=str(started))
            turns += [turn, reply]
        memory.close_session(name, str(started))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    chat(sys.argv[1])
