//! The queue of background work: users with pending work, the threads that serve them, and users
//! who wait for a retry or for a model to recover.
//!
//! A user is queued at most once; the pending work itself is in the user's backlog. So the queue is
//! no longer than the list of open users, and work that a crash interrupts is found again in the
//! logs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::engine::background::pending::{give_up_vectors, settle_letters, work_on};
use crate::engine::background::work_status::{WorkOutcome, WorkStatus};
use crate::sync::{Condvar, Mutex, MutexGuard};

use crate::control::CallControl;
use crate::engine::panics::catch_panic;
use crate::engine::services::EngineServices;
use crate::engine::user::UserGuard;
use crate::error::{Error, ErrorKind, Result};

/// Pauses before failed work is tried again. After the last pause the work is tried every minute,
/// and `wait` no longer waits for it.
const RETRY_SECONDS: [u64; 3] = [1, 5, 30];
/// How long a few messages wait for more, so that one request embeds them all.
const LINGER: Duration = Duration::from_millis(250);
/// First and longest pause before a failed model is tried again.
const PROBE_SECONDS: std::ops::RangeInclusive<u64> = 1..=60;
/// How often idle threads check for work that has come due.
const IDLE_POLL: Duration = Duration::from_millis(200);
/// How often a thread that waits for the queue checks its `control`.
const PATIENCE: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(crate) struct WorkQueue {
    state: Mutex<QueueState>,
    changed: Condvar,
    stopping: AtomicBool,
}

/// A user whose next attempt is at a given time.
struct DelayedUser {
    due: Instant,
    /// True if only a working model helps.
    needs_model: bool,
    user: UserGuard,
    /// If `needs_model`, the seconds to wait after the model's next failure; otherwise the failures
    /// in a row.
    count: u64,
}

#[derive(Default)]
struct QueueState {
    line: VecDeque<UserGuard>,
    running: usize,
    idle: usize,
    threads: usize,
    /// Users to be tried again; `wait` waits for them.
    later: Vec<DelayedUser>,
    /// Users who wait for a model, or for an embedder that has failed for long. `wait` does not
    /// wait for them.
    parked: Vec<DelayedUser>,
    /// Consecutive failures of users at work.
    failures: Vec<(UserGuard, u64)>,
    /// Users at work that test whether the model has recovered, with the pause after the next
    /// failure.
    probes: Vec<(UserGuard, u64)>,
}

/// Stops work when the engine closes or the user is deleted.
struct BackgroundControl<'a> {
    queue: &'a WorkQueue,
    user: &'a UserGuard,
}

impl CallControl for BackgroundControl<'_> {
    fn check(&self) -> Result<()> {
        let stops = self.queue.stopping.load(Ordering::SeqCst)
            || self.user.place.leaving.load(Ordering::SeqCst);
        if stops {
            return Err(Error::new(ErrorKind::Interrupted, "background work was stopped"));
        }
        Ok(())
    }
}

