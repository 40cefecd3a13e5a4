//! The store under attack: an error at every operation, a power cut at every moment, a log cut at
//! every byte, flipped bits.
//!
//! One scenario performs every operation of the store, and a model records what the store
//! acknowledged. Whatever fails, the store opened afterwards must contain all acknowledged records,
//! nothing that was erased, and no text that was never written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind as IoKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use episodica_core::Result;
use episodica_core::clock::{FixedClock, Moment};
use episodica_core::ids::{Owner, vector_key};
use episodica_core::model::{Episode, Message, SemanticMemory, StoreProblem};
use episodica_core::store::testing::{CountdownBackend, Failure, MemoryBackend, Random};
use episodica_core::store::{
    LoadedUser, LogKind, NewSegment, NewVectors, OpenMode, SnapshotPart, StateRecord, Store,
    UserErasure,
};

use crate::counts;

type Disk = CountdownBackend<MemoryBackend>;

const ROOT: &str = "/m";
const MESSAGES: &str = "/m/messages/alice_messages.jsonl";

fn moment() -> Moment {
    Moment::parse("2026-11-01T08:00:00Z").unwrap()
}

fn open(disk: &Disk) -> Result<Store> {
    Store::open_on(
        Arc::new(disk.clone()),
        Path::new(ROOT),
        OpenMode::ReadWrite,
        &FixedClock::new(moment()),
    )
}

fn owner(user: &str) -> Owner {
    Owner::new("default", user).unwrap()
}

/// The content of message `n`: recognisable in raw bytes, with characters that JSON escapes.
fn text(n: u64) -> String {
    format!("text-of-{n} \"quoted\" \u{1f600} line\nbreak")
}

fn message(n: u64) -> Arc<Message> {
    let value = serde_json::json!({
        "message_id": format!("m{n}"), "seq": n, "role": "user", "content": text(n),
        "timestamp": moment(),
    });
    Arc::new(serde_json::from_value(value).unwrap())
}

/// A segment with a vector and, in its snapshot, the words of a record that is erased later.
fn segment() -> NewSegment<'static> {
    let part = |rows: usize| NewVectors {
        keys: vec![vector_key(&text(1)); rows],
        dimension: 2,
        is_half: false,
        rows: Box::new(|range| Ok(ndarray::Array2::from_elem((range.len(), 2), 0.5_f32).into())),
    };
    let logs = Default::default();
    let snapshot = SnapshotPart { made_by: "t".into(), logs, packs: Vec::new() };
    NewSegment {
        model: "t".into(),
        vectors: [part(1), part(0), part(0), part(0)],
        snapshot: Some((snapshot, vec![text(1).into_bytes()])),
    }
}

fn episode(id: &str, messages: &[u64], revision: u32) -> Arc<Episode> {
    let messages: Vec<Arc<Message>> = messages.iter().map(|n| message(*n)).collect();
    let words: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
    let value = serde_json::json!({
        "episode_id": id, "user_id": "alice", "title": id, "content": words.join(" "),
        "message_ids": messages.iter().map(|message| &message.message_id).collect::<Vec<_>>(),
        "message_count": messages.len(), "boundary_reason": "flush", "timestamp": moment(),
        "created_at": moment(), "ended_at": moment(),
        "boundary": {
            "should_end": true, "reason": "flush", "confidence": 1.0, "detection_method": "forced",
        },
        "provenance": {"method": "offline"}, "revision": revision,
    });
    Arc::new(serde_json::from_value(value).unwrap())
}

fn memory(id: &str, content: &str) -> Arc<SemanticMemory> {
    let value = serde_json::json!({
        "memory_id": id, "user_id": "alice", "content": content, "kind": "event",
        "created_at": moment(), "confidence": 0.9, "importance": 0.5, "valid_from": moment(),
        "updated_at": moment(),
    });
    Arc::new(serde_json::from_value(value).unwrap())
}

/// What the store has acknowledged to the scenario.
#[derive(Default)]
struct Told {
    messages: BTreeSet<u64>,
    episodes: BTreeSet<&'static str>,
    memories: BTreeSet<&'static str>,
    /// True once erasing message 1 may have begun: the message may be there or not.
    erasing: bool,
    /// True if the erasure, or a later append, which finishes it first, was acknowledged.
    erased: bool,
}

