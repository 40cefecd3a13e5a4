//! A deletion leaves no byte of its target, whatever fails meanwhile, and removes nothing else.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use episodica_core::clock::{Clock, Moment};
use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, RecordKind, StatedFact};
use episodica_core::ids::{Owner, vector_key};
use episodica_core::score::SearchMethod;
use episodica_core::store::testing::{Failure, MemoryBackend, Random};
use episodica_core::store::{DeadLetter, LogKind, SideFile, StoreLayout};

use super::support::*;
use crate::counts::report;

/// A store with two users, their caches, and a file of every other kind.
fn furnished() -> Disk {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    for user in ["alice", "alice_b"] {
        let words = |n: i64| {
            format!("I moved to {user}town{n} last Friday. My favourite drink is {user}ade{n}.")
        };
        let messages = (0..6)
            .map(|n| {
                said(
                    &format!("{user}-{n}"),
                    &words(n),
                    n * 60,
                    Some(if n < 3 { "s1" } else { "s2" }),
                )
            })
            .collect();
        engine.add_messages(user, messages, None, &NOW).unwrap();
        engine.flush(user, &NOW).unwrap();
    }
    engine.close(Duration::ZERO, &NOW).unwrap();
    drop(engine);
    let (layout, alice) =
        (StoreLayout::new(Path::new("/m")), Owner::new("default", "alice").unwrap());
    for side in [SideFile::Trace, SideFile::LlmCache] {
        disk.inner()
            .put(layout.side_path(&alice, side), b"{\"prompt\":\"alicetown0 and alicetown4\"}\n");
    }
    let letter = DeadLetter {
        id: "alice-0".into(),
        kind: "message".into(),
        layer: String::new(),
        error: "down".into(),
        attempts: 3,
        at: moment(0),
    };
    let mut line = serde_json::to_vec(&letter).unwrap();
    line.push(b'\n');
    disk.inner().put(layout.side_path(&alice, SideFile::DeadLetters), &line);
    for kind in LogKind::ALL {
        let log = layout.log_path(&alice, kind);
        let row = "{\"file\":\"x\",\"line\":1,\"reason\":\"torn\",\
            \"text\":\"{\\\"content\\\":\\\"I moved to alicetown0 last Friday. My favourite \
            drink is aliceade0.\"}\n";
        disk.inner().put(format!("{}.quarantine.jsonl", log.display()), row.as_bytes());
    }
    let segment = layout.segment_path(&alice).with_extension("segment.tmp");
    disk.inner().put(segment, b"alicetown0 left by a crash");
    Disk::new(disk.inner().after_power_cut())
}

#[test]
fn no_byte_of_a_deleted_message_is_left_and_no_vector_of_it() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    let text = "I moved to alicetown0 last Friday. My favourite drink is aliceade0.";
    assert!(!files_with(&disk, vector_key(text)).is_empty(), "its vector is known by the hash");
    let report = engine.delete("alice", "alice-0", &NOW).unwrap();
    assert_eq!((report.messages, report.episodes), (1, 0));
    assert!(files_with(&disk, vector_key(text)).is_empty());
    for needle in ["alicetown0", "aliceade0", "alice-0\""] {
        assert!(files_with(&disk, needle).is_empty(), "{needle}: {:?}", files_with(&disk, needle));
    }
    assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 5);
    assert!(found(&engine, "alice", "alicetown1", SearchMethod::Bm25)[0].contains("alicetown1"));
    assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
    // The other user has lost nothing.
    assert_eq!(records(&engine, "alice_b", RecordKind::Message).len(), 6);
    assert!(!files_with(&disk, "alice_btown0").is_empty());
}

