"""Who speaks: roles of speakers whom a file knows by name only."""

from __future__ import annotations

_ASSISTANTS = frozenset(
    ("ai", "assistant", "bot", "chatbot", "chatgpt", "claude", "copilot", "gemini", "gpt", "model")
)


def role_of(name: str) -> str:
    """The role of a speaker; whoever is no program is a user."""
    plain = name.strip().lower()
    if plain in _ASSISTANTS:
        return "assistant"
    return plain if plain in ("system", "tool") else "user"