/// Performs every operation once; goes on after an error as a caller would, and records what was
/// acknowledged.
fn scenario(disk: &Disk, told: &mut Told) {
    // After an error the store may fail to open once: then a caller tries again.
    let Some(store) = (0..2).find_map(|_| open(disk).ok()) else { return };
    let Some((user, _)) = (0..2).find_map(|_| store.open_user(&owner("alice")).ok()) else {
        return;
    };
    for batch in [&[0_u64, 1][..], &[2], &[3, 4, 5]] {
        let messages: Vec<Arc<Message>> = batch.iter().map(|n| message(*n)).collect();
        if user.append_messages(&messages, &[]).is_ok() {
            told.messages.extend(batch);
        }
    }
    // Only acknowledged messages get into episodes.
    if told.messages.is_superset(&BTreeSet::from([0, 1, 2]))
        && user
            .append_episodes(&[episode("e1", &[0, 1], 0), episode("e2", &[2], 0)], &[], &[])
            .is_ok()
    {
        told.episodes.extend(["e1", "e2"]);
    }
    let learned = StateRecord::Learned {
        episode_id: "e1".into(),
        revision: 0,
        at: moment(),
        pending_llm: false,
    };
    if user
        .append_semantic(
            &[memory("f1", "a fact that stays"), memory("f2", &text(1))],
            &[],
            &[learned],
        )
        .is_ok()
    {
        told.memories.extend(["f1", "f2"]);
    }
    let _ = store.save_segment(&owner("alice"), segment());
    if told.messages.contains(&1) {
        let replace_episodes =
            told.episodes.get("e1").map(|_| episode("e1", &[0], 1)).into_iter().collect();
        let erasure = UserErasure {
            messages: vec!["m1".into()],
            semantic: vec!["f2".into()],
            replace_episodes,
            ..UserErasure::default()
        };
        told.erasing = true;
        told.erased = user.erase_records(erasure).is_ok();
    }
    if user.append_messages(&[message(6)], &[]).is_ok() {
        told.messages.insert(6);
    }
}

/// Opens the store and compares it with what was acknowledged.
fn check(disk: MemoryBackend, told: &Told, case: &str) {
    let disk = Disk::new(disk);
    let store = open(&disk).unwrap_or_else(|error| panic!("{case}: {}", error.cause_chain()));
    let (user, loaded) = store
        .open_user(&owner("alice"))
        .unwrap_or_else(|error| panic!("{case}: {}", error.cause_chain()));
    compare(&loaded, told, case);
    if told.erased {
        assert_no_trace(&disk, "text-of-1 ", case);
    }
    assert!(
        !disk.inner().files().keys().any(|path| path.extension().is_some_and(|end| end == "tmp")
            && path.starts_with("/m/messages"))
    );
    // The store accepts new messages.
    user.append_messages(&[message(99)], &[]).unwrap();
    drop((user, store));
    let after = Disk::new(disk.inner().after_power_cut());
    let (_user, loaded) = open(&after).unwrap().open_user(&owner("alice")).unwrap();
    assert_eq!(loaded.messages.last().map(|last| last.content.clone()), Some(text(99)), "{case}");
    assert!(loaded.problems.is_empty(), "{case}: {:?}", loaded.problems);
    compare(&loaded, told, case);
}

fn compare(loaded: &LoadedUser, told: &Told, case: &str) {
    let found: BTreeMap<u64, &str> =
        loaded.messages.iter().map(|message| (message.seq, message.content.as_str())).collect();
    assert!(
        found.iter().all(|(n, content)| *content == text(*n)),
        "{case}: a text that was never written"
    );
    for n in told.messages.iter().filter(|n| **n != 1 || !told.erasing) {
        assert!(found.contains_key(n), "{case}: message {n} was acknowledged and is lost");
    }
    assert!(!(told.erased && found.contains_key(&1)), "{case}: an erased message is back");
    let episodes: BTreeSet<&str> =
        loaded.episodes.iter().map(|episode| episode.episode_id.as_str()).collect();
    let memories: BTreeSet<&str> =
        loaded.semantic.iter().map(|memory| memory.memory_id.as_str()).collect();
    assert!(told.episodes.is_subset(&episodes), "{case}: {episodes:?}");
    let is_lost = |problem: &StoreProblem| problem.message.contains("were lost");
    assert!(!loaded.problems.iter().any(is_lost), "{case}: {:?}", loaded.problems);
    let mut held = loaded.episodes.iter().flat_map(|episode| &episode.original_messages);
    assert!(held.all(|message| message.content == text(message.seq)), "{case}");
    for id in told.memories.iter().filter(|id| **id != "f2" || !told.erasing) {
        assert!(memories.contains(id), "{case}: memory {id} is lost");
    }
    // A state record never survives without the records that it refers to.
    assert!(loaded.states.is_empty() || memories.contains("f1"), "{case}");
}

