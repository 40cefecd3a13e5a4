"""Views over the records: the profile, the tree, the sessions; and exports. Shared by all memories.

Checks arguments, reads records, hands them to the modules that arrange them. Stores nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from .errors import InvalidInputError
from .hints import nearest_hint, shown
from .inputs import checks as check
from .inputs.options import list_options, one_of
from .layers.address import parse
from .layers.tree import Tree
from .layers.values import LAYERS, Entry, Exploration, Layer
from .layers.walk import explore
from .profile import LANGUAGES, Profile, profile_of
from .queries import MemoryReader
from .records import SemanticMemory
from .reports import ExportReport
from .sessions import Session

# Levels that `tree` reads, at most.
_DEEPEST = 32


class MemoryViews(MemoryReader):
    """The operations that arrange records. Use one of the two subclasses."""

    __slots__ = ()

    def profile(
        self,
        user_id: str,
        *,
        max_tokens: int | None = None,
        language: Literal["en", "zh"] | None = None,
    ) -> Profile:
        """What is known of a user and holds now, by category, with what it was before.

        At most 50 facts of personal information, 100 of work history, 200 preferences, 50
        relationships and 50 goals; the least important ones are left out first.

        Parameters
        ----------
        user_id
            User id. An unknown user has an empty profile.
        max_tokens
            Maximum length as Markdown, in tokens of o200k_base: more facts are left out.
        language
            Of the headings, ``"en"`` or ``"zh"``; ``None``: that of the facts.

        Returns
        -------
        Profile
            The facts by category; ``to_markdown(max_tokens=…)`` and ``to_json()`` write it.

        Raises
        ------
        InvalidInputError
            For ``max_tokens`` below 1, or another language.

        Examples
        --------
        >>> profile = memory.profile("alice")
        >>> [line.content for line in profile.sections["personal_info"]]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        >>> [event.change for event in next(iter(profile)).history]
        ['ADD']
        """
        user = check.user(user_id)
        chosen = None if language is None else one_of(language, LANGUAGES, "language")
        facts = list(self.semantic_memories(user, include_superseded=True))
        revised = {
            fact.memory_id: [
                one for one in self.history(user, fact.memory_id) if isinstance(one, SemanticMemory)
            ]
            for fact in facts
            if fact.revision_count > 0
        }
        whole = profile_of(user, facts, revised, chosen)
        if max_tokens is None:
            return whole
        return whole._fitting(check.whole(max_tokens, "max_tokens", 1))

    def ls(self, uri: str = "cortex://", *, user_id: str | None = None) -> Sequence[Entry]:
        """What is in a folder of the tree, with its names and titles.

        ``cortex://`` has ``session/ID/timeline/YYYY-MM/DD``, ``user/ID/preferences`` and its like,
        and ``agent/ID/cases``. ``episodica://TENANT/USER`` has the records by kind, at their own
        ``uri``. Names are percent-encoded ids. A folder is read when it is listed.

        Parameters
        ----------
        uri
            The folder.
        user_id
            Only records of this user. ``None``: of all users, of whom those are opened whose
            records may be in the folder.

        Returns
        -------
        Sequence of Entry
            Folders, then texts in order of time.

        Raises
        ------
        InvalidInputError
            For text that is not an address, and where nothing is.

        Examples
        --------
        >>> [entry.name for entry in memory.ls("cortex://")]
        ['session', 'user', 'agent', 'resources']
        >>> [entry.title for entry in memory.ls("cortex://user/alice/personal_info")]
        ['Alice moved to Lyon last Friday [8 March 2024].']
        """
        return self._tree(user_id).entries(parse(check.text(uri, "uri")))

    def tree(self, uri: str = "cortex://", *, depth: int = 2, user_id: str | None = None) -> Entry:
        """A folder with what is below, so many levels deep; ``print`` draws it.

        Parameters
        ----------
        uri, user_id
            As for :meth:`ls`.
        depth
            Levels below the folder, 1 to 32.

        Returns
        -------
        Entry
            The folder; its ``entries`` and theirs have what is below.

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
        return _deep(self._tree(user_id), top, levels)

    def read(self, uri: str, layer: Layer | None = None, *, user_id: str | None = None) -> str:
        """A text of the tree, in one of three layers.

        L0 is an abstract of at most 100 tokens, L1 an overview (of an episode: its narrative), L2
        the thing itself (of an episode: its messages, verbatim). Folders have layers too.

        Parameters
        ----------
        uri
            Its address: one of :meth:`ls`, or the ``uri`` of a record. ``….abstract.md`` and
            ``….overview.md`` name the layers L0 and L1.
        layer
            ``"L0"``, ``"L1"`` or ``"L2"``. ``None``: the one that the address names, else L2.
        user_id
            As for :meth:`ls`.

        Returns
        -------
        str
            The text.

        Raises
        ------
        InvalidInputError
            For text that is not an address, where nothing is, and for another layer.

        Examples
        --------
        >>> episode = next(memory.episodes("alice"))
        >>> memory.read(episode.uri, "L1") == episode.content
        True
        """
        chosen = None if layer is None else one_of(layer, LAYERS, "layer")
        return self._tree(user_id).read(parse(check.text(uri, "uri")), chosen)  # type: ignore[arg-type]

    def explore(
        self,
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
            The places that it looked at, each with its score and whether it went on there, and the
            hits that it found.

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
        'Alice moved to Lyon last Friday [8 March 2024].'
        """
        asked = check.query(query)
        at = parse(check.text(uri, "uri"))
        tree = self._tree(user_id)
        tree.entries(at)
        return explore(self, tree, asked, at, check.top_k(top_k))

    def _tree(self, user_id: str | None) -> Tree:
        return Tree(self, check.optional_user(user_id))

    def sessions(self, user_id: str) -> list[Session]:
        """The user's sessions in the order in which they began, with their states.

        Parameters
        ----------
        user_id
            User id. An unknown user has none.

        Returns
        -------
        list of Session
            Each with its state, its dates, and the number of its messages and episodes.

        Raises
        ------
        InvalidInputError
            For a user id that is empty or longer than 512 bytes.

        Examples
        --------
        >>> memory.sessions("alice")
        [<Session 's1' active, 2024-03-11 09:30, 2 messages, 1 episodes>]
        """
        user = check.user(user_id)
        found = self._engine.sessions(user)
        if not found:
            return []
        options, _ = list_options({})
        outlines = self._engine.outlines(
            user, "episode", {**options, "offset": 0, "limit": 1 << 62, "after": []}
        )
        episodes = Counter(group for *_, group in outlines)
        return [Session(user, *one, episodes=episodes[one[0]]) for one in found]

    def export(
        self,
        user_id: str,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "markdown", "tree"] | None = None,
    ) -> ExportReport:
        """Writes all records of a user to a file, or their tree to a directory.

        JSONL has a record a line, which :meth:`MemorySystem.import_` reads: messages, episodes and
        facts with their ids and all their versions. Prompts and answers of a model (:meth:`trace`)
        and vectors stay here. Markdown is for people. A tree is a directory of Markdown files, as
        :meth:`tree` shows them; ``import_`` takes over what was corrected in them.

        Parameters
        ----------
        user_id
            User id.
        path
            The file; one that exists is replaced, but only by a whole export. Of a tree: a
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
        if user not in self.users():
            raise InvalidInputError(
                f"no such user: `{shown(user)}`", hint=nearest_hint(user, self.users())
            )
        if format == "tree":
            return write(Tree(self, user), user, file)
        chosen = None if format is None else one_of(format, FILE_FORMATS, "format")
        return export(self, user, file, chosen)


def _deep(tree: Tree, top: Entry, levels: int) -> Entry:
    entries = tree.entries(parse(top.uri))
    if levels > 1:
        entries = [_deep(tree, one, levels - 1) if one.is_folder else one for one in entries]
    return replace(top, entries=tuple(entries))
