"""Messages in, episodes and facts out: methods of ``MemorySystem``.

The functions check arguments, call the engine and wrap its answers, without logic of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Literal, overload

from . import _native
from .config import MemoryConfig
from .dates import TimeLike
from .inputs import checks as check
from .inputs.calls import forgiving, refuse_turned, user_first
from .inputs.facts import About, FactKind, stated_fact, stated_slot
from .inputs.messages import incoming
from .inputs.options import DUPLICATES, Duplicates, one_of
from .inputs.procedures import stated_procedure
from .inputs.secrets import POLICIES, hide_in_fact, policy_of
from .operation import events, sessions
from .progress import Progress, Reporter
from .queries import episodes, has_user, semantic_memories, turned_down
from .records import Episode, Message, ProcedureStep, SemanticMemory
from .reports import AddResult, Estimate, Event, LearningReport
from .sessions import SessionReport
from .store import OpenStore


@forgiving('memory.add_messages("alice", [{"role": "user", "content": "I moved to Lyon."}])')
def add_messages(
    self: OpenStore,
    user_id: str,
    messages: Iterable[Mapping[str, Any] | Message] | str,
    *,
    session_id: str | None = None,
    agent_id: str | None = None,
    secrets: Literal["mask", "keep", "refuse"] | None = None,
    duplicates: Duplicates = "version",
    progress: Progress = None,
) -> AddResult:
    """Adds messages. When it returns, they survive a power cut.

    Parameters
    ----------
    user_id
        The user, 1 to 512 bytes of UTF-8.
    messages
        Mappings with ``role`` and ``content`` (text, or a chat API's list of parts), and
        optionally ``name``, ``timestamp`` (ISO 8601, ``datetime``, or seconds or milliseconds
        since 1970; without offset: UTC; default: the neighbours' in the list, else now),
        ``session_id``, ``agent_id``, ``metadata`` (any JSON), ``message_id`` and ``edited_at``.
        A known id with the same text is not added again; nor is, without an id, the same text of
        the same speaker, time and session. Names of other programs are known, too, such as
        ``createdAt``, ``sender`` or ``thread_id``. Messages and items of OpenAI, Anthropic,
        Gemini, Bedrock, LangChain, LlamaIndex, Pydantic AI and the AI SDK, objects with these
        attributes, and data frames with these columns go in as they are. A text is one message of
        the user. Other keys become ``metadata``, unless they look like a misspelling.
    session_id, agent_id
        The session and the agent of messages that name none. If a user talks with several
        agents, the agent of a message is the one that wrote or gets it.
    secrets
        How to treat keys, passwords, card and account numbers: ``"mask"`` stores
        ``[secret: github token]`` in their place, ``"keep"`` stores them, ``"refuse"`` raises.
        ``None``: as the setting ``secrets`` says.
    duplicates
        How to treat a known id with another text. ``"version"``: the text replaces the earlier
        one, which :meth:`history` keeps; episodes, quotations and facts follow. A text that was
        replaced before, or whose ``edited_at`` is earlier, changes nothing. ``"error"``: an error,
        and no message is added.
    progress
        ``True`` for a progress bar on a terminal or in a notebook, or a callable that takes
        ``(step, done, total)``.

    Returns
    -------
    AddResult
        Counts, the ids of the completed episodes, and notes on parts that were left out.

    Raises
    ------
    InvalidInputError
        For the first invalid message, or the first with a secret that is refused, by its position
        from 0. No message is added then. An id that belongs to a message of another role is
        invalid.

    Examples
    --------
    >>> memory.add_messages("alice", [])
    AddResult(messages_added=0, duplicates=0, buffered=0, episodes=(), pending_semantic=0)
    >>> memory.add_messages("alice", [{"role": "user"}])
    Traceback (most recent call last):
    episodica.InvalidInputError: message 0: `content` is missing
    """
    user_id, messages = user_first(user_id, messages)
    agent = None if agent_id is None else check.name(agent_id, "agent_id")
    read = incoming(messages, agent, keeps_thinking=self._config.keep_thinking)
    user = check.user(user_id)
    if isinstance(messages, str):
        refuse_turned(user, messages, "add_messages", partial(has_user, self))
    session = None if session_id is None else check.name(session_id, "session_id")
    policy = None if secrets is None else one_of(secrets, POLICIES, "secrets")
    refuses = one_of(duplicates, DUPLICATES, "duplicates") == "error"
    with Reporter(progress, self._awaiter) as callback:
        added = self._engine.add_messages(user, read.messages, session, policy, callback, refuses)
    notes = read.notes()
    return replace(added, skipped=read.skipped, notes=notes) if notes else added


def estimate(
    self: OpenStore,
    messages: Iterable[Mapping[str, Any] | Message] | str,
    *,
    session_id: str | None = None,
    price: tuple[float, float] | None = None,
) -> Estimate:
    """Estimates what a language model will cost for messages, before they are added.

    Plays the calls with the settings of this memory, whether or not it has a model. Nothing is
    added, and nothing is asked.

    Parameters
    ----------
    messages
        As for :meth:`add_messages`.
    session_id
        The session of messages that name none.
    price
        What a million tokens cost: of prompts, then of answers.

    Returns
    -------
    Estimate
        Calls, tokens and cost.

    Raises
    ------
    InvalidInputError
        For the first invalid message, by its position from 0.

    Examples
    --------
    >>> memory.estimate([{"role": "user", "content": "I moved to Lyon."}]).calls
    1
    """
    read = incoming(messages, None, keeps_thinking=self._config.keep_thinking)
    session = None if session_id is None else check.name(session_id, "session_id")
    return estimated(self._config, read.messages, session, price)


def estimated(
    config: MemoryConfig,
    messages: list[dict[str, Any]],
    session: str | None = None,
    price: tuple[float, float] | None = None,
) -> Estimate:
    """The estimate for checked messages."""
    calls, prompt, completion = _native.estimate(config._engine_json(), messages, session)
    cost = None
    if price is not None:
        cost = (float(price[0]) * prompt + float(price[1]) * completion) / 1_000_000
    return Estimate(len(messages), calls, prompt, completion, cost)


def flush(self: OpenStore, user_id: str) -> list[Episode]:
    """Turns the user's buffered messages into episodes now, and returns these.

    Parameters
    ----------
    user_id
        User id.

    Returns
    -------
    list of Episode
        The new episodes; empty if nothing was in the buffer.

    Raises
    ------
    StoreIOError
        If the log can't be written.

    Examples
    --------
    >>> memory.flush("alice")
    []
    """
    return self._engine.flush(check.user(user_id))


def flush_all_buffers(self: OpenStore) -> dict[str, list[Episode]]:
    """Turns the buffered messages of all users into episodes; returns these by user.

    Returns
    -------
    dict of str to list of Episode
        The new episodes by user id; users without new episodes are left out.

    Examples
    --------
    >>> memory.flush_all_buffers()
    {}
    """
    return self._engine.flush_all()


@forgiving('memory.remember("alice", "I live in Lyon.")')
def remember(
    self: OpenStore,
    user_id: str,
    statement: str,
    *,
    kind: FactKind | None = None,
    valid_from: TimeLike | None = None,
    metadata: Mapping[str, Any] | None = None,
    agent_id: str | None = None,
    expires_after: float | timedelta | None = None,
    about: About | None = None,
    subject: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
) -> SemanticMemory:
    """Adds a fact that is stated directly. When it returns, the fact survives a power cut.

    A statement is always kept: only the same words are a repeat. It has no source message, and
    stays until it is deleted or ended. With an attribute and a value it ends the current facts
    of the same subject and attribute that have another value; nothing else ends a fact here.

    Parameters
    ----------
    user_id
        User id; a new one is created.
    statement
        The fact, in the first or third person. Kept as it stands, after the name of a
        ``subject`` that it does not name, and with the days of its relative dates in brackets:
        "next Monday [9 March 2026]".
    kind
        Its category. ``None``: the section of a profile that fits best.
    valid_from
        From when on it holds; a date without a time begins in the memory's time zone. ``None``:
        a time in ``metadata``, else nothing is said about it (``is_dated``).
    metadata
        Any JSON object.
    agent_id
        The agent that states it; kept as ``metadata["agent_id"]``, and a filter of
        :meth:`search`.
    expires_after
        For how long searches find the fact from now on: seconds or a ``timedelta``. After that
        it counts as archived; :meth:`forgetting` lists it, :meth:`restore` takes it back. If a
        fact is stated again, the longer time counts.
    about
        ``"agent"`` for a fact about the agent, which contexts show apart.
    subject
        The person or thing that the fact is about. ``None``: the user.
    attribute, value
        The attribute of the subject that the fact states, and its value, such as ``"home"`` and
        ``"Lyon"``.

    Returns
    -------
    SemanticMemory
        The fact, new or known. Its ``outcome`` is ``"added"``, ``"ends"`` if it is new and ends
        others (their ids are in ``ends``), or ``"repeats"``.

    Raises
    ------
    InvalidInputError
        For an empty statement, an unknown kind, metadata that is not JSON, or a secret that the
        setting ``secrets`` refuses.

    Examples
    --------
    >>> memory.remember("carol", "I live in Paris.", attribute="home", value="Paris").outcome
    'added'
    >>> memory.remember("carol", "I live in Lyon now.", attribute="home", value="Lyon").outcome
    'ends'
    >>> [fact.content for fact in memory.semantic_memories("carol")]
    ['I live in Lyon now.']
    >>> memory.remember("carol", "Allergic to hazelnuts.", subject="Tobi").content
    'Tobi: Allergic to hazelnuts.'
    """
    user = check.user(user_id)
    given = (kind, valid_from, metadata, agent_id, expires_after, about)
    fact = stated_fact(statement, *given, zone=self._zone)
    fact |= stated_slot(subject, attribute, value)
    fact = hide_in_fact(fact, policy_of(self._config.secrets, from_program=False))
    refuse_turned(user, statement, "remember", partial(has_user, self))
    remembered, outcome = self._engine.remember(user, fact)
    return replace(remembered, outcome=outcome)


def remember_procedure(
    self: OpenStore,
    user_id: str,
    goal: str | None = None,
    steps: Iterable[Mapping[str, Any] | ProcedureStep | str] = (),
    *,
    outcome: str | None = None,
    worked: bool | None = None,
    messages: Iterable[Any] | None = None,
    kind: Literal["procedure", "case"] = "procedure",
    agent_id: str | None = None,
    valid_from: TimeLike | None = None,
    metadata: Mapping[str, Any] | None = None,
    expires_after: float | timedelta | None = None,
) -> SemanticMemory:
    """Keeps how an agent went about a goal, verbatim. The record survives a power cut.

    It is a fact of its own, found by its goal and its steps, and shown in contexts as what
    worked and what failed. Other facts neither replace it nor repeat it. Stating the same again
    adds nothing.

    Parameters
    ----------
    user_id
        User id; a new one is created.
    goal
        The task, in words. ``None``: the user's first message in ``messages`` that has text.
    steps
        One item for each step: a mapping with ``action`` and optionally ``arguments``,
        ``result`` (any JSON) and ``error``, a ``ProcedureStep``, or a ``str`` with only the
        action.
    outcome
        The result, in words. ``None``: the last message with text that the assistant sent
        after the tool calls in ``messages``.
    worked
        Whether the goal was reached. ``None``: ``False`` if the last step has an error,
        otherwise unknown.
    messages
        The chat in which it was done, instead of ``steps``: messages of OpenAI, Anthropic,
        Gemini or LangChain with calls of tools and their results. Messages that were added
        under these ids are its source messages; deleting one of them deletes the procedure.
    kind
        ``"procedure"`` (how something is done) or ``"case"`` (a problem and its solution).
    agent_id
        The agent that did it; kept as ``metadata["agent_id"]``, and a filter of :meth:`search`.
    valid_from
        When it was done. ``None``: now.
    metadata
        Any JSON object.
    expires_after
        As for :meth:`remember`.

    Returns
    -------
    SemanticMemory
        The fact, new or known; its ``procedure`` has the steps.

    Raises
    ------
    InvalidInputError
        Without a goal, for steps without an action, for messages without tool calls, and for
        values that are not JSON.

    Examples
    --------
    >>> done = memory.remember_procedure(
    ...     "alice",
    ...     "Book a table for two",
    ...     [{"action": "call", "arguments": {"to": "Chez Paul"}, "error": "no answer"}],
    ...     agent_id="concierge",
    ... )
    >>> done.procedure.worked, done.procedure.steps[0].error
    (False, 'no answer')
    >>> hits = memory.search("alice", "reserve a table", fact_kinds=["procedure"])
    >>> hits[0].content
    'Book a table for two [failed] 1. call({"to":"Chez Paul"}) -> error: no answer'
    """
    fact = stated_procedure(
        goal,
        steps,
        outcome=outcome,
        worked=worked,
        messages=messages,
        kind=kind,
        valid_from=valid_from,
        metadata=metadata,
        agent_id=agent_id,
        expires_after=expires_after,
        about=None,
        zone=self._zone,
    )
    fact = hide_in_fact(fact, policy_of(self._config.secrets, from_program=True))
    remembered, outcome = self._engine.remember(check.user(user_id), fact)
    return replace(remembered, outcome=outcome)


@overload
def wait(
    self: OpenStore,
    user_id: str | None = None,
    timeout: float | None = None,
    *,
    report: Literal[False] = False,
    since: str | None = None,
) -> bool: ...
@overload
def wait(
    self: OpenStore,
    user_id: str | None = None,
    timeout: float | None = None,
    *,
    report: Literal[True],
    since: str | None = None,
) -> LearningReport: ...
@overload
def wait(
    self: OpenStore,
    user_id: str | None = None,
    timeout: float | None = None,
    *,
    report: bool,
    since: str | None = None,
) -> bool | LearningReport: ...
def wait(
    self: OpenStore,
    user_id: str | None = None,
    timeout: float | None = None,
    *,
    report: bool = False,
    since: str | None = None,
) -> bool | LearningReport:
    """Waits until the facts of all finished episodes are learned.

    Parameters
    ----------
    user_id
        Only this user.
    timeout
        Maximum wait in seconds. ``None``: no limit.
    report
        Return the decision on each candidate for a fact, with the text before and the evidence,
        and the sentences turned down, with the reason. The rules read these anew from the
        stored messages, so a report is the same after a restart.
    since
        The report begins here: the ``cursor`` of an earlier report or of :meth:`events`.
        ``None``: with the beginning of the logs.

    Returns
    -------
    bool or LearningReport
        Whether nothing is pending any more; a report is true then.

    Raises
    ------
    InvalidInputError
        For a negative ``timeout``.

    Examples
    --------
    >>> memory.wait("alice", timeout=10)
    True
    >>> [event.change for event in memory.wait("alice", report=True).events]
    ['ADD']
    """
    longest = None if timeout is None else check.seconds(timeout, "timeout")
    user = check.optional_user(user_id)
    done = self._engine.wait(user, longest)
    if not report:
        return done
    learned: list[Event] = []
    formed: dict[str, list[str]] = {}
    page = events(self, since, user_id=user)
    while page.events:
        learned += (event for event in page if event.is_learning)
        for event in page:
            if event.change == "EPISODE":
                formed.setdefault(event.user_id, []).append(event.id)
        page = events(self, page.cursor, user_id=user)
    refused = [one for user, ids in formed.items() for one in turned_down(self, user, ids)]
    return LearningReport(done, tuple(learned), page.cursor, tuple(refused))


@overload
def close_session(
    self: OpenStore,
    user_id: str,
    session_id: str,
    *,
    wait: Literal[False] = False,
    timeout: float | None = None,
) -> list[Episode]: ...
@overload
def close_session(
    self: OpenStore,
    user_id: str,
    session_id: str,
    *,
    wait: Literal[True],
    timeout: float | None = None,
) -> SessionReport: ...
@overload
def close_session(
    self: OpenStore, user_id: str, session_id: str, *, wait: bool, timeout: float | None = None
) -> list[Episode] | SessionReport: ...
def close_session(
    self: OpenStore,
    user_id: str,
    session_id: str,
    *,
    wait: bool = False,
    timeout: float | None = None,
) -> list[Episode] | SessionReport:
    """Ends a session: turns its buffered messages into episodes, and returns these.

    Its state goes from ``closing`` to ``closed`` as facts are learned and indexed. The state is
    in the log: work that a crash cut off goes on when the store is opened again.

    Parameters
    ----------
    user_id
        User id.
    session_id
        The session. An unknown session is not an error.
    wait
        Wait until the session is closed, and report everything that it left.
    timeout
        Maximum wait in seconds. ``None``: no limit.

    Returns
    -------
    list of Episode, or SessionReport
        The new episodes of this session; with ``wait``, the session with all its episodes and
        the facts learned from them, true if it is closed.

    Raises
    ------
    InvalidInputError
        For a user id that is empty or longer than 512 bytes, or a negative ``timeout``.
    StoreIOError
        If the log can't be written.

    Examples
    --------
    >>> bye = {"role": "user", "content": "Bye!", "session_id": "s2"}
    >>> memory.add_messages("alice", [bye]).buffered
    1
    >>> [episode.message_count for episode in memory.close_session("alice", "s2")]
    [1]
    >>> memory.close_session("alice", "s2")
    []
    >>> memory.close_session("alice", "s2", wait=True).session.state
    'closed'
    """
    user, session = check.user(user_id), check.text(session_id, "session_id")
    longest = None if timeout is None else check.seconds(timeout, "timeout")
    formed = self._engine.close_session(user, session)
    if not wait:
        return formed
    done = self._engine.wait(user, longest)
    found = next((one for one in sessions(self, user) if one.session_id == session), None)
    all_episodes = tuple(episodes(self, user, session_id=session))
    ids = {episode.episode_id for episode in all_episodes}
    facts = (
        fact
        for fact in semantic_memories(self, user, session_id=session)
        if ids.intersection(fact.source_episodes)
    )
    return SessionReport(done, found, all_episodes, tuple(facts))
