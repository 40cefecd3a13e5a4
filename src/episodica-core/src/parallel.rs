//! Work on all cores.
//!
//! The global thread pool of a process does not survive a fork. So a child creates a pool of its
//! own when it first needs one.

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::fork::{PerProcess, is_forked};

/// Up to this number of short texts, one thread is faster than handing some of them to others.
pub(crate) const FEW_TEXTS: usize = 32;

static POOLS: PerProcess<ThreadPool> = PerProcess::new();

/// Runs `work`, whose parts go to the threads of this process.
pub(crate) fn run_in_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !is_forked() || rayon::current_thread_index().is_some() {
        return work();
    }
    thread_pool().install(work)
}

/// Applies `make` to each item, in order: on all cores if there are more than `few`. Handing work
/// to another thread and waiting for it costs about as much as reading ten messages.
pub(crate) fn map_items<T: Send, R: Send>(
    items: Vec<T>,
    few: usize,
    make: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    if items.len() <= few {
        return items.into_iter().map(make).collect();
    }
    run_in_pool(|| items.into_par_iter().map(make).collect())
}

/// Runs `a` and `b`, in parallel if a thread is free.
pub(crate) fn join_pair<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    run_in_pool(|| rayon::join(a, b))
}

fn thread_pool() -> &'static ThreadPool {
    let make = || ThreadPoolBuilder::new().build();
    POOLS.process_cell().get_or_init(|| make().expect("invariant: a process can start threads"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_its_own_does_the_same_work() {
        let sum = || (0..1_000_u64).into_par_iter().sum::<u64>();
        let own = thread_pool().install(sum);
        assert_eq!((own, join_pair(sum, || run_in_pool(sum))), (499_500, (499_500, 499_500)));
    }

    #[test]
    fn few_items_and_many_come_in_their_order() {
        let caller = std::thread::current().id();
        let double = |item: u32| (2 * item, std::thread::current().id());
        let few = map_items(vec![3, 1, 2], 3, double);
        assert_eq!(few, [(6, caller), (2, caller), (4, caller)]);
        let many: Vec<u32> = map_items((0..1_000).collect(), 3, |item| 2 * item);
        assert!(many.into_iter().eq((0..1_000).map(|item| 2 * item)));
    }
}
