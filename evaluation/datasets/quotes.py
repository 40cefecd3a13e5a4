"""Conversations with the quotations that prove each answer, such as MemOps in this form.

A list of conversations, each with ``messages`` (as the memory takes them, with ids) and
``questions``: ``question``, ``answer``, ``kind``, ``gold`` (ids of messages) and ``quotes`` (parts
of these messages).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaluation.datasets import Conversation, Dataset, Question, checksums, files_of, read


def load(data: Path, **_: Any) -> Dataset:
    """Reads a file, or every ``.json`` file of a folder."""
    files = files_of(data)
    talks = [talk for file in files for talk in read(file)]
    made = tuple(
        Conversation(
            talk["id"],
            talk["messages"],
            tuple(
                Question(
                    user=talk["id"],
                    number=number,
                    text=asked["question"],
                    category=asked.get("kind", "question"),
                    answer=str(asked.get("answer", "")),
                    messages=tuple(asked["gold"]),
                    quotes=tuple(asked["quotes"]),
                )
                for number, asked in enumerate(talk["questions"])
            ),
        )
        for talk in talks
    )
    return Dataset("quotes", made, checksums(*files))
