//! A wrong clock does no lasting damage: a fact dated ahead of the clock ends nothing.

use episodica_core::engine::{AnyRecord, Engine, RecordKind};
use episodica_core::model::{NewMessage, SemanticMemory};
use episodica_core::score::SearchMethod;
use episodica_core::store::testing::MemoryBackend;

use super::support::*;

const DAY: i64 = 86_400;

fn homes(engine: &Engine) -> Vec<(String, bool)> {
    let facts = records(engine, "alice", RecordKind::Semantic).into_iter();
    let home = |record| match record {
        AnyRecord::Semantic(fact) if fact.attribute == "home" => Some((
            fact.metadata["value"].as_str().unwrap_or_default().to_owned(),
            fact.is_current(),
        )),
        _ => None,
    };
    let mut homes: Vec<_> = facts.filter_map(home).collect();
    homes.sort();
    homes
}

#[test]
fn a_message_from_the_future_is_stored_and_ends_nothing() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    for (id, text, at) in [
        ("paris", "I live in Paris.", -30 * DAY),
        ("moscow", "I moved to Moscow.", 50 * 365 * DAY),
        ("lyon", "I moved to Lyon.", 0),
    ] {
        engine.add_messages("alice", vec![said(id, text, at, Some(id))], None, &NOW).unwrap();
        engine.flush("alice", &NOW).unwrap();
    }
    assert_eq!(homes(&engine), [("lyon".to_owned(), true), ("paris".to_owned(), false)]);
    let Some(AnyRecord::Message(stored)) = engine.get("alice", "moscow", &NOW).unwrap() else {
        panic!("a message")
    };
    assert_eq!(stored.timestamp, moment(50 * 365 * DAY), "stored with its date");
    assert!(found(&engine, "alice", "Moscow", SearchMethod::Bm25)[0].contains("Moscow"));
}

#[test]
fn what_a_clock_ahead_of_time_ended_holds_again_when_the_next_message_is_learned() {
    let disk = Disk::new(MemoryBackend::new());
    let say = |days, id, text| {
        let engine = open_days_later(&disk, days).unwrap();
        let undated = NewMessage { timestamp: None, ..said(id, text, 0, Some(id)) };
        engine.add_messages("alice", vec![undated], None, &NOW).unwrap();
        engine.flush("alice", &NOW).unwrap();
        assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
        engine
    };
    let home = |engine: &Engine, town: &str| {
        let facts = records(engine, "alice", RecordKind::Semantic).into_iter();
        let mut facts = facts.filter_map(|record| match record {
            AnyRecord::Semantic(fact) => Some((*fact).clone()),
            _ => None,
        });
        let fills =
            |fact: &SemanticMemory| fact.metadata.get("value").is_some_and(|one| one == town);
        facts.find(fills).unwrap()
    };
    drop(say(0, "m1", "I live in Paris."));
    let ahead = say(4_000, "m2", "I moved to Moscow.");
    assert!(!home(&ahead, "paris").is_current());
    drop(ahead);
    let engine = say(2, "m3", "I moved to Lyon.");
    let (paris, lyon) = (home(&engine, "paris"), home(&engine, "lyon"));
    assert_eq!(
        (paris.valid_to, paris.superseded_by),
        (Some(moment(2 * DAY)), Some(lyon.memory_id))
    );
    assert!(lyon.valid_to.is_none());
    let moscow = home(&engine, "moscow");
    assert!(!moscow.metadata.contains_key("supersedes") && moscow.valid_to.is_none());
}

#[test]
fn a_statement_for_the_future_does_not_end_what_holds_today() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let state = |text: &str, at: i64| {
        let statement = episodica_core::engine::StatedFact {
            content: text.to_owned(),
            valid_from: Some(moment(at)),
            ..Default::default()
        };
        engine.remember("alice", statement, &NOW).unwrap()
    };
    state("I live in Paris.", -DAY);
    state("I live in Moscow.", 400 * DAY);
    assert_eq!(homes(&engine), [("moscow".to_owned(), true), ("paris".to_owned(), true)]);
    state("I live in Lyon.", 0);
    let after = homes(&engine);
    assert_eq!(
        after[0],
        ("lyon".to_owned(), true),
        "a fact of the future does not end one of today"
    );
    assert_eq!(after[2], ("paris".to_owned(), false));
}
