//! The learned weights: of a pair, and of the heads that judge its later sentence.

use std::array;

use rustc_hash::FxHashMap;

use super::features::{FEATURES, OF_VECTORS, PairFeatures, SentencePieces};
use crate::fork::ForkLazy;

/// Written by `tools/train_links.py`, all in single precision: the weights of the features of a
/// pair, those of the heads, and the bias; for each head its weights of the vector, and its bias;
/// then for each piece that the heads know its number and a weight for each head.
pub(super) static FILE: &[u8] = include_bytes!("../../../assets/links.bin");

/// Something changed or was wrong; it may change.
pub(super) const HEADS: usize = 2;
/// Length of a vector of the package's own encoder.
const DIMENSION: usize = 256;
/// The most that the heads add to the logit of a link.
const MOST_OF_SENTENCE: f32 = 2.0;

struct LinkWeights {
    pair: [f32; FEATURES],
    heads: [f32; HEADS],
    bias: f32,
    vectors: [[f32; DIMENSION]; HEADS],
    biases: [f32; HEADS],
    pieces: FxHashMap<u16, [f32; HEADS]>,
}

fn weights() -> &'static LinkWeights {
    static SHARED: ForkLazy<LinkWeights> = ForkLazy::new(LinkWeights::read);
    &SHARED
}

impl LinkWeights {
    fn read() -> Self {
        let numbers = FILE.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        let mut numbers: Vec<f32> = numbers.collect();
        numbers.reverse();
        let mut next = || numbers.pop().unwrap_or_default();
        let pair = array::from_fn(|_| next());
        let heads = array::from_fn(|_| next());
        let bias = next();
        let (mut vectors, mut biases) = ([[0.0; DIMENSION]; HEADS], [0.0; HEADS]);
        for (vector, bias) in vectors.iter_mut().zip(&mut biases) {
            vector.fill_with(&mut next);
            *bias = next();
        }
        numbers.reverse();
        let rows = numbers.as_chunks::<{ 1 + HEADS }>().0.iter();
        let pieces = rows.map(|[piece, of_heads @ ..]| (*piece as u16, *of_heads)).collect();
        Self { pair, heads, bias, vectors, biases, pieces }
    }
}

/// What the heads add to the logit of each link of a later sentence with this vector.
pub(super) fn score_sentence(pieces: &SentencePieces, vector: &[f32]) -> f32 {
    let weights = weights();
    let mut scores = weights.biases;
    for known in pieces.of_heads().iter().filter_map(|piece| weights.pieces.get(piece)) {
        scores.iter_mut().zip(known).for_each(|(score, weight)| *score += weight);
    }
    for (score, of_vector) in scores.iter_mut().zip(&weights.vectors) {
        *score += vector.iter().zip(of_vector).map(|(value, weight)| value * weight).sum::<f32>();
    }
    let parts = scores.iter().zip(weights.heads).map(|(score, weight)| score * weight);
    parts.sum::<f32>().min(MOST_OF_SENTENCE)
}

/// The logit that a pair is linked, without what the heads of its later sentence add.
pub(super) fn score_pair(features: &PairFeatures) -> f32 {
    let weights = weights();
    let parts = features.iter().zip(weights.pair).map(|(value, weight)| value * weight);
    weights.bias + parts.sum::<f32>()
}

/// The most that the vectors of a pair and the heads of its later sentence add.
pub(super) fn most_of_vectors() -> f32 {
    MOST_OF_SENTENCE + weights().pair[OF_VECTORS].max(0.0)
}
