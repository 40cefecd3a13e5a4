//! Whoever changes records waits for no model, and no answer brings back what was deleted.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use episodica_core::engine::{Engine, StatedFact};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::store::testing::Random;

use super::*;
use crate::engine::audit::assert_silent;
use crate::engine::histories::gossip;

/// Longer than any operation takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Holds one call of the model back.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    moved: Condvar,
}

#[derive(Default)]
struct GateState {
    calls: usize,
    /// The number of the call that waits.
    held: Option<usize>,
    is_inside: bool,
}

impl Gate {
    /// Closes the gate for the call after so many others.
    fn close(&self, after: usize) {
        let mut state = self.state.lock().unwrap();
        state.held = Some(state.calls + after + 1);
    }

    fn open(&self) {
        self.state.lock().unwrap().held = None;
        self.moved.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.calls += 1;
        // Others may pass while one is held, so each touches only its own state.
        if state.held == Some(state.calls) {
            state.is_inside = true;
            self.moved.notify_all();
            let opened = |state: &mut GateState| state.held.is_some();
            state = self.moved.wait_while(state, opened).unwrap();
            state.is_inside = false;
        }
    }

    /// Waits until a call is held back; `false` if `is_done` is true first.
    fn await_call(&self, is_done: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock().unwrap();
        while !state.is_inside {
            if is_done() {
                return false;
            }
            state = self.moved.wait_timeout(state, Duration::from_millis(5)).unwrap().0;
        }
        true
    }
}

fn add(engine: &Engine, session: &str, range: std::ops::Range<usize>) {
    let message = |at: usize| {
        let text = format!("My favourite drink is zq{at}word.");
        said(&format!("m{at}"), &text, 60 * at as i64, Some(session))
    };
    engine.add_messages("alice", range.map(message).collect(), None, &NOW).unwrap();
}

/// Changes records in every way.
fn change(engine: &Engine) {
    let statement = |text: &str| StatedFact { content: text.into(), ..StatedFact::default() };
    let remember = |text| engine.remember("alice", statement(text), &NOW).unwrap().0;
    let boat = remember("Alice has a boat.");
    engine.update("alice", &boat.memory_id, "Alice has a canoe.", &NOW).unwrap();
    let bike = remember("Alice has a bike.");
    engine.archive("alice", std::slice::from_ref(&bike.memory_id), &NOW).unwrap();
    engine.close_fact("alice", &boat.memory_id, None, &NOW).unwrap();
    engine.delete("alice", &bike.memory_id, &NOW).unwrap();
    for id in ["m1", "m13"] {
        engine.delete("alice", id, &NOW).unwrap();
    }
}

#[test]
fn who_changes_records_waits_for_no_model_and_what_is_deleted_stays_so() {
    let mut held = 0;
    for after in 0..4 {
        let gate = Arc::new(Gate::default());
        let passed = Arc::clone(&gate);
        let model = Arc::new(ScriptedModel::new(move |prompt: &ChatPrompt| {
            let answer = gossip(&mut Random::new(7), prompt);
            passed.pass();
            Ok(answer)
        }));
        let disk = disk();
        let config = MemoryConfig { trace: true, narratives: true, ..MemoryConfig::default() };
        let engine = with_config(&disk, &model, config);
        add(&engine, "before", 0..8);
        engine.flush("alice", &NOW).unwrap();
        wait(&engine, "alice");
        gate.close(after);
        std::thread::scope(|scope| {
            let engine = &engine;
            let forming = scope.spawn(move || {
                add(engine, "s1", 8..14);
                add(engine, "s2", 14..20);
                engine.flush("alice", &NOW).unwrap();
                wait(engine, "alice");
                // What is asked again after a deletion waits as well.
                engine.delete("alice", "m9", &NOW).unwrap();
                wait(engine, "alice");
            });
            if gate.await_call(|| forming.is_finished()) {
                held += 1;
                let (done, is_done) = mpsc::channel();
                scope.spawn(move || {
                    change(engine);
                    done.send(()).unwrap();
                });
                let outcome = is_done.recv_timeout(PATIENCE);
                gate.open();
                assert!(outcome.is_ok(), "call {after}: a change waits for the model");
            } else {
                change(engine);
            }
            forming.join().unwrap();
            wait(engine, "alice");
        });
        let gone = ["zq1word", "zq13word", "zq9word"].map(str::to_owned);
        assert_silent(&engine, &disk, &gone.iter().collect::<BTreeSet<_>>(), "deleted meanwhile");
        let told: BTreeSet<String> = episodes(&engine, "alice")
            .iter()
            .flat_map(|episode| &episode.original_messages)
            .map(|message| message.message_id.clone())
            .collect();
        let left: BTreeSet<String> =
            (0..20).filter(|at| ![1, 9, 13].contains(at)).map(|at| format!("m{at}")).collect();
        assert_eq!(told, left, "call {after}");
        assert!(facts(&engine, "alice").iter().any(|fact| fact.content == "Alice has a canoe."));
        assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
    }
    assert!(held >= 2, "{held}");
}
