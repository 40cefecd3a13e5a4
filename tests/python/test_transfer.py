"""Exports, imports, backups and stated facts."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from episodica import (
    AsyncMemorySystem,
    InvalidInputError,
    LightweightSearchSystem,
    MemorySystem,
    StoreIOError,
)


def everything(memory: MemorySystem, user: str) -> dict[str, Any]:
    """All records of a user with all their versions, without the user's id."""

    def plain(record: Any) -> dict[str, Any]:
        data = record.to_dict()
        return {key: value for key, value in data.items() if key not in ("user_id", "uri")}

    records = [*memory.episodes(user), *memory.semantic_memories(user, include_superseded=True)]
    ids = [getattr(one, "episode_id", None) or one.memory_id for one in records]
    return {
        "messages": [plain(one) for one in memory.messages(user)],
        "versions": {id: [plain(one) for one in memory.history(user, id)] for id in ids},
    }


@pytest.fixture
def rich(memory: MemorySystem, root: Path) -> MemorySystem:
    """Two users with episodes, superseded and edited facts, deletions, and an open buffer."""
    memory.import_(root / "tests/fixtures/conversations/changing_facts.json", "alice")
    memory.flush("alice")
    memory.wait("alice")
    episode = next(memory.episodes("alice"))
    memory.update("alice", episode.episode_id, "Told again.")
    fact = next(memory.semantic_memories("alice"))
    memory.update("alice", fact.memory_id, "A corrected fact.")
    memory.delete("alice", list(memory.messages("alice"))[3].message_id)
    memory.remember(
        "alice", "I live in Oslo.", valid_from="2020-01-01", attribute="home", value="Oslo"
    )
    memory.remember(
        "alice",
        "I live in Bergen.",
        valid_from="2021-01-01",
        metadata={"n": 1.5},
        attribute="home",
        value="Bergen",
    )
    odd = {"big": 10**400, "small": 0.1, "none": None, "text": 'a"original_messages":[]'}
    memory.add_messages(
        "alice",
        [
            {
                "role": "user",
                "content": 'still "original_messages":[] open\u2028\x00',
                "timestamp": "2099-01-01T00:00:00+05:30",
                "metadata": odd,
            }
        ],
    )
    memory.remember("bob", "Bob likes tea.")
    return memory


def test_export_and_import_are_a_round_trip(rich: MemorySystem, tmp_path: Path) -> None:
    report = rich.export("alice", tmp_path / "alice.jsonl")
    before = everything(rich, "alice")
    assert any(len(versions) > 1 for versions in before["versions"].values())
    assert report.messages == len(before["messages"])
    assert report.episodes + report.semantic_memories == len(before["versions"])
    with MemorySystem(tmp_path / "other") as other:
        added = other.import_(tmp_path / "alice.jsonl")
        assert (added.messages, added.episodes, added.semantic_memories, added.users) == (
            report.messages,
            report.episodes,
            report.semantic_memories,
            1,
        )
        assert everything(other, "alice") == before
        assert list(other.episodes("alice")) == list(rich.episodes("alice"))
        assert other.stats("alice").buffered == rich.stats("alice").buffered == 1
        assert other.verify().errors == 0
        queries = ["Oslo", "still open", "Where does Alice live?"]
        found = [[hit.id for hit in other.search("alice", one)] for one in queries]
        assert found == [[hit.id for hit in rich.search("alice", one)] for one in queries]
        again = other.import_(tmp_path / "alice.jsonl")
        assert (again.messages, again.episodes, again.semantic_memories) == (0, 0, 0)
        assert again.known == report.messages + len(before["versions"])
    with MemorySystem(tmp_path / "other") as other:
        assert everything(other, "alice") == before
        assert other.verify().errors == 0
        # The imported episodes are not written again, and nothing is learned from them again.
        other.flush("alice")
        after = everything(other, "alice")["versions"]
        assert before["versions"].items() <= after.items()


def test_the_offset_of_a_date_travels(rich: MemorySystem, tmp_path: Path) -> None:
    rich.export("alice", tmp_path / "a.jsonl")
    assert "2099-01-01T00:00:00+05:30" in (tmp_path / "a.jsonl").read_text(encoding="utf-8")


