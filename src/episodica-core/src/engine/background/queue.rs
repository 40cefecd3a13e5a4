//! What is done behind the caller: users in line, a few threads that serve them, and those who wait
//! for a model to come back.
//!
//! A user stands in line at most once, however much is to be done: their place in memory says what
//! that is. So the line needs no more room than the open users, and what a crash cuts off is found
//! again in the logs. Only [`Engine`] knows what the work is ([`Engine::work_on`]).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::control::Control;
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::error::{Error, ErrorKind, Result};

/// Waits before failed work is tried again; after the last it is left for `retry_pending`.
const RETRY_SECONDS: [u64; 3] = [1, 5, 30];
/// First and longest wait before a model that failed is tried again.
const PROBE_SECONDS: std::ops::RangeInclusive<u64> = 1..=60;
/// How often the idle look for what has come due.
const LOOK: Duration = Duration::from_millis(200);

/// Where a user's work stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Standing {
    /// Nothing to do.
    #[default]
    Idle,
    /// In line.
    Queued,
    /// Somebody is at it.
    Running,
    /// Somebody is at it, and there is more.
    Again,
}

/// What came of working on a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything is done.
    Done,
    /// What is left needs a model that doesn't answer now.
    NeedsModel,
    /// Something failed that may work later.
    Failed,
}

/// The line and its threads.
#[derive(Default)]
pub(crate) struct Work {
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct State {
    line: VecDeque<Arc<User>>,
    running: usize,
    idle: usize,
    /// To be tried again at a time, after so many failures.
    later: Vec<(Instant, u32, Arc<User>)>,
    /// Waiting for a model, from a time on, with the wait after the next failure.
    parked: Vec<(Instant, u64, Arc<User>)>,
    /// Failures in a row of users at work.
    failures: Vec<(Arc<User>, u32)>,
    probes: Vec<(Arc<User>, u64)>,
}

/// Stops work when the engine closes or the user is deleted.
struct Behind<'a> {
    work: &'a Work,
    user: &'a User,
}

impl Control for Behind<'_> {
    fn check(&self) -> Result<()> {
        match self.work.stopping.load(Ordering::SeqCst) || self.user.leaving.load(Ordering::SeqCst)
        {
            true => Err(Error::new(ErrorKind::Interrupted, "the work was put off")),
            false => Ok(()),
        }
    }
}

impl Work {
    /// Puts a user in line, and sees to it that somebody serves them.
    pub fn enqueue(self: &Arc<Self>, engine: &Weak<Engine>, most_threads: usize, user: &Arc<User>) {
        let mut state = self.state.lock();
        if self.stopping.load(Ordering::SeqCst) {
            return;
        }
        state.push(user);
        let wanted = state.line.len() > state.idle;
        drop(state);
        self.changed.notify_one();
        let mut threads = self.threads.lock();
        if wanted && threads.len() < most_threads {
            let (engine, work) = (Weak::clone(engine), Arc::clone(self));
            let name = format!("episodica-{}", threads.len());
            // Without a thread the line is served by `wait`, `flush` and `close`; the next call
            // tries again.
            if let Ok(thread) =
                std::thread::Builder::new().name(name).spawn(move || serve(&engine, &work))
            {
                threads.push(thread);
            }
        }
    }

    /// Is anything in line, under way or to be tried again, of one user or of any? What waits for a
    /// model is not.
    pub fn is_busy(&self, user: Option<&Arc<User>>) -> bool {
        let state = self.state.lock();
        match user {
            Some(user) => {
                *user.standing.lock() != Standing::Idle
                    || state.later.iter().any(|(_, _, later)| Arc::ptr_eq(later, user))
            }
            None => !state.line.is_empty() || state.running > 0 || !state.later.is_empty(),
        }
    }

    /// Takes a user out of every list; who is at it stops by itself.
    pub fn forget(&self, user: &Arc<User>) {
        let mut state = self.state.lock();
        state.line.retain(|other| !Arc::ptr_eq(other, user));
        state.later.retain(|(_, _, other)| !Arc::ptr_eq(other, user));
        state.parked.retain(|(_, _, other)| !Arc::ptr_eq(other, user));
        state.failures.retain(|(other, _)| !Arc::ptr_eq(other, user));
        state.probes.retain(|(other, _)| !Arc::ptr_eq(other, user));
    }