fn assert_no_trace(disk: &Disk, needle: &str, case: &str) {
    for (path, bytes) in disk.inner().files() {
        let found = bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
        assert!(!found, "{case}: `{needle}` is left in {}", path.display());
    }
}

#[test]
fn an_error_at_every_operation_loses_nothing() {
    let mut injected = 0;
    for failure in [Failure::Once, Failure::FromThenOn] {
        for kind in [IoKind::StorageFull, IoKind::Other] {
            for n in 0.. {
                let disk = Disk::new(MemoryBackend::new());
                disk.fail_after(n, failure, kind);
                let mut told = Told::default();
                scenario(&disk, &mut told);
                if disk.failures() == 0 {
                    assert!(
                        told.erased && told.messages.len() == 7,
                        "the scenario works when nothing fails"
                    );
                    break;
                }
                injected += 1;
                let case = format!("{failure:?} {kind:?} at operation {n}");
                check(disk.inner().after_power_cut(), &told, &format!("{case}, power cut"));
                for seed in 0..4 {
                    let image = disk.inner().after_lucky_power_cut(&mut Random::new(n * 4 + seed));
                    check(image, &told, &format!("{case}, lucky power cut {seed}"));
                }
                // Only the process dies, not the system: everything written is there, and no lock
                // is left.
                check(
                    disk.inner().after_process_death(),
                    &told,
                    &format!("{case}, process killed"),
                );
            }
        }
    }
    assert!(injected > 200, "{injected}");
    counts::report("faults", &[("faults", injected), ("crashes", injected * 6), ("losses", 0)]);
}

#[test]
fn erasing_a_user_is_finished_and_spares_the_neighbours() {
    let long = "alice".repeat(60);
    let owners = ["alice", "alice_b", "Alice", &long];
    for victim in owners {
        for n in 0.. {
            let disk = Disk::new(MemoryBackend::new());
            let store = open(&disk).unwrap();
            for id in owners {
                let (user, _) = store.open_user(&owner(id)).unwrap();
                let mut own = Message::clone(&message(0));
                own.content = format!("owned by <{id}>");
                user.append_messages(&[Arc::new(own)], &[]).unwrap();
            }
            let log = store.layout().log_path(&owner(victim), LogKind::Messages);
            let neighbours = |disk: &Disk| -> Vec<(PathBuf, Vec<u8>)> {
                disk.inner()
                    .files()
                    .into_iter()
                    .filter(|(path, _)| path.starts_with("/m/messages") && *path != log)
                    .collect()
            };
            let before = neighbours(&disk);
            assert_eq!(before.len(), owners.len() - 1);
            disk.fail_after(n, Failure::FromThenOn, IoKind::Other);
            let acknowledged = store.erase_user(&owner(victim)).is_ok();
            let failed = disk.failures() > 0;
            disk.heal();
            for image in [
                disk.inner().after_power_cut(),
                disk.inner().after_lucky_power_cut(&mut Random::new(n)),
            ] {
                let began = image.files().keys().any(|path| {
                    path.starts_with("/m/intents")
                        && path.extension().is_some_and(|end| end == "json")
                });
                let image = Disk::new(image);
                let again = open(&image).unwrap();
                assert_eq!(neighbours(&image), before, "{victim} {n}");
                if acknowledged || began {
                    assert_no_trace(&image, &format!("<{victim}>"), "erased");
                    assert!(!again.list_users("default").unwrap().contains(&victim.to_owned()));
                }
            }
            if !failed {
                assert!(acknowledged);
                break;
            }
        }
    }
}

/// A store after the whole scenario, and its files.
fn finished() -> (MemoryBackend, BTreeMap<PathBuf, Vec<u8>>) {
    let disk = Disk::new(MemoryBackend::new());
    scenario(&disk, &mut Told::default());
    (disk.inner().after_power_cut(), disk.inner().files())
}

