//! The standard library's locks without poisoning: a thread that panics leaves them usable.
//!
//! `parking_lot` keeps waiting threads in one table of the process, which after a fork refers to
//! threads that the child does not have. These locks keep their state in themselves.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{self, PoisonError, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::{Duration, Instant};

/// A lock that one thread holds at a time.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(sync::Mutex<T>);

/// Access to the value of a [`Mutex`].
pub struct MutexGuard<'a, T: ?Sized> {
    /// `None` only while a method of this module has released it.
    held: Option<sync::MutexGuard<'a, T>>,
    of: &'a Mutex<T>,
}

/// How often [`Mutex::wait_until_free`] looks.
const POLL: Duration = Duration::from_micros(200);
const HELD: &str = "invariant: a guard has its lock";

impl<T> Mutex<T> {
    /// Creates an unlocked mutex.
    pub const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks the mutex, and waits until it is free.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        MutexGuard { held: Some(held), of: self }
    }

    /// Waits until the mutex is free, at most `longest`.
    pub fn wait_until_free(&self, longest: Duration) {
        let until = Instant::now() + longest;
        let is_held = || matches!(self.0.try_lock(), Err(TryLockError::WouldBlock));
        while is_held() && Instant::now() < until {
            std::thread::sleep(POLL);
        }
    }

    /// Returns the value; `&mut self` guarantees exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// Releases the lock while `work` runs.
    pub fn unlocked<R>(guard: &mut Self, work: impl FnOnce() -> R) -> R {
        guard.held = None;
        let relocked = RelockGuard(guard);
        let outcome = work();
        drop(relocked);
        outcome
    }
}

/// Locks again when dropped, after a panic as well.
struct RelockGuard<'a, 'b, T: ?Sized>(&'a mut MutexGuard<'b, T>);

impl<T: ?Sized> Drop for RelockGuard<'_, '_, T> {
    fn drop(&mut self) {
        self.0.held = self.0.of.lock().held;
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_deref().expect(HELD)
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_deref_mut().expect(HELD)
    }
}

/// Waits for a change of the value that a [`Mutex`] guards.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    /// Creates a condition without waiting threads.
    pub const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    /// Waits for a notification.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.held.take().expect(HELD);
        guard.held = Some(self.0.wait(held).unwrap_or_else(PoisonError::into_inner));
    }

    /// [`Condvar::wait`], for `patience` at most.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, patience: Duration) {
        let held = guard.held.take().expect(HELD);
        let (held, _) = self.0.wait_timeout(held, patience).unwrap_or_else(PoisonError::into_inner);
        guard.held = Some(held);
    }

    /// [`Condvar::wait`], until `deadline` at the latest.
    pub fn wait_until<T>(&self, guard: &mut MutexGuard<'_, T>, deadline: Instant) {
        self.wait_for(guard, deadline.saturating_duration_since(Instant::now()));
    }

    /// Wakes one thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A lock for any number of readers, or one writer.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(sync::RwLock<T>);

impl<T> RwLock<T> {
    /// Creates an unlocked lock.
    pub const fn new(value: T) -> Self {
        Self(sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks for writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn a_panic_leaves_the_locks_usable() {
        let (mutex, lock) = (Mutex::new(1), RwLock::new(1));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let (mut one, mut other) = (mutex.lock(), lock.write());
            (*one, *other) = (2, 2);
            MutexGuard::unlocked(&mut one, || assert_eq!(*mutex.lock(), 2));
            MutexGuard::unlocked(&mut one, || panic!("while unlocked"));
        }));
        assert!(outcome.is_err());
        assert_eq!((*mutex.lock(), *lock.read()), (2, 2));
    }

    #[test]
    fn waiting_ends_by_a_change_or_a_deadline() {
        let (mutex, changed) = (Mutex::new(false), Condvar::new());
        changed.wait_for(&mut mutex.lock(), Duration::from_millis(1));
        changed.wait_until(&mut mutex.lock(), Instant::now());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                *mutex.lock() = true;
                changed.notify_all();
            });
            let mut is_done = mutex.lock();
            while !*is_done {
                changed.wait(&mut is_done);
            }
        });
        assert!(mutex.into_inner());
    }
}
