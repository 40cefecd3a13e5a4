//! Links between quotations: logged when they are learned, gone with either message, decided by the
//! user.

use episodica_core::engine::{AnyRecord, EngineHandle, RecordKind, SaidLater};
use episodica_core::model::{KeptSide, LinkKind, NewMessage};
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

/// Messages of a day each, in this order of arrival.
fn told_in(disk: &Disk, order: &[usize], texts: &[&str]) -> EngineHandle {
    let engine = open(disk).unwrap();
    for at in order {
        let id = format!("m{at}");
        let message = said(&id, texts[*at], *at as i64 * DAY, Some(&id));
        engine.add_messages("alice", vec![message], None, &NOW).unwrap();
        engine.close_session("alice", &id, &NOW).unwrap();
    }
    engine
}

const TALK: [&str; 4] =
    ["The gate code of the yard is 7712. My cat weighs four kilos.", SECOND, THIRD, "It rained."];
const OTHER: &str = "The gate code of the yard is 9043, says Ida.";

#[test]
fn after_an_edit_the_links_are_those_of_the_newer_words() {
    for (at, words) in [
        (0, "The gate code of the yard is 1180. My cat weighs four kilos."),
        (0, "The gate code of the yard is 7712. My cat weighs five kilos."),
        (0, "We had soup."),
        (1, OTHER),
        (1, "We had soup."),
        (2, OTHER),
        (3, OTHER),
    ] {
        let (disk, fresh) = (Disk::new(MemoryBackend::new()), Disk::new(MemoryBackend::new()));
        let engine = told_in(&disk, &[0, 1, 2, 3], &TALK);
        let before = told(&engine);
        let mut texts = TALK;
        texts[at] = words;
        let expected = told(&told_in(&fresh, &[0, 1, 2, 3], &texts));
        let edit = |words: &str| {
            let id = format!("m{at}");
            let message = said(&id, words, at as i64 * DAY, Some(&id));
            let message = NewMessage { edited_at: Some(moment(9 * DAY)), ..message };
            assert_eq!(engine.add_messages("alice", vec![message], None, &NOW).unwrap().edited, 1);
        };
        edit(words);
        assert_eq!(told(&engine), expected, "m{at}: {words}");
        let opened = open_as(&disk, true, Default::default()).unwrap();
        assert_eq!(told(&opened), expected, "m{at}: {words}, opened");
        edit(TALK[at]);
        assert_eq!(told(&engine), before, "m{at}: {words}, and back");
        assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
    }
}

#[test]
fn the_order_of_arrival_changes_no_link() {
    let expected = told(&told_in(&Disk::new(MemoryBackend::new()), &[0, 1, 2, 3], &TALK));
    assert_eq!(expected, pairs(&[(SECOND, THIRD), (FIRST, SECOND)]));
    for order in [[3, 2, 1, 0], [1, 0, 2, 3], [2, 0, 3, 1], [1, 3, 2, 0]] {
        let disk = Disk::new(MemoryBackend::new());
        let engine = told_in(&disk, &order, &TALK);
        assert_eq!(told(&engine), expected, "{order:?}");
        engine.delete("alice", "m1", &NOW).unwrap();
        assert_eq!(told(&engine), pairs(&[(FIRST, THIRD)]), "{order:?}");
    }
}

/// Whether each of the codes is open, by message.
fn open_codes(engine: &EngineHandle) -> Vec<(String, bool)> {
    let facts = records(engine, "alice", RecordKind::Semantic).into_iter();
    let codes = facts.filter_map(|record| match record {
        AnyRecord::Semantic(fact) if fact.content.contains("gate code") => {
            Some((fact.source_messages[0].clone(), fact.is_open()))
        }
        _ => None,
    });
    let mut codes: Vec<_> = codes.collect();
    codes.sort();
    codes
}

#[test]
fn what_is_left_of_a_decision_is_current_again() {
    let soup = "We had soup.";
    for (side, kept, other) in [
        (KeptSide::New, "m1", "m0"),
        (KeptSide::Old, "m0", "m1"),
        (KeptSide::Both, "m1", "m0"),
        (KeptSide::Both, "m0", "m1"),
    ] {
        for way in ["message", "fact", "edit"] {
            let disk = Disk::new(MemoryBackend::new());
            let engine = told_in(&disk, &[0, 1, 3], &TALK);
            let change = changes(&engine).remove(0);
            let ids = [&*change.old.memory_id, &*change.new.memory_id];
            engine.keep_side("alice", ids, side, &NOW).unwrap();
            let is_closed = side != KeptSide::Both;
            let codes = open_codes(&engine);
            assert!(codes.contains(&(other.to_owned(), !is_closed)), "{side:?}: {codes:?}");
            match way {
                "message" => drop(engine.delete("alice", kept, &NOW).unwrap()),
                "fact" => {
                    let id = if kept == "m0" { ids[0] } else { ids[1] };
                    engine.delete("alice", id, &NOW).unwrap();
                }
                _ => {
                    let at = if kept == "m0" { 0 } else { DAY };
                    let edited = said(kept, soup, at, Some(kept));
                    engine.add_messages("alice", vec![edited], None, &NOW).unwrap();
                }
            }
            let left = [(other.to_owned(), true)];
            assert_eq!(open_codes(&engine), left, "{side:?}, {kept}, {way}");
            let opened = open_as(&disk, true, Default::default()).unwrap();
            assert_eq!(open_codes(&opened), left, "{side:?}, {kept}, {way}, opened");
        }
    }
}

#[test]
fn a_decision_that_stays_keeps_its_fact_closed() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = told_in(&disk, &[0, 1, 2], &TALK);
    for change in changes(&engine) {
        let ids = [&*change.old.memory_id, &*change.new.memory_id];
        engine.keep_side("alice", ids, KeptSide::New, &NOW).unwrap();
    }
    let codes = |open: [bool; 3]| {
        (0..).zip(open).map(|(at, open)| (format!("m{at}"), open)).collect::<Vec<_>>()
    };
    assert_eq!(open_codes(&engine), codes([false, false, true]));
    engine.delete("alice", "m2", &NOW).unwrap();
    assert_eq!(open_codes(&engine), codes([false, true, true])[..2]);
    engine.delete("alice", "m1", &NOW).unwrap();
    assert_eq!(open_codes(&engine), codes([true, true, true])[..1]);
}
