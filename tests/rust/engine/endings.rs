//! Nothing hangs: closing keeps its timeout whatever a callable does, waits can be interrupted, and
//! a callable that calls the engine again gets an error instead of waiting.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak, mpsc};
use std::time::{Duration, Instant};

use episodica_core::config::MemoryConfig;
use episodica_core::control::{CallControl, CancelFlag};
use episodica_core::embed::Embedder;
use episodica_core::engine::{Engine, EngineHandle, RecordKind};
use episodica_core::llm::LanguageModel;
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::store::testing::{Failure, MemoryBackend};
use episodica_core::{Error, ErrorKind, Result};
use ndarray::Array2;

use super::support::*;

fn disk() -> Disk {
    Disk::new(MemoryBackend::new())
}

/// An embedder that calls a function before it embeds, and fails while that returns false.
struct Calling<F>(F);

impl<F: Fn() -> bool + Send + Sync> Embedder for Calling<F> {
    fn model_name(&self) -> &str {
        "calling"
    }

    fn dimension(&self) -> Option<usize> {
        Some(2)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        if !(self.0)() {
            return Err(Error::new(ErrorKind::Embedding, "not yet"));
        }
        Ok(Array2::from_shape_fn(
            (texts.len(), 2),
            |(_, column)| if column == 0 { 1.0 } else { 0.0 },
        ))
    }
}

fn messages(count: i64) -> Vec<episodica_core::model::NewMessage> {
    (0..count)
        .map(|n| said(&format!("m{n}"), &format!("I moved to town{n}."), 60 * n, None))
        .collect()
}

#[test]
fn closing_keeps_its_timeout_while_a_model_does_not_answer_and_frees_the_store() {
    let disk = disk();
    let (release, released) = mpsc::channel::<()>();
    let released = episodica_core::sync::Mutex::new(released);
    let entered = Arc::new(AtomicBool::new(false));
    let inside = Arc::clone(&entered);
    let model = ScriptedModel::new(move |_| {
        inside.store(true, Ordering::SeqCst);
        // Ignores every request to stop, as a Python callable does.
        let _ = released.lock().recv();
        Err(Error::new(ErrorKind::Llm, "too late"))
    });
    let llm: Arc<dyn LanguageModel> = Arc::new(model);
    let engine = open_with(&disk, false, MemoryConfig::default(), Some(llm)).unwrap();
    engine.add_messages("alice", messages(30), None, &NOW).unwrap();
    while !entered.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let started = Instant::now();
    engine.close(Duration::from_millis(300), &NOW).unwrap();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    let before = disk.inner().files();
    // The model still hangs, but the store can be opened again.
    let next = open(&disk).unwrap();
    assert_eq!(records(&next, "alice", RecordKind::Message).len(), 30);
    next.close(Duration::ZERO, &NOW).unwrap();
    drop(next);
    let between = disk.inner().files();
    release.send(()).unwrap();
    drop(engine);
    assert!(before.len() <= between.len());
    assert_eq!(disk.inner().files(), between, "the abandoned engine writes nothing");
}

