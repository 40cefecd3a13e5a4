//! Users open and close while other threads work: deletion, eviction and refreshing cause no
//! deadlock, mix nothing up and lose nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use episodica_core::config::MemoryConfig;
use episodica_core::control::CallControl;
use episodica_core::engine::{AnyRecord, Engine, EngineParts, RecordKind};
use episodica_core::score::{HitKind, SearchMethod};
use episodica_core::store::LogStore;
use episodica_core::store::testing::{MemoryBackend, MemoryLogs};
use episodica_core::{Error, ErrorKind, Result};

use super::support::*;
use crate::counts::rounds;

#[test]
fn deleting_a_user_and_asking_for_their_records_never_wait_for_each_other() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    engine.history("alice", "m0", &NOW).unwrap();
                    let _unknown = engine.update("alice", "m0", "text", &NOW).unwrap_err();
                    engine.delete("alice", "nobody", &NOW).unwrap();
                }
            });
        }
        for n in 0..rounds(60, 2_000) {
            engine
                .add_messages("alice", vec![said("m0", &format!("hello {n}"), 0, None)], None, &NOW)
                .unwrap();
            engine.delete_user_data("alice", &NOW).unwrap();
        }
        done.store(true, Ordering::SeqCst);
    });
    assert!(engine.users().unwrap().is_empty());
}

#[test]
fn adding_to_a_user_who_is_being_deleted_adds_after_the_deletion() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                engine.delete_user_data("alice", &NOW).unwrap();
            }
        });
        for n in 0..rounds(60, 2_000) {
            let id = format!("m{n}");
            let added = engine
                .add_messages("alice", vec![said(&id, "hello", 0, None)], None, &NOW)
                .unwrap();
            assert_eq!(added.messages_added, 1);
        }
        done.store(true, Ordering::SeqCst);
    });
}

#[test]
fn of_what_many_add_to_one_user_nothing_finished_is_left_over() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let each = rounds(25, 400);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let engine = &engine;
            scope.spawn(move || {
                for n in 0..each {
                    // A session is over as soon as any thread has come to the next hour.
                    let (id, session) = (format!("{thread}-{n}"), format!("s{thread}-{n}"));
                    let message = said(
                        &id,
                        &format!("word{thread} number{n}"),
                        3_600 * n as i64,
                        Some(&session),
                    );
                    assert_eq!(
                        engine
                            .add_messages("alice", vec![message], None, &NOW)
                            .unwrap()
                            .messages_added,
                        1
                    );
                }
            });
        }
    });
    assert_eq!(records(&engine, "alice", RecordKind::Message).len() as u64, 8 * each);
    assert_eq!(records(&engine, "alice", RecordKind::Episode).len() as u64, 8 * (each - 1));
}

#[test]
fn users_are_closed_under_the_budget_while_others_use_them() {
    let disk = Disk::new(MemoryBackend::new());
    let config = MemoryConfig { memory_budget_bytes: 1, ..MemoryConfig::default() };
    let engine = open_as(&disk, false, config).unwrap();
    let each = rounds(25, 400);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let engine = &engine;
            scope.spawn(move || {
                for n in 0..each {
                    // All threads use the same few users, so that one thread closes a user that
                    // another is about to use.
                    let user = format!("u{}", (n + thread) % 3);
                    let id = format!("{thread}-{n}");
                    engine
                        .add_messages(
                            &user,
                            vec![said(&id, &format!("word{thread} number{n}"), 0, None)],
                            None,
                            &NOW,
                        )
                        .unwrap();
                    let _ = records(engine, &user, RecordKind::Message);
                }
            });
        }
    });
    let total: usize =
        (0..3).map(|user| records(&engine, &format!("u{user}"), RecordKind::Message).len()).sum();
    assert_eq!(total as u64, 4 * each);
    // Room is made when a user is opened; the threads may have opened all three at once.
    for user in 3..6 {
        let one = said("other", "another user", 0, None);
        engine.add_messages(&format!("u{user}"), vec![one], None, &NOW).unwrap();
    }
    assert!(engine.store_stats().unwrap().evictions > 0);
}

#[test]
fn a_reader_follows_every_write_and_deletion() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    engine.add_messages("alice", vec![said("m0", "zqfirst word", 0, None)], None, &NOW).unwrap();
    let reader = open_as(&disk, true, MemoryConfig::default()).unwrap();
    for n in 1..20 {
        assert_eq!(records(&reader, "alice", RecordKind::Message).len(), n);
        engine
            .add_messages(
                "alice",
                vec![said(&format!("m{n}"), &format!("zqword{n}x again"), n as i64, None)],
                None,
                &NOW,
            )
            .unwrap();
        assert_eq!(found(&reader, "alice", &format!("zqword{n}x"), SearchMethod::Bm25).len(), 1);
        assert!(!found(&reader, "alice", &format!("zqword{n}x"), SearchMethod::Vector).is_empty());
    }
    engine.delete("alice", "m0", &NOW).unwrap();
    assert!(found(&reader, "alice", "zqfirst", SearchMethod::Bm25).is_empty());
    engine.delete_user_data("alice", &NOW).unwrap();
    assert!(records(&reader, "alice", RecordKind::Message).is_empty());
    assert!(found(&reader, "alice", "zqword3x", SearchMethod::Bm25).is_empty());
}