def test_import_for_another_user_beside_their_own_messages(
    rich: MemorySystem, tmp_path: Path
) -> None:
    rich.add_messages("carol", [{"role": "user", "content": "mine"}])
    rich.export("alice", tmp_path / "alice.jsonl")
    rich.import_(tmp_path / "alice.jsonl", "carol")
    messages = list(rich.messages("carol"))
    assert len({one.seq for one in messages}) == len(messages)
    assert min(messages, key=lambda one: one.seq).content == "mine"
    assert {one.user_id for one in rich.episodes("carol")} == {"carol"}
    assert rich.verify().errors == 0
    hits = rich.search("carol", "Oslo", kinds=["semantic"], include_superseded=True)
    assert "I live in Oslo." in [hit.content for hit in hits]
    rich.delete_user_data("alice")
    assert len(list(rich.messages("carol"))) == len(messages)


def test_imported_episodes_keep_their_messages_after_a_restart(
    rich: MemorySystem, tmp_path: Path
) -> None:
    rich.export("alice", tmp_path / "alice.jsonl")
    with MemorySystem(tmp_path / "other") as other:
        other.import_(tmp_path / "alice.jsonl")
        [first, *_] = other.episodes("alice")
        other.delete("alice", first.original_messages[0].message_id)
        other.delete("alice", first.episode_id)
        assert other.verify().errors == 0
    with MemorySystem(tmp_path / "other") as other:
        assert other.get("alice", first.episode_id) is None
        assert other.verify().errors == 0
        other.delete_user_data("alice")
    left = [file for file in (tmp_path / "other").rglob("*") if file.is_file()]
    assert not any(b"Told again." in file.read_bytes() for file in left)


def test_episodes_that_were_not_learned_from_are_learned_from(
    tmp_path: Path, talk: list[dict[str, Any]]
) -> None:
    with MemorySystem(tmp_path / "a", semantic_memory=False) as memory:
        memory.add_messages("alice", talk)
        memory.flush("alice")
        memory.export("alice", "alice.jsonl")
    lines = Path("alice.jsonl").read_text(encoding="utf-8").splitlines()
    head = json.loads(lines[0])
    episode = next(json.loads(line) for line in lines if '"type":"episode"' in line)
    head["unlearned"] = [episode["episode_id"]]
    Path("alice.jsonl").write_text("\n".join([json.dumps(head), *lines[1:]]), encoding="utf-8")
    with MemorySystem(tmp_path / "b") as memory:
        memory.import_("alice.jsonl")
        memory.flush("alice")
        assert memory.wait("alice", timeout=10)
        assert [one.content for one in memory.semantic_memories("alice")] != []
        assert memory.verify().errors == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda lines: lines[:-1], "the export is cut: its end is missing"),
        (lambda lines: [lines[0]], "the export is cut: its end is missing"),
        (lambda lines: [lines[0].replace('"version":1', '"version":7')], "has version `7`"),
        (lambda lines: [*lines, lines[1]], "is not a record of an export"),
        (lambda lines: [lines[0], '{"type":"dream"}', *lines[1:]], "line 2 is not a record"),
        (lambda lines: [lines[0], "[1]", *lines[1:]], "line 2 is not a record"),
        (lambda lines: [lines[0], "{oops", *lines[1:]], "line 2: not valid JSON"),
        (lambda lines: [lines[0], '{"type":"fact"}', *lines[1:]], "not a fact of an export"),
        (lambda lines: [one.replace('"content"', '"c"') for one in lines], "not a message of an"),
        (
            lambda lines: [one for one in lines if '"type":"message"' not in one],
            "the export lacks a message of the episode",
        ),
    ],
)
def test_broken_exports_add_nothing(
    lyon: MemorySystem, tmp_path: Path, change: Any, error: str
) -> None:
    lyon.export("alice", "alice.jsonl")
    lines = Path("alice.jsonl").read_text(encoding="utf-8").splitlines()
    Path("alice.jsonl").write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    with MemorySystem(tmp_path / "other") as other:
        with pytest.raises(InvalidInputError, match=error) as caught:
            other.import_("alice.jsonl")
        assert caught.value.path is not None
        assert caught.value.line is not None
        assert other.users() == [] or not list(other.messages("alice"))
        assert other.verify().errors == 0


def test_an_export_replaces_a_file_only_when_it_is_whole(lyon: MemorySystem) -> None:
    Path("kept.jsonl").write_text("kept", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="no such user: `alise`") as caught:
        lyon.export("alise", "kept.jsonl")
    assert caught.value.hint == "did you mean `alice`?"
    with pytest.raises(StoreIOError, match="cannot write"):
        lyon.export("alice", "none/a.jsonl")
    assert Path("kept.jsonl").read_text(encoding="utf-8") == "kept"
    lyon.export("alice", "kept.jsonl")
    assert Path("kept.jsonl").read_text(encoding="utf-8").startswith('{"format":"episodica-export"')
    assert sorted(path.name for path in Path().iterdir()) == ["kept.jsonl", "store"]


