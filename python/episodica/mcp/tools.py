"""The nine tools: what each does for one user of one memory.

The user is bound when the server starts; no argument names one.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, TypeAlias
from urllib.parse import quote

from .. import _native
from ..aio import AsyncMemorySystem, AsyncRecall
from ..aio.running import run
from ..errors import InvalidInputError
from ..fence import fenced, fenced_context, source_of, within
from ..hints import shown
from ..inputs.names import named
from ..layers.address import CORTEX, parse
from ..layers.tree import Tree
from ..layers.values import Layer
from ..records import Episode, Message, Record, SemanticMemory
from ..reports import DeleteReport
from ..results import Hit
from ..value import clip, longest
from ..visible import without_days
from . import answers
from .answers import Item, filled, item, moment_of
from .arguments import (
    Arguments,
    Changes,
    EndSession,
    Fetch,
    Forget,
    Recall,
    Remember,
    Search,
    Status,
    Timeline,
)
from .projects import of_project, unknown_project

# The most hits that a search can return, and candidates of one deletion.
_MAX_HITS = 1000
_CANDIDATES = 10
_STILL_SAID = (
    "the facts are gone, but the messages in `still_in_messages` still say it: ask the person "
    "whether to delete them, too, then call `forget` with these ids as `confirm_ids`"
)
# The most messages that an answer names as evidence of a fact.
_EVIDENCE = 5
# The most characters of a note that is stated as a fact: a longer text is learned from.
_LONGEST_NOTE = 1_000
# In the metadata of a note's fact: the id of its message.
NOTE_OF = "note_of"
# The most tokens that one conversation is given, and the most conversations that are remembered.
_CONVERSATION = 4_000
_CONVERSATIONS = 64
# One answer has at most this part of them.
_SHARES = 8
# Tokens of a context's fence and of the other fields of the answer.
_AROUND = 90

# What each conversation of a user of a tenant was given, the latest last.
Conversations: TypeAlias = dict[tuple[str, str, str], AsyncRecall]


class Tools:
    """The tools of one user; no call reaches another user's memories."""

    def __init__(
        self,
        memory: AsyncMemorySystem,
        user: str,
        max_tokens: int,
        note: Callable[[DeleteReport], None],
        conversations: Conversations,
    ) -> None:
        self._note = note
        self._memory = memory
        self._user = user
        self._max_tokens = max_tokens
        self._source = source_of(memory.tenant, user)
        self._conversations = conversations

    @property
    def user(self) -> str:
        """Whose memories these are."""
        return self._user

    async def remember(self, asked: Remember) -> answers.Remembered:
        """Stores messages; of a note, its fact and its episode, too.

        A repeated call stores nothing twice.
        """
        messages = _identified(asked, _said(asked))
        session = asked.session_id
        if session is None and asked.messages is None:
            session = _note_session(messages)
        added = await self._memory.add_messages(self._user, messages, session_id=session)
        fact, episodes = None, list(added.episodes)
        if asked.messages is None and session is not None:
            fact = await self._noted(asked, messages[0], added.message_ids)
            if added.messages_added:
                closed = await _soon(self._memory.close_session(self._user, session))
                episodes += [one.episode_id for one in closed]
        buffered = (await self._memory.stats(self._user))["buffered"] if fact else added.buffered
        return answers.Remembered(
            messages_added=added.messages_added,
            known_already=added.duplicates,
            edited=added.edited or None,
            fact_id=fact,
            buffered=buffered,
            episodes_completed=episodes[:_CANDIDATES],
            skipped=added.skipped or None,
            notes=list(added.notes) or None,
            hint="to store the same words as a new occasion, give its `timestamp`"
            if added.duplicates
            else None,
        )

    async def _noted(
        self, asked: Remember, message: dict[str, Any], ids: tuple[str, ...]
    ) -> str | None:
        """States a note of the person as a fact; returns its id. A long text is only learned."""
        text = asked.content or ""
        if asked.role not in (None, "user") or len(text) > _LONGEST_NOTE or not ids:
            return None
        about = {**(message.get("metadata") or {}), NOTE_OF: ids[0]}
        earlier = self._memory.semantic_memories(self._user, where={NOTE_OF: ids[0]})
        async for known in earlier:
            # The same note in other words: its fact is corrected.
            # Its relative dates have their days in brackets.
            if text not in (known.content, without_days(known.content)):
                await self._memory.update(self._user, known.memory_id, text)
            return known.memory_id
        fact = await self._memory.remember(
            self._user,
            text,
            valid_from=asked.timestamp,
            metadata=about,
            attribute=asked.attribute,
            value=asked.value,
        )
        return fact.memory_id

    async def end_session(self, asked: EndSession) -> answers.Ended:
        """Makes episodes of the messages that wait for the end of their conversation."""
        if asked.session_id is None:
            written = await _soon(self._memory.flush(self._user))
        else:
            written = await _soon(self._memory.close_session(self._user, asked.session_id))
        stats = await self._memory.stats(self._user)
        return answers.Ended(
            episodes_completed=[one.episode_id for one in written[:_CANDIDATES]],
            buffered=stats["buffered"],
        )

    async def search(self, asked: Search) -> answers.Found:
        """Finds moments, or messages, episodes and facts."""
        start = answers.place(asked, int) or 0
        wanted = min(start + asked.limit, _MAX_HITS)
        found = await self._memory.search(
            self._user,
            asked.query,
            top_k=min(wanted + 1, _MAX_HITS),
            kinds=asked.kinds or None,
            since=asked.since,
            until=asked.until,
            where=of_project(asked.project),
        )
        hits = found[start:wanted]
        degraded = list(found.degraded) or None
        notes = None if found else await self._unknown(asked.project)

        def answer(results: list[Item], left_out: int, seen: int) -> answers.Found:
            more = start + seen < len(found)
            return answers.Found(
                results=results,
                left_out=left_out or None,
                next_cursor=answers.cursor(asked, start + seen) if more else None,
                degraded=degraded,
                notes=notes,
            )

        items = (self._hit(hit, asked.layer) for hit in hits)
        return answer(*filled(items, self._budget(asked), answer))

    async def context(self, asked: Recall) -> answers.Recalled:
        """Packs the memories that answer a question."""
        if asked.conversation is not None:
            return await self._next(asked, asked.conversation)

        async def pack(length: int) -> tuple[int, int, answers.Recalled]:
            packed = await self._memory.context(
                self._user,
                asked.query,
                max_tokens=length,
                since=asked.since,
                until=asked.until,
                where=of_project(asked.project),
            )
            answer = answers.Recalled(
                text=fenced_context(packed, source=self._source),
                token_count=packed.token_count,
                messages=len(packed.messages),
                facts=len(packed.facts),
                found=packed.found,
                notes=None if packed.text else await self._unknown(asked.project),
            )
            return packed.token_count, answer.tokens(), answer

        budget = self._budget(asked)
        answer = await within(budget, budget - _AROUND, pack)
        return answer or answers.Recalled(text="", token_count=0, messages=0, facts=0)

    async def _next(self, asked: Recall, name: str) -> answers.Recalled:
        """What a conversation was not given yet."""
        place = (self._memory.tenant, self._user, name)
        given = self._conversations.pop(place, None)
        if given is None:
            given = self._memory.recall(
                self._user,
                min(_CONVERSATION, max(_SHARES * (self._budget(asked) - _AROUND), 1)),
                since=asked.since,
                until=asked.until,
                where=of_project(asked.project),
            )
        self._conversations[place] = given
        if len(self._conversations) > _CONVERSATIONS:
            del self._conversations[next(iter(self._conversations))]
        new = await given.add(asked.query)
        return answers.Recalled(
            text=fenced(new, source=self._source),
            token_count=_native.count_tokens(new),
            messages=sum(": " in line for line in new.splitlines() if line[:1] not in " #-"),
            facts=sum(line.startswith("- ") for line in new.splitlines()),
            notes=None if new else await self._unknown(asked.project),
        )

    async def _unknown(self, project: str | None) -> list[str] | None:
        return await unknown_project(self._memory, self._user, project)

    async def fetch(self, asked: Fetch) -> answers.Fetched:
        """Reads one record, or another text of the tree."""
        if (asked.id is None) == (asked.uri is None):
            raise InvalidInputError("give either `id` or `uri`")
        name = asked.id or asked.uri or ""
        record = await self.find(name)
        if record is None:
            text = await self.place(name, asked.layer)
            fields: dict[str, Any] = {"id": name, "kind": "place", "title": clip(name), "url": name}
        else:
            one = item(record, self._url(record), asked.layer)
            text = one.text
            fields = one.model_dump(include={"id", "kind", "title", "url", "time"})
        times = [] if record is None else [moment_of(record)]
        start = answers.place(asked, int) or 0
        rest = text[start:]

        def answer(length: int) -> answers.Fetched:
            after = start + length
            return answers.Fetched(
                **fields,
                text=fenced(rest[:length], source=fields["url"], times=times),
                metadata={} if record is None else _about(record),
                next_cursor=answers.cursor(asked, after) if length < len(rest) else None,
            )

        budget = self._budget(asked)
        length = longest(len(rest), lambda n: answer(n).tokens() <= budget)
        if not length and rest:
            raise InvalidInputError(
                f"the record does not fit into `max_tokens`: `{budget}`", hint="ask for more"
            )
        return answer(length or 0)

    async def timeline(self, asked: Timeline) -> answers.Moments:
        """Lists episodes, newest first."""
        after = answers.place(asked, list)
        until, known = after if after else (asked.until, [])
        listing = self._memory.episodes(
            self._user,
            since=asked.since,
            until=until,
            where=of_project(asked.project),
            newest_first=True,
            limit=asked.limit + len(known) + 1,
        )
        episodes = [one async for one in listing if one.episode_id not in known]
        shown_episodes = episodes[: asked.limit]
        notes = None if episodes else await self._unknown(asked.project)
        buffered = (await self._memory.stats(self._user))["buffered"]

        def answer(results: list[Item], left_out: int, seen: int) -> answers.Moments:
            more = 0 < seen < len(episodes)
            return answers.Moments(
                results=results,
                left_out=left_out or None,
                buffered=buffered,
                next_cursor=answers.cursor(asked, place(seen)) if more else None,
                notes=notes,
            )

        def place(seen: int) -> list[Any]:
            """Where the next answer starts: a time, and the episodes of that time shown so far."""
            moment = shown_episodes[seen - 1].timestamp
            same = [one.episode_id for one in shown_episodes[:seen] if one.timestamp == moment]
            earlier = known if until == moment.isoformat() else []
            return [moment.isoformat(), [*earlier, *same]]

        items = (item(one, one.uri) for one in shown_episodes)
        return answer(*filled(items, self._budget(asked), answer))

    async def changes(self, asked: Changes) -> answers.Changed:
        """Lists what was said later about the same thing, the latest first."""
        start = answers.place(asked, int) or 0
        found = await self._memory.changes(self._user, since=asked.since)
        wanted = found[start : start + asked.limit]

        def answer(results: list[Item], left_out: int, seen: int) -> answers.Changed:
            more = start + seen < len(found)
            return answers.Changed(
                results=results,
                left_out=left_out or None,
                next_cursor=answers.cursor(asked, start + seen) if more else None,
            )

        items = (answers.changed(one, self._source) for one in wanted)
        return answer(*filled(items, self._budget(asked), answer))

    async def forget(self, asked: Forget) -> answers.Candidates:
        """Lists candidates for a deletion, or deletes the confirmed ones."""
        if asked.confirm_ids is not None:
            return await self._delete(asked.confirm_ids)
        if (asked.id is None) == (asked.query is None):
            raise InvalidInputError("give `id` or `query` to list candidates, or `confirm_ids`")
        if asked.id is not None:
            record = await self.record(asked.id)
            candidates = [item(record, self._url(record))]
        else:
            found = await self._memory.search(
                self._user, asked.query or "", top_k=_CANDIDATES, include_superseded=True
            )
            candidates = [self._hit(hit, "L0") for hit in found]

        def answer(results: list[Item], left_out: int, _: int) -> answers.Candidates:
            return answers.Candidates(
                candidates=results,
                left_out=left_out or None,
                next_step="nothing was deleted: show these to the person, then call `forget` with "
                "`confirm_ids`; an episode goes with its messages, a message with what was "
                "learned from it alone",
            )

        return answer(*filled(candidates, self._budget(asked), answer))

    async def _delete(self, ids: list[str]) -> answers.Candidates:
        if not ids:
            raise InvalidInputError("confirm_ids is empty")
        records = [await self._memory.get(self._user, one) for one in ids]
        unknown = [one for one, record in zip(ids, records, strict=True) if record is None]
        more = [one async for record in _listed(records) for one in await self._of_note(record)]
        report = await self._memory.delete(self._user, [*ids, *more])
        self._note(report)
        return answers.Candidates(
            deleted_messages=report.messages,
            deleted_episodes=report.episodes,
            deleted_facts=report.semantic_memories,
            still_in_messages=list(report.still_in_messages[:_CANDIDATES]) or None,
            next_step=_STILL_SAID if report.still_in_messages else None,
            unknown_ids=[shown(one) for one in unknown[:_CANDIDATES]] or None,
        )

    async def _of_note(self, record: Record | None) -> list[str]:
        """The message of a fact that was stated as a note, and the fact of such a message."""
        if isinstance(record, SemanticMemory):
            message = record.metadata.get(NOTE_OF)
            return [message] if isinstance(message, str) else []
        messages = record.original_messages if isinstance(record, Episode) else (record,)
        ids = [one.message_id for one in messages if isinstance(one, Message)]
        if not ids:
            return []
        stated = self._memory.semantic_memories(
            self._user, where={NOTE_OF: {"$in": ids}}, include_superseded=True
        )
        return [one.memory_id async for one in stated]

    async def status(self, asked: Status) -> answers.Standing:
        """Counts the records of the user."""
        del asked
        stats: Any = await self._memory.stats(self._user)
        health = await self._memory.health()
        return answers.Standing(
            user=self._user,
            messages=stats.messages,
            buffered=stats.buffered,
            episodes=stats.episodes,
            facts=stats.semantic_memories,
            outdated_facts=stats.superseded,
            pending=stats.pending_semantic + stats.pending_llm + stats.pending_vectors,
            healthy=health.status == "ok",
            failing=list(health.failing),
            version=_native.version(),
        )

    async def record(self, id: str) -> Record:
        """The record with this id or URI."""
        found = await self.find(id)
        if found is None:
            raise self._missing(id)
        return found

    async def find(self, id: str) -> Record | None:
        """The record with this id or address, if the user has it."""
        found = await self._memory.get(self._user, id)
        if found is not None or not id.startswith(f"{CORTEX}://"):
            return found
        return await run(Tree(self._memory._memory, self._user).record, parse(id))

    async def place(self, uri: str, layer: Layer) -> str:
        """A layer of a folder or the profile of the user's tree."""
        try:
            return await self._memory.read(uri, layer, user_id=self._user)
        except InvalidInputError:
            raise self._missing(uri) from None

    def _missing(self, id: str) -> InvalidInputError:
        return InvalidInputError(
            f"no such record: `{shown(id)}`", hint="`search` and `timeline` return ids"
        )

    def _hit(self, hit: Hit, layer: Layer) -> Item:
        found = item(hit.record, hit.uri, layer, hit.score)
        moment: dict[str, Any] = {} if hit.is_current else {"outdated": True}
        if hit.episode is not None:
            title = clip(hit.episode.title, answers.SHORT)
            moment["episode"] = answers.Whole(id=hit.episode.episode_id, title=title)
        if hit.claims:
            moment["claims"] = [one.content for one in hit.claims]
        return found.model_copy(update=moment)

    def _url(self, record: Record) -> str:
        if not isinstance(record, Message):
            return record.uri
        return f"{self._source}/message/{quote(record.message_id, safe='')}"

    def _budget(self, asked: Arguments) -> int:
        return self._max_tokens if asked.max_tokens is None else asked.max_tokens


