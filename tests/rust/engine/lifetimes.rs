//! Users come and go while others work: deletion, eviction and refreshing never lock up, mix up or
//! lose anything.

use std::sync::atomic::{AtomicBool, Ordering};

use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, RecordKind};
use episodica_core::score::SearchMethod;
use episodica_core::store::testing::MemoryBackend;

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
                    // Each session is over as soon as somebody has come to the next hour.
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
                    // Everybody uses the same few users, so that one closes what another is about
                    // to use.
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
fn a_user_whom_only_a_legacy_file_knows_is_there_before_anything_is_added() {
    let array = concat!(
        r#"[{"episode_id":"e1","user_id":"bo","title":"Kiln","content":"Bo bought a kiln.","#,
        r#""original_messages":[{"role":"user","content":"I bought a kiln."}]}]"#,
    )
    .as_bytes();
    for name in ["/m/episodes/bo.json", "/m/episodes/bo_episodes.json"] {
        let disk = Disk::new(MemoryBackend::new());
        disk.inner().put(name, array);
        for read_only in [true, false, false] {
            let engine = open_as(&disk, read_only, MemoryConfig::default()).unwrap();
            assert_eq!(records(&engine, "bo", RecordKind::Episode).len(), 1, "{name} {read_only}");
            assert_eq!(found(&engine, "bo", "kiln", SearchMethod::Bm25), ["I bought a kiln."]);
        }
    }
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
    // Another session that goes on later ends it.
    engine
        .add_messages("alice", vec![said("later", "Good morning.", 9_000, Some("s2"))], None, &NOW)
        .unwrap();
    let episodes = records(&engine, "alice", RecordKind::Episode);
    assert!(matches!(&episodes[..], [AnyRecord::Episode(episode)] if episode.message_count == 6));
}