#[test]
fn no_byte_of_a_deleted_episode_or_user_is_left() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    let AnyRecord::Episode(first) = records(&engine, "alice", RecordKind::Episode).remove(0) else {
        panic!("an episode")
    };
    engine
        .update("alice", &first.episode_id, "An edited narrative about alicetown0.", &NOW)
        .unwrap();
    engine.delete("alice", &first.episode_id, &NOW).unwrap();
    for message in &first.original_messages {
        assert!(files_with(&disk, &message.message_id).is_empty());
        let word = message.content.split_whitespace().nth(3).unwrap();
        assert!(files_with(&disk, word).is_empty(), "{word}: {:?}", files_with(&disk, word));
    }
    assert!(files_with(&disk, "edited narrative").is_empty());
    engine.delete_user_data("alice", &NOW).unwrap();
    for needle in ["alicetown", "aliceade", "alice-"] {
        assert!(files_with(&disk, needle).is_empty(), "{:?}", files_with(&disk, needle));
    }
    assert_eq!(engine.users().unwrap(), ["alice_b"]);
    assert_eq!(records(&engine, "alice_b", RecordKind::Message).len(), 6);
}

/// Deletes one message, or the whole user if `whole`, with a failure at every operation; goes on in
/// the same process, then opens the store as after a crash.
fn interrupted(whole: bool) -> u64 {
    let mut injected = 0;
    for failure in [Failure::Once, Failure::FromThenOn] {
        for n in 0.. {
            let disk = furnished();
            let engine = open(&disk).unwrap();
            engine.load_user("alice", &NOW).unwrap();
            disk.fail_after(n, failure, IoKind::StorageFull);
            let outcome = if whole {
                engine.delete_user_data("alice", &NOW)
            } else {
                engine.delete("alice", "alice-0", &NOW)
            };
            let failed = disk.failures() > 0;
            disk.heal();
            let case = format!("{failure:?} at operation {n}, whole: {whole}");
            // The caller goes on: messages acknowledged from here on stay, however the deletion
            // ended.
            engine
                .add_messages(
                    "alice",
                    vec![said("new", "We bought a zqnewboat.", 9_000, None)],
                    None,
                    &NOW,
                )
                .expect(&case);
            let remembered = |engine: &episodica_core::engine::Engine| {
                !found(engine, "alice", "alicetown0", SearchMethod::Bm25)
                    .iter()
                    .all(|text| !text.contains("alicetown0"))
            };
            if outcome.is_ok() {
                assert!(
                    !remembered(&engine) && files_with(&disk, "alicetown0").is_empty(),
                    "{case}"
                );
            }
            let there = remembered(&engine);
            for image in [
                disk.inner().after_power_cut(),
                disk.inner().after_lucky_power_cut(&mut Random::new(n)),
                disk.inner().after_process_death(),
            ] {
                let image = Disk::new(image);
                let again = open(&image).expect(&case);
                assert_eq!(
                    found(&again, "alice", "zqnewboat", SearchMethod::Bm25),
                    ["We bought a zqnewboat."],
                    "{case}"
                );
                assert_eq!(remembered(&again), there, "{case}: memory and disk disagree");
                if !there {
                    assert!(
                        files_with(&image, "alicetown0").is_empty(),
                        "{case}: {:?}",
                        files_with(&image, "alicetown0")
                    );
                }
                if !whole || there {
                    assert_eq!(
                        records(&again, "alice", RecordKind::Message).len(),
                        if there { 7 } else { 6 },
                        "{case}"
                    );
                }
                assert_eq!(records(&again, "alice_b", RecordKind::Message).len(), 6, "{case}");
            }
            if !failed {
                assert!(outcome.is_ok(), "{case}");
                break;
            }
            injected += 1;
        }
    }
    injected
}

#[test]
fn an_interrupted_deletion_is_finished_and_nothing_written_after_it_is_lost() {
    let injected = interrupted(false) + interrupted(true);
    assert!(injected > 100, "{injected}");
    report("deletion", &[("faults", injected), ("losses", 0)]);
}