    /// Stops the threads, in the middle of a call if need be, and waits for them.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.changed.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The last holder of an engine may be one of its own threads.
            if thread.thread().id() != std::thread::current().id() {
                drop(thread.join());
            }
        }
        *self.state.lock() = State::default();
    }

    /// The next user, `None` if there is none for now.
    fn next(&self, model_is_available: &dyn Fn() -> bool) -> Option<Arc<User>> {
        let mut state = self.state.lock();
        state.bring_back(model_is_available);
        if state.line.is_empty() && !self.stopping.load(Ordering::SeqCst) {
            state.idle += 1;
            self.changed.wait_for(&mut state, LOOK);
            state.idle -= 1;
            state.bring_back(model_is_available);
        }
        let user = state.line.pop_front()?;
        *user.standing.lock() = Standing::Running;
        state.running += 1;
        Some(user)
    }

    /// Notes what came of it; `true` if that was the last attempt.
    fn done(&self, user: &Arc<User>, outcome: Outcome) -> bool {
        let mut state = self.state.lock();
        state.running -= 1;
        let again = std::mem::take(&mut *user.standing.lock()) == Standing::Again;
        let failures = state
            .failures
            .iter()
            .position(|(other, _)| Arc::ptr_eq(other, user))
            .map_or(0, |at| state.failures.remove(at).1);
        let probe = state
            .probes
            .iter()
            .position(|(other, _)| Arc::ptr_eq(other, user))
            .map(|at| state.probes.remove(at).1);
        if user.leaving.load(Ordering::SeqCst) {
            return false;
        }
        let mut given_up = false;
        match outcome {
            Outcome::Done => {
                // The model is back: everybody who waits for it goes on.
                if probe.is_some() {
                    let now = Instant::now();
                    state.parked.iter_mut().for_each(|(due, _, _)| *due = now);
                }
            }
            Outcome::NeedsModel => {
                let wait = probe.unwrap_or(*PROBE_SECONDS.start());
                let next = (2 * wait).min(*PROBE_SECONDS.end());
                state.parked.push((
                    Instant::now() + Duration::from_secs(wait),
                    next,
                    Arc::clone(user),
                ));
            }
            Outcome::Failed => match RETRY_SECONDS.get(failures as usize) {
                Some(seconds) => state.later.push((
                    Instant::now() + Duration::from_secs(*seconds),
                    failures + 1,
                    Arc::clone(user),
                )),
                None => given_up = true,
            },
        }
        if again {
            state.push(user);
        }
        drop(state);
        self.changed.notify_all();
        given_up
    }
}

impl State {
    fn push(&mut self, user: &Arc<User>) {
        let mut standing = user.standing.lock();
        match *standing {
            Standing::Idle => {
                *standing = Standing::Queued;
                self.line.push_back(Arc::clone(user));
            }
            Standing::Running => *standing = Standing::Again,
            Standing::Queued | Standing::Again => {}
        }
    }

    /// Puts in line what has come due.
    fn bring_back(&mut self, model_is_available: &dyn Fn() -> bool) {
        let now = Instant::now();
        let (due, later) =
            std::mem::take(&mut self.later).into_iter().partition(|(at, _, _)| *at <= now);
        self.later = later;
        for (_, failures, user) in due {
            self.failures.push((Arc::clone(&user), failures));
            self.push(&user);
        }
        if self.parked.iter().any(|(at, _, _)| *at <= now) && model_is_available() {
            let (due, parked) =
                std::mem::take(&mut self.parked).into_iter().partition(|(at, _, _)| *at <= now);
            self.parked = parked;
            for (_, wait, user) in due {
                self.probes.push((Arc::clone(&user), wait));
                self.push(&user);
            }
        }
    }
}

fn serve(engine: &Weak<Engine>, work: &Arc<Work>) {
    let available = || {
        engine
            .upgrade()
            .is_some_and(|engine| engine.llm.as_ref().is_none_or(|model| model.is_available()))
    };
    while !work.stopping.load(Ordering::SeqCst) {
        let Some(user) = work.next(&available) else { continue };
        // Held for one user only, so that an engine nobody holds any more ends.
        let Some(engine) = engine.upgrade() else { return };
        let outcome = match engine.work_on(&user, &Behind { work, user: &user }) {
            Ok(outcome) => outcome,
            Err(error) if error.kind() == ErrorKind::Interrupted => Outcome::Done,
            Err(error) => {
                engine.note_failure(&error);
                Outcome::Failed
            }
        };
        user.measure();
        if work.done(&user, outcome) {
            engine.give_up(&user);
        }
    }
}
