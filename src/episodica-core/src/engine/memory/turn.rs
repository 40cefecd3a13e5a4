//! Turns: one holder at a time, in the order of arrival. A turn is not a lock: its holder may wait
//! for a network or the interpreter, and waiting callers can be interrupted.
//!
//! Whoever forms memories has the turn until all is done. Whoever only changes a record takes a
//! step: it waits for the holder's own steps, but not while the holder waits for a model.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

use crate::control::{CallControl, Uninterrupted};
use crate::engine::callback_guard::{called_inside, serve_engines, served_here};
use crate::error::Result;

thread_local! {
    /// The turns of this thread, or of the thread that it works for, by address.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// How often a waiting thread checks its `control`.
const PATIENCE: Duration = Duration::from_millis(50);

/// Gives out one turn at a time.
#[derive(Debug, Default)]
pub(crate) struct FormingTurns {
    turns: WaitLine,
    /// Held by the holder of the turn, except while it is lent, and by a caller that takes a step.
    steps: WaitLine,
    /// True while a caller waits to form episodes of new messages.
    awaited: AtomicBool,
}

/// A line of callers, of which one is served at a time.
#[derive(Debug, Default)]
struct WaitLine {
    queue: Mutex<WaitQueue>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct WaitQueue {
    /// The next ticket to give out.
    next: u64,
    /// The ticket that has the turn.
    serving: u64,
    /// Tickets whose callers gave up.
    abandoned: BTreeSet<u64>,
}

impl WaitQueue {
    fn serve_next(&mut self) {
        self.serving += 1;
        while self.abandoned.remove(&self.serving) {
            self.serving += 1;
        }
    }
}

impl WaitLine {
    /// Waits to be served until a deadline; `false` if it passes.
    fn wait_served(&self, deadline: Option<Instant>, control: &dyn CallControl) -> Result<bool> {
        let mut queue = self.queue.lock();
        let ticket = queue.next;
        queue.next += 1;
        while queue.serving != ticket {
            self.moved.wait_for(&mut queue, PATIENCE);
            if queue.serving == ticket {
                break;
            }
            // Checked without the lock: the check may have to wait for the interpreter.
            drop(queue);
            let outcome = control.check();
            queue = self.queue.lock();
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if outcome.is_err() || is_late {
                if queue.serving == ticket {
                    queue.serve_next();
                    self.moved.notify_all();
                } else {
                    queue.abandoned.insert(ticket);
                }
                return outcome.map(|()| false);
            }
        }
        Ok(true)
    }

    fn try_enter(&self) -> bool {
        let mut queue = self.queue.lock();
        let is_free = queue.next == queue.serving;
        queue.next += u64::from(is_free);
        is_free
    }

    fn leave_line(&self) {
        self.queue.lock().serve_next();
        self.moved.notify_all();
    }
}

/// Permission to work; released when dropped, on the thread that took it.
pub(crate) struct FormingTurn<'a> {
    of: &'a FormingTurns,
    /// False for a step.
    is_whole: bool,
    not_sent: PhantomData<*const ()>,
}

/// The turns of a thread, to pass to threads that work for it.
#[derive(Debug, Clone)]
pub(crate) struct HeldTurns(Vec<usize>);

impl HeldTurns {
    pub fn of_thread() -> Self {
        HELD.with_borrow(|held| Self(held.clone()))
    }

    /// Gives these turns to this thread, which works for their holder.
    pub fn adopt_turns(self) {
        HELD.set(self.0);
    }
}

/// What a thread inside a callback must not wait for, to pass to threads that the callback uses.
#[derive(Debug, Clone)]
pub struct CallbackScope {
    engines: Vec<u64>,
    turns: HeldTurns,
}

impl CallbackScope {
    /// That of this thread.
    #[must_use]
    pub fn of_thread() -> Self {
        Self { engines: served_here(), turns: HeldTurns::of_thread() }
    }

    /// Does work of the callback in this thread.
    pub fn run_callback<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restored(CallbackScope);
        impl Drop for Restored {
            fn drop(&mut self) {
                self.0.clone().adopt_scope();
            }
        }
        let _restored = Restored(Self::of_thread());
        self.clone().adopt_scope();
        work()
    }

    fn adopt_scope(self) {
        serve_engines(self.engines);
        self.turns.adopt_turns();
    }
}

impl FormingTurns {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// True if this thread has the turn, or works for the turn's holder.
    pub fn is_held_here(&self) -> bool {
        HELD.with_borrow(|held| held.contains(&self.address()))
    }