@pytest.mark.requirement("STO-5")
def test_markdown_for_people(rich: MemorySystem) -> None:
    report = rich.export("alice", "alice.md")
    text = Path("alice.md").read_text(encoding="utf-8")
    assert text.startswith("# Memories of alice\n\n## Facts\n\n* ")
    assert "* I live in Oslo. (since 2020-01-01, until 2021-01-01; personal_info)\n" in text
    assert "## Facts that no longer hold" in text
    assert "## Not in an episode yet" in text
    assert text.count("\n* **") == report.messages == rich.stats("alice").messages
    assert all(episode.title in text for episode in rich.episodes("alice"))


def test_chat_histories(memory: MemorySystem, root: Path) -> None:
    imports = root / "tests/fixtures/imports"
    first = memory.import_(imports / "chatgpt.json", "alice")
    assert (first.messages, first.known, first.skipped) == (7, 0, 3)
    again = memory.import_(imports / "chatgpt.json", "alice")
    assert (again.messages, again.known) == (0, 7)
    facts = memory.import_(imports / "mem0.json")
    assert (facts.semantic_memories, facts.known, facts.users) == (3, 0, 2)
    assert memory.import_(imports / "mem0.json").known == 3
    [lyon] = [one for one in memory.semantic_memories("alice") if "Lyon" in one.content]
    assert lyon.metadata["mem0_id"] == "e1"
    assert lyon.valid_from == datetime(2024, 3, 11, 8, 30, 0, 123456, tzinfo=UTC)
    for name in ("claude.json", "sharegpt.json", "openai_log.jsonl", "chat.csv", "wechat.txt"):
        assert memory.import_(imports / name, "bob").messages > 0
        assert memory.import_(imports / name, "bob").messages == 0


def test_who_a_chat_history_belongs_to(memory: MemorySystem, root: Path) -> None:
    imports = root / "tests/fixtures/imports"
    with pytest.raises(InvalidInputError, match=r"names no user: `.*chat.csv`"):
        memory.import_(imports / "chat.csv")
    with pytest.raises(InvalidInputError, match="holds 2 conversations of different users"):
        memory.import_(imports / "mem0.json", "alice")
    assert memory.users() == []


def fact_of(user: str | None, text: str) -> dict[str, Any]:
    return {"memory": text, "created_at": "2024-03-11", **({"user_id": user} if user else {})}


def folder_of(place: Path, **files: Any) -> Path:
    """A folder of JSON files, and of texts."""
    place.mkdir()
    for name, held in files.items():
        ending = "txt" if isinstance(held, str) else "json"
        text = held if isinstance(held, str) else json.dumps(held)
        (place / f"{name}.{ending}").write_text(text, encoding="utf-8")
    return place


TALK = "2024-03-11 09:30 Ann: I moved to Lyon.\n2024-03-11 09:31 Bob: Nice!\n"
TEA, SKI = fact_of("alice", "Likes tea."), fact_of("bob", "Likes to ski.")
NOBODYS = fact_of(None, "Likes rain.")


def test_files_of_several_users_in_a_folder_are_left_out(
    memory: MemorySystem, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "of-one", a=TALK, b=[TEA, SKI], c=TALK.replace("Lyon", "Oslo"))
    report = memory.import_(folder, "ida")
    assert (report.messages, report.semantic_memories, memory.users()) == (4, 0, ["ida"])
    why = "several users would become `ida`; import it alone, without a user"
    assert report.left_out == (f"b.json: {why}",)
    report = memory.import_(folder_of(tmp_path / "each", a=TALK, b=[TEA], c=[SKI]), "eve")
    assert (report.messages, report.left_out[0][:6], report.left_out[1][:6]) == (
        2,
        "b.json",
        "c.json",
    )
    report = memory.import_(folder_of(tmp_path / "same", a=TALK, b=[TEA], c=[NOBODYS]), "joe")
    assert (report.messages, report.semantic_memories, report.left_out) == (2, 2, ())