#[test]
fn a_deletion_that_a_full_disk_stops_hinders_nobody_else_at_opening() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    engine.load_user("alice", &NOW).unwrap();
    let begun = (0..).find(|n| {
        disk.fail_after(*n, Failure::FromThenOn, IoKind::StorageFull);
        let outcome = engine.delete("alice", "alice-0", &NOW);
        disk.heal();
        assert!(outcome.is_err(), "there is something to delete until it has begun");
        let files = disk.inner().files();
        files.keys().any(|path| {
            path.starts_with("/m/intents") && path.extension().is_some_and(|end| end == "json")
        })
    });
    assert!(begun.is_some());
    // The image is taken before the engine closes, since closing could finish the deletion.
    let begun = disk.inner().after_process_death();
    drop(engine);
    assert!(!files_with(&Disk::new(begun.clone()), "alicetown0").is_empty());
    let mut opened = 0_u64;
    for n in 0.. {
        let disk = Disk::new(begun.clone());
        disk.fill_after(n);
        let outcome = open(&disk);
        let full = disk.failures() > 0;
        let engine =
            outcome.unwrap_or_else(|error| panic!("at write {n}: {}", error.cause_chain()));
        // Reading needs no disk space, and other users are not affected.
        assert_eq!(records(&engine, "alice_b", RecordKind::Message).len(), 6, "at write {n}");
        disk.heal();
        opened += u64::from(full);
        assert!(
            found(&engine, "alice", "alicetown0", SearchMethod::Bm25)
                .iter()
                .all(|text| !text.contains("alicetown0"))
        );
        assert!(files_with(&disk, "alicetown0").is_empty(), "at write {n}");
        assert_eq!(engine.verify(Some("alice"), &NOW).unwrap().errors, 0, "at write {n}");
        if !full {
            break;
        }
    }
    assert!(opened > 0, "the disk was never full");
}

#[test]
fn a_damaged_deletion_names_its_user_and_goes_when_they_are_deleted_again() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    engine.load_user("alice", &NOW).unwrap();
    // From the first operation after the intent is written, everything fails.
    let intent = (0..).find_map(|n| {
        disk.fail_after(n, Failure::FromThenOn, IoKind::Other);
        let outcome = engine.delete("alice", "alice-0", &NOW);
        disk.heal();
        assert!(outcome.is_err());
        disk.inner().files().into_iter().find(|(path, _)| {
            path.starts_with("/m/intents") && path.extension().is_some_and(|end| end == "json")
        })
    });
    drop(engine);
    let (path, mut bytes) = intent.unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let disk = Disk::new(disk.inner().after_process_death());
    disk.inner().put(&path, &bytes);
    let engine = open(&disk).unwrap();
    let report = engine.verify(None, &NOW).unwrap();
    let problem = report.problems.iter().find(|problem| problem.path == path).unwrap();
    assert!(
        problem.message.contains("`alice`") && problem.remedy.contains("repeat the deletion"),
        "{problem:?}"
    );
    engine.delete("alice", "alice-0", &NOW).unwrap();
    assert!(!disk.inner().files().contains_key(&path));
    assert!(files_with(&disk, "alicetown0").is_empty());
    assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 5);
}

#[test]
fn deletions_of_many_users_at_once_do_not_hinder_each_other() {
    let place = episodica_core::store::testing::TempDir::new();
    let root = place.path().join("store");
    let clock = episodica_core::clock::FixedClock::new(moment(0));
    let store = episodica_core::store::Store::open(
        &root,
        episodica_core::store::OpenMode::ReadWrite,
        &clock,
    )
    .unwrap();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for round in 0..40 {
                    let owner = episodica_core::ids::Owner::new(
                        "default",
                        &format!("user{worker}-{round}"),
                    )
                    .unwrap();
                    drop(store.open_user(&owner).unwrap());
                    store.erase_user(&owner).unwrap();
                }
            });
        }
    });
}

/// A clock that stops the deleting thread, once that has the lock on appending, until another
/// thread has the lock on the caches.
struct Meeting {
    deleter: ThreadId,
    disk: Disk,
    is_due: AtomicBool,
}

impl Meeting {
    fn is_held(&self, ending: &str) -> bool {
        let operations = self.disk.take_operations();
        operations.iter().any(|one| one.starts_with("try_lock") && one.ends_with(ending))
    }
}

impl Clock for Meeting {
    fn now(&self) -> Moment {
        let is_deleter = std::thread::current().id() == self.deleter;
        if is_deleter && self.is_due.load(SeqCst) && self.is_held(".append") {
            self.is_due.store(false, SeqCst);
            let deadline = Instant::now() + Duration::from_secs(5);
            while !self.is_held(".caches") && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            // Lets the other thread reach the point where it needs the writer's lock.
            std::thread::sleep(Duration::from_millis(300));
        }
        moment(0)
    }
}

