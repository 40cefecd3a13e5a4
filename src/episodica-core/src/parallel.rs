//! Work on all cores, and what a process that was forked has to make anew for it.
//!
//! The pool of threads that all of a process share does not survive a fork, and does not know it.
//! So a child has a pool of its own, made when it is first needed. What is shared by a process and
//! made once is kept by the number of forks that led to it: no lock of the parent's is touched.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// How many generations of processes are told apart: children of children, and so on.
const GENERATIONS: usize = 8;

static FORKS: AtomicUsize = AtomicUsize::new(0);
static POOLS: PerProcess<ThreadPool> = PerProcess::new();

/// Notes that this process was forked from one that had used the package.
pub fn after_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// A value that a process makes once, and a child that was forked once more.
#[derive(Debug)]
pub struct PerProcess<T>([OnceLock<T>; GENERATIONS]);

impl<T> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> PerProcess<T> {
    /// Nothing made yet.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; GENERATIONS])
    }

    /// The place for the value of this process.
    pub fn place(&self) -> &OnceLock<T> {
        &self.0[FORKS.load(Ordering::SeqCst) % GENERATIONS]
    }
}

/// Runs `work`, whose parts go to the threads of this process.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if FORKS.load(Ordering::SeqCst) == 0 || rayon::current_thread_index().is_some() {
        return work();
    }
    pool().install(work)
}

/// Runs both, at once if there is a thread to spare.
pub(crate) fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    run(|| rayon::join(a, b))
}

fn pool() -> &'static ThreadPool {
    let make = || ThreadPoolBuilder::new().build();
    POOLS.place().get_or_init(|| make().expect("invariant: a process can start threads"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_its_own_does_the_same_work() {
        use rayon::prelude::*;
        let sum = || (0..1_000_u64).into_par_iter().sum::<u64>();
        let own = pool().install(sum);
        assert_eq!((own, join(sum, || run(sum))), (499_500, (499_500, 499_500)));
    }
}
