//! Several engines on one store, like several processes: each finds the same as a newly opened
//! engine.

use std::time::{Duration, Instant};

use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, RecordKind};
use episodica_core::score::SearchMethod;
use episodica_core::store::testing::{MemoryBackend, Random};

use super::in_place::{any_message, assert_same_answers, id_of};
use super::support::*;
use crate::counts::{report, rounds};

fn act(engine: &Engine, random: &mut Random, number: &mut u64) {
    let messages = (0..1 + random.below(4)).map(|_| {
        *number += 1;
        any_message(random, *number)
    });
    engine.add_messages("alice", messages.collect(), None, &NOW).unwrap();
    match random.below(6) {
        0 | 1 => drop(engine.flush("alice", &NOW).unwrap()),
        2 => drop(engine.close_session("alice", "s1", &NOW).unwrap()),
        3 => {
            let facts = records(engine, "alice", RecordKind::Semantic);
            if let Some(AnyRecord::Semantic(fact)) = facts.first() {
                engine.update("alice", &fact.memory_id, "They like tea.", &NOW).unwrap();
            }
            let episodes = records(engine, "alice", RecordKind::Episode);
            if let Some(AnyRecord::Episode(episode)) = episodes.first() {
                engine.update("alice", &episode.episode_id, "They spoke of tea.", &NOW).unwrap();
            }
        }
        4 => {
            let there = records(engine, "alice", RecordKind::Message);
            let victim = id_of(&there[random.below(there.len() as u64) as usize]).to_owned();
            engine.delete("alice", &victim, &NOW).unwrap();
        }
        _ => {}
    }
}

#[test]
fn engines_that_take_turns_find_what_a_fresh_one_finds() {
    let mut compared = 0;
    for case in 0..rounds(6, 100) {
        let mut random = Random::new(case + 1);
        let disk = Disk::new(MemoryBackend::new());
        let open = || open_as(&disk, false, MemoryConfig::default()).unwrap();
        let mut engines = [open(), open(), open()];
        let mut number = 0;
        for step in 0..14 {
            let at = random.below(3) as usize;
            if random.below(6) == 0 {
                engines[at].close(Duration::from_secs(5), &NOW).unwrap();
                engines[at] = open();
            }
            act(&engines[at], &mut random, &mut number);
            let other = &engines[random.below(3) as usize];
            compared += assert_same_answers(other, &disk, &format!("case {case}, step {step}"));
        }
        for engine in &engines {
            compared += assert_same_answers(engine, &disk, &format!("case {case}, the end"));
            assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0, "case {case}");
        }
        engines[0].delete_user_data("alice", &NOW).unwrap();
        for engine in &engines {
            assert!(records(engine, "alice", RecordKind::Message).is_empty());
            assert!(found(engine, "alice", "Ann", SearchMethod::Hybrid).is_empty());
        }
        for engine in engines {
            engine.close(Duration::from_secs(5), &NOW).unwrap();
        }
        let left = disk.inner().files().into_keys();
        let left: Vec<_> = left.filter(|path| path.to_string_lossy().contains("alice")).collect();
        assert!(left.is_empty(), "case {case}: {left:?}");
    }
    report("engines", &[("comparisons", compared), ("differences", 0)]);
}

#[test]
fn engines_that_write_at_once_store_each_message_once_and_form_each_episode_once() {
    let disk = Disk::new(MemoryBackend::new());
    let open = || open_as(&disk, false, MemoryConfig::default()).unwrap();
    let engines = [open(), open(), open(), open()];
    std::thread::scope(|scope| {
        for (worker, engine) in engines.iter().enumerate() {
            scope.spawn(move || {
                let mut random = Random::new(worker as u64 + 1);
                for round in 0..25 {
                    let number = worker as u64 * 1_000 + round;
                    let message = any_message(&mut random, number);
                    let added = engine.add_messages("alice", vec![message], None, &NOW).unwrap();
                    assert_eq!(added.messages_added, 1);
                    let own = format!("m{number}");
                    assert!(engine.get("alice", &own, &NOW).unwrap().is_some(), "read one's own");
                    if round % 5 == 4 {
                        engine.flush("alice", &NOW).unwrap();
                    }
                }
            });
        }
    });
    let mut ids: Vec<String> = records(&engines[0], "alice", RecordKind::Message)
        .iter()
        .map(|message| id_of(message).to_owned())
        .collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), count), (100, 100));
    let mut inside = Vec::new();
    for record in records(&engines[1], "alice", RecordKind::Episode) {
        let AnyRecord::Episode(episode) = record else { panic!("an episode") };
        inside.extend(episode.original_messages.iter().map(|one| one.message_id.clone()));
    }
    let members = inside.len();
    inside.sort();
    inside.dedup();
    assert_eq!(inside.len(), members, "a message is in two episodes");
    for engine in &engines {
        assert_same_answers(engine, &disk, "at once");
    }
}

/// Waits for the snapshot, which is written in the background.
fn wait_for(disk: &Disk, name: &str) {
    let until = Instant::now() + Duration::from_secs(30);
    let is_there =
        || disk.inner().files().keys().any(|path| path.to_string_lossy().ends_with(name));
    while !is_there() {
        assert!(Instant::now() < until, "no snapshot was taken");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_snapshot_is_taken_while_the_user_is_open_and_holds_for_others() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open_as(&disk, false, MemoryConfig::default()).unwrap();
    let mut random = Random::new(3);
    let messages = (0..2_400).map(|number| any_message(&mut random, number)).collect();
    engine.add_messages("alice", messages, None, &NOW).unwrap();
    wait_for(&disk, "alice.segment");
    engine.add_messages("alice", vec![any_message(&mut random, 9_999)], None, &NOW).unwrap();
    // The image of a killed process is opened from the snapshot and the line after it.
    let killed = Disk::new(disk.inner().after_process_death());
    let opened = open_as(&killed, false, MemoryConfig::default()).unwrap();
    assert!(uses_the_snapshot(&killed, || {
        assert_eq!(records(&opened, "alice", RecordKind::Message).len(), 2_401);
    }));
    // Compares ids only: among so many hits, half precision decides which is the thousandth.
    let all = |engine: &Engine, kind| {
        let ids = records(engine, "alice", kind);
        ids.iter().map(|one| id_of(one).to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    for kind in [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic] {
        assert_eq!(all(&opened, kind), all(&engine, kind), "{kind:?}");
    }
    drop(opened);
    // Another process on the live store also uses the snapshot, and follows.
    let other = open_as(&disk, false, MemoryConfig::default()).unwrap();
    assert_eq!(records(&other, "alice", RecordKind::Message).len(), 2_401);
    engine.delete("alice", "m7", &NOW).unwrap();
    assert_eq!(records(&other, "alice", RecordKind::Message).len(), 2_400);
    for kind in [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic] {
        assert_eq!(all(&other, kind), all(&engine, kind), "{kind:?}");
    }
}
