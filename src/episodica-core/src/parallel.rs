//! Work on all cores.
//!
//! The pool of threads that all of a process share does not survive a fork, and does not know it.
//! So a child has a pool of its own, made when it is first needed.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::fork::{PerProcess, is_forked};

static POOLS: PerProcess<ThreadPool> = PerProcess::new();

/// Runs `work`, whose parts go to the threads of this process.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !is_forked() || rayon::current_thread_index().is_some() {
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
