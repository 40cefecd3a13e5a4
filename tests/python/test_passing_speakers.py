"""People who are heard in few sessions make a fact only of something important."""

from __future__ import annotations

from pathlib import Path

from episodica import MemorySystem

SESSIONS = 6
# Both are worth a note, but only the second must not be missed.
PLAIN = "I watched a tennis match."
VITAL = "I'm allergic to walnuts."


def tell(memory: MemorySystem, session: int, *lines: tuple[str, str]) -> None:
    """A sentence of the owner about something new, some words without content, then the lines."""
    owner = [f"I painted the shed number {session} green.", "ok", "yes", "right", "fine", "ok"]
    said = [("Olga", text) for text in owner] + list(lines)
    memory.add_messages(
        "olga's",
        [
            {
                "role": "user",
                "name": name,
                "content": content,
                "session_id": f"s{session}",
                "message_id": f"{session}-{number}",
                "timestamp": f"2024-03-{session + 1:02}T10:{number:02}:00Z",
            }
            for number, (name, content) in enumerate(said)
        ],
    )


def learned(memory: MemorySystem) -> set[str]:
    memory.flush("olga's")
    memory.wait("olga's")
    return {fact.content for fact in memory.semantic_memories("olga's")}


def about(facts: set[str], word: str) -> list[str]:
    return [fact for fact in facts if word in fact]


def test_a_stranger_is_known_by_what_is_important(memory: MemorySystem) -> None:
    for session in range(SESSIONS):
        tell(memory, session, *([("Pia", PLAIN), ("Pia", VITAL)] if session == 5 else []))
    facts = learned(memory)
    assert about(facts, "walnuts")
    assert not about(facts, "tennis")
    (refused,) = [
        one
        for one in memory.wait("olga's", report=True).turned_down
        if one.reason == "passing_speaker"
    ]
    assert (refused.id, "tennis" in refused.statement) == ("5-6", True)


def test_who_is_heard_as_often_as_the_owner_does_not_pass_by(memory: MemorySystem) -> None:
    for session in range(SESSIONS):
        tell(memory, session, ("Pia", "hello"))
    tell(memory, SESSIONS, ("Pia", PLAIN))
    assert about(learned(memory), "tennis")


def test_one_session_makes_nobody_a_stranger(memory: MemorySystem) -> None:
    tell(memory, 0, ("Pia", PLAIN), ("Rui", "I bought a small boat in Faro with my cousin."))
    facts = learned(memory)
    assert about(facts, "tennis")
    assert about(facts, "boat")


def test_a_deletion_leaves_what_would_be_known_without_the_deleted_talk(tmp_path: Path) -> None:
    told, never = MemorySystem(tmp_path / "told"), MemorySystem(tmp_path / "never")
    for session in range(SESSIONS):
        for memory in (told, never):
            if memory is told or session in (0, 5):
                tell(memory, session, *([("Pia", PLAIN)] if session == 5 else []))
    assert not about(learned(told), "tennis")
    assert about(learned(never), "tennis")
    told.delete("olga's", [f"{session}-{number}" for session in range(1, 5) for number in range(6)])
    assert learned(told) == learned(never)
    told.close()
    never.close()


def test_a_deletion_can_make_a_stranger_of_a_friend(tmp_path: Path) -> None:
    told, never = MemorySystem(tmp_path / "told"), MemorySystem(tmp_path / "never")
    for session in range(SESSIONS):
        hello = ("Pia", "hello")
        tell(told, session, hello, *([("Pia", PLAIN)] if session == 5 else []))
        tell(never, session, *([hello, ("Pia", PLAIN)] if session == 5 else []))
    assert about(learned(told), "tennis")
    assert not about(learned(never), "tennis")
    told.delete("olga's", [f"{session}-6" for session in range(5)])
    assert learned(told) == learned(never)
    told.close()
    never.close()
