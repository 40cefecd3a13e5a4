"""A cache that was changed on purpose, with checksums to match."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import pytest

from episodica import InternalError, LightweightSearchSystem, MemorySystem

HEAD = 12
"""Bytes before a column: the number of its values, and their checksum."""


def mended(snapshot: bytes, text: bytes, other: bytes) -> bytes:
    """A snapshot with one text in it replaced, and every checksum on the way mended."""
    line, body = snapshot.split(b"\n", 1)
    head = json.loads(line)
    packs, found = [], False
    for pack in head["packs"]:
        old, body = body[: pack["bytes"]], body[pack["bytes"] :]
        new, heads = b"", b""
        while old:
            count, crc = struct.unpack_from("<QI", old)
            # The length of a value is not stored: the right one gives the checksum of the column.
            width = next(w for w in range(1, 65) if zlib.crc32(old[HEAD : HEAD + count * w]) == crc)
            column, old = old[HEAD : HEAD + count * width], old[HEAD + count * width :]
            found = found or text in column
            column = column.replace(text, other)
            start = struct.pack("<QI", count, zlib.crc32(column))
            heads, new = heads + start, new + start + column
        packs.append(new)
        pack["crc32"] = zlib.crc32(heads)
    assert found
    del head["crc"]
    start = json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    return b'%s,"crc":"%08x"}\n%s' % (start, zlib.crc32(start), b"".join(packs))


@pytest.mark.parametrize("system", [MemorySystem, LightweightSearchSystem])
def test_a_record_that_nobody_wrote_is_an_error_and_then_left_aside(
    tmp_path: Path, system: type[MemorySystem] | type[LightweightSearchSystem]
) -> None:
    with MemorySystem(tmp_path, snapshot_threshold=1) as memory:
        memory.add_messages("al", [{"role": "user", "content": "I moved to Lyon last Friday."}])
        memory.flush("al")
        memory.wait("al")
    snapshot = tmp_path / "snapshots" / "al.snapshot"
    snapshot.write_bytes(mended(snapshot.read_bytes(), b'{"memory_id"', b'["memory_id"'))
    with system(tmp_path) as memory:
        with pytest.raises(InternalError, match="a record of the snapshot can't be read") as error:
            list(memory.semantic_memories("al"))
        assert error.value.hint == "call again: the logs are read instead of the snapshot"
        assert "Lyon" in memory.search("al", "Lyon")[0].content
        assert len(list(memory.semantic_memories("al"))) == 1