async def _soon(work: Coroutine[Any, Any, list[Episode]]) -> list[Episode]:
    """The episodes that work writes, if it is done soon; a model may go on without the caller."""
    task = asyncio.ensure_future(work)
    _AT_WORK.add(task)
    task.add_done_callback(_AT_WORK.discard)
    await asyncio.wait({task}, timeout=_PATIENCE)
    return task.result() if task.done() else []


# Seconds that a call waits for episodes, and the work that goes on after them.
_PATIENCE = 5.0
_AT_WORK: set[asyncio.Future[list[Episode]]] = set()


async def _listed(records: Iterable[Record | None]) -> AsyncIterator[Record]:
    for record in records:
        if record is not None:
            yield record


def _note_session(messages: list[dict[str, Any]]) -> str:
    """A session of its own for a note, so that no conversation ends with it.

    An edited note stays in the session of its id.
    """
    ids = [message.get("message_id") for message in messages]
    text = json.dumps(ids if all(ids) else messages, sort_keys=True)
    return f"note-{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def _said(asked: Remember) -> list[dict[str, Any]]:
    about = {
        "message_id": asked.message_id,
        "timestamp": asked.timestamp,
        "role": asked.role,
        "name": asked.name,
    }
    given = {name: value for name, value in about.items() if value is not None}
    if (asked.content is None) == (asked.messages is None):
        raise InvalidInputError("give either `content` or `messages`")
    place = {} if asked.project is None else {"metadata": {"project": asked.project}}
    if asked.messages is None:
        return [{"role": "user", "content": asked.content, **given, **place}]
    if given:
        raise InvalidInputError(
            f"`{next(iter(given))}` belongs to `content`", hint="each of `messages` has its own"
        )
    if not place:
        return asked.messages
    return [
        {**one, "metadata": {**place["metadata"], **(one.get("metadata") or {})}}
        for one in asked.messages
    ]


