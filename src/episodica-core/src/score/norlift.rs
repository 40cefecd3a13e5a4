//! NOR-LIFT: semantic memories vote for the episodes they were learned from.
//!
//! For a query, let `s_i` be the similarity of memory `i`, `z_i` its z-score over all memories and
//! `tau` the 95th percentile of the `z_i`. Memory `i` votes with probability `p_i = 1 / (1 +
//! exp(-lambda (z_i - tau)))`. The votes for an episode with the memories `F` combine by noisy-or,
//! `P = 1 - prod(1 - p_i)`, and are held against what `|F|` average memories would give, `E = 1 -
//! (1 - mean p)^|F|`, so that an episode isn't preferred for having taught much: `lift = (P - E) /
//! (1 - E)`.

/// Steepness of a vote.
pub const LAMBDA: f64 = 2.5;
/// The share of memories whose votes stay below one half.
pub const TAU_PERCENTILE: f64 = 0.95;

/// The lift of every voted-for episode. `similarities[i]` belongs to the memory with the source
/// episodes `sources[i]` (any keys).
pub fn lift<K: Copy + Ord>(
    similarities: &[f32],
    sources: &[Vec<K>],
) -> std::collections::BTreeMap<K, f64> {
    let count = similarities.len();
    let mut lifts = std::collections::BTreeMap::new();
    if count == 0 {
        return lifts;
    }
    let mean = similarities.iter().map(|s| f64::from(*s)).sum::<f64>() / count as f64;
    let variance =
        similarities.iter().map(|s| (f64::from(*s) - mean).powi(2)).sum::<f64>() / count as f64;
    let deviation = variance.sqrt().max(1e-9);
    let z: Vec<f64> = similarities.iter().map(|s| (f64::from(*s) - mean) / deviation).collect();
    let mut sorted = z.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let tau = sorted[((count - 1) as f64 * TAU_PERCENTILE).floor() as usize];
    let votes: Vec<f64> = z.iter().map(|z| 1.0 / (1.0 + (-LAMBDA * (z - tau)).exp())).collect();
    let average = votes.iter().sum::<f64>() / count as f64;

    let mut silence: std::collections::BTreeMap<K, (f64, i32)> = std::collections::BTreeMap::new();
    for (vote, sources) in votes.iter().zip(sources) {
        for source in sources {
            let entry = silence.entry(*source).or_insert((1.0, 0));
            entry.0 *= 1.0 - vote;
            entry.1 += 1;
        }
    }
    for (source, (nobody, memories)) in silence {
        let expected = 1.0 - (1.0 - average).powi(memories);
        lifts.insert(source, (1.0 - nobody - expected) / (1.0 - expected).max(1e-9));
    }
    lifts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_strong_vote_beats_many_weak_ones() {
        let mut similarities = vec![0.1_f32; 40];
        similarities[0] = 0.9;
        let mut sources = vec![vec![2]; 40];
        sources[0] = vec![1];
        let lifts = lift(&similarities, &sources);
        assert!(lifts[&1] > 0.5 && lifts[&1] > lifts[&2], "{lifts:?}");
        assert!(lift::<u32>(&[], &[]).is_empty());
        assert!(lift(&[0.5], &[vec![7]])[&7].abs() < 1e-9);
    }
}
