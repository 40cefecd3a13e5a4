//! The weights of a link, as `tools/train_links.py` prints them.

use super::features::{FEATURES, PairFeatures};

/// The weights of the features.
const WEIGHTS: [f32; FEATURES] =
    [-1.001, 3.538, 2.510, 1.950, 1.965, 0.609, -0.348, 1.186, -0.771, 2.825];
const BIAS: f32 = -9.764;

/// The logit that a pair is linked.
pub(super) fn score_link(features: &PairFeatures) -> f32 {
    BIAS + features.iter().zip(WEIGHTS).map(|(value, weight)| value * weight).sum::<f32>()
}
