use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::clock::{FixedClock, Moment};
use crate::model::Message;
use crate::store::erase::is_under_way;
use crate::store::testing::MemoryBackend;
use crate::store::{LogEntry, OpenMode, UserErasure, UserStore};

fn store(disk: &MemoryBackend) -> Store {
    let clock = FixedClock::new(Moment::new(0, 0).unwrap());
    Store::open_on(Arc::new(disk.clone()), Path::new("/m"), OpenMode::ReadWrite, &clock).unwrap()
}

fn owner() -> Owner {
    Owner::new("default", "a").unwrap()
}

fn message(n: u64) -> Arc<Message> {
    // Some lines are longer than the bytes that a place's checksum covers, some shorter.
    let content = "x".repeat(n as usize % 90);
    let message = serde_json::json!({
        "message_id": format!("m{n}"), "seq": n, "role": "user", "content": content,
        "timestamp": Moment::new(n as i64 * 1_000_000, 0).unwrap(),
    });
    Arc::new(serde_json::from_value(message).unwrap())
}

/// The ids of the messages after a place; `None` if the log does not continue it.
fn behind(store: &Store, places: &UserPlaces) -> Option<(UserPlaces, Vec<String>)> {
    match store.look_behind(&owner(), places).unwrap() {
        LogLook::Lines(placed, behind) => {
            let read = |line| LogEntry::from_line(&owner(), LogKind::Messages, line);
            let entries = behind[0].whole_lines().map(|(_, line)| read(line));
            let ids = entries.filter_map(|entry| match entry {
                LogEntry::Message(message) => Some(message.message_id),
                _ => None,
            });
            Some((placed, ids.collect()))
        }
        LogLook::Discontinued => None,
        LogLook::Busy => panic!("nobody else is there"),
    }
}

fn end(store: &Store) -> UserPlaces {
    store.last_places(&owner(), &store.log_ends(&owner()).unwrap()).unwrap()
}

fn erase(user: &UserStore, ids: &[u64]) {
    let messages = ids.iter().map(|n| format!("m{n}")).collect();
    user.erase_records(UserErasure { messages, ..UserErasure::default() }).unwrap();
}

#[test]
fn places_are_found_again_whatever_is_erased() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (state >> 33) % below
    };
    for _ in 0..30 {
        let disk = MemoryBackend::new();
        let store = store(&disk);
        let (user, _) = store.open_user(&owner()).unwrap();
        let (mut next, mut alive, mut known) = (0, Vec::new(), vec![(UserPlaces::default(), 0)]);
        for _ in 0..12 {
            for _ in 0..1 + random(4) {
                user.append_messages(&[message(next)], &[]).unwrap();
                alive.push(next);
                next += 1;
                known.push((end(&store), next));
            }
            let gone: Vec<u64> = alive.iter().copied().filter(|_| random(4) == 0).collect();
            if !gone.is_empty() {
                erase(&user, &gone);
                alive.retain(|n| !gone.contains(n));
            }
            for (places, seen) in &mut known {
                let (placed, found) = behind(&store, places).expect("a continuation");
                let left = alive.iter().filter(|n| **n >= *seen);
                assert_eq!(found, left.map(|n| format!("m{n}")).collect::<Vec<_>>());
                // Some followers read each time, others only after several erasures.
                if random(2) == 0 {
                    *places = placed;
                }
            }
        }
    }
}

#[test]
fn an_interrupted_erasure_is_waited_for() {
    let disk = MemoryBackend::new();
    let store = store(&disk);
    let (user, _) = store.open_user(&owner()).unwrap();
    user.append_messages(&[message(0), message(1)], &[]).unwrap();
    let places = end(&store);
    let hash = crate::ids::digest(&[b"default", b"a"]);
    let intent = format!("/m/intents/{}.json", crate::ids::to_hex(&hash[..16]));
    disk.put(&intent, b"{}");
    assert!(matches!(store.look_behind(&owner(), &places).unwrap(), LogLook::Busy));
    assert!(is_under_way(&store.shared, &owner()).unwrap());
}

#[test]
fn another_log_under_the_name_is_no_continuation() {
    let disk = MemoryBackend::new();
    let store = store(&disk);
    let (user, _) = store.open_user(&owner()).unwrap();
    user.append_messages(&[message(80), message(81)], &[]).unwrap();
    let places = end(&store);
    drop(user);
    store.erase_user(&owner()).unwrap();
    assert!(store.log_ends(&owner()).unwrap().is_nobody());
    let (user, _) = store.open_user(&owner()).unwrap();
    user.append_messages(&[message(1)], &[]).unwrap();
    assert!(behind(&store, &places).is_none(), "shorter");
    user.append_messages(&[message(82), message(83), message(84)], &[]).unwrap();
    assert!(behind(&store, &places).is_none(), "longer, and not the same");
    assert!(behind(&store, &UserPlaces::default()).is_some());
}

#[test]
fn an_unfinished_line_is_not_shown() {
    let disk = MemoryBackend::new();
    let store = store(&disk);
    let (user, _) = store.open_user(&owner()).unwrap();
    user.append_messages(&[message(0)], &[]).unwrap();
    let path = store.layout().log_path(&owner(), LogKind::Messages);
    let mut bytes = disk.files()[&path].clone();
    let whole = end(&store);
    bytes.extend_from_slice(b"{\"message_id\":\"m1\",\"seq\":1");
    disk.put(path.to_str().unwrap(), &bytes);
    assert_eq!(behind(&store, &UserPlaces::default()).unwrap().1, ["m0"]);
    assert_eq!(end(&store), whole);
}
