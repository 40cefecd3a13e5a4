//! One at a time, in the order of arrival, without holding a lock: who has the turn may wait for a
//! network or an interpreter, and others may give up waiting.

use std::collections::BTreeSet;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::control::Control;
use crate::error::Result;

/// How often a waiter asks whether its caller still wants it to wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Hands out one turn at a time.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Line {
    /// The ticket that the next to come gets.
    next: u64,
    /// The ticket whose turn it is.
    serving: u64,
    /// Tickets whose holders gave up.
    abandoned: BTreeSet<u64>,
}

impl Line {
    fn advance(&mut self) {
        self.serving += 1;
        while self.abandoned.remove(&self.serving) {
            self.serving += 1;
        }
    }
}

/// The right to work; given back when dropped.
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for the turn.
    ///
    /// # Errors
    /// What `control` says when the caller gives up.
    pub fn take(&self, control: &dyn Control) -> Result<Turn<'_>> {
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
            if let Err(error) = outcome {
                if line.serving == ticket {
                    line.advance();
                    self.moved.notify_all();
                } else {
                    line.abandoned.insert(ticket);
                }
                return Err(error);
            }
        }
        Ok(Turn(self))
    }

    /// Takes the turn if it is free.
    pub fn try_take(&self) -> Option<Turn<'_>> {
        let mut line = self.line.lock();
        let free = line.next == line.serving;
        line.next += u64::from(free);
        // Made only if it is given out: dropping a turn frees it.
        free.then(|| Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
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
        let turns = Turns::default();
        let turn = turns.take(&Uninterrupted).expect("free");
        assert!(turns.try_take().is_none());
        let flag = CancelFlag::default();
        flag.cancel();
        assert!(turns.take(&flag).is_err());
        drop(turn);
        assert!(turns.try_take().is_some());
        assert!(turns.take(&Uninterrupted).is_ok());
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let turns = Arc::new(Turns::default());
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
