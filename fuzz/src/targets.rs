//! Readers of bytes that somebody else wrote: none may panic, and what each promises must hold for
//! every input.

#![allow(clippy::unwrap_used, reason = "a failure is a finding")]

use std::path::Path;
use std::sync::Arc;

use episodica_core::clock::{FixedClock, Moment};
use episodica_core::ids::Owner;
use episodica_core::llm::json;
use episodica_core::model::Message;
use episodica_core::store::testing::MemoryBackend;
use episodica_core::store::{LoadedUser, OpenMode, Store};
use episodica_core::text::time::{mentions, query_range};

fn now() -> Moment {
    Moment::new(1_790_000_000_000_000, 0).unwrap()
}

fn load(disk: &MemoryBackend, mode: OpenMode, user: &str) -> LoadedUser {
    let store =
        Store::open_on(Arc::new(disk.clone()), Path::new("/m"), mode, &FixedClock::new(now()))
            .unwrap();
    store.open_user(&Owner::new("default", user).unwrap()).unwrap().1
}

fn texts(loaded: &LoadedUser) -> Vec<(String, String)> {
    let messages =
        loaded.messages.iter().map(|message| (message.message_id.clone(), message.content.clone()));
    let episodes =
        loaded.episodes.iter().map(|episode| (episode.episode_id.clone(), episode.content.clone()));
    let memories =
        loaded.semantic.iter().map(|memory| (memory.memory_id.clone(), memory.content.clone()));
    messages.chain(episodes).chain(memories).collect()
}

/// Any bytes as the log of messages: a reader and a writer read the same records, a second opening
/// finds nothing to mend, and appending works.
pub fn log_reader(data: &[u8]) {
    let disk = MemoryBackend::new();
    disk.put("/m/messages/alice_messages.jsonl", data);
    let read = texts(&load(&disk, OpenMode::ReadOnly, "alice"));
    assert_eq!(
        texts(&load(&disk, OpenMode::ReadWrite, "alice")),
        read,
        "reader and writer disagree"
    );
    let message = serde_json::json!({
        "message_id": "\u{1}new", "seq": u32::MAX, "role": "user", "content": "x",
        "timestamp": now(),
    });
    let message: Arc<Message> = Arc::new(serde_json::from_value(message).unwrap());
    {
        let store = Store::open_on(
            Arc::new(disk.clone()),
            Path::new("/m"),
            OpenMode::ReadWrite,
            &FixedClock::new(now()),
        )
        .unwrap();
        let (user, loaded) = store.open_user(&Owner::new("default", "alice").unwrap()).unwrap();
        assert_eq!(texts(&loaded), read, "a second opening reads something else");
        assert!(
            loaded.problems.is_empty(),
            "the first opening left something to mend: {:?}",
            loaded.problems
        );
        user.append_messages(&[message], &[]).unwrap();
    }
    let after = load(&disk, OpenMode::ReadWrite, "alice");
    assert_eq!(after.messages.len(), read.len() + 1);
}

/// Any text: its dates lie inside of it, in order, and reading it again gives the same.
pub fn dates(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = mentions(&text, now());
    let mut done = 0;
    for mention in &found {
        let _ = mention.iso();
        assert!(done <= mention.start && text.get(mention.start..mention.end).is_some());
        done = mention.end;
    }
    let _ = query_range(&text, now());
    assert_eq!(mentions(&text, now()), found);
}

/// Any text as a model's answer: what is read of it is JSON, and JSON that is well-formed is read
/// as it stands.
pub fn model_answer(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let found = json::read_object(&text);
    if let Ok(serde_json::Value::Object(whole)) = serde_json::from_str::<serde_json::Value>(&text) {
        let found = found.as_ref().expect("a well-formed object is found");
        assert!(!found.salvaged && found.value.len() == whole.len());
    }
    let items = json::read_items(&text, "facts");
    for value in &items.values {
        let line = serde_json::to_string(value).unwrap();
        assert!(line.len() <= 16 * text.len() + 64, "more than was said");
    }
}