impl WorkQueue {
    /// Queues the user's pending work, and starts a thread if all are busy.
    pub fn enqueue_user(self: &Arc<Self>, services: &Arc<EngineServices>, user: &UserGuard) {
        let mut state = self.state.lock();
        if self.stopping.load(Ordering::SeqCst) {
            return;
        }
        state.push_user(user);
        // Without calls to wait for, more threads would only take turns.
        let most = if services.derives_alone() { 1 } else { services.config.llm_concurrency };
        if state.line.len() > state.idle && state.threads < most {
            let (queue, services) = (Arc::clone(self), Arc::downgrade(services));
            let name = format!("episodica-{}", state.threads);
            let thread = std::thread::Builder::new().name(name);
            // If the thread can't start, the next call tries again; `retry_pending` needs no
            // thread.
            if thread.spawn(move || serve_queue(&services, &queue)).is_ok() {
                state.threads += 1;
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// True if work of this user is queued, running or to be tried again. Waiting for a model does
    /// not count.
    pub fn is_busy_with(&self, user: &UserGuard) -> bool {
        let state = self.state.lock();
        *user.place.standing.lock() != WorkStatus::Idle
            || state.later.iter().any(|waiting| waiting.user.is_same(user))
    }

    /// Waits until no work is queued, running or to be tried again, or until `deadline`.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub fn wait_until_idle(&self, deadline: Instant, control: &dyn CallControl) -> Result<()> {
        let mut state = self.state.lock();
        while state.is_busy() && Instant::now() < deadline {
            self.wait_for_change(&mut state, deadline, control)?;
        }
        Ok(())
    }

    /// Waits for a change of the queue, for at most [`PATIENCE`].
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub fn wait_for_any_change(&self, deadline: Instant, control: &dyn CallControl) -> Result<()> {
        self.wait_for_change(&mut self.state.lock(), deadline, control)
    }

    fn wait_for_change(
        &self,
        state: &mut MutexGuard<'_, QueueState>,
        deadline: Instant,
        control: &dyn CallControl,
    ) -> Result<()> {
        self.changed.wait_until(state, deadline.min(Instant::now() + PATIENCE));
        // Checked without the lock: the check may have to wait for the interpreter.
        MutexGuard::unlocked(state, || control.check())
    }

    /// Removes a user from every list; running work stops by itself.
    pub fn forget_user(&self, user: &UserGuard) {
        let mut state = self.state.lock();
        let QueueState { line, later, parked, failures, probes, .. } = &mut *state;
        let is_other = |other: &UserGuard| !other.is_same(user);
        line.retain(is_other);
        later.retain(|waiting| is_other(&waiting.user));
        parked.retain(|waiting| is_other(&waiting.user));
        failures.retain(|(other, _)| is_other(other));
        probes.retain(|(other, _)| is_other(other));
        *user.place.standing.lock() = WorkStatus::Idle;
    }

    /// Stops the threads and waits for them until `deadline`. A thread whose model call does not
    /// return is abandoned: it can no longer write.
    pub fn stop_threads(&self, deadline: Instant) {
        self.stopping.store(true, Ordering::SeqCst);
        self.changed.notify_all();
        let mut state = self.state.lock();
        while state.threads > 0 && Instant::now() < deadline {
            self.changed.wait_until(&mut state, deadline);
        }
        let threads = state.threads;
        let left = std::mem::replace(&mut *state, QueueState { threads, ..QueueState::default() });
        // Not under the lock: dropping the last guard of a user frees much memory.
        drop(state);
        drop(left);
    }

    /// The next user; `None` if no work is due.
    fn next(&self, is_model_available: &dyn Fn() -> bool) -> Option<UserGuard> {
        let mut state = self.state.lock();
        state.queue_due(is_model_available);
        if state.line.is_empty() && !self.stopping.load(Ordering::SeqCst) {
            state.idle += 1;
            self.changed.wait_for(&mut state, IDLE_POLL);
            state.idle -= 1;
            state.queue_due(is_model_available);
        }
        let user = state.line.pop_front()?;
        *user.place.standing.lock() = WorkStatus::Running;
        state.running += 1;
        Some(user)
    }

    /// True if the running work of this user has failed before.
    fn has_failed(&self, user: &UserGuard) -> bool {
        self.state.lock().failures.iter().any(|(other, _)| other.is_same(user))
    }

    /// True once the queue takes no more work.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Records the outcome of work; `true` if it failed after the last of [`RETRY_SECONDS`].
    fn record_outcome(&self, user: &UserGuard, outcome: WorkOutcome) -> bool {
        let mut state = self.state.lock();
        state.running = state.running.saturating_sub(1);
        let again = std::mem::take(&mut *user.place.standing.lock()) == WorkStatus::Again;
        let failures = take_counts(&mut state.failures, user).unwrap_or(0);
        let probe = take_counts(&mut state.probes, user);
        let mut gave_up = false;
        if !user.place.leaving.load(Ordering::SeqCst) && !self.stopping.load(Ordering::SeqCst) {
            gave_up = !state.plan_attempt(user, outcome, failures, probe);
            if again {
                state.push_user(user);
            }
        }
        drop(state);
        self.changed.notify_all();
        gave_up
    }
}

impl QueueState {
    fn is_busy(&self) -> bool {
        !self.line.is_empty() || self.running > 0 || !self.later.is_empty()
    }

    fn push_user(&mut self, user: &UserGuard) {
        let mut standing = user.place.standing.lock();
        match *standing {
            WorkStatus::Idle => {
                *standing = WorkStatus::Queued;
                self.line.push_back(user.clone());
            }
            WorkStatus::Running => *standing = WorkStatus::Again,
            WorkStatus::Queued | WorkStatus::Again => {}
        }
    }

    /// Plans the next attempt. Returns `false` once in a series of failures, after the last of
    /// [`RETRY_SECONDS`]: the records without a vector get dead letters then.
    fn plan_attempt(
        &mut self,
        user: &UserGuard,
        outcome: WorkOutcome,
        failures: u64,
        probe: Option<u64>,
    ) -> bool {
        let after = |seconds: u64| Instant::now() + Duration::from_secs(seconds);
        match outcome {
            WorkOutcome::More => {
                self.push_user(user);
                true
            }
            WorkOutcome::Lingers => {
                let due = Instant::now() + LINGER;
                let user = user.clone();
                self.later.push(DelayedUser { due, needs_model: false, user, count: failures });
                true
            }
            WorkOutcome::Done => {
                // The model has recovered: all parked users are tried now.
                if probe.is_some() {
                    let now = Instant::now();
                    self.parked.iter_mut().for_each(|waiting| waiting.due = now);
                }
                true
            }
            WorkOutcome::NeedsModel => {
                let wait = probe.unwrap_or(*PROBE_SECONDS.start());
                let count = (2 * wait).min(*PROBE_SECONDS.end());
                let (due, user) = (after(wait), user.clone());
                self.parked.push(DelayedUser { due, needs_model: true, user, count });
                true
            }
            // An earlier failure has planned the next attempt. If new work planned another, each
            // new message would start a series of attempts.
            WorkOutcome::Failed if self.tries_again(user) => true,
            WorkOutcome::Failed => {
                let (count, user) = (failures + 1, user.clone());
                match RETRY_SECONDS.get(failures as usize) {
                    Some(seconds) => {
                        let due = after(*seconds);
                        self.later.push(DelayedUser { due, needs_model: false, user, count });
                        true
                    }
                    None => {
                        let due = after(*PROBE_SECONDS.end());
                        self.parked.push(DelayedUser { due, needs_model: false, user, count });
                        failures as usize > RETRY_SECONDS.len()
                    }
                }
            }
        }
    }

    /// True if an attempt is planned for the user, whether or not a model works.
    fn tries_again(&self, user: &UserGuard) -> bool {
        let mut planned = self.later.iter().chain(&self.parked);
        planned.any(|waiting| !waiting.needs_model && waiting.user.is_same(user))
    }

    /// Queues the users whose pause is over.
    fn queue_due(&mut self, is_model_available: &dyn Fn() -> bool) {
        let now = Instant::now();
        for waiting in take_due(&mut self.later, now) {
            self.push_user(&waiting.user);
            self.failures.push((waiting.user, waiting.count));
        }
        if self.parked.iter().any(|waiting| waiting.due <= now) {
            let is_model_available = is_model_available();
            for waiting in take_due(&mut self.parked, now) {
                match (waiting.needs_model, is_model_available) {
                    (false, _) => {
                        self.push_user(&waiting.user);
                        self.failures.push((waiting.user, waiting.count));
                    }
                    (true, true) => {
                        self.push_user(&waiting.user);
                        self.probes.push((waiting.user, waiting.count));
                    }
                    (true, false) => self.parked.push(waiting),
                }
            }
        }
    }
}

fn take_due(waiting: &mut Vec<DelayedUser>, now: Instant) -> Vec<DelayedUser> {
    let (due, rest) = std::mem::take(waiting).into_iter().partition(|one| one.due <= now);
    *waiting = rest;
    due
}

/// Removes the counts of a user; returns the highest.
fn take_counts(counts: &mut Vec<(UserGuard, u64)>, user: &UserGuard) -> Option<u64> {
    counts.extract_if(.., |(other, _)| other.is_same(user)).map(|(_, count)| count).max()
}

/// Serves the queue until it stops or the engine is dropped.
fn serve_queue(services: &Weak<EngineServices>, queue: &WorkQueue) {
    serve_users(services, queue);
    queue.state.lock().threads -= 1;
    queue.changed.notify_all();
}

fn serve_users(services: &Weak<EngineServices>, queue: &WorkQueue) {
    let is_model_available =
        || services.upgrade().is_some_and(|services| services.is_model_available());
    while !queue.stopping.load(Ordering::SeqCst) {
        let Some(user) = queue.next(&is_model_available) else { continue };
        // Held only while one user is served, so that a dropped engine can end.
        let Some(services) = services.upgrade() else { return };
        let control = BackgroundControl { queue, user: &user };
        let is_crowded = || !queue.state.lock().line.is_empty();
        let outcome = match catch_panic(|| work_on(&services, &user, &control, &is_crowded)) {
            Ok(outcome) => outcome,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::Closed) => {
                WorkOutcome::Done
            }
            Err(error) => {
                services.counters.note_failure(Some(&user.owner.user), &error);
                WorkOutcome::Failed
            }
        };
        user.measure_size();
        let settled = outcome == WorkOutcome::Done && queue.has_failed(&user);
        if queue.record_outcome(&user, outcome) {
            give_up_vectors(&services, &user);
        }
        if settled && let Err(error) = settle_letters(&services, &user, 0) {
            services.counters.note_failure(Some(&user.owner.user), &error);
        }
    }
}