@pytest.mark.parametrize("first", [NOBODYS, 5, TEA])
def test_several_users_in_one_file_are_refused_before_anything_is_stored(
    memory: MemorySystem, tmp_path: Path, first: Any
) -> None:
    (tmp_path / "a.json").write_text(json.dumps([first, TEA, SKI]), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="conversations of different users"):
        memory.import_(tmp_path / "a.json", "ida")
    talk = {"role_type": "user", "content": "Hi."}
    held = [{"messages": [talk]}, *({"user_id": user, "facts": [{"fact": "x"}]} for user in "ab")]
    (tmp_path / "zep.json").write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(InvalidInputError, match="conversations of different users"):
        memory.import_(tmp_path / "zep.json", "ida")
    assert memory.users() == []


@pytest.mark.parametrize("held", [[TEA, NOBODYS], [NOBODYS, TEA], [5, TEA]])
def test_what_names_no_user_is_left_out_beside_what_does(
    memory: MemorySystem, tmp_path: Path, held: list[Any]
) -> None:
    folder = folder_of(tmp_path / "some", a=held, b=TALK)
    report = memory.import_(folder)
    assert (report.semantic_memories, report.messages, memory.users()) == (1, 0, ["alice"])
    why = "messages or facts that name no user"
    left = "a.json, memory 0 in line 1: must be an object, not `int`" if 5 in held else ""
    assert set(report.left_out) == {left or f"a.json: {why}", f"b.txt: {why}"}
    assert memory.import_(folder / "a.json").known == 1


def test_notes_name_the_file_of_an_archive_for_which_they_are_true(
    memory: MemorySystem, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "chats", a=TALK, b="Carl: Hello.\nDora: Hi, my key is sk-1.\n")
    [note] = memory.import_(folder, "ida").notes
    assert note.startswith("b.txt, no message has a date; the date of the file is taken: ")


def test_a_file_of_another_form_in_a_folder_is_left_out(
    memory: MemorySystem, tmp_path: Path
) -> None:
    odd = [{"role": "user", "content": "Hi."}, *({"role": 5, "content": "x"} for _ in range(3))]
    report = memory.import_(folder_of(tmp_path / "odd", a=TALK, b=odd, c=[TEA]), "ida")
    assert (report.messages, report.semantic_memories, len(report.left_out)) == (2, 1, 1)
    assert report.left_out[0].startswith("b.json: most of ")


def test_an_import_that_stops_says_what_it_stored(memory: MemorySystem, tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "in", a=TALK, b="Al: My password is hunter2!x9.\nBo: Oh.\n")
    with pytest.raises(InvalidInputError, match="stored before it: messages 2, facts 0"):
        memory.import_(folder, "ida", secrets="refuse")
    assert len(list(memory.messages("ida"))) == 2


def test_what_is_left_out_is_named_with_its_line(memory: MemorySystem) -> None:
    lines = [{"role": "user", "content": text} for text in ("fine", "", "bye")]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    report = memory.import_("a.jsonl", "alice")
    assert (report.messages, report.skipped) == (2, 1)
    assert report.left_out == ("line 2: no words",)
    Path("b.csv").write_text(
        "role,content,date\nuser,a,2024-01-01\nuser,b,soon\n", encoding="utf-8"
    )
    report = memory.import_("b.csv", "alice")
    assert (report.messages, report.left_out) == (2, ())
    assert report.notes[0].startswith("line 3: `timestamp` is not an ISO 8601 date: `soon`")
    [kept] = [one for one in memory.messages("alice") if one.content == "b"]
    assert kept.timestamp.date().isoformat() == "2024-01-01"


def test_a_file_of_which_nothing_is_understood_is_an_error(memory: MemorySystem) -> None:
    Path("c.json").write_text('[{"memory": "x", "created_at": "soon"}]', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"line 1 of `.*c.json`: `created_at` is not"):
        memory.import_("c.json", "alice")
    Path("d.json").write_text('[{"role": 5, "content": "x"}]', encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"line 1 of `.*d.json`: `role` must be a str"):
        memory.import_("d.json", "alice")
    assert list(memory.messages("alice")) == []


