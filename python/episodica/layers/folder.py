"""The tree as a directory of Markdown files, and corrections read back from it.

A file begins with lines between ``---`` that name its record, the layer and the revision. Changes
are read back: the text of a fact, and the overview (L1) of an episode. Nothing is ever
deleted, and messages stay as they were said. The place of a file in the directory does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..corrections import update
from ..errors import InvalidInputError, StoreIOError
from ..queries import get
from ..records import Episode, Record, SemanticMemory
from ..regular import read_regular
from ..reports import ExportReport, ImportReport
from ..store import OpenStore
from .address import CORTEX, Address, encoded
from .texts import text_of
from .tree import PROFILES, Tree, kind_of
from .values import LAYERS, Layer

_FENCE = "---\n"
_ENDINGS: dict[Layer, str] = {"L0": ".abstract.md", "L1": ".overview.md", "L2": ".md"}
# Parts of a path are cut to this length: the text of the file has the full name.
_LONGEST_NAME = 160
_LARGEST_FILE = 64 << 20


def write(tree: Tree, user: str, directory: Path) -> ExportReport:
    """Writes a user's tree into a directory that does not exist yet or is empty."""
    counts = dict.fromkeys(("message", "episode", "semantic"), 0)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise InvalidInputError(
                f"the directory is not empty: `{directory}`", hint="name another, or empty it"
            )
        for place, record in _records(tree, Address(CORTEX)):
            counts[kind_of(record)] += 1
            counts["message"] += len(getattr(record, "original_messages", ()))
            for layer in LAYERS if isinstance(record, Episode) else LAYERS[2:]:
                _put(directory, _with_ending(place, layer), _file(place, record, layer))
        profile = Address(CORTEX, ("user", encoded(user)))
        for name in PROFILES:
            _put(directory, profile.child(name), tree.read(profile.child(name), None))
    except OSError as error:
        raise StoreIOError(
            f"cannot write `{directory}`", path=str(directory), errno=error.errno
        ) from error
    return ExportReport(*counts.values())


def _records(tree: Tree, at: Address) -> Iterator[tuple[Address, Record]]:
    for entry in tree.entries(at):
        below = at.child(entry.name)
        if entry.is_folder:
            yield from _records(tree, below)
        elif (record := tree.record(below)) is not None:
            yield below, record


def _with_ending(place: Address, layer: Layer) -> Address:
    *above, name = place.names
    return Address(place.scheme, (*above, name.removesuffix(".md") + _ENDINGS[layer]))


def _put(directory: Path, place: Address, text: str) -> None:
    target = directory.joinpath(*(_shortened(name) for name in place.names))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="\n")


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST_NAME:
        return name
    half = _LONGEST_NAME // 2
    return f"{name[:half]}~{name[-half:]}"


def _file(place: Address, record: Record, layer: Layer) -> str:
    head = {
        "uri": str(place),
        "record": record.uri,
        "layer": layer,
        "revision": str(_revision(record)),
    }
    lines = "".join(f"{name}: {value}\n" for name, value in head.items())
    return f"{_FENCE}{lines}{_FENCE}\n{_body(record, layer)}\n"


def _revision(record: Record) -> int:
    if isinstance(record, SemanticMemory):
        return record.revision_count
    return record.revision if isinstance(record, Episode) else 0


def _body(record: Record, layer: Layer) -> str:
    return record.content if isinstance(record, SemanticMemory) else text_of(record, layer)


def is_tree(directory: Path) -> bool:
    """Whether a file in the directory names the record that it shows, or the directory is empty."""
    files = list(_markdown(directory))
    return any("record" in _parsed(path)[0] for path in files) or not any(directory.iterdir())


def read_back(memory: OpenStore, user: str, directory: Path) -> ImportReport:
    """Updates the records whose files were changed since they were written."""
    updated, known, refused = 0, 0, []
    for path in _markdown(directory):
        head, body = _parsed(path)
        record = get(memory, user, head["record"]) if "record" in head else None
        if record is None:
            if "record" in head:
                refused.append(f"{path}: {user} has no such record any more")
            continue
        layer: Layer = next((one for one in LAYERS if one == head.get("layer")), "L2")
        if body == _body(record, layer).strip():
            known += 1
            continue
        reason = _refusal(record, layer, head.get("revision"), body)
        if reason is not None:
            refused.append(f"{path}: {reason}")
            continue
        update(memory, user, record.uri, body)
        updated += 1
    return ImportReport(known=known, users=1, updated=updated, refused=tuple(refused))


def _refusal(record: Record, layer: Layer, revision: str | None, body: str) -> str | None:
    """Why a change can't be taken over; ``None`` if it can."""
    if not isinstance(record, SemanticMemory) and not (
        isinstance(record, Episode) and layer == "L1"
    ):
        return "only facts and the overviews of episodes can be corrected"
    if not body:
        return "an empty text deletes nothing: use `delete`"
    if revision != str(_revision(record)):
        return "the record was changed since the files were written: write them again"
    return None


def _markdown(directory: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(directory):
        folders.sort()
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".md"))


def _parsed(path: Path) -> tuple[dict[str, str], str]:
    """The lines at the beginning of a file, by name, if it has any, and the text below."""
    try:
        # A FIFO would wait for ever, and no tree has one.
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return {}, ""
        text = read_regular(path, _LARGEST_FILE).decode("utf-8")
    except UnicodeDecodeError:
        return {}, ""
    except OSError as error:
        raise StoreIOError(f"cannot read `{path}`", path=str(path), errno=error.errno) from error
    if not text.startswith(_FENCE):
        return {}, ""
    head, mark, body = text.removeprefix(_FENCE).partition(f"\n{_FENCE}")
    if not mark:
        return {}, ""
    named = (line.partition(": ") for line in head.splitlines())
    return {name: value for name, _, value in named}, body.strip()