#[test]
fn an_interrupted_close_frees_the_store() {
    let disk = disk();
    let engine = open(&disk).unwrap();
    engine.add_messages("alice", messages(3), None, &NOW).unwrap();
    let flag = CancelFlag::default();
    flag.cancel();
    std::thread::scope(|scope| {
        let (hold, held) = mpsc::channel::<()>();
        let (engine, flag) = (&engine, &flag);
        // Another thread forms episodes meanwhile, so that closing has to wait.
        let (started, start) = mpsc::channel::<()>();
        let busy = scope.spawn(move || {
            struct Waiting(episodica_core::sync::Mutex<mpsc::Receiver<()>>, mpsc::Sender<()>);
            impl CallControl for Waiting {
                fn check(&self) -> Result<()> {
                    let _ = self.1.send(());
                    let _ = self.0.lock().recv();
                    Ok(())
                }
            }
            let _ =
                engine.flush("alice", &Waiting(episodica_core::sync::Mutex::new(held), started));
        });
        start.recv().unwrap();
        let error = engine.close(Duration::from_secs(60), flag).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        drop(open(&disk).unwrap());
        drop(hold);
        busy.join().unwrap();
    });
    assert_eq!(engine.users().unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn deleting_a_user_can_be_interrupted_while_somebody_searches() {
    let disk = disk();
    let (release, released) = mpsc::channel::<()>();
    let released = episodica_core::sync::Mutex::new(released);
    let (slow, entered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (is_slow, inside) = (Arc::clone(&slow), Arc::clone(&entered));
    let embedder = Calling(move || {
        if is_slow.load(Ordering::SeqCst) {
            inside.store(true, Ordering::SeqCst);
            let _ = released.lock().recv();
        }
        true
    });
    let engine = open_embedding(&disk, Arc::new(embedder)).unwrap();
    engine.add_messages("alice", messages(3), None, &NOW).unwrap();
    slow.store(true, Ordering::SeqCst);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            found(&engine, "alice", "town1", episodica_core::score::SearchMethod::Vector)
        });
        while !entered.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let flag = CancelFlag::default();
        flag.cancel();
        let started = Instant::now();
        let error = engine.delete_user_data("alice", &flag).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
        slow.store(false, Ordering::SeqCst);
        release.send(()).unwrap();
    });
    // Nothing was deleted, and the user accepts messages.
    assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 3);
    engine.add_messages("alice", vec![said("new", "Hello again.", 900, None)], None, &NOW).unwrap();
    assert_eq!(engine.delete_user_data("alice", &NOW).unwrap().messages, 4);
}

type Call = fn(&Engine) -> Result<()>;

/// Operations that wait for the user's turn or for all threads.
const CALLS: [(&str, Call); 6] = [
    ("flush", |engine| engine.flush("alice", &NOW).map(drop)),
    ("delete", |engine| engine.delete("alice", "m0", &NOW).map(drop)),
    ("rebuild", |engine| engine.rebuild_indices(Some("alice"), &NOW).map(drop)),
    ("retry", |engine| engine.retry_pending(Some("alice"), &NOW).map(drop)),
    ("delete_user_data", |engine| engine.delete_user_data("alice", &NOW).map(drop)),
    ("close", |engine| engine.close(Duration::from_secs(60), &NOW)),
];

#[test]
fn a_callable_that_calls_back_in_is_refused() {
    for (name, call) in CALLS {
        let disk = disk();
        let cell: Arc<OnceLock<Weak<EngineHandle>>> = Arc::default();
        let refused: Arc<episodica_core::sync::Mutex<Vec<String>>> = Arc::default();
        let (inner, errors) = (Arc::clone(&cell), Arc::clone(&refused));
        let embedder = Calling(move || {
            let Some(engine) = inner.get().and_then(Weak::upgrade) else { return false };
            if let Err(error) = call(&engine) {
                errors.lock().push(error.to_string());
            }
            true
        });
        let engine = Arc::new(open_embedding(&disk, Arc::new(embedder)).unwrap());
        engine.add_messages("alice", messages(4), None, &NOW).unwrap();
        cell.set(Arc::downgrade(&engine)).ok();
        // Before an episode is formed, what lacks a vector is embedded under the turn.
        engine.flush("alice", &NOW).unwrap();
        let refused = refused.lock().clone();
        assert!(!refused.is_empty(), "{name} was not refused");
        assert!(refused.iter().all(|error| error.contains("from inside")), "{name}: {refused:?}");
        assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 4, "{name}");
    }
}