    fn hand_out(&self, is_whole: bool) -> FormingTurn<'_> {
        HELD.with_borrow_mut(|held| held.push(self.address()));
        FormingTurn { of: self, is_whole, not_sent: PhantomData }
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up; `InvalidInput` if this thread has the turn
    /// already, because a callback has called the engine.
    pub fn take_turn(&self, control: &dyn CallControl) -> Result<FormingTurn<'_>> {
        let turn = self.take_until(None, control)?;
        Ok(turn.expect("invariant: only a deadline gives up without an error"))
    }

    /// Waits for the turn until a deadline; `None` if it passes.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub fn take_until(
        &self,
        deadline: Option<Instant>,
        control: &dyn CallControl,
    ) -> Result<Option<FormingTurn<'_>>> {
        if self.is_held_here() {
            return Err(called_inside("this operation"));
        }
        if !self.turns.wait_served(deadline, control)? {
            return Ok(None);
        }
        match self.steps.wait_served(deadline, control) {
            Ok(true) => Ok(Some(self.hand_out(true))),
            refused => {
                self.turns.leave_line();
                refused.map(|_| None)
            }
        }
    }

    /// Waits for a step, in which records may be changed: not for a model that the holder of the
    /// turn waits for.
    ///
    /// # Errors
    /// As [`FormingTurns::take_turn`].
    pub fn take_step(&self, control: &dyn CallControl) -> Result<FormingTurn<'_>> {
        if self.is_held_here() {
            return Err(called_inside("this operation"));
        }
        self.steps.wait_served(None, control)?;
        Ok(self.hand_out(false))
    }

    /// Does `work`, such as waiting for a model, while others take steps. The caller has the turn.
    pub fn lend_turn<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Lent<'a>(&'a WaitLine);
        impl Drop for Lent<'_> {
            fn drop(&mut self) {
                // Steps are short, and `Uninterrupted` gives up none.
                let _ = self.0.wait_served(None, &Uninterrupted);
            }
        }
        self.steps.leave_line();
        let _lent = Lent(&self.steps);
        work()
    }

    /// Waits for the turn in order to form episodes of new messages. Returns `None` if another
    /// caller waits already, because that caller will find these messages too. So of many callers
    /// that add to one user, one forms episodes, one waits, and the others return.
    ///
    /// # Errors
    /// As [`FormingTurns::take_turn`].
    pub fn take_for_new(&self, control: &dyn CallControl) -> Result<Option<FormingTurn<'_>>> {
        // A callback that adds messages while episodes are formed leaves their episodes to the next
        // call.
        if self.is_held_here() || self.awaited.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let turn = self.take_turn(control);
        // From here on this caller may have read the buffer, so the next caller must wait for the
        // turn.
        self.awaited.swap(false, Ordering::AcqRel);
        turn.map(Some)
    }

    pub fn try_take(&self) -> Option<FormingTurn<'_>> {
        if !self.turns.try_enter() {
            return None;
        }
        if !self.steps.try_enter() {
            self.turns.leave_line();
            return None;
        }
        Some(self.hand_out(true))
    }
}

impl Drop for FormingTurn<'_> {
    fn drop(&mut self) {
        let address = self.of.address();
        HELD.with_borrow_mut(|held| held.retain(|other| *other != address));
        self.of.steps.leave_line();
        if self.is_whole {
            self.of.turns.leave_line();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::control::CancelFlag;

    #[test]
    fn a_turn_is_exclusive_and_waiting_can_be_given_up() {
        let turns = FormingTurns::default();
        let turn = turns.take_turn(&Uninterrupted).expect("free");
        assert!(turns.try_take().is_none());
        let flag = CancelFlag::default();
        flag.cancel();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(turns.take_turn(&flag).is_err()));
        });
        drop(turn);
        assert!(turns.try_take().is_some());
        assert!(turns.take_turn(&Uninterrupted).is_ok());
    }

    #[test]
    fn whoever_has_the_turn_is_refused_a_second_one() {
        let turns = FormingTurns::default();
        let turn = turns.take_turn(&Uninterrupted).expect("free");
        let error = turns.take_turn(&Uninterrupted).err().expect("refused");
        assert!(error.to_string().contains("from inside"), "{error}");
        let (held, callback) = (HeldTurns::of_thread(), CallbackScope::of_thread());
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                held.adopt_turns();
                turns.take_turn(&Uninterrupted).is_err()
            });
            assert!(worker.join().expect("ends"));
            let other = scope.spawn(|| {
                let inside = callback.run_callback(|| turns.take_turn(&Uninterrupted).is_err());
                inside && !turns.is_held_here()
            });
            assert!(other.join().expect("ends"));
        });
        drop(turn);
        assert!(turns.take_turn(&Uninterrupted).is_ok());
    }

    #[test]
    fn a_step_waits_for_the_holder_but_not_for_what_it_waits_for() {
        let turns = FormingTurns::default();
        let turn = turns.take_turn(&Uninterrupted).expect("free");
        let flag = CancelFlag::default();
        flag.cancel();
        std::thread::scope(|scope| {
            assert!(scope.spawn(|| turns.take_step(&flag).is_err()).join().expect("ends"));
            turns.lend_turn(|| {
                let taken = scope.spawn(|| {
                    let _step = turns.take_step(&Uninterrupted).expect("lent");
                    turns.try_take().is_none() && turns.take_step(&Uninterrupted).is_err()
                });
                assert!(taken.join().expect("ends"));
            });
            assert!(scope.spawn(|| turns.take_step(&flag).is_err()).join().expect("ends"));
        });
        drop(turn);
        assert!(turns.take_step(&Uninterrupted).is_ok());
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let turns = Arc::new(FormingTurns::default());
        let served = Arc::new(Mutex::new(Vec::new()));
        let first = turns.take_turn(&Uninterrupted).expect("free");
        let waiters: Vec<_> = (0..4)
            .map(|number| {
                let (turns, served) = (Arc::clone(&turns), Arc::clone(&served));
                let handle = std::thread::spawn({
                    let turns = Arc::clone(&turns);
                    move || {
                        let _turn = turns.take_turn(&Uninterrupted).expect("waits");
                        served.lock().push(number);
                    }
                });
                while turns.turns.queue.lock().next < number + 2 {
                    std::thread::yield_now();
                }
                handle
            })
            .collect();
        drop(first);
        waiters.into_iter().for_each(|waiter| waiter.join().expect("ends"));
        assert_eq!(*served.lock(), [0, 1, 2, 3]);
    }
}
