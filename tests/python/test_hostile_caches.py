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


def mended(segment: bytes, text: bytes, other: bytes) -> bytes:
    """A segment with one text in its snapshot replaced, and every checksum on the way mended."""
    at = segment.rindex(b"\n", 0, -1)
    body, footer = segment[:at], json.loads(segment[at:])
    packs, found = [], False
    for pack in footer["snapshot"]["packs"]:
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
    del footer["crc"]
    line = json.dumps(footer, separators=(",", ":"), ensure_ascii=False).encode()[:-1]
    return b'%s%s\n%s,"crc":"%08x"}\n' % (b"".join(packs), body, line, zlib.crc32(line))


@pytest.mark.parametrize("system", [MemorySystem, LightweightSearchSystem])
def test_a_record_that_nobody_wrote_is_an_error_and_then_left_aside(
    tmp_path: Path, system: type[MemorySystem] | type[LightweightSearchSystem]
) -> None:
    with MemorySystem(tmp_path, snapshot_threshold=1) as memory:
        memory.add_messages("al", [{"role": "user", "content": "I moved to Lyon last Friday."}])
        memory.flush("al")
        memory.wait("al")
    segment = tmp_path / "segments" / "al.segment"
    segment.write_bytes(mended(segment.read_bytes(), b'{"memory_id"', b'["memory_id"'))
    with system(tmp_path) as memory:
        with pytest.raises(InternalError, match="a record of the snapshot can't be read") as error:
            list(memory.semantic_memories("al"))
        assert error.value.hint == "call again: the logs are read instead of the snapshot"
        assert "Lyon" in memory.search("al", "Lyon")[0].content
        assert len(list(memory.semantic_memories("al"))) == 1
