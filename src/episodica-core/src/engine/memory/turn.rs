//! Turns: one holder at a time, in the order of arrival. A turn is not a lock: its holder may wait
//! for a network or the interpreter, and waiting callers can be interrupted.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

use crate::control::CallControl;
use crate::engine::callback_guard::{called_inside, serve, served_here};
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
    line: Mutex<WaitQueue>,
    moved: Condvar,
    /// True while a caller waits to form episodes of new messages.
    awaited: AtomicBool,
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
    fn advance(&mut self) {
        self.serving += 1;
        while self.abandoned.remove(&self.serving) {
            self.serving += 1;
        }
    }
}

/// Permission to work; released when dropped, on the thread that took it.
pub(crate) struct FormingTurn<'a>(&'a FormingTurns, PhantomData<*const ()>);

/// The turns of a thread, to pass to threads that work for it.
#[derive(Debug, Clone)]
pub(crate) struct HeldTurns(Vec<usize>);

impl HeldTurns {
    pub fn here() -> Self {
        HELD.with_borrow(|held| Self(held.clone()))
    }

    /// Gives these turns to this thread, which works for their holder.
    pub fn adopt(self) {
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
    pub fn here() -> Self {
        Self { engines: served_here(), turns: HeldTurns::here() }
    }

    /// Does work of the callback in this thread.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Restored(CallbackScope);
        impl Drop for Restored {
            fn drop(&mut self) {
                self.0.clone().adopt();
            }
        }
        let _restored = Restored(Self::here());
        self.clone().adopt();
        work()
    }

    fn adopt(self) {
        serve(self.engines);
        self.turns.adopt();
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

    fn hand_out(&self) -> FormingTurn<'_> {
        HELD.with_borrow_mut(|held| held.push(self.address()));
        FormingTurn(self, PhantomData)
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up; `InvalidInput` if this thread has the turn
    /// already, because a callback has called the engine.
    pub fn take(&self, control: &dyn CallControl) -> Result<FormingTurn<'_>> {
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
        let mut line = self.line.lock();
        let ticket = line.next;
        line.next += 1;
        while line.serving != ticket {
            self.moved.wait_for(&mut line, PATIENCE);
            if line.serving == ticket {
                break;
            }
            // Checked without the lock: the check may have to wait for the interpreter.
            drop(line);
            let outcome = control.check();
            line = self.line.lock();
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if outcome.is_err() || is_late {
                if line.serving == ticket {
                    line.advance();
                    self.moved.notify_all();
                } else {
                    line.abandoned.insert(ticket);
                }
                return outcome.map(|()| None);
            }
        }
        Ok(Some(self.hand_out()))
    }

    /// Waits for the turn in order to form episodes of new messages. Returns `None` if another
    /// caller waits already, because that caller will find these messages too. So of many callers
    /// that add to one user, one forms episodes, one waits, and the others return.
    ///
    /// # Errors
    /// As [`FormingTurns::take`].
    pub fn take_for_new(&self, control: &dyn CallControl) -> Result<Option<FormingTurn<'_>>> {
        // A callback that adds messages while episodes are formed leaves their episodes to the next
        // call.
        if self.is_held_here() || self.awaited.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let turn = self.take(control);
        // From here on this caller may have read the buffer, so the next caller must wait for the
        // turn.
        self.awaited.swap(false, Ordering::AcqRel);
        turn.map(Some)
    }

    pub fn try_take(&self) -> Option<FormingTurn<'_>> {
        let mut line = self.line.lock();
        let free = line.next == line.serving;
        line.next += u64::from(free);
        // Created only if it is given out: dropping a turn releases it.
        free.then(|| self.hand_out())
    }
}

impl Drop for FormingTurn<'_> {
    fn drop(&mut self) {
        let address = self.0.address();
        HELD.with_borrow_mut(|held| held.retain(|other| *other != address));
        self.0.line.lock().advance();
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::control::{CancelFlag, Uninterrupted};

    #[test]
    fn a_turn_is_exclusive_and_waiting_can_be_given_up() {
        let turns = FormingTurns::default();
        let turn = turns.take(&Uninterrupted).expect("free");
        assert!(turns.try_take().is_none());
        let flag = CancelFlag::default();
        flag.cancel();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(turns.take(&flag).is_err()));
        });
        drop(turn);
        assert!(turns.try_take().is_some());
        assert!(turns.take(&Uninterrupted).is_ok());
    }

    #[test]
    fn whoever_has_the_turn_is_refused_a_second_one() {
        let turns = FormingTurns::default();
        let turn = turns.take(&Uninterrupted).expect("free");
        let error = turns.take(&Uninterrupted).err().expect("refused");
        assert!(error.to_string().contains("from inside"), "{error}");
        let (held, callback) = (HeldTurns::here(), CallbackScope::here());
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                held.adopt();
                turns.take(&Uninterrupted).is_err()
            });
            assert!(worker.join().expect("ends"));
            let other = scope.spawn(|| {
                let inside = callback.run(|| turns.take(&Uninterrupted).is_err());
                inside && !turns.is_held_here()
            });
            assert!(other.join().expect("ends"));
        });
        drop(turn);
        assert!(turns.take(&Uninterrupted).is_ok());
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let turns = Arc::new(FormingTurns::default());
        let served = Arc::new(Mutex::new(Vec::new()));
        let first = turns.take(&Uninterrupted).expect("free");
        let waiters: Vec<_> = (0..4)
            .map(|number| {
                let (turns, served) = (Arc::clone(&turns), Arc::clone(&served));
                let handle = std::thread::spawn({
                    let turns = Arc::clone(&turns);
                    move || {
                        let _turn = turns.take(&Uninterrupted).expect("waits");
                        served.lock().push(number);
                    }
                });
                while turns.line.lock().next < number + 2 {
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
