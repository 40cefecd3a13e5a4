//! Bringing scores of different make together.

/// `k` of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009).
pub const RRF_K: f32 = 60.0;

/// Reciprocal rank fusion over the union of ranked lists: `sum over lists of 1 / (k + rank)`, rank from 1; best first, ties by slot.
///
/// Each entry names the slot, the fused score, and the slot's rank in every list (`None` where the list lacks it).
pub fn reciprocal_rank_fusion(lists: &[Vec<u32>], k: f32) -> Vec<(u32, f64, Vec<Option<usize>>)> {
    let mut ranks: std::collections::BTreeMap<u32, Vec<Option<usize>>> = std::collections::BTreeMap::new();
    for (number, list) in lists.iter().enumerate() {
        for (index, slot) in list.iter().enumerate() {
            let entry: &mut Vec<Option<usize>> = ranks.entry(*slot).or_insert_with(|| vec![None; lists.len()]);
            entry[number].get_or_insert(index + 1);
        }
    }
    let mut fused: Vec<_> = ranks
        .into_iter()
        .map(|(slot, ranks)| {
            let score: f64 = ranks.iter().flatten().map(|rank| 1.0 / (f64::from(k) + *rank as f64)).sum();
            (slot, score, ranks)
        })
        .collect();
    fused.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    fused
}

/// Scales to 0..1 by the smallest and largest value; all zeros where they are the same.
pub fn min_max(values: &mut [f32]) {
    let (low, high) = values.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), value| (low.min(*value), high.max(*value)));
    let range = high - low;
    for value in values {
        *value = if range > 1e-9 { (*value - low) / range } else { 0.0 };
    }
}

/// The indexes of the `k` largest positive values, best first, ties by index.
pub fn top_k(values: &[f32], k: usize) -> Vec<u32> {
    let mut best: Vec<u32> = (0..values.len() as u32).filter(|index| values[*index as usize] > 0.0).collect();
    let order = |a: &u32, b: &u32| values[*b as usize].total_cmp(&values[*a as usize]).then(a.cmp(b));
    if best.len() > k && k > 0 {
        best.select_nth_unstable_by(k - 1, order);
    }
    best.truncate(k);
    best.sort_unstable_by(order);
    best
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
    }
}
