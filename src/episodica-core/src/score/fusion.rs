//! Combines scores that have different scales.

use episodica_simd::{bits_of, no_less};

use crate::index::sampled_bound;

/// `k` of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009).
pub const RRF_K: f32 = 60.0;

/// Reciprocal rank fusion over the union of ranked lists: `sum over lists of 1 / (k + rank)`, rank
/// from 1; best first, ties by slot.
///
/// Each entry has the slot, the fused score, and the slot's rank in every list (`None` if the list
/// lacks it).
pub fn reciprocal_rank_fusion(lists: &[Vec<u32>], k: f32) -> Vec<(u32, f64, Vec<Option<usize>>)> {
    let mut ranks: std::collections::BTreeMap<u32, Vec<Option<usize>>> =
        std::collections::BTreeMap::new();
    for (number, list) in lists.iter().enumerate() {
        for (index, slot) in list.iter().enumerate() {
            let entry: &mut Vec<Option<usize>> =
                ranks.entry(*slot).or_insert_with(|| vec![None; lists.len()]);
            entry[number].get_or_insert(index + 1);
        }
    }
    let mut fused: Vec<_> = ranks
        .into_iter()
        .map(|(slot, ranks)| {
            let score: f64 =
                ranks.iter().flatten().map(|rank| 1.0 / (f64::from(k) + *rank as f64)).sum();
            (slot, score, ranks)
        })
        .collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused
}

/// Scales to 0..1 by the smallest and largest value; all zeros if these are equal.
pub fn min_max(values: &mut [f32]) {
    let (low, high) =
        values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    let range = high - low;
    for value in values {
        *value = if range > 1e-9 { (*value - low) / range } else { 0.0 };
    }
}

/// Calls `visit` for each value that is at least `least`, with its index, in ascending order.
/// `visit` returns the new `least` for the rest.
pub(super) fn for_each_reaching(
    values: &[f32],
    mut least: f32,
    mut visit: impl FnMut(u32, f32) -> f32,
) {
    /// Number of values compared at once.
    const BLOCK: usize = 512;
    let mut reaching = [0; BLOCK / 64];
    let (blocks, rest) = values.as_chunks::<BLOCK>();
    for (block, first) in blocks.iter().zip((0..).step_by(BLOCK)) {
        no_less(block, least, &mut reaching);
        for place in bits_of(&reaching) {
            // Earlier visits in this block may have raised `least`.
            if block[place] >= least {
                least = visit(first + place as u32, block[place]);
            }
        }
    }
    for (index, value) in (values.len() as u32 - rest.len() as u32..).zip(rest) {
        if *value >= least {
            least = visit(index, *value);
        }
    }
}

/// Indexes of the `k` largest `values`, best first, ties by index. Values must not be negative;
/// zeros are omitted.
pub fn top_k(values: &[f32], k: usize) -> Vec<u32> {
    best(values, k, |_| true).into_iter().map(|(_, index)| index).collect()
}

/// Indexes, ascending, of the `k` largest admitted `values` and of all that tie with the last of
/// them; zeros are omitted.
pub(super) fn top_k_and_ties(values: &[f32], k: usize, admits: impl Fn(u32) -> bool) -> Vec<u32> {
    let Some((least, _)) = best(values, k, &admits).pop() else { return Vec::new() };
    let mut indexes = Vec::with_capacity(k);
    for_each_reaching(values, least, |index, _| {
        if admits(index) {
            indexes.push(index);
        }
        least
    });
    indexes
}

/// The `k` largest admitted values with their indexes, best first, ties by index.
fn best(values: &[f32], k: usize, admits: impl Fn(u32) -> bool) -> Vec<(f32, u32)> {
    if k == 0 {
        return Vec::new();
    }
    let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    let mut kept: Vec<(f32, u32)> = Vec::new();
    let mut least = f32::MIN_POSITIVE;
    for_each_reaching(values, least, |index, value| {
        if admits(index) {
            kept.push((value, index));
            if kept.len() >= 2 * k {
                let (_, last, _) = kept.select_nth_unstable_by(k - 1, order);
                // Among equal values the first index wins.
                least = last.0.next_up();
                kept.truncate(k);
            }
        }
        least
    });
    kept.sort_unstable_by(order);
    kept.truncate(k);
    kept
}