#[test]
fn talk_of_former_days_is_not_cut_by_what_came_in_before_it() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    engine.add_messages("alice", vec![said("now", "Hello there.", 0, None)], None, &NOW).unwrap();
    for n in 0..6 {
        let message = said(
            &format!("old{n}"),
            &format!("We went sailing with Bob, day {n}."),
            n * 60 - 900_000,
            Some("s1"),
        );
        engine.add_messages("alice", vec![message], None, &NOW).unwrap();
    }
    assert!(records(&engine, "alice", RecordKind::Episode).is_empty());
    // A later message of another session ends it.
    engine
        .add_messages("alice", vec![said("later", "Good morning.", 9_000, Some("s2"))], None, &NOW)
        .unwrap();
    let episodes = records(&engine, "alice", RecordKind::Episode);
    assert!(matches!(&episodes[..], [AnyRecord::Episode(episode)] if episode.message_count == 6));
}

/// A caller who waits for ten seconds at most.
struct Impatient(Instant);

impl CallControl for Impatient {
    fn check(&self) -> Result<()> {
        if self.0.elapsed() < Duration::from_secs(10) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Interrupted, "waited too long"))
    }
}

fn searched(engine: &Engine, user: &str) -> Result<usize> {
    let request = asked("zqhello", 10, vec![HitKind::Message], SearchMethod::Bm25);
    Ok(engine.search(user, &request, &Impatient(Instant::now()))?.hits.len())
}

/// The call of one thread on alice, and the operation in which it is held up while others go on.
struct HeldUp {
    name: &'static str,
    budget: usize,
    /// True if alice was opened and changed before.
    is_open: bool,
    operation: &'static str,
    act: fn(&Engine) -> Result<usize>,
    /// The number of messages that alice has afterwards.
    left: usize,
}

const HELD_UP: [HeldUp; 3] = [
    HeldUp {
        name: "opening",
        budget: 1 << 30,
        is_open: false,
        operation: "alice",
        act: |engine| searched(engine, "alice"),
        left: 1,
    },
    HeldUp {
        name: "erasure",
        budget: 1 << 30,
        is_open: true,
        operation: "remove_file",
        act: |engine| engine.delete_user_data("alice", &NOW).map(|report| report.messages),
        left: 0,
    },
    HeldUp {
        name: "eviction",
        budget: 1,
        is_open: true,
        operation: "alice",
        act: |engine| searched(engine, "carol"),
        left: 2,
    },
];

#[test]
fn no_user_waits_for_the_opening_erasure_or_eviction_of_another() {
    for case in HELD_UP {
        no_user_waits(&case, None);
        no_user_waits(&case, Some(Arc::new(MemoryLogs::default())));
    }
}

fn no_user_waits(case: &HeldUp, logs: Option<Arc<dyn LogStore>>) {
    let disk = Disk::new(MemoryBackend::new());
    let open = || {
        let config = MemoryConfig { memory_budget_bytes: case.budget, ..with_snapshots() };
        Engine::open(EngineParts { config, logs: logs.clone(), ..parts(&disk) }).unwrap()
    };
    let add = |engine: &Engine, user, id| {
        engine.add_messages(user, vec![said(id, "zqhello there", 0, None)], None, &NOW).unwrap();
    };
    let before = open();
    ["alice", "bob", "carol"].iter().for_each(|user| add(&before, user, "m0"));
    before.close(Duration::from_secs(10), &NOW).unwrap();
    drop(before);
    let engine = open();
    if case.is_open {
        add(&engine, "alice", "m1");
    }
    disk.take_operations();
    let gate = disk.gate(case.operation);
    let closed = gate.lock();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| (case.act)(&engine));
        let started = Instant::now();
        while !disk.has_done(case.operation) && started.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let is_held_up = disk.has_done(case.operation);
        let second = scope.spawn(|| searched(&engine, "alice"));
        let bob = searched(&engine, "bob");
        drop(closed);
        assert!(is_held_up, "{}", case.name);
        assert_eq!(bob.unwrap(), 1, "{}", case.name);
        first.join().unwrap().unwrap();
        assert_eq!(second.join().unwrap().unwrap(), case.left, "{}", case.name);
    });
}

#[test]
fn a_user_whom_many_ask_for_at_once_is_read_once() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    engine.add_messages("alice", vec![said("m0", "zqhello", 0, None)], None, &NOW).unwrap();
    engine.close(Duration::from_secs(10), &NOW).unwrap();
    drop(engine);
    let reads = |threads| {
        let engine = open(&disk).unwrap();
        disk.take_operations();
        let gate = disk.gate("alice");
        let closed = gate.lock();
        std::thread::scope(|scope| {
            (0..threads).for_each(|_| {
                scope.spawn(|| assert_eq!(searched(&engine, "alice").unwrap(), 1));
            });
            while !disk.has_done("alice") {
                std::thread::yield_now();
            }
            drop(closed);
        });
        let operations = disk.take_operations().into_iter();
        operations.filter(|one| one.starts_with("read_from") && one.ends_with(".jsonl")).count()
    };
    let once = reads(1);
    assert!(once > 0);
    assert_eq!(reads(4), once);
}
