//! Which state a forked process shares with its parent, and which it creates again.
//!
//! A child has only the thread that forked; work of the parent's other threads stays unfinished in
//! it. A static value that another thread was constructing would block the child forever. So a fork
//! waits for such constructions ([`before_fork`]), and threads and connections are kept per process
//! ([`PerProcess`]).

use std::cell::Cell;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Number of generations of processes (children, grandchildren, …) that have values of their own.
const GENERATIONS: usize = 64;
/// Poll interval of a fork that waits.
const PAUSE: Duration = Duration::from_micros(100);
/// Added to [`MAKING`] by each fork under way; the bits below count threads that construct a value.
const FORKING: usize = 1 << 16;

static FORKS: AtomicUsize = AtomicUsize::new(0);
static MAKING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// True while this thread constructs a value: nested constructions must not wait for a fork,
    /// which waits for the outer one.
    static MAKES: Cell<bool> = const { Cell::new(false) };
}

/// Blocks until no thread constructs a static value, and delays new constructions. After the fork,
/// call [`after_fork_in_parent`] and [`after_fork_in_child`].
pub fn before_fork() {
    MAKING.fetch_add(FORKING, Ordering::SeqCst);
    while !MAKING.load(Ordering::SeqCst).is_multiple_of(FORKING) {
        std::thread::sleep(PAUSE);
    }
}

/// Ends the delay in the parent.
pub fn after_fork_in_parent() {
    MAKING.fetch_sub(FORKING, Ordering::SeqCst);
}

/// Ends the delay in the child, and marks it as forked.
pub fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    MAKING.store(0, Ordering::SeqCst);
}

/// True if the process was forked from one that had used the package.
pub(crate) fn is_forked() -> bool {
    FORKS.load(Ordering::SeqCst) > 0
}

/// Constructs a value under a lock that must not be held across a fork: the fork waits.
pub(crate) fn make_locked<T>(make: impl FnOnce() -> T) -> T {
    if MAKES.get() {
        return make();
    }
    let mut now = MAKING.load(Ordering::SeqCst);
    loop {
        if now >= FORKING {
            std::thread::sleep(PAUSE);
            now = MAKING.load(Ordering::SeqCst);
            continue;
        }
        match MAKING.compare_exchange(now, now + 1, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => break,
            Err(other) => now = other,
        }
    }
    let _made = MakingCount::new();
    make()
}

/// The value of `place`, constructed by [`make_locked`] at its first use.
pub(crate) fn get_or_make<T>(place: &OnceLock<T>, first: impl FnOnce() -> T) -> &T {
    place.get().unwrap_or_else(|| make_locked(|| place.get_or_init(first)))
}

/// While it exists, its thread counts as constructing a value.
struct MakingCount;

impl MakingCount {
    fn new() -> Self {
        MAKES.set(true);
        Self
    }
}

impl Drop for MakingCount {
    fn drop(&mut self) {
        MAKES.set(false);
        MAKING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A static value, constructed at its first use. The standard library's `LazyLock` would block a
/// child that is forked during the construction.
pub(crate) struct ForkLazy<T> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T> ForkLazy<T> {
    /// Constructs nothing yet.
    pub const fn new(make: fn() -> T) -> Self {
        Self { value: OnceLock::new(), make }
    }
}

impl<T> Deref for ForkLazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        get_or_make(&self.value, self.make)
    }
}

/// A value that each process constructs once; a forked child constructs its own.
#[derive(Debug)]
pub struct PerProcess<T>([OnceLock<T>; GENERATIONS]);

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    /// Constructs nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; GENERATIONS])
    }

    /// The cell of this process.
    pub fn process_cell(&self) -> &OnceLock<T> {
        &self.0[FORKS.load(Ordering::SeqCst) % GENERATIONS]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_fork_waits_for_what_is_being_made_and_holds_up_what_is_not_begun() {
        static INNER: ForkLazy<usize> = ForkLazy::new(|| 1);
        static OUTER: ForkLazy<usize> = ForkLazy::new(|| {
            std::thread::sleep(Duration::from_millis(200));
            *INNER + 1
        });
        static LATE: ForkLazy<Instant> = ForkLazy::new(Instant::now);
        let making = std::thread::spawn(|| *OUTER);
        while MAKING.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        before_fork();
        assert_eq!((OUTER.value.get(), INNER.value.get()), (Some(&2), Some(&1)));
        let late = std::thread::spawn(|| *LATE);
        std::thread::sleep(Duration::from_millis(50));
        let end = Instant::now();
        assert!(LATE.value.get().is_none());
        after_fork_in_parent();
        assert!(late.join().unwrap() >= end);
        assert_eq!(making.join().unwrap(), 2);
    }
}
