use std::path::Path;
use std::sync::Arc;

use super::intents::place_intent;
use super::*;
use crate::clock::{FixedClock, Moment};
use crate::ids::Owner;
use crate::model::{Episode, Message};
use crate::store::testing::MemoryBackend;
use crate::store::{OpenMode, SideFile, Store};

fn open(disk: &MemoryBackend) -> Store {
    let clock = FixedClock::new(Moment::new(0, 0).unwrap());
    Store::open_on(Arc::new(disk.clone()), Path::new("/m"), OpenMode::ReadWrite, &clock).unwrap()
}

fn owner() -> Owner {
    Owner::new("default", "a").unwrap()
}

fn moment() -> Moment {
    Moment::new(0, 0).unwrap()
}

fn message(n: u64) -> Arc<Message> {
    let message = serde_json::json!({
        "message_id": format!("m{n}"), "seq": n, "role": "user",
        "content": format!("the words of {n}"), "timestamp": moment(),
    });
    Arc::new(serde_json::from_value(message).unwrap())
}

fn episode(id: &str, messages: &[u64]) -> Arc<Episode> {
    let ids: Vec<String> = messages.iter().map(|n| format!("m{n}")).collect();
    let episode = serde_json::json!({
        "episode_id": id, "user_id": "a", "title": "", "content": format!("about {messages:?}"),
        "message_ids": ids, "message_count": ids.len(), "boundary_reason": "",
        "timestamp": moment(), "created_at": moment(), "ended_at": moment(),
        "boundary": {"should_end": true, "reason": "flush", "confidence": 1.0,
            "detection_method": "forced"},
        "provenance": {"method": "offline"},
    });
    Arc::new(serde_json::from_value(episode).unwrap())
}

fn traces(disk: &MemoryBackend, needle: &str) -> usize {
    disk.files().values().filter(|bytes| String::from_utf8_lossy(bytes).contains(needle)).count()
}

#[test]
fn an_erased_message_is_gone_from_revisions_quarantine_and_side_files() {
    let disk = MemoryBackend::new();
    let store = open(&disk);
    let (user, _) = store.open_user(&owner()).unwrap();
    user.append_messages(&[message(0), message(1), message(2)], &[]).unwrap();
    user.append_episodes(&[episode("e1", &[0, 1]), episode("old", &[1, 2])], &[], &[]).unwrap();
    user.append_episodes(&[episode("e1", &[0, 1, 2])], &["old"], &[]).unwrap();
    drop(user);
    let quarantine = "/m/messages/a_messages.jsonl.quarantine.jsonl";
    disk.put(
        quarantine,
        b"{\"text\":\"x the words of 1 y\"}\n{\"text\":\"other\"}\n{\"base64\":\"AAAA\"}\n",
    );
    for side in SideFile::ALL {
        disk.put(
            store.layout().side_path(&owner(), side),
            b"{\"id\":\"m1\",\"kind\":\"message\",\"error\":\"\",\"attempts\":1,\
              \"at\":\"2026-01-01\"}\n",
        );
    }
    let (user, _) = store.open_user(&owner()).unwrap();
    let whole = UserErasure { messages: vec!["m1".into()], ..UserErasure::default() };
    let error = user.erase_records(whole.clone()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "an episode would keep an erased message: `e1` in `/m/episodes/a_episodes.jsonl` line 3"
    );
    assert_eq!(traces(&disk, "the words of 1"), 2, "nothing was touched");
    let replaced = UserErasure { replace_episodes: vec![episode("e1", &[0, 2])], ..whole };
    assert_eq!(user.erase_records(replaced).unwrap(), 6);
    assert_eq!(
        (traces(&disk, "the words of 1"), traces(&disk, "\"m1\""), traces(&disk, "other")),
        (0, 0, 1)
    );
    assert!(!disk.files().keys().any(|path| path.starts_with("/m/intents")));
    drop(user);
    let (_, loaded) = store.open_user(&owner()).unwrap();
    assert_eq!(
        (loaded.messages.len(), loaded.episodes.len(), loaded.episode_history.len()),
        (2, 1, 0)
    );
    assert_eq!(loaded.episodes[0].content, "about [0, 2]");
}

#[test]
fn a_reader_hides_a_user_as_long_as_the_deletion_lasts() {
    let disk = MemoryBackend::new();
    let store = open(&disk);
    store.open_user(&owner()).unwrap().0.append_messages(&[message(0)], &[]).unwrap();
    let clock = FixedClock::new(Moment::new(0, 0).unwrap());
    let read = || {
        Store::open_on(Arc::new(disk.clone()), Path::new("/m"), OpenMode::ReadOnly, &clock).unwrap()
    };
    let before = read();
    place_intent(&store.shared, &owner(), None).unwrap();
    let during = read();
    for reader in [&before, &during] {
        assert!(reader.open_user(&owner()).unwrap().1.messages.is_empty());
        assert!(reader.list_owners().unwrap().is_empty());
    }
    drop(store);
    let store = open(&disk);
    assert_eq!(traces(&disk, "the words"), 0);
    store.open_user(&owner()).unwrap().0.append_messages(&[message(1)], &[]).unwrap();
    for reader in [&before, &during] {
        assert_eq!(reader.open_user(&owner()).unwrap().1.messages.len(), 1, "a new life");
        assert_eq!(reader.list_owners().unwrap(), [owner()]);
    }
}

#[test]
fn a_damaged_intent_is_reported_and_kept() {
    let disk = MemoryBackend::new();
    disk.put(
        "/m/intents/00.json",
        b"{\"tenant\":\"default\",\"user\":\"a\",\"erasure\":null,\"crc\":\"00000000\"}\n",
    );
    let store = open(&disk);
    assert_eq!(store.problems()[0].message, "a deletion was interrupted and can't be read");
    assert!(disk.files().contains_key(Path::new("/m/intents/00.json")));
}

#[test]
fn deleting_works_on_a_full_disk() {
    for furnished in [false, true] {
        let disk = MemoryBackend::new();
        let store = open(&disk);
        let (user, _) = store.open_user(&owner()).unwrap();
        user.append_messages(&[message(0), message(1)], &[]).unwrap();
        if furnished {
            disk.put("/m/segments/a.segment", &[7; 3_000]);
        }
        let used = disk.files().values().map(Vec::len).sum();
        disk.limit(Some(used));
        let erasure = UserErasure { messages: vec!["m1".into()], ..UserErasure::default() };
        let full = user.append_messages(&[message(2)], &[]).unwrap_err();
        assert_eq!(
            full.hint(),
            Some("free some disk space and call again; nothing acknowledged was lost")
        );
        user.erase_records(erasure).unwrap();
        assert_eq!(traces(&disk, "the words of 1"), 0);
        drop(user);
        disk.limit(Some(disk.files().values().map(Vec::len).sum()));
        store.erase_user(&owner()).unwrap();
        assert_eq!(traces(&disk, "the words of 0"), 0);
        disk.limit(None);
        drop(store);
        open(&disk);
        assert!(disk.files().contains_key(Path::new("/m/.reserve")), "for the next time");
    }
}
