//! The mean of scores.

/// Returns the mean, or 0 without scores. Sums in double precision, so that the result does not
/// depend on the order in which records arrived.
pub(super) fn mean(scores: impl Iterator<Item = f32>) -> f32 {
    let (sum, count) =
        scores.fold((0.0, 0_u32), |(sum, count), score| (sum + f64::from(score), count + 1));
    (sum / f64::from(count.max(1))) as f32
}

#[cfg(test)]
mod tests {
    use super::mean;

    #[test]
    fn the_order_leaves_no_trace() {
        let scores: Vec<f32> = (1..=1_000_u16).map(|number| 1.0 / f32::from(number)).collect();
        let backwards = mean(scores.iter().rev().copied());
        assert_eq!(mean(scores.iter().copied()).to_bits(), backwards.to_bits());
        assert_ne!(scores.iter().sum::<f32>(), scores.iter().rev().sum::<f32>());
        assert_eq!(mean(std::iter::empty()), 0.0);
    }
}