/// For each of `counts` (ascending), a threshold that about this many of the `values` (0 to 1)
/// reach; if fewer values are above zero, the smallest value above zero.
pub(super) fn reached_by<const N: usize>(values: &[f32], counts: [usize; N]) -> [f32; N] {
    const BINS: usize = 1_024;
    let bins_from = |least: f32| {
        let mut bins = [0_usize; BINS + 1];
        for_each_reaching(values, least, |_, value| {
            // Converting to 16 bits takes one instruction on every processor.
            bins[usize::from((value * BINS as f32) as u16).min(BINS)] += 1;
            least
        });
        bins
    };
    // Values below the lowest threshold need not be counted.
    let most = counts.into_iter().max().unwrap_or_default();
    let least = sampled_bound(values, most, |a, b| b.total_cmp(a)).unwrap_or_default();
    let mut bins = bins_from(least.max(f32::MIN_POSITIVE));
    if bins.iter().sum::<usize>() < most {
        bins = bins_from(f32::MIN_POSITIVE);
    }
    let (mut bin, mut found) = (BINS + 1, 0);
    counts.map(|count| {
        while found < count && bin > 1 {
            bin -= 1;
            found += bins[bin];
        }
        if found < count { f32::MIN_POSITIVE } else { bin as f32 / BINS as f32 }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fusion_takes_the_union() {
        let fused = reciprocal_rank_fusion(&[vec![3, 1], vec![1, 2]], RRF_K);
        assert_eq!(fused.iter().map(|entry| entry.0).collect::<Vec<_>>(), [1, 3, 2]);
        assert_eq!(fused[0].1, 1.0 / 62.0 + 1.0 / 61.0);
        assert_eq!(fused[1].2, [Some(1), None]);
    }

    #[test]
    fn scaling_and_selection() {
        let mut values = [2.0, 4.0, 3.0];
        min_max(&mut values);
        assert_eq!(values, [0.0, 1.0, 0.5]);
        let mut flat = [1.0, 1.0];
        min_max(&mut flat);
        assert_eq!(flat, [0.0, 0.0]);
        assert_eq!(top_k(&[0.0, 5.0, 1.0, 5.0], 3), [1, 3, 2]);
        assert_eq!(top_k(&[0.0, 5.0, 1.0], 1), [1]);
        assert!(top_k(&[1.0], 0).is_empty() && top_k(&[0.0], 1).is_empty());
        let all = |_| true;
        assert_eq!(top_k_and_ties(&[1.0, 5.0, 0.0, 1.0, 0.5], 2, all), [0, 1, 3]);
        assert_eq!(top_k_and_ties(&[0.0, 1.0], 2, all), [1]);
        assert_eq!(top_k_and_ties(&[1.0, 5.0, 0.0, 1.0, 0.5], 2, |at| at != 1), [0, 3]);
        assert!(top_k_and_ties(&[1.0], 1, |_| false).is_empty());
    }

    proptest::proptest! {
        #[test]
        fn the_best_of_many_are_those_that_sorting_finds(
            values in proptest::collection::vec(0_u8..20, 0..200),
            k in 0_usize..40,
        ) {
            let values: Vec<f32> = values.into_iter().map(|it| f32::from(it) / 20.0).collect();
            let mut sorted: Vec<u32> = (0..values.len() as u32).collect();
            sorted.retain(|index| values[*index as usize] > 0.0);
            sorted.sort_by(|a, b| values[*b as usize].total_cmp(&values[*a as usize]));
            let with_ties = k.min(sorted.len()).checked_sub(1).map_or(0, |last| {
                let least = values[sorted[last] as usize];
                sorted.partition_point(|index| values[*index as usize] >= least)
            });
            let mut ties = sorted[..with_ties].to_vec();
            ties.sort_unstable();
            sorted.truncate(k);
            proptest::prop_assert_eq!(top_k(&values, k), sorted);
            proptest::prop_assert_eq!(top_k_and_ties(&values, k, |_| true), ties);
        }
    }

    #[test]
    fn a_value_that_so_many_reach_where_only_the_sample_is_low() {
        let mut values = vec![0.9_f32; 50_000];
        values.iter_mut().step_by(50_000 / 2_048 + 1).for_each(|value| *value = 0.0);
        assert_eq!(reached_by(&values, [10]), [0.9_f32 * 1_024.0].map(|it| it.floor() / 1_024.0));
        values.iter_mut().for_each(|value| *value = if *value == 0.0 { 1.0 } else { 0.5 });
        assert_eq!(reached_by(&values, [10, 3_000]), [1.0, 0.5]);
    }

    #[test]
    fn a_value_that_so_many_reach() {
        let values: Vec<f32> = (0..1_000).map(|number| number as f32 / 1_000.0).collect();
        let [ten, hundred] = reached_by(&values, [10, 100]);
        let reach = |least: f32| values.iter().filter(|value| **value >= least).count();
        assert!(
            (10..=12).contains(&reach(ten)) && (100..=102).contains(&reach(hundred)),
            "{ten} {hundred}"
        );
        assert_eq!(reached_by(&[0.0, 0.5, 0.0, 1.0, 0.0], [1, 3]), [1.0, f32::MIN_POSITIVE]);
        assert_eq!(reached_by(&[], [1]), [f32::MIN_POSITIVE]);
    }
}
