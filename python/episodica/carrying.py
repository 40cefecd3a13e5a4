"""The tree of a memory, exports and imports: methods of ``MemorySystem``.

The functions check arguments, call the engine and wrap its answers, without logic of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from .errors import InvalidInputError
from .hints import nearest_hint, shown
from .inputs import checks as check
from .inputs.names import keys_of
from .inputs.options import DELETED, one_of
from .inputs.secrets import POLICIES
from .layers.address import parse
from .layers.tree import Tree
from .layers.values import LAYERS, Entry, Exploration, Layer
from .layers.walk import walk
from .operation import users
from .progress import Progress, Reporter
from .reports import ExportReport, ImportReport
from .store import OpenStore

# The most levels that `tree` reads.
_DEEPEST = 32


def ls(self: OpenStore, uri: str = "cortex://", *, user_id: str | None = None) -> Sequence[Entry]:
    """The entries of a folder of the tree, with names and titles.

    ``cortex://`` has ``session/ID/timeline/YYYY-MM/DD``, a folder for each category of facts
    such as ``user/ID/preferences``, and ``agent/ID/cases``. ``episodica://TENANT/USER`` has the
    records by kind, at their own ``uri``. Names are percent-encoded ids. A folder is read when
    it is listed.

    Parameters
    ----------
    uri
        The folder.
    user_id
        Only records of this user. ``None``: all users; opens only users that may have
        records in the folder.

    Returns
    -------
    Sequence of Entry
        Folders, then texts in order of time.

    Raises
    ------
    InvalidInputError
        If ``uri`` is not an address, or nothing is there.

    Examples
    --------
    >>> [entry.name for entry in memory.ls("cortex://")]
    ['session', 'user', 'agent', 'resources']
    >>> [entry.title for entry in memory.ls("cortex://user/alice/personal_info")]
    ['Alice: "I moved to Lyon last Friday [8 March 2024]."']
    """
    return _tree(self, user_id).entries(parse(check.text(uri, "uri")))


def tree(
    self: OpenStore, uri: str = "cortex://", *, depth: int = 2, user_id: str | None = None
) -> Entry:
    """A folder with its entries, down to a depth; ``print`` draws it.

    Parameters
    ----------
    uri, user_id
        As for :meth:`ls`.
    depth
        Levels below the folder, 1 to 32.

    Returns
    -------
    Entry
        The folder; its ``entries`` and theirs are the levels below.

    Raises
    ------
    InvalidInputError
        As for :meth:`ls`, and for a ``depth`` out of bounds.

    Examples
    --------
    >>> print(memory.tree("cortex://user/alice", depth=1))
    cortex://user/alice
    ├── profile.md  what is known now
    ├── profile.json  what is known now
    ├── personal_info/
    ├── work_history/
    ├── preferences/
    ├── relationships/
    ├── goals/
    ├── entities/
    ├── events/
    └── decisions/
    """
    levels = min(check.whole(depth, "depth", 1), _DEEPEST)
    at = parse(check.text(uri, "uri"))
    top = Entry(str(at), at.names[-1] if at.names else "", "folder")
    return _deep(_tree(self, user_id), top, levels)


def read(
    self: OpenStore, uri: str, layer: Layer | None = None, *, user_id: str | None = None
) -> str:
    """A text of the tree, in one of three layers.

    L0 is an abstract of at most 100 tokens, L1 an overview (of an episode: its content), L2
    the whole record (of an episode: its messages, verbatim). Folders have layers too.

    Parameters
    ----------
    uri
        The address of the text: from :meth:`ls`, or the ``uri`` of a record.
        ``….abstract.md`` and ``….overview.md`` name the layers L0 and L1.
    layer
        ``"L0"``, ``"L1"`` or ``"L2"``. ``None``: the layer that the address names, else L2.
    user_id
        As for :meth:`ls`.

    Returns
    -------
    str
        The text.

    Raises
    ------
    InvalidInputError
        If ``uri`` is not an address or nothing is there, and for an unknown layer.

    Examples
    --------
    >>> episode = next(memory.episodes("alice"))
    >>> memory.read(episode.uri, "L1") == episode.content
    True
    """
    chosen = None if layer is None else one_of(layer, LAYERS, "layer")
    return _tree(self, user_id).read(parse(check.text(uri, "uri")), chosen)  # type: ignore[arg-type]


def explore(
    self: OpenStore,
    query: str,
    uri: str = "cortex://",
    *,
    top_k: int = 5,
    user_id: str | None = None,
) -> Exploration:
    """Walks through the tree from abstracts to contents, towards the answer of a question.

    Parameters
    ----------
    query
        The question.
    uri
        The folder where the walk begins.
    top_k
        Maximum number of hits.
    user_id
        As for :meth:`ls`.

    Returns
    -------
    Exploration
        The places that the walk looked at, each with its score and whether the walk went on
        there, and the hits that it found.

    Raises
    ------
    InvalidInputError
        As for :meth:`ls` and :meth:`search`.

    Examples
    --------
    >>> walk = memory.explore("where does she live?", "cortex://user/alice")
    >>> walk.steps[0].uri
    'cortex://user/alice/personal_info'
    >>> walk.hits[0].content
    'Alice: "I moved to Lyon last Friday [8 March 2024]."'
    """
    asked = check.query(query)
    at = parse(check.text(uri, "uri"))
    tree = _tree(self, user_id)
    tree.entries(at)
    return walk(self, tree, asked, at, check.top_k(top_k))


def _tree(self: OpenStore, user_id: str | None) -> Tree:
    return Tree(self, check.optional_user(user_id))


def export(
    self: OpenStore,
    user_id: str,
    path: str | os.PathLike[str],
    *,
    format: Literal["jsonl", "markdown", "tree"] | None = None,
) -> ExportReport:
    """Writes all records of a user to a file, or their tree to a directory.

    JSONL, which :meth:`MemorySystem.import_` reads, has one record per line: messages, episodes
    and facts with their ids and all their versions, but not vectors, nor prompts and answers of
    a model (:meth:`trace`). Markdown is for people. A tree is a directory of Markdown files, as
    :meth:`tree` shows them; ``import_`` takes over the corrections in them.

    Parameters
    ----------
    user_id
        User id.
    path
        The file. An existing file is replaced when the export is complete. For a tree, a
        directory that does not exist yet or is empty.
    format
        ``None``: Markdown if the name ends in ``.md``, else JSONL.

    Returns
    -------
    ExportReport
        How many records were written.

    Raises
    ------
    InvalidInputError
        For an unknown user or format, and for a directory that is not empty.
    StoreIOError
        If the file can't be written.

    Examples
    --------
    >>> memory.export("alice", "alice.jsonl").messages
    2
    """
    from .layers.folder import write
    from .transfer import FILE_FORMATS, export

    user = check.user(user_id)
    file = check.store_path(path)
    if user not in users(self):
        raise InvalidInputError(
            f"no such user: `{shown(user)}`", hint=nearest_hint(user, users(self))
        )
    if format == "tree":
        return write(Tree(self, user), user, file)
    chosen = None if format is None else one_of(format, FILE_FORMATS, "format")
    return export(self, user, file, chosen)


def import_(
    self: OpenStore,
    path: str | os.PathLike[str],
    user_id: str | None = None,
    *,
    format: str | None = None,
    keys: Mapping[str, str] | None = None,
    secrets: Literal["mask", "keep", "refuse"] | None = None,
    deleted: Literal["skip", "add"] = "skip",
    progress: Progress = None,
) -> ImportReport:
    """Adds what a file holds: an export of this package, or a chat history of another program.

    An export's records keep their ids and versions. Records that the user has are left out, so
    a second import adds nothing. Chat histories are exports of assistants, coding agents,
    messengers and other memories, messages of chat APIs as JSON or JSONL, CSV, e-mails, and
    plain text with ``Name:`` on each line. Their last messages stay in the buffer until
    :meth:`flush`. Parts that can't be read are left out and named in the report.

    Parameters
    ----------
    path
        The file, a ZIP archive or a folder of such files, or ``"-"`` for standard input. Or
        the directory of an exported tree: facts and overviews that were corrected there become
        updates of ``user_id``, with their history; nothing is deleted.
    user_id
        The user. ``None``: the user that the file names.
    format
        The name of a format, ``"chatgpt"`` or ``"csv"`` for example; the guide to imports
        lists them. ``None``: the content tells.
    keys
        The file's own names of the parts of a message, for JSON and tables whose keys or columns
        are none of the known ones: ``{"content": "内容", "speaker": "发送者"}``.
    secrets
        How to treat keys, passwords, card and account numbers in files of other programs; see
        :meth:`add_messages`. ``None``: as the setting ``secrets`` says, which masks them.
    deleted
        How to treat messages and facts that the user has deleted since: ``"skip"`` leaves
        them out, with what comes from them; ``"add"`` brings them back. Deleting the whole user
        forgets this, too.
    progress
        ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
        ``(step, done, total)``.

    Returns
    -------
    ImportReport
        How many records were added, how many were known or deleted, and which parts were left
        out.

    Raises
    ------
    InvalidInputError
        For a file that is damaged, or of which nothing is understood; the error names file and
        line. Of an export, nothing is added then; of a chat history, the conversations before
        the fault are.
    StoreIOError
        If the file can't be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("chat.txt").write_text("2024-03-11 09:30 Dan: I sold my car.")
    >>> memory.import_("chat.txt", "dan").messages
    1
    >>> memory.import_("chat.txt", "dan").known
    1
    """
    from .layers.folder import is_tree, read_back
    from .transfer import import_file

    file = path if str(path) == "-" else check.store_path(path)
    if user_id is not None and Path(file).is_dir() and is_tree(Path(file)):
        return read_back(self, check.user(user_id), Path(file))
    policy = None if secrets is None else one_of(secrets, POLICIES, "secrets")
    user, adds = check.optional_user(user_id), one_of(deleted, DELETED, "deleted") == "add"
    named = None if keys is None else keys_of(keys)
    with Reporter(progress, self._awaiter) as callback:
        return import_file(self, file, user, format, callback, policy, adds, named)


def _deep(tree: Tree, top: Entry, levels: int) -> Entry:
    entries = tree.entries(parse(top.uri))
    if levels > 1:
        entries = [_deep(tree, one, levels - 1) if one.is_folder else one for one in entries]
    return replace(top, entries=tuple(entries))
