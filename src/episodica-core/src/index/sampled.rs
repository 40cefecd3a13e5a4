//! A bound that spares most values of a long list a closer look.

use std::cmp::Ordering;

/// Values in a sample, at most.
const SAMPLE: usize = 2_048;

/// A value that, by a sample, more than `count` of the values do not follow in this order; `None`
/// if that is as good as all of them. A sample may be wrong: count what the bound lets through.
pub fn sampled_bound<T: Copy>(
    values: &[T],
    count: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<T> {
    let mut sample: Vec<T> = values.iter().step_by(values.len() / SAMPLE + 1).copied().collect();
    let share = count as f64 / values.len() as f64 * sample.len() as f64;
    // Four standard deviations of what a sample may be wrong by.
    let place = (share + 4.0 * share.sqrt() + 1.0) as usize;
    (place < sample.len()).then(|| *sample.select_nth_unstable_by(place, order).1)
}