#[test]
fn the_last_record_torn_at_every_byte_leaves_all_others() {
    let (disk, files) = finished();
    let whole = &files[Path::new(MESSAGES)];
    let start = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for end in start..=whole.len() {
        disk.put(MESSAGES, &whole[..end]);
        let torn = Disk::new(disk.after_power_cut());
        let (user, loaded) = open(&torn).unwrap().open_user(&owner("alice")).unwrap();
        // A last record without its line feed counts as complete.
        let expected =
            if end >= whole.len() - 1 { vec![0, 2, 3, 4, 5, 6] } else { vec![0, 2, 3, 4, 5] };
        assert_eq!(
            loaded.messages.iter().map(|message| message.seq).collect::<Vec<_>>(),
            expected,
            "cut at {end}"
        );
        assert_eq!(
            loaded.problems.len(),
            usize::from(end > start && end < whole.len() - 1),
            "cut at {end}"
        );
        user.append_messages(&[message(7)], &[]).unwrap();
        drop(user);
        let (_user, loaded) = open(&torn).unwrap().open_user(&owner("alice")).unwrap();
        assert_eq!(loaded.messages.len(), expected.len() + 1);
        assert!(loaded.problems.is_empty(), "cut at {end}");
    }
}

#[test]
fn flipped_bits_never_panic_and_never_give_a_wrong_text() {
    let (disk, files) = finished();
    let logs: Vec<(&PathBuf, &Vec<u8>)> = files
        .iter()
        .filter(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    let mut random = Random::new(5);
    let flips = counts::rounds(600, 10_000);
    for round in 0..flips {
        let (path, bytes) = logs[random.below(logs.len() as u64) as usize];
        let bit = random.below(bytes.len() as u64 * 8) as usize;
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let damaged = Disk::new(disk.after_power_cut());
        damaged.inner().put(path, &flipped);
        let case = format!("round {round}: bit {bit} of {}", path.display());
        let (_user, loaded) = open(&damaged).unwrap().open_user(&owner("alice")).unwrap();
        assert!(
            loaded.messages.iter().all(|message| message.content == text(message.seq)),
            "{case}"
        );
        // A flipped line feed joins two records. Otherwise at most the damaged record is lost, and
        // the quarantine has it. Messages that an episode also contains are not lost at all.
        let most = if bytes[bit / 8] == b'\n' { 2 } else { 1 };
        let found = (loaded.messages.len(), loaded.episodes.len(), loaded.semantic.len());
        let lost = (6 - found.0) + (2 - found.1) + (1 - found.2);
        let quarantined = damaged
            .inner()
            .files()
            .keys()
            .any(|path| path.to_string_lossy().ends_with(".quarantine.jsonl"));
        assert!(lost <= most, "{case}: {found:?}");
        assert!(lost == 0 || (quarantined && !loaded.problems.is_empty()), "{case}");
    }
    counts::report("bits", &[("bits", flips), ("losses", 0)]);
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut random = Random::new(11);
    let pieces: [&[u8]; 9] = [
        b"{",
        b"\"crc\":\"",
        b"[[[[",
        b"\n",
        b"{\"deleted\":\"e1\"}\n",
        b"{\"type\":\"learned\"",
        b"\xff\xfe",
        b"null",
        b"}\n",
    ];
    for round in 0..300 {
        let disk = MemoryBackend::new();
        for kind in LogKind::ALL {
            let bytes: Vec<u8> = (0..random.below(40))
                .flat_map(|_| pieces[random.below(9) as usize].iter().copied())
                .collect();
            disk.put(format!("/m/{0}/alice_{0}.jsonl", kind.name()), &bytes);
        }
        let disk = Disk::new(disk);
        let (user, loaded) = open(&disk).unwrap().open_user(&owner("alice")).unwrap();
        assert!(loaded.messages.is_empty(), "round {round}");
        user.append_messages(&[message(0)], &[]).unwrap();
        drop(user);
        let (_user, loaded) = open(&disk).unwrap().open_user(&owner("alice")).unwrap();
        assert_eq!((loaded.messages.len(), loaded.problems.len()), (1, 0), "round {round}");
    }
}
