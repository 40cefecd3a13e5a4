//! Combines scores that have different scales.

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

/// The indexes of the `k` largest `values`, best first, ties by index. Values must not be negative;
/// zeros are left out.
pub fn top_k(values: &[f32], k: usize) -> Vec<u32> {
    // Only values that may be among the best are sorted: a common word gives thousands of records a
    // score.
    let [least] = reached_by(values, [k]);
    let mut best: Vec<u32> =
        (0..values.len() as u32).filter(|index| values[*index as usize] >= least).collect();
    let order =
        |a: &u32, b: &u32| values[*b as usize].total_cmp(&values[*a as usize]).then(a.cmp(b));
    if best.len() > k && k > 0 {
        best.select_nth_unstable_by(k - 1, order);
    }
    best.truncate(k);
    best.sort_unstable_by(order);
    best
}

/// The indexes, ascending, of the `k` largest `values` and of all that equal the last of these;
/// zeros are left out.
pub(super) fn top_k_and_ties(values: &[f32], k: usize) -> Vec<u32> {
    let least = top_k(values, k).last().map_or(f32::INFINITY, |last| values[*last as usize]);
    let least = least.max(f32::MIN_POSITIVE);
    (0..values.len() as u32).filter(|index| values[*index as usize] >= least).collect()
}

/// For each of the ascending `counts`, a threshold that about this many of the `values` (0 to 1)
/// reach; the smallest value above zero if fewer are above zero.
pub(super) fn reached_by<const N: usize>(values: &[f32], counts: [usize; N]) -> [f32; N] {
    const BINS: usize = 1_024;
    // Most values are zero: four counters per bin, so that no increment waits for the previous one.
    let mut bins = [[0_u32; 4]; BINS + 1];
    for four in values.chunks(4) {
        for (lane, value) in four.iter().enumerate() {
            bins[((value * BINS as f32) as usize).min(BINS)][lane] += 1;
        }
    }
    let (mut bin, mut found) = (BINS + 1, 0);
    counts.map(|count| {
        while found < count && bin > 1 {
            bin -= 1;
            found += bins[bin].iter().sum::<u32>() as usize;
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
        assert_eq!(top_k_and_ties(&[1.0, 5.0, 0.0, 1.0, 0.5], 2), [0, 1, 3]);
        assert_eq!(top_k_and_ties(&[0.0, 1.0], 2), [1]);
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
