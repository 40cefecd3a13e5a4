//! Approximate threshold for selecting the best values of a long list, estimated from a sample.

use std::cmp::Ordering;

/// Maximum number of values in a sample.
const SAMPLE: usize = 2_048;

/// Estimates a threshold that at least `count` values reach in this order; `None` if it would not
/// exclude enough. The estimate may be wrong, so callers must count the values that reach it.
pub fn sampled_bound<T: Copy>(
    values: &[T],
    count: usize,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<T> {
    let mut sample: Vec<T> = values.iter().step_by(values.len() / SAMPLE + 1).copied().collect();
    let share = count as f64 / values.len() as f64 * sample.len() as f64;
    // Four standard deviations of the sampling error.
    let place = (share + 4.0 * share.sqrt() + 1.0) as usize;
    (place < sample.len()).then(|| *sample.select_nth_unstable_by(place, order).1)
}