def _identified(asked: Remember, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gives undated messages ids that follow from the call, because clients repeat calls.

    The store recognises a dated message by its words, speaker, time and session; an undated message
    would be new each time.
    """
    call = json.dumps([asked.session_id, messages], sort_keys=True)
    digest = hashlib.sha256(call.encode()).hexdigest()[:24]
    return [
        one
        if any(named(one, field) is not None for field in ("message_id", "timestamp"))
        else {**one, "message_id": f"mcp-{digest}-{place}"}
        for place, one in enumerate(messages)
    ]


def _about(record: Record) -> dict[str, Any]:
    """Further fields of an answer with a record."""
    about: dict[str, Any]
    if isinstance(record, Episode):
        about = {
            "ended": None if record.ended_at is None else record.ended_at.isoformat(),
            "messages": record.message_count,
            "session_id": record.session_id,
            "boundary_reason": record.boundary_reason,
        }
    elif isinstance(record, SemanticMemory):
        about = {
            "holds": record.is_current,
            "valid_to": None if record.valid_to is None else record.valid_to.isoformat(),
            "superseded_by": record.superseded_by,
            "evidence": list(record.source_messages[:_EVIDENCE]),
            "episodes": list(record.source_episodes[:_EVIDENCE]),
        }
    else:
        about = {"speaker": record.speaker, "session_id": record.session_id}
    return {name: value for name, value in about.items() if value is not None}