#[test]
fn a_deletion_does_not_wait_for_a_snapshot_that_waits_for_it() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let words = |n: i64| said(&format!("m{n}"), &format!("town{n}"), n * 60, None);
    engine.add_messages("alice", (0..2_100).map(words).collect(), None, &NOW).unwrap();
    let disk = Disk::new(disk.inner().after_process_death());
    drop(engine);
    let (deleter, is_due) = (std::thread::current().id(), AtomicBool::new(false));
    let clock = Arc::new(Meeting { deleter, disk: disk.clone(), is_due });
    let engine = open_at(&disk, Arc::clone(&clock) as Arc<dyn Clock>).unwrap();
    std::thread::scope(|scope| {
        let adding = scope.spawn(|| engine.add_messages("alice", vec![words(2_100)], None, &NOW));
        adding.join().unwrap().unwrap();
    });
    disk.take_operations();
    clock.is_due.store(true, SeqCst);
    let began = Instant::now();
    engine.delete("alice", "m0", &NOW).unwrap();
    assert!(!clock.is_due.load(SeqCst));
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 2_100);
}

/// The current texts of a user's records.
fn said_now(engine: &Engine) -> Vec<String> {
    let kinds = [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic];
    let records = kinds.into_iter().flat_map(|kind| records(engine, "alice", kind));
    let text = |record| match record {
        AnyRecord::Message(message) => message.content.clone(),
        AnyRecord::Episode(episode) => format!("{} {}", episode.content, episode.revision),
        AnyRecord::Semantic(fact) => format!("{} {}", fact.content, fact.revision_count),
    };
    let mut texts: Vec<String> = records.map(text).collect();
    texts.sort();
    texts
}