#[test]
fn a_callable_may_add_messages_while_episodes_are_formed() {
    let disk = disk();
    let cell: Arc<OnceLock<Weak<EngineHandle>>> = Arc::default();
    let (inner, calls) = (Arc::clone(&cell), AtomicUsize::new(0));
    let embedder = Calling(move || {
        let Some(engine) = inner.get().and_then(Weak::upgrade) else { return false };
        if calls.fetch_add(1, Ordering::SeqCst) == 0 {
            let message = said("inner", "From inside.", 500, None);
            engine.add_messages("alice", vec![message], None, &NOW).unwrap();
        }
        true
    });
    let engine = Arc::new(open_embedding(&disk, Arc::new(embedder)).unwrap());
    engine.add_messages("alice", messages(4), None, &NOW).unwrap();
    cell.set(Arc::downgrade(&engine)).ok();
    while engine.user_stats("alice", &NOW).unwrap().buffered > 0 {
        engine.flush("alice", &NOW).unwrap();
    }
    assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 5);
}

#[test]
fn messages_that_are_stored_are_acknowledged_though_the_disk_is_full_when_episodes_are_formed() {
    let (mut failed, mut acknowledged) = (0, 0);
    for operation in 0..60 {
        let disk = disk();
        let engine = open(&disk).unwrap();
        engine
            .add_messages("alice", vec![said("first", "Hello.", 0, Some("s0"))], None, &NOW)
            .unwrap();
        // A pause ends the first session, so that this call also forms an episode.
        let later = vec![said("later", "We sold the boat.", 90_000, Some("s1"))];
        disk.fail_after(operation, Failure::FromThenOn, std::io::ErrorKind::StorageFull);
        let outcome = engine.add_messages("alice", later.clone(), None, &NOW);
        let injected = disk.failures() > 0;
        disk.heal();
        let stored = records(&engine, "alice", RecordKind::Message).len();
        // Either stored and acknowledged, or neither.
        assert_eq!(
            stored,
            if outcome.is_ok() { 2 } else { 1 },
            "operation {operation}: {outcome:?}"
        );
        failed += u64::from(outcome.is_err());
        acknowledged += u64::from(injected && outcome.is_ok());
        if outcome.is_err() {
            engine.add_messages("alice", later, None, &NOW).unwrap();
        }
        // With disk space again, all work continues without help.
        engine
            .add_messages(
                "alice",
                vec![said("last", "Good night.", 180_000, Some("s2"))],
                None,
                &NOW,
            )
            .unwrap();
        assert_eq!(
            records(&engine, "alice", RecordKind::Episode).len(),
            2,
            "operation {operation}"
        );
        let live = records(&engine, "alice", RecordKind::Message).len();
        let episodes = records(&engine, "alice", RecordKind::Episode).len();
        drop(engine);
        let again = open(&disk).unwrap();
        assert_eq!(records(&again, "alice", RecordKind::Message).len(), live);
        assert_eq!(records(&again, "alice", RecordKind::Episode).len(), episodes);
        assert_eq!(again.verify(None, &NOW).unwrap().errors, 0);
        if !injected {
            break;
        }
    }
    assert!(failed > 0 && acknowledged > 0, "{failed} failed, {acknowledged} acknowledged");
}

#[test]
fn the_text_of_a_failure_goes_with_the_user_whom_it_may_quote() {
    let disk = disk();
    let model = ScriptedModel::new(|prompt| {
        Err(Error::new(ErrorKind::Llm, format!("cannot answer: {}", prompt.user)))
    });
    let llm: Arc<dyn LanguageModel> = Arc::new(model);
    let engine = open_with(&disk, false, MemoryConfig::default(), Some(llm)).unwrap();
    engine.add_messages("alice", messages(30), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    assert!(engine.wait(None, Some(Duration::from_secs(60)), &NOW).unwrap());
    assert!(engine.health().unwrap().last_failure.unwrap().contains("town"));
    engine.delete_user_data("alice", &NOW).unwrap();
    assert!(engine.health().unwrap().last_failure.is_none());
}
