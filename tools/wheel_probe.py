"""Checks an installed wheel, and that it gives the same bits on all processors.

    python tools/wheel_probe.py STORE FILE

Adds the sample conversation to ``STORE`` and asks questions. ``FILE`` gets the results, with every
digit of their scores; if ``FILE`` exists already, written on another kind of processor, the results
must be equal. The store of that processor is next to the file and must also give them.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from importlib import resources
from pathlib import Path

import episodica
from episodica import LightweightSearchSystem, MemorySystem, _native
from episodica.readers import read_conversations

USER = "sample"
QUESTIONS = (
    "What is Mira's dog called?",
    "Which food is dangerous for Oskar?",
    "What was the greyhound's name when she was racing?",
    "How many loaves went over the counter on day one?",
    "Why couldn't they take the old van to Portugal?",
)


def found(memory: LightweightSearchSystem) -> list[str]:
    """The results of each question, with all digits of the scores."""
    results = (memory.search(USER, question, top_k=20) for question in QUESTIONS)
    return [f"{hit.score.hex()} {hit.kind} {hit.content}" for hits in results for hit in hits]


def main(store: Path, file: Path) -> None:
    """The command."""
    sample = resources.files("episodica").joinpath("data/sample_conversation.json")
    with resources.as_file(sample) as path:
        (conversation,) = read_conversations(path)
    started = time.perf_counter()
    with MemorySystem(store) as memory:
        memory.add_messages(USER, conversation.messages)
        memory.flush(USER)
        memory.wait(USER)
    # Opened again, like a store that was moved.
    with LightweightSearchSystem(store) as memory:
        here = found(memory)
    info = _native.system_info()
    print(
        f"episodica {episodica.__version__}, {info['architecture']}, {info['instructions']}: "
        f"{time.perf_counter() - started:.1f} s"
    )
    if not file.exists():
        file.write_text(json.dumps(here, indent=1), encoding="utf-8")
        shutil.copytree(store, file.with_suffix(".store"), dirs_exist_ok=True)
        return
    there = json.loads(file.read_text(encoding="utf-8"))
    for ours, theirs in zip(here, there, strict=True):
        if ours != theirs:
            sys.exit(f"another result than elsewhere:\n{ours}\n{theirs}")
    moved = store.with_name("moved")
    shutil.copytree(file.with_suffix(".store"), moved)
    with LightweightSearchSystem(moved) as memory:
        if found(memory) != there:
            sys.exit("a store that was written elsewhere gives other results here")
    print("the same bits, and the same from the store that was written elsewhere")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
