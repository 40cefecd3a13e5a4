"""Databases of other programs: none is read, but each is named, with what to do instead."""

from __future__ import annotations

from dataclasses import dataclass

from .source import Source

_MAGIC = b"SQLite format 3\0"
# The first bytes, which hold the statements that made the tables.
_HEAD = 1 << 18


@dataclass(frozen=True, slots=True)
class Database:
    """A database, and how its chats can be had as a file that is read."""

    what: str
    remedy: str


_KNOWN = {
    (b"cursorDiskKV",): Database(
        "a database of Cursor", "open the chat in Cursor, choose `Export Chat`, import that file"
    ),
    (b"CREATE TABLE threads", b"data_type"): Database(
        "a database of Zed", "open the thread in Zed as Markdown, save it, import that file"
    ),
    (b"chat_message_join",): Database(
        "a database of iMessage", "export it as text with `imessage-exporter`, import that folder"
    ),
    (b"CREATE TABLE ItemTable",): Database(
        "a database of an editor", "export the chat in the editor, import that file"
    ),
}
_OTHER = Database("a database of SQLite", "export the chats as text or JSON, import that file")


def named(source: Source) -> Database | None:
    """What a database is; ``None`` for other files."""
    head = source.bytes().read(len(_MAGIC))
    if head != _MAGIC:
        return None
    head = source.bytes().read(_HEAD)
    for marks, database in _KNOWN.items():
        if all(mark in head for mark in marks):
            return database
    return _OTHER
