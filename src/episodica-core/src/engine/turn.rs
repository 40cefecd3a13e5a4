//! One at a time, in order, without holding a lock: who has the turn may wait for a network or an interpreter, and others may give up waiting.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::control::Control;
use crate::error::Result;

/// How often a waiter asks whether its caller still wants it to wait.
const PATIENCE: Duration = Duration::from_millis(50);

/// Hands out one turn at a time.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    freed: Condvar,
}

/// The right to work; given back when dropped.
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Waits for the turn.
    ///
    /// # Errors
    /// What `control` says when the caller gives up.
    pub fn take(&self, control: &dyn Control) -> Result<Turn<'_>> {
        let mut taken = self.taken.lock();
        while *taken {
            self.freed.wait_for(&mut taken, PATIENCE);
            if *taken {
                control.check()?;
            }
        }
        *taken = true;
        Ok(Turn(self))
    }

    /// Takes the turn if it is free.
    pub fn try_take(&self) -> Option<Turn<'_>> {
        let mut taken = self.taken.lock();
        let free = !std::mem::replace(&mut *taken, true);
        // Made only if it is given out: dropping a turn frees it.
        free.then(|| Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock() = false;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
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
    }
}
