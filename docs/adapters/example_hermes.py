"""The calls that Hermes Agent makes around each turn, with EpisodicaMemoryProvider."""

from __future__ import annotations

from agent.memory_manager import MemoryManager

from episodica.adapters.hermes import EpisodicaMemoryProvider

SCRIPT = {"I moved to Lyon last week.": "Lovely!", "Where do I live?": "You live in Lyon."}

for session, (question, answer) in zip(["monday", "friday"], SCRIPT.items(), strict=True):
    memory = MemoryManager()
    memory.add_provider(EpisodicaMemoryProvider("memories", user_id="alice"))
    memory.initialize_all(session, hermes_home=".", platform="cli")
    recalled = "I moved to Lyon last week" in memory.prefetch_all(question, session_id=session)
    print(f"{session}: {answer} (recalled: {recalled})")
    memory.sync_all(question, answer, session_id=session)
    memory.flush_pending(timeout=10)
    memory.on_session_end([])
    memory.shutdown_all()
