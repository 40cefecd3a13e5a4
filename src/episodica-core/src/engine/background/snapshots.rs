//! Takes snapshots in the background as logs grow, so that a user opens as fast after a kill as
//! after closing.
//!
//! One thread takes them, and ends when no snapshot is due. Records can't change while a snapshot
//! is taken, so the thread waits for a short pause of the writers; under constant writing it does
//! not wait. Pauses between snapshots limit their share of the time; under constant writing the
//! pauses are longer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

use crate::engine::services::EngineServices;
use crate::engine::user::{OpenUser, TakenSnapshot, UserGuard};

/// A user without writes for this long is idle.
const QUIET: Duration = Duration::from_millis(300);
/// Poll interval.
const LOOK: Duration = Duration::from_millis(50);
/// Shortest pauses between snapshots, as multiples of the last snapshot's duration: `QUIET_REST`
/// for an idle user, `BUSY_REST` under constant writing.
const QUIET_REST: u32 = 4;
const BUSY_REST: u32 = 24;

/// The users whose snapshot is due.
#[derive(Default)]
pub(crate) struct SnapshotSchedule {
    state: Mutex<ScheduleState>,
    ended: Condvar,
    stopping: AtomicBool,
}

#[derive(Default)]
struct ScheduleState {
    due: Vec<DueSnapshot>,
    is_running: bool,
}

struct DueSnapshot {
    user: Weak<OpenUser>,
    added: Instant,
    /// When the snapshot became due.
    since: Instant,
}

impl SnapshotSchedule {
    /// Notes that a user has new records.
    pub fn note_user(self: &Arc<Self>, services: &Arc<EngineServices>, user: &UserGuard) {
        if services.read_only || !user.is_snapshot_due(&services.indexing_settings()) {
            return;
        }
        let (now, weak) = (Instant::now(), user.downgrade());
        let mut state = self.state.lock();
        if let Some(due) = state.due.iter_mut().find(|due| due.user.ptr_eq(&weak)) {
            due.added = now;
            return;
        }
        state.due.push(DueSnapshot { user: weak, added: now, since: now });
        if !state.is_running && !self.stopping.load(Ordering::SeqCst) {
            let (own, services) = (Arc::clone(self), Arc::downgrade(services));
            let thread = std::thread::Builder::new().name("episodica-snapshots".to_owned());
            // If the thread can't start, closing takes the snapshot.
            state.is_running = thread.spawn(move || own.serve_schedule(&services)).is_ok();
        }
    }

    /// Takes no further snapshots; waits until `deadline` for the one under way.
    pub fn stop_snapshots(&self, deadline: Instant) {
        self.stopping.store(true, Ordering::SeqCst);
        let mut state = self.state.lock();
        while state.is_running && Instant::now() < deadline {
            self.ended.wait_until(&mut state, deadline);
        }
    }

    fn serve_schedule(&self, services: &Weak<EngineServices>) {
        while !self.stopping.load(Ordering::SeqCst) {
            std::thread::sleep(LOOK);
            let Some(services) = services.upgrade() else { break };
            let due = match self.next() {
                Some(due) => due,
                None if self.end_if_idle() => return,
                None => continue,
            };
            let Some(user) = due.upgrade() else { continue };
            take_snapshot(&services, &UserGuard::new(&user));
        }
        let mut state = self.state.lock();
        state.is_running = false;
        drop(state);
        self.ended.notify_all();
    }

    /// Ends the thread if nothing is due.
    fn end_if_idle(&self) -> bool {
        let mut state = self.state.lock();
        let ends = state.due.is_empty();
        state.is_running = !ends;
        drop(state);
        self.ended.notify_all();
        ends
    }

    fn next(&self) -> Option<Weak<OpenUser>> {
        let mut state = self.state.lock();
        let now = Instant::now();
        let is_ready = |due: &DueSnapshot| {
            let Some(user) = due.user.upgrade() else { return true };
            let last = *user.last_snapshot.lock();
            let has_rested = |times| last.is_none_or(|last| last.has_rested(times, now));
            // `is_free`: a thread that holds a guard of the user may still be adding records.
            let is_quiet = now >= due.added + QUIET && user.is_free();
            let is_late = now >= due.since + QUIET && has_rested(BUSY_REST);
            is_quiet && has_rested(QUIET_REST) || is_late
        };
        let at = state.due.iter().position(is_ready)?;
        Some(state.due.swap_remove(at).user)
    }
}

fn take_snapshot(services: &EngineServices, user: &UserGuard) {
    if user.place.leaving.load(Ordering::SeqCst) {
        return;
    }
    let started = Instant::now();
    match user.save_snapshot_now(&services.store, &services.indexing_settings()) {
        Ok(()) => log::debug!("a snapshot was taken in {:.3} s", started.elapsed().as_secs_f64()),
        // The logs are safe; the next opening takes longer.
        Err(error) => services.counters.note_failure(Some(&user.owner.user), &error),
    }
    let ended = Instant::now();
    *user.last_snapshot.lock() = Some(TakenSnapshot { ended, took: ended - started });
}