def test_backup_while_others_write(rich: MemorySystem, tmp_path: Path, root: Path) -> None:
    stop = threading.Event()
    acknowledged = [0]

    def write() -> None:
        while not stop.is_set():
            number = acknowledged[0]
            rich.add_messages("alice", [{"role": "user", "content": f"number {number} of many"}])
            if number % 20 == 5:
                rich.flush("alice")
            if number % 20 == 15:
                rich.delete("alice", next(rich.messages("alice", limit=1)).message_id)
            acknowledged[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for round in range(5):
            known = acknowledged[0]
            report = rich.backup(tmp_path / f"copy-{round}")
            assert report.users == 2
            assert report.bytes > 1_000
            with MemorySystem(tmp_path / f"copy-{round}") as copy:
                assert copy.verify().errors == 0
                told = {one.content for one in copy.messages("alice")}
                assert {f"number {number} of many" for number in range(known)} <= told
                assert list(copy.semantic_memories("bob")) == list(rich.semantic_memories("bob"))
    finally:
        stop.set()
        writer.join(30)
    assert not list(tmp_path.glob("*.partial*"))


def test_a_backup_holds_all_tenants(lyon: MemorySystem, store: Path, tmp_path: Path) -> None:
    lyon.close()
    with MemorySystem(store, tenant="acme") as memory:
        memory.add_messages("zoe", [{"role": "user", "content": "I live in Nice."}])
        report = memory.backup("copy", progress=None)
    assert report.users == 2
    with MemorySystem("copy", tenant="acme") as copy:
        assert copy.search("zoe", "Nice")[0].content == "I live in Nice."
    with LightweightSearchSystem("copy") as copy:
        assert everything(copy, "alice")["messages"] != []
        assert copy.backup("copy of a copy").users == 2


def test_where_a_backup_may_lie(lyon: MemorySystem, store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for path, error in (
        (tmp_path / "file", "a file stands where the backup should be"),
        (tmp_path / "full", "the directory for the backup is not empty"),
        (store / "copy", "a backup can't lie inside of its store"),
        (store, "the directory for the backup is not empty"),
    ):
        with pytest.raises(InvalidInputError, match=error):
            lyon.backup(path)
    assert lyon.backup(tmp_path / "empty").users == 1
    assert lyon.backup(tmp_path / "new" / "place").users == 1
    assert lyon.verify().errors == 0


def test_deleted_data_is_in_no_later_backup(lyon: MemorySystem, tmp_path: Path) -> None:
    lyon.delete_user_data("alice")
    assert lyon.backup("copy").users == 0
    assert not any(b"Lyon" in one.read_bytes() for one in Path("copy").rglob("*") if one.is_file())


def test_remember_survives_and_is_always_kept(memory: MemorySystem, store: Path) -> None:
    home = {"attribute": "home", "value": "Paris"}
    paris = memory.remember(
        "alice", "I live in Paris.", valid_from="2023-05-01", agent_id="a1", **home
    )
    assert (paris.attribute, paris.value, paris.subject) == ("home", "Paris", "alice")
    assert paris.outcome == "added"
    assert paris.valid_from == datetime(2023, 5, 1, tzinfo=UTC)
    assert paris.metadata == {"agent_id": "a1"}
    assert (paris.source_episodes, paris.source_messages) == ((), ())
    same = memory.remember("alice", "I live in Paris.", valid_from="2023-06-01", **home)
    assert same == paris
    assert same.outcome == "repeats"
    lyon = memory.remember("alice", "Alice lives in Lyon.", attribute="home", value="Lyon")
    assert (lyon.outcome, lyon.ends) == ("ends", (paris.memory_id,))
    former = memory.get("alice", paris.memory_id)
    assert former is not None
    assert former.superseded_by == lyon.memory_id  # type: ignore[union-attr]
    back = memory.remember("alice", "I live in Paris.", **home)
    assert back.memory_id not in (paris.memory_id, lyon.memory_id)
    assert [one.content for one in memory.semantic_memories("alice")] == ["I live in Paris."]
    assert memory.search("alice", "Where does Alice live?")[0].content == "I live in Paris."
    assert memory.verify().errors == 0
    before = everything(memory, "alice")
    memory.close()
    with MemorySystem(store) as again:
        assert everything(again, "alice") == before
        assert again.users() == ["alice"]
        assert again.verify().errors == 0


PAIRS = [
    ("I have three cats and two dogs at home.", "I have two cats and three dogs at home."),
    ("I live in Lyon with my husband Tom.", "I live in Lyon alone now."),
    ("Ich trinke abends nicht gern Bier.", "Ich trinke abends gern Bier."),
    ("Ana does not eat fish.", "Ana does eat fish."),
    ("我不喝咖啡。", "我喝咖啡。"),
    ("The flight is at 07:35.", "The flight is at 07:53."),
    ("Tom owes Ana 50 euros.", "Ana owes Tom 50 euros."),
    ("Je ne mange plus de viande.", "Je mange de la viande."),
]


@pytest.mark.parametrize(("first", "then"), PAIRS + [(then, first) for first, then in PAIRS])
@pytest.mark.parametrize("metadata", [None, {"value": "rome"}, {"value": 5, "stated": []}])
def test_other_words_are_another_statement(
    memory: MemorySystem, first: str, then: str, metadata: dict[str, Any] | None
) -> None:
    assert memory.remember("ana", first, metadata=metadata).outcome == "added"
    assert memory.remember("ana", then).outcome == "added"
    known = list(memory.semantic_memories("ana"))
    assert [one.content for one in known] == [first, then]
    assert all(one.is_current for one in known)
    assert known[0].metadata == (metadata or {})


def test_only_the_value_of_the_same_attribute_and_subject_ends(memory: MemorySystem) -> None:
    for content, attribute, value in (
        ("I live in Oslo.", "home", "Oslo"),
        ("I'm allergic to peanuts.", "allergy", "peanuts"),
        ("I like Oslo.", None, None),
    ):
        memory.remember("ana", content, attribute=attribute, value=value)
    memory.remember("ana", "Tom lives in Rome.", subject="Tom", attribute="home", value="Rome")
    moved = memory.remember("ana", "I moved to Bergen.", attribute="Home", value="Bergen")
    known = memory.semantic_memories("ana", include_superseded=True)
    assert [one.content for one in known if one.valid_to] == ["I live in Oslo."]
    memory.delete("ana", moved.memory_id)
    assert all(one.is_current for one in memory.semantic_memories("ana", include_superseded=True))
    with pytest.raises(InvalidInputError, match="value is missing"):
        memory.remember("ana", "I live in Oslo.", attribute="home")
    with pytest.raises(InvalidInputError, match="attribute is empty"):
        memory.remember("ana", "I live in Oslo.", attribute=" ", value="Oslo")


def test_stated_facts_can_be_deleted(memory: MemorySystem, store: Path) -> None:
    fact = memory.remember("alice", "My locker code is zyxw987.")
    kept = memory.remember("alice", "I play chess.")
    memory.add_messages("alice", [{"role": "user", "content": "hello", "id": "m1"}])
    memory.delete("alice", "m1")
    assert memory.get("alice", kept.memory_id) == kept
    assert memory.delete("alice", fact.memory_id).semantic_memories == 1
    memory.close()
    files = [file for file in store.rglob("*") if file.is_file()]
    assert not any(b"zyxw987" in file.read_bytes() for file in files)
    with MemorySystem(store) as again:
        again.delete_user_data("alice")
        assert again.users() == []
    assert not any(b"chess" in file.read_bytes() for file in store.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("statement", "options", "error"),
    [
        (" ", {}, "statement is empty"),
        (5, {}, "statement must be a str"),
        ("x", {"kind": "prefrence"}, "kind is unknown: `prefrence`"),
        ("x", {"metadata": []}, "metadata must be a mapping"),
        ("x", {"metadata": {"a": object()}}, "metadata.a is not a JSON type"),
        ("x", {"valid_from": "soon"}, "valid_from is not an ISO 8601 date"),
        ("x", {"agent_id": 3}, "agent_id must be a str"),
    ],
)
def test_what_cannot_be_remembered(
    memory: MemorySystem, statement: Any, options: dict[str, Any], error: str
) -> None:
    with pytest.raises(InvalidInputError, match=error):
        memory.remember("alice", statement, **options)
    long = "x" * (memory.config.max_message_bytes + 1)
    with pytest.raises(InvalidInputError, match="statement is longer than max_message_bytes"):
        memory.remember("alice", long)
    assert memory.users() == []


def test_readers_export_and_do_not_write(lyon: MemorySystem, store: Path) -> None:
    with LightweightSearchSystem(store) as reader:
        assert reader.export("alice", "alice.jsonl").messages == 2
        assert not hasattr(reader, "import_")


async def test_the_same_as_coroutines(tmp_path: Path) -> None:
    async with AsyncMemorySystem(tmp_path / "a") as memory:
        await memory.remember("alice", "I live in Lyon.")
        assert (await memory.export("alice", "alice.jsonl")).semantic_memories == 1
        assert (await memory.import_("alice.jsonl", "bob")).semantic_memories == 1
        assert (await memory.backup("copy")).users == 2
