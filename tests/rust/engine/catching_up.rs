//! Additions of one message wait for no vector, and nothing of what they leave is lost.

use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use episodica_core::Result;
use episodica_core::config::MemoryConfig;
use episodica_core::embed::Embedder;
use episodica_core::engine::{AnyRecord, Engine, EngineHandle, RecordKind};
use episodica_core::model::NewMessage;
use episodica_core::score::{HitKind, SearchMethod};
use episodica_core::store::testing::MemoryBackend;
use ndarray::Array2;

use super::support::*;

/// How long a call may take that a closed gate would block for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// An embedder of the package's own that answers while its gate is open.
struct Gate {
    words: Arc<dyn Embedder>,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn new(disk: &Disk, is_open: bool) -> Arc<Self> {
        let words = parts(disk).embedder;
        Arc::new(Self { words, is_open: Mutex::new(is_open), opened: Condvar::new() })
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

impl Embedder for Gate {
    fn model_name(&self) -> &str {
        self.words.model_name()
    }

    fn dimension(&self) -> Option<usize> {
        self.words.dimension()
    }

    fn is_local(&self) -> bool {
        true
    }

    fn is_own(&self) -> bool {
        true
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let gate = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(gate, |is_open| !*is_open).unwrap());
        self.words.embed_texts(texts)
    }
}

fn engine_with(disk: &Disk, embedder: Arc<dyn Embedder>) -> EngineHandle {
    open_embedding(disk, embedder).unwrap()
}

/// Messages of three days, so that episodes end between them.
fn talk() -> Vec<NewMessage> {
    let contents = [
        "I'm allergic to walnuts.",
        "We adopted a grey cat in spring.",
        "Good morning!",
        "I work as a carpenter in Leeds.",
        "The roof of the shed leaks again.",
        "I start the new course on Monday.",
        "My sister moved to Porto.",
        "See you later.",
    ];
    let message = |(at, content): (usize, &&str)| {
        let day = at as i64 / 3 * 2 * 86_400;
        said(&format!("m{at}"), content, day + at as i64 * 60, None)
    };
    contents.iter().enumerate().map(message).collect()
}

/// What was derived from the messages: the texts of the episodes and the facts, sorted.
fn derived(engine: &Engine) -> Vec<String> {
    let kinds = [RecordKind::Episode, RecordKind::Semantic];
    let all = kinds.into_iter().flat_map(|kind| records(engine, "alice", kind));
    let text = |record| match record {
        AnyRecord::Episode(episode) => format!("{}: {}", episode.title, episode.content),
        AnyRecord::Semantic(fact) => format!("{} {}", fact.memory_id, fact.content),
        AnyRecord::Message(message) => message.content.clone(),
    };
    let mut texts: Vec<String> = all.map(text).collect();
    texts.sort();
    texts
}

/// What one call with all messages derives.
fn derived_in_one_call() -> Vec<String> {
    let engine = open(&Disk::new(MemoryBackend::new())).unwrap();
    let added = engine.add_messages("alice", talk(), None, &NOW).unwrap();
    assert!(!added.episodes.is_empty(), "a call with many messages derives everything");
    let expected = derived(&engine);
    assert!(expected.iter().any(|line| line.contains("walnuts")), "{expected:?}");
    expected
}

fn add_singly(engine: &Engine) {
    for message in talk() {
        let added = engine.add_messages("alice", vec![message], None, &NOW).unwrap();
        assert_eq!((added.messages_added, added.episodes.len()), (1, 0));
    }
}

#[test]
fn an_addition_waits_for_no_vector() {
    let disk = Disk::new(MemoryBackend::new());
    let gate = Gate::new(&disk, false);
    let engine = Arc::new(engine_with(&disk, gate.clone()));
    let (sender, receiver) = mpsc::channel();
    let adding = std::thread::spawn({
        let engine = Arc::clone(&engine);
        move || {
            add_singly(&engine);
            sender.send(()).unwrap();
        }
    });
    let added = receiver.recv_timeout(PATIENCE);
    gate.open();
    adding.join().unwrap();
    assert_eq!(added, Ok(()), "an addition waited for a vector");
    assert_eq!(derived(&engine), derived_in_one_call());
    let request = asked("walnuts", 3, vec![HitKind::Message], SearchMethod::Hybrid);
    assert_eq!(engine.search("alice", &request, &NOW).unwrap().degraded, Vec::<String>::new());
}

#[test]
fn messages_one_by_one_give_what_they_give_together() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = engine_with(&disk, Gate::new(&disk, true));
    let mut before = Vec::new();
    for message in talk() {
        engine.add_messages("alice", vec![message], None, &NOW).unwrap();
        let now = derived(&engine);
        assert!(now.len() >= before.len(), "each read has what the messages before it gave");
        before = now;
    }
    assert_eq!(before, derived_in_one_call());
}

#[test]
fn what_a_crash_leaves_is_derived_after_the_next_opening() {
    let disk = Disk::new(MemoryBackend::new());
    let gate = Gate::new(&disk, false);
    let lost = engine_with(&disk, gate.clone());
    add_singly(&lost);
    // This engine knows only what is on the disk.
    let engine = engine_with(&disk, Gate::new(&disk, true));
    assert_eq!(derived(&engine), derived_in_one_call());
    gate.open();
    drop(lost);
    assert_eq!(derived(&open(&disk).unwrap()), derived_in_one_call());
}

#[test]
fn closing_a_flush_and_the_feed_leave_nothing_to_derive() {
    for step in 0..3 {
        let disk = Disk::new(MemoryBackend::new());
        let engine = engine_with(&disk, Gate::new(&disk, true));
        add_singly(&engine);
        match step {
            0 => engine.close(PATIENCE, &NOW).unwrap(),
            1 => drop(engine.flush("alice", &NOW).unwrap()),
            _ => drop(engine.events(None, Some("alice"), 100).unwrap()),
        }
        let reader = open_as(&disk, true, MemoryConfig::default()).unwrap();
        let expected = derived_in_one_call();
        let found = derived(&reader);
        assert!(expected.iter().all(|line| found.contains(line)), "{step}: {found:?}");
    }
}
