//! Links between quotations: logged when they are learned, gone with either message, decided by the
//! user.

use episodica_core::engine::{EngineHandle, SaidLater};
use episodica_core::model::{KeptSide, LinkKind};
use episodica_core::store::testing::MemoryBackend;

use super::support::*;

const DAY: i64 = 86_400;

/// Three codes in turn, and other talk.
fn filled(disk: &Disk) -> EngineHandle {
    let engine = open(disk).unwrap();
    for (at, id, text) in [
        (0, "m1", "The gate code of the yard is 7712. My cat weighs four kilos."),
        (1, "m2", "It rained the whole weekend here."),
        (2, "m3", "The gate code of the yard is 3390 now."),
        (3, "m4", "From May on the gate code of the yard is 5518."),
    ] {
        engine.add_messages("alice", vec![said(id, text, at * DAY, Some(id))], None, &NOW).unwrap();
        engine.close_session("alice", id, &NOW).unwrap();
    }
    engine
}

fn changes(engine: &EngineHandle) -> Vec<SaidLater> {
    engine.changes("alice", None, None, &NOW).unwrap()
}

fn told(engine: &EngineHandle) -> Vec<(String, String)> {
    changes(engine).into_iter().map(|one| (one.old_words, one.new_words)).collect()
}

const FIRST: &str = "The gate code of the yard is 7712.";
const SECOND: &str = "The gate code of the yard is 3390 now.";
const THIRD: &str = "From May on the gate code of the yard is 5518.";

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned())).collect()
}

#[test]
fn each_later_one_is_linked_with_the_one_before_it() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = filled(&disk);
    let expected = pairs(&[(SECOND, THIRD), (FIRST, SECOND)]);
    assert_eq!(told(&engine), expected);
    assert_eq!(engine.changes("alice", Some(moment(3 * DAY)), None, &NOW).unwrap().len(), 1);
    assert_eq!(engine.changes("alice", None, Some(LinkKind::Later), &NOW).unwrap().len(), 2);
    assert_eq!(engine.changes("alice", None, Some(LinkKind::Change), &NOW).unwrap().len(), 0);
    assert_eq!(engine.changes("nobody", None, None, &NOW).unwrap().len(), 0);
    drop(engine);
    // From the snapshot, and then from the logs.
    assert_eq!(told(&open(&disk).unwrap()), expected);
    let engine = open_as(&disk, false, Default::default()).unwrap();
    assert_eq!(told(&engine), expected);
}

#[test]
fn a_deleted_message_takes_its_links_along() {
    for (gone, expected) in [
        ("m1", pairs(&[(SECOND, THIRD)])),
        ("m3", pairs(&[(FIRST, THIRD)])),
        ("m4", pairs(&[(FIRST, SECOND)])),
    ] {
        let disk = Disk::new(MemoryBackend::new());
        let engine = filled(&disk);
        engine.delete("alice", gone, &NOW).unwrap();
        assert_eq!(told(&engine), expected, "{gone}");
        drop(engine);
        assert_eq!(told(&open(&disk).unwrap()), expected, "{gone}");
    }
}

#[test]
fn a_decision_is_remembered_and_replaced() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = filled(&disk);
    let ids = |engine: &EngineHandle| {
        let found = changes(engine);
        let change = found.iter().find(|one| one.old_words == FIRST).unwrap();
        [change.old.memory_id.clone(), change.new.memory_id.clone()]
    };
    let [old, new] = ids(&engine);
    for (side, ends) in [
        (KeptSide::New, [true, false]),
        (KeptSide::Both, [false, false]),
        (KeptSide::Old, [false, true]),
    ] {
        engine.keep_side("alice", [&old, &new], side, &NOW).unwrap();
        let found = changes(&engine);
        let change = found.iter().find(|one| one.old.memory_id == old).unwrap();
        assert_eq!(change.link.kept, Some(side));
        assert_eq!([&change.old, &change.new].map(|fact| !fact.is_open()), ends);
    }
    let failed = engine.keep_side("alice", [&new, &old], KeptSide::New, &NOW).unwrap_err();
    assert!(failed.to_string().contains("not linked"), "{failed}");
    assert!(engine.keep_side("alice", ["x", &new], KeptSide::New, &NOW).is_err());
    assert!(engine.keep_side("nobody", [&old, &new], KeptSide::New, &NOW).is_err());
    drop(engine);
    let engine = open(&disk).unwrap();
    let kept: Vec<_> = changes(&engine).iter().map(|one| one.link.kept).collect();
    assert_eq!(kept, [None, Some(KeptSide::Old)]);
}

#[test]
fn nobody_is_linked_with_another_speaker() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    for (at, name, text) in [(0, "Mira", FIRST), (1, "Tom", SECOND)] {
        let mut message = said(name, text, at * DAY, Some(name));
        message.name = Some(name.into());
        engine.add_messages("alice", vec![message], None, &NOW).unwrap();
        engine.close_session("alice", name, &NOW).unwrap();
    }
    assert_eq!(told(&engine), []);
}
