//! Turns: one holder at a time, in the order of arrival. The turn holds no lock, so that the
//! holder may wait for a network or an interpreter, and those who wait can be interrupted.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex};

use crate::control::CallControl;
use crate::engine::callback_guard::called_inside;
use crate::error::Result;

thread_local! {
    /// The turns that this thread holds, or works for the holder of, by address.
    static HELD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// How often a waiter asks whether its caller still wants it to wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Hands out one turn at a time.
#[derive(Debug, Default)]
pub(crate) struct FormingTurns {
    line: Mutex<WaitQueue>,
    moved: Condvar,
    /// True while a caller that added messages waits.
    awaited: AtomicBool,
}

#[derive(Debug, Default)]
struct WaitQueue {
    /// The ticket that the next to come gets.
    next: u64,
    /// The ticket whose turn it is.
    serving: u64,
    /// Tickets whose holders gave up.
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

/// The right to work; given back when dropped, on the thread that took it.
pub(crate) struct FormingTurn<'a>(&'a FormingTurns, PhantomData<*const ()>);

/// The turns that a thread holds, for the threads that work for it.
#[derive(Debug, Clone)]
pub(crate) struct HeldTurns(Vec<usize>);

impl HeldTurns {
    /// Those of this thread.
    pub fn here() -> Self {
        HELD.with_borrow(|held| Self(held.clone()))
    }

    /// Makes this thread one that works for the holder.
    pub fn adopt(self) {
        HELD.set(self.0);
    }
}

impl FormingTurns {
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn is_held_here(&self) -> bool {
        HELD.with_borrow(|held| held.contains(&self.address()))
    }

    fn hand_out(&self) -> FormingTurn<'_> {
        HELD.with_borrow_mut(|held| held.push(self.address()));
        FormingTurn(self, PhantomData)
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// What `control` says when the caller gives up; `InvalidInput` if this thread has the turn
    /// already: a callable has called back in.
    pub fn take(&self, control: &dyn CallControl) -> Result<FormingTurn<'_>> {
        let turn = self.take_until(None, control)?;
        Ok(turn.expect("invariant: only a deadline gives up without an error"))
    }

    /// Waits for the turn until a deadline; `None` when it has passed.
    ///
    /// # Errors
    /// What `control` says when the caller gives up.
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
            // Asked without the lock: the answer may have to wait for the interpreter.
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

    /// Waits for the turn on behalf of messages that were added; `None` if somebody else waits for
    /// that, who will find these messages, too. So of many who add to one user one forms episodes,
    /// one waits, and the others go on.
    ///
    /// # Errors
    /// As [`FormingTurns::take`].
    pub fn take_for_new(&self, control: &dyn CallControl) -> Result<Option<FormingTurn<'_>>> {
        // A callable that adds messages while episodes are formed leaves them for the next call.
        if self.is_held_here() || self.awaited.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let turn = self.take(control);
        // From here on whoever adds waits again: this caller may have looked already.
        self.awaited.swap(false, Ordering::AcqRel);
        turn.map(Some)
    }

    /// Takes the turn if it is free.
    pub fn try_take(&self) -> Option<FormingTurn<'_>> {
        let mut line = self.line.lock();
        let free = line.next == line.serving;
        line.next += u64::from(free);
        // Made only if it is given out: dropping a turn frees it.
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
        let held = HeldTurns::here();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                held.adopt();
                turns.take(&Uninterrupted).is_err()
            });
            assert!(worker.join().expect("ends"));
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
