"""Transcripts of coding agents: each message once, a program's words apart, forks, repositories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from episodica import InvalidInputError, MemorySystem
from episodica.readers import read_conversations
from episodica.readers.coding import project_after_move, repository, without_insertions


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def said(path: Path) -> list[tuple[str, str]]:
    talks = read_conversations(path)
    return [(one["role"], one["content"]) for talk in talks for one in talk.messages]


def left(path: Path) -> str:
    return "\n".join(str(one) for talk in read_conversations(path) for one in talk.left_out)


def claude(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "type": role,
        "uuid": f"{number:08}-aaaa-4000-8000-000000000000",
        "sessionId": "first",
        "timestamp": f"2026-04-02T10:00:{number:02}.000Z",
        "cwd": "/home/ida/ferry",
        "gitBranch": "main",
        "message": {"role": role, "content": content},
        **more,
    }


def queued(operation: str, content: str | None = None, **more: Any) -> dict[str, Any]:
    record = {
        "type": "queue-operation",
        "operation": operation,
        "sessionId": "first",
        "timestamp": "2026-04-02T10:00:05.000Z",
        **more,
    }
    return record if content is None else {**record, "content": content}


TYPED = "The ferry leaves from quay four."


@pytest.mark.parametrize(
    "records",
    [
        [queued("enqueue", TYPED), queued("remove", TYPED, reason="absorbed_mid_turn")],
        [queued("enqueue", TYPED), queued("remove", reason="absorbed_mid_turn")],
        [queued("enqueue", TYPED), queued("remove", TYPED)],
        [queued("enqueue", TYPED), queued("dequeue")],
        [queued("enqueue", TYPED), queued("dequeue"), claude(6, "user", TYPED)],
        [queued("enqueue", TYPED), claude(6, "user", [{"type": "text", "text": TYPED}])],
        [queued("enqueue", TYPED)],
        [
            queued("enqueue", TYPED),
            queued("remove", TYPED, reason="absorbed_mid_turn"),
            {
                "type": "attachment",
                "uuid": "a",
                "sessionId": "first",
                "attachment": {"type": "queued_command", "prompt": TYPED, "commandMode": "prompt"},
            },
        ],
    ],
)
def test_what_is_typed_while_claude_code_works_is_taken_once(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    talk = [claude(1, "user", "Plan the trip."), *records, claude(9, "assistant", "Planned.")]
    assert sorted(said(lines(tmp_path / "a.jsonl", talk))) == [
        ("assistant", "Planned."),
        ("user", "Plan the trip."),
        ("user", TYPED),
    ]


def test_what_is_taken_out_of_the_queue_is_counted(tmp_path: Path) -> None:
    talk = [
        claude(1, "user", "Plan the trip."),
        queued("enqueue", TYPED),
        queued("enqueue", "No, wait."),
        queued("popAll"),
        queued("enqueue", "<task-notification><status>done</status></task-notification>"),
        queued("remove", reason="absorbed_mid_turn"),
    ]
    path = lines(tmp_path / "a.jsonl", talk)
    assert said(path) == [("user", "Plan the trip.")]
    assert left(path).count("taken back in the chat") == 2
    assert "written by the program: `<task-notification>`" in left(path)


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("/review", "the timetable; we always round up", "the timetable; we always round up"),
        ("/plan", "quays", "quays"),
        ("/crew:boats", "two lines\nof words", "two lines\nof words"),
        ("/model", "opus", None),
        ("/add-dir", "../boats and piers", None),
        ("/compact", "", None),
    ],
)
def test_the_arguments_of_a_command_are_words_unless_they_are_a_setting(
    tmp_path: Path, command: str, arguments: str, words: str | None
) -> None:
    content = (
        f"<command-message>{command[1:]} is running…</command-message>\n"
        f"<command-name>{command}</command-name>\n<command-args>{arguments}</command-args>"
    )
    talk = [claude(1, "user", content), claude(2, "assistant", "Done.")]
    path = lines(tmp_path / "a.jsonl", talk)
    assert said(path)[:-1] == ([("user", words)] if words else [])
    if words is None:
        assert "line 1: " in left(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<task-notification>\n<status>x</status>\n</task-notification>", ""),
        ("Look.\n<ide_opened_file>The user opened a.py</ide_opened_file>", "Look."),
        ('<teammate-message id="7">I am done.</teammate-message>Go on.', "Go on."),
        ("<system-reminder>Never closed, as tea", "<system-reminder>Never closed, as tea"),
        ("[Request interrupted by user for tool use]", ""),
        ("<div>My own markup</div> stays", "<div>My own markup</div> stays"),
        ("# Context from my IDE setup:\n\n- a\n\n## My request for Codex:\nSail.", "Sail."),
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a", ""),
        ("Say `# Context from my IDE setup`?", "Say `# Context from my IDE setup`?"),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>Tabs.</INSTRUCTIONS>", ""),
    ],
)  # fmt: skip
def test_what_programs_insert_is_no_word_of_the_user(text: str, words: str) -> None:
    assert without_insertions(text)[0] == words
    assert bool(without_insertions(text)[1]) == (words != text)


@pytest.mark.parametrize("text", ["<skill>" * 20_000, "<skill>x</skill>" * 9_000, "<a b" * 30_000])
def test_insertions_are_found_in_linear_time(text: str) -> None:
    assert len(without_insertions(text)[0]) <= len(text)


def test_a_uuid_is_known_whatever_its_session(memory: MemorySystem, tmp_path: Path) -> None:
    talk = [claude(1, "user", "Plan the trip."), claude(2, "assistant", "Planned.")]
    copy = [{**one, "sessionId": "second"} for one in talk]
    copy.append(claude(3, "user", "Now book it.", sessionId="second"))
    assert memory.import_(lines(tmp_path / "a.jsonl", talk), "ida").messages == 2
    again = memory.import_(lines(tmp_path / "b.jsonl", copy), "ida")
    assert (again.messages, again.known, again.edited) == (1, 2, 0)


@pytest.mark.parametrize("parent_first", [True, False])
def test_what_lies_before_a_fork_is_the_other_session(
    memory: MemorySystem, tmp_path: Path, parent_first: bool
) -> None:
    parent = [claude(1, "user", "Plan the trip."), claude(2, "assistant", "Planned.")]
    fork = [
        {
            **one,
            "uuid": f"f{one['uuid'][1:]}",
            "sessionId": "second",
            "forkedFrom": {"sessionId": "first", "messageUuid": one["uuid"]},
        }
        for one in parent
    ]
    fork.append(claude(3, "user", "Now book it.", sessionId="second"))
    files = [lines(tmp_path / "a.jsonl", parent), lines(tmp_path / "b.jsonl", fork)]
    reports = [memory.import_(file, "ida") for file in files[:: 1 if parent_first else -1]]
    counts = [(one.messages, one.known) for one in reports]
    assert counts == ([(2, 0), (1, 2)] if parent_first else [(3, 0), (0, 2)])
    assert "2 messages from before a fork" in " ".join(reports[parent_first].notes)
    sessions = {one.content: one.session_id for one in memory.messages("ida")}
    assert sessions == {"Plan the trip.": "first", "Planned.": "first", "Now book it.": "second"}


def rollout(name: str, when: str, *records: dict[str, Any], **head: Any) -> list[dict[str, Any]]:
    meta = {"id": name, "timestamp": when, "cwd": "/home/ida/ferry", **head}
    return [{"timestamp": when, "type": "session_meta", "payload": meta}, *records]


def item(when: str, role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"timestamp": when, "type": "response_item", "payload": payload}


def event(when: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": when, "type": "event_msg", "payload": payload}


T = "2026-04-02T10:00:{:02}.000Z".format


@pytest.mark.parametrize(
    "records",
    [
        [event(T(1), type="user_message", message="Sail."),
         event(T(2), type="agent_message", message="Sailed.")],
        [event(T(1), type="item_completed",
               item={"type": "UserMessage", "content": [{"type": "text", "text": "Sail."}]}),
         event(T(2), type="item_completed",
               item={"type": "AgentMessage", "content": [{"type": "Text", "text": "Sailed."}]})],
        [item(T(1), "user", "Sail."), event(T(1), type="user_message", message="Sail."),
         event(T(2), type="agent_message", message="Sailed."), item(T(2), "assistant", "Sailed.")],
        [item(T(1), "user", "<environment_context>x</environment_context>"),
         item(T(1), "user", "# Context from my IDE setup:\n\n## My request for Codex:\nSail."),
         event(T(1), type="user_message", message="Sail."), item(T(2), "assistant", "Sailed.")],
    ],
)  # fmt: skip
def test_a_rollout_tells_a_message_in_one_way_or_two(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    path = lines(tmp_path / "a.jsonl", rollout("r1", T(0), *records))
    assert said(path) == [("user", "Sail."), ("assistant", "Sailed.")]


def test_the_same_words_twice_are_two_messages_of_a_rollout(tmp_path: Path) -> None:
    words = "Go on."
    twice = [
        one
        for at in (1, 3)
        for one in (item(T(at), "user", words), event(T(at), type="user_message", message=words))
    ]
    assert len(said(lines(tmp_path / "a.jsonl", rollout("r1", T(0), *twice)))) == 2


EARLY = "019a0000-0000-7000-8000-000000000000"
LATER = "019a1000-0000-7000-8000-000000000000"
LATEST = "019a2000-0000-7000-8000-000000000000"


@pytest.mark.parametrize("has_turns", [True, False])
def test_a_fork_of_codex_begins_with_the_other_session(
    memory: MemorySystem, tmp_path: Path, has_turns: bool
) -> None:
    def turn(when: str, name: str) -> list[dict[str, Any]]:
        payload = {"turn_id": name, "cwd": "/home/ida/ferry"}
        return [{"timestamp": when, "type": "turn_context", "payload": payload}] * has_turns

    talk = [item(T(1), "user", "Sail."), item(T(2), "assistant", "Yes.")]
    parent = rollout(EARLY, T(0), *turn(T(1), EARLY), *talk)
    copied = [{**one, "timestamp": T(30)} for one in parent]
    fork = rollout(LATER, T(30), *copied, forked_from_id=EARLY)
    fork += [*turn(T(40), LATEST), item(T(41), "user", "Sail."), item(T(42), "assistant", "Again.")]
    first = memory.import_(lines(tmp_path / "a.jsonl", parent), "ida")
    second = memory.import_(lines(tmp_path / "b.jsonl", fork), "ida")
    assert (first.messages, second.messages, second.known) == (2, 2, 2)
    assert "2 messages from before a fork" in " ".join(second.notes)
    assert {one.session_id for one in memory.messages("ida")} == {EARLY, LATER}


@pytest.mark.parametrize("when", [lambda at: T(30 + at), lambda at: T(40)], ids=["spread", "late"])
@pytest.mark.parametrize("has_head", [True, False])
def test_a_fork_of_codex_that_was_written_slowly_is_known_by_its_words(
    memory: MemorySystem, tmp_path: Path, when: Any, has_head: bool
) -> None:
    talk = [("user", "Sail."), ("assistant", "Yes."), ("user", "Sail."), ("assistant", "Again.")]
    parent = rollout(EARLY, T(0), *(item(T(at), *one) for at, one in enumerate(talk, 1)))
    again = [{**one, "timestamp": when(at)} for at, one in enumerate(parent)]
    fork = rollout(LATER, T(20), *again[0 if has_head else 1 :], forked_from_id=EARLY)
    own = [item(T(50), "user", "Sail."), item(T(51), "user", "I row.")]
    memory.import_(lines(tmp_path / "a.jsonl", parent), "ida")
    report = memory.import_(lines(tmp_path / "b.jsonl", [*fork, *own]), "ida")
    assert (report.messages, report.known) == (2, 4)
    assert [one.content for one in memory.messages("ida")] == [
        *(text for _, text in talk),
        "Sail.",
        "I row.",
    ]
    assert memory.import_(tmp_path / "b.jsonl", "ida").known == 6


def test_the_rollout_of_an_agents_own_agent_is_no_talk_of_the_user(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": EARLY}}}
    talk = rollout(LATER, T(0), item(T(1), "user", "I live in Rome."), source=source)
    path = lines(tmp_path / "a.jsonl", talk)
    assert said(path) == []
    assert "own agent" in left(path)


HEAD = {"sessionId": "g", "projectHash": "h", "startTime": T(0)}
ASKED = {"id": "m1", "timestamp": T(1), "type": "user", "content": [{"text": "Which quay?"}]}
TOLD = {"id": "m2", "timestamp": T(2), "type": "gemini", "content": "Quay four."}


@pytest.mark.parametrize(
    "records",
    [
        [{"$set": {"messages": [ASKED, TOLD], "lastUpdated": T(3)}}],
        [{"$set": {"messages": [ASKED]}}, TOLD, {"$set": {"lastUpdated": T(3)}}],
        [ASKED, {"$set": {"messages": [ASKED, TOLD]}}],
        [ASKED, {"$push": {"messages": TOLD}}],
        [ASKED, {"$push": {"messages": {"$each": [TOLD]}}}],
        [{**TOLD, "id": "m1", "content": "Qu"}, {"$rewindTo": "m1"}, ASKED, TOLD],
    ],
)
def test_a_session_of_gemini_cli_in_lines(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = lines(tmp_path / "a.jsonl", [HEAD, *records])
    assert said(path) == [("user", "Which quay?"), ("assistant", "Quay four.")]


@pytest.mark.parametrize(
    ("directory", "remote", "project"),
    [
        ("/home/ida/ferry", None, "ferry"),
        ("/home/ida/ferry/", None, "ferry"),
        ("C:\\Users\\ida\\ferry", None, "ferry"),
        ("/home/ida/ferry/.claude/worktrees/quay", None, "ferry"),
        ("/tmp/checkout", "git@example.org:port/ferry.git", "ferry"),
        ("/tmp/checkout", "https://example.org/port/ferry", "ferry"),
        (None, "port/ferry", "ferry"),
        ("/", None, None),
        (None, None, None),
        (7, ["x"], None),
    ],
)
def test_the_project_is_the_repository(directory: Any, remote: Any, project: str | None) -> None:
    assert repository(directory, "main", remote).get("project") == project


def test_two_repositories_stay_apart(memory: MemorySystem, tmp_path: Path) -> None:
    for name, words in (("ferry", "We use uv, never pip."), ("crane", "We use poetry, never pip.")):
        at = [(1, "user", words, ""), (2, "assistant", "Noted.", "/src")]
        talk = [
            {
                **claude(number, role, text, sessionId=name, cwd=f"/w/{name}{place}"),
                "uuid": f"{name}-{number}000-4000-8000-00000000",
            }
            for number, role, text, place in at
        ]
        memory.import_(lines(tmp_path / f"{name}.jsonl", talk), "ida")
    memory.flush("ida")
    memory.wait("ida")
    stored = [one.metadata for one in memory.messages("ida", session_id="ferry")]
    assert [one["project"] for one in stored] == ["ferry", "ferry"]
    assert (stored[1]["directory"], stored[1]["branch"]) == ("/w/ferry/src", "main")
    for project, mine, other in (("ferry", "uv", "poetry"), ("crane", "poetry", "uv")):
        hits = memory.search("ida", "which package manager?", where={"project": project})
        context = memory.context("ida", "which package manager?", where={"project": project})
        for text in (" ".join(hit.content for hit in hits), context.text):
            assert f"use {mine}" in text
            assert f"use {other}" not in text
        facts = memory.semantic_memories("ida", where={"project": project})
        assert all(f"use {other}" not in fact.content for fact in facts)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([{"type": "user", "sessionId": "s", "payload": {"text": "I sail."}}] * 3, "is not"),
        ([{"type": "user", "words": {"text": "I sail."}}] * 3, "most of `a.jsonl` is not"),
        ([{"role": "user", "content": "x"}, *[{"event": "a", "data": {}}] * 3], "3 of 4 records"),
        (rollout("r1", T(0), event(T(1), type="token_count", info={})), "a record of the program"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused(
    memory: MemorySystem, tmp_path: Path, records: list[dict[str, Any]], expected: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        memory.import_(lines(tmp_path / "a.jsonl", records), "ida")
    assert expected in caught.value.message
    assert caught.value.path == str(tmp_path / "a.jsonl")
    assert memory.users() == []


@pytest.mark.parametrize(
    ("kind", "is_own"),
    [
        *((one, False) for one in ("hook", "task-notification", "system", "scheduled_task")),
        *((one, True) for one in (None, "user", "human", "channel", "voice")),
    ],
)
def test_the_origin_of_a_record_of_claude_code_tells_whose_it_is(
    tmp_path: Path, kind: str | None, is_own: bool
) -> None:
    record = {
        "type": "user",
        "sessionId": "s",
        "message": {"role": "user", "content": "I live in Turku."},
        "origin": {"kind": kind},
    }
    said = {**record, "message": {"role": "user", "content": "I row."}, "origin": None}
    lines = "".join(json.dumps(one) + "\n" for one in (record, said))
    (tmp_path / "s.jsonl").write_text(lines, encoding="utf-8")
    (talk,) = read_conversations(tmp_path / "s.jsonl")
    told = [one["content"] for one in talk.messages]
    assert told == (["I live in Turku.", "I row."] if is_own else ["I row."])
    assert bool(talk.left_out) is not is_own


def test_the_session_of_an_agents_own_agent_in_gemini_cli_is_no_talk(tmp_path: Path) -> None:
    said = {"id": "1", "type": "user", "content": "I live in Turku."}
    session = {"sessionId": "s", "projectHash": "p", "startTime": "2026-03-01T10:00:00Z"}
    session |= {"lastUpdated": "2026-03-01T10:00:00Z"}
    for kind, count in (("subagent", 0), ("main", 1)):
        path = tmp_path / f"session-{kind}.json"
        path.write_text(json.dumps({**session, "kind": kind, "messages": [said]}), "utf-8")
        (talk,) = read_conversations(path)
        assert (len(talk.messages), len(talk.left_out)) == (count, 1 - count)


def test_a_skill_that_a_person_starts_in_kimi_is_theirs(tmp_path: Path) -> None:
    origins: list[dict[str, str]] = [
        {"kind": "user"},
        {"kind": "skill_activation", "trigger": "user-slash"},
        {"kind": "skill_activation", "trigger": "model"},
    ]
    lines = [
        {"type": "turn.prompt", "input": [{"type": "text", "text": f"I row {at}."}], "origin": one}
        for at, one in enumerate(origins)
    ]
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (tmp_path / "wire.jsonl").write_text(text, encoding="utf-8")
    (talk,) = read_conversations(tmp_path / "wire.jsonl")
    assert [one["content"] for one in talk.messages] == ["I row 0.", "I row 1."]


@pytest.mark.parametrize(
    ("began", "directory", "remote", "project"),
    [
        ("/home/ida/billing", "/home/ida/billing/src", None, "billing"),
        ("/home/ida/billing/src", "/home/ida/billing", None, "src"),
        ("/home/ida/billing", "/home/ida/shop/src", None, "shop"),
        ("/home/ida/billing", "/srv/pier", None, "pier"),
        ("/home/ida/billing/a", "/home/ida/billing/b", "git@x.example:q/billing.git", "billing"),
        ("C:\\code\\billing", "C:\\code\\shop\\src", None, "shop"),
        ("/home/ida/billing", None, None, "billing"),
    ],
)
def test_a_session_that_moves_to_another_repository(
    began: str, directory: str | None, remote: str | None, project: str
) -> None:
    assert project_after_move(repository(began, "main", remote), directory) == project


def test_each_message_has_its_own_project(tmp_path: Path) -> None:
    def row(at: int, text: str, directory: str) -> dict[str, Any]:
        return {
            "type": "user",
            "uuid": f"u{at}",
            "parentUuid": f"u{at - 1}" if at else None,
            "sessionId": "s1",
            "isSidechain": False,
            "timestamp": f"2025-06-01T10:0{at}:00Z",
            "cwd": directory,
            "message": {"role": "user", "content": text},
        }

    said = [("We use Postgres.", "/h/billing"), ("Here it is MySQL.", "/h/shop/src")]
    rows = [row(at, *one) for at, one in enumerate([*said, ("Postgres again.", "/h/billing/x")])]
    file = tmp_path / "s1.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    with MemorySystem(tmp_path / "m") as memory:
        memory.import_(file, "ida")
        stored = [one.metadata["project"] for one in memory.messages("ida")]
        hits = memory.search("ida", "which database?", where={"project": "shop"})
        assert stored == ["billing", "shop", "billing"]
        assert all("MySQL" in hit.content for hit in hits)
        assert hits


def in_folders(path: Path, *folders: str) -> Path:
    """A session in each folder."""
    path.mkdir()
    for number, folder in enumerate(folders):
        place = {"cwd": folder, "sessionId": f"s{number}"}
        record = claude(number, "user", f"I deploy with make deploy-{number}.", **place)
        lines(path / f"{number}.jsonl", [record])
    return path


def test_two_folders_of_one_name_are_noted_and_told_apart(store: Path, tmp_path: Path) -> None:
    both = in_folders(tmp_path / "both", "/home/ida/work/acme/api", "/home/ida/oss/api")
    with MemorySystem(store) as memory:
        for _ in range(2):
            [note] = memory.import_(both, "ida").notes
            assert "`/home/ida/oss/api`" in note
            assert "`/home/ida/work/acme/api`" in note
        where = {"directory": {"$contains": "/oss/api"}}
        [one] = memory.messages("ida", where=where)
        assert one.content == "I deploy with make deploy-1."


def test_a_folder_of_a_name_that_is_known_is_noted(store: Path, tmp_path: Path) -> None:
    first = in_folders(tmp_path / "first", "/home/ida/work/api", "/home/ida/ferry")
    second = in_folders(tmp_path / "second", "/home/ida/oss/api")
    with MemorySystem(store) as memory:
        assert memory.import_(first, "ida").notes == ()
        assert memory.import_(second, "bob").notes == ()
        [note] = memory.import_(second, "ida").notes
        assert "the project `api` is in `/home/ida/oss/api` and `/home/ida/work/api`" in note


def test_one_repository_in_its_folders_is_not_noted(store: Path, tmp_path: Path) -> None:
    home = "/home/ida/api"
    folders = (home, f"{home}/src", f"{home}/.claude/worktrees/feat", "/home/ida", f"{home}/api")
    records = [
        claude(number, "user", f"I deploy with make deploy-{number}.", cwd=folder)
        for number, folder in enumerate(folders)
    ]
    path = lines(tmp_path / "one.jsonl", records)
    with MemorySystem(store) as memory:
        for _ in range(2):
            assert memory.import_(path, "ida").notes == ()