#[test]
fn a_disk_that_is_full_at_any_call_of_opening_or_deleting_is_one_users_and_loses_nothing() {
    let deleted = |disk: &Disk, n: u64, failure: Failure| {
        let engine = open(disk).unwrap();
        engine.load_user("alice", &NOW).unwrap();
        disk.fill_at(n, failure);
        let outcome = engine.delete("alice", "alice-0", &NOW);
        let is_full = disk.failures() > 0;
        // Other users go on while the disk is full, and find all their messages.
        assert_eq!(records(&engine, "alice_b", RecordKind::Message).len(), 6, "{failure:?} {n}");
        disk.heal();
        (outcome.is_ok(), is_full)
    };
    let (mut full, mut refused) = (0_u64, Vec::new());
    for failure in [Failure::Once, Failure::FromThenOn] {
        let mut begun = BTreeMap::new();
        for n in 0.. {
            let disk = furnished();
            let (is_done, is_full) = deleted(&disk, n, failure);
            let image = disk.inner().after_process_death();
            let again = open(&Disk::new(image.clone())).unwrap();
            let count = records(&again, "alice", RecordKind::Message).len();
            assert!(count == 5 || count == 6 && !is_done, "{failure:?} {n}: {count}");
            assert_eq!(records(&again, "alice_b", RecordKind::Message).len(), 6);
            if !is_full {
                break;
            }
            full += 1;
            let intents =
                image.files().keys().filter(|path| path.starts_with("/m/intents")).count();
            begun.entry(intents).or_insert(image);
        }
        // Opens each kind of leftover with a disk that is full at each call.
        for image in begun.into_values() {
            for n in 0.. {
                let disk = Disk::new(image.clone());
                disk.fill_at(n, failure);
                let outcome = open(&disk);
                let is_full = disk.failures() > 0;
                match outcome {
                    Ok(engine) => {
                        let messages = records(&engine, "alice_b", RecordKind::Message);
                        assert_eq!(messages.len(), 6, "{failure:?} {n}");
                    }
                    Err(error) => {
                        refused.push((n, format!("{failure:?}: {}", error.cause_chain())))
                    }
                }
                disk.heal();
                let engine = open(&disk).unwrap();
                assert_eq!(records(&engine, "alice_b", RecordKind::Message).len(), 6);
                assert_eq!(engine.verify(Some("alice"), &NOW).unwrap().errors, 0);
                if !is_full {
                    break;
                }
                full += 1;
            }
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(full > 40, "{full}");
}

#[test]
fn a_fact_that_is_changed_often_takes_little_room_and_keeps_its_last_versions() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let statement = StatedFact { content: "alice owns a boat.".into(), ..StatedFact::default() };
    let (fact, _) = engine.remember("alice", statement, &NOW).unwrap();
    let reader = open_as(&disk, true, MemoryConfig::default()).unwrap();
    for n in 0..2_000 {
        engine.update("alice", &fact.memory_id, &format!("alice owns {n} boats."), &NOW).unwrap();
    }
    let bytes: usize = disk.inner().files().values().map(Vec::len).sum();
    assert!(bytes < 1_000_000, "{bytes}");
    let last = |engine: &Engine| {
        let AnyRecord::Semantic(fact) = records(engine, "alice", RecordKind::Semantic).remove(0)
        else {
            panic!("a fact")
        };
        (fact.content.clone(), fact.revision_count)
    };
    assert_eq!(last(&engine), ("alice owns 1999 boats.".into(), 2_000));
    assert_eq!(last(&reader), last(&engine), "the reader follows");
    let report = engine.compact(Some("alice"), &NOW).unwrap();
    assert!(report.users == 1 && report.bytes_after <= report.bytes_before, "{report:?}");
    assert!(report.bytes_after < 20_000, "{report:?}");
    assert_eq!(engine.compact(None, &NOW).unwrap().bytes_after, report.bytes_after, "once");
    drop(engine);
    let again = open(&disk).unwrap();
    assert_eq!(last(&again), ("alice owns 1999 boats.".into(), 2_000));
    assert_eq!(again.verify(Some("alice"), &NOW).unwrap().errors, 0);
}

#[test]
fn a_compaction_that_stops_at_any_call_loses_nothing() {
    let mut stopped = 0_u64;
    for failure in [Failure::Once, Failure::FromThenOn] {
        for n in 0.. {
            let disk = furnished();
            let engine = open(&disk).unwrap();
            let AnyRecord::Episode(first) =
                records(&engine, "alice", RecordKind::Episode).remove(0)
            else {
                panic!("an episode")
            };
            for text in 0..20 {
                let text = format!("Version {text}.");
                engine.update("alice", &first.episode_id, &text, &NOW).unwrap();
            }
            let before = said_now(&engine);
            disk.fail_after(n, failure, IoKind::StorageFull);
            let outcome = engine.compact(Some("alice"), &NOW);
            let failed = disk.failures() > 0;
            disk.heal();
            assert_eq!(said_now(&engine), before, "{failure:?} {n}: {outcome:?}");
            for image in [disk.inner().after_power_cut(), disk.inner().after_process_death()] {
                let again = open(&Disk::new(image)).unwrap();
                assert_eq!(said_now(&again), before, "{failure:?} {n}");
                assert_eq!(again.verify(Some("alice"), &NOW).unwrap().errors, 0);
            }
            if !failed {
                assert!(outcome.unwrap().bytes_before > 0);
                break;
            }
            stopped += 1;
        }
    }
    assert!(stopped > 20, "{stopped}");
}

#[test]
fn the_id_of_a_session_goes_with_its_last_message() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    for (session, ids) in [("zqsession", ["a", "b"]), ("zqother", ["c", "d"])] {
        let talk = ids.map(|id| said(id, "We saw a heron.", 0, Some(session)));
        engine.add_messages("alice", talk.into(), None, &NOW).unwrap();
        engine.close_session("alice", session, &NOW).unwrap();
    }
    engine.delete("alice", "a", &NOW).unwrap();
    assert!(!files_with(&disk, "zqsession").is_empty(), "a message of it is left");
    engine.delete("alice", "b", &NOW).unwrap();
    assert_eq!(files_with(&disk, "zqsession"), Vec::<std::path::PathBuf>::new());
    assert!(!files_with(&disk, "zqother").is_empty());
    drop(engine);
    let ids: Vec<String> = open(&disk)
        .unwrap()
        .sessions("alice")
        .unwrap()
        .into_iter()
        .map(|one| one.session_id)
        .collect();
    assert_eq!(ids, ["zqother"]);
}
