//! The forward pass of BERT (Devlin et al. 2019), over several sequences at once without padding.
//!
//! The tokens of all sequences are stacked in one matrix, so that the linear maps, which take
//! nearly all the time, are a few large products; only attention handles one sequence at a time.
//! matrixmultiply selects AVX2 and FMA at run time. A result depends on the other sequences in the
//! pack only by rounding.

use std::ops::Range;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayBase, ArrayView1, Axis, Ix2, RawData, Slice};

use super::folder::{TokenPooling, TransformerConfig};
use super::weights::{EncoderLayer, EncoderWeights, LayerNorm, LinearLayer};
use crate::embed::exponential::exponential;

/// An encoder with its weights.
pub(super) struct BertEncoder {
    pub weights: EncoderWeights,
    pub heads: usize,
    pub eps: f32,
    pub pooling: TokenPooling,
}

impl BertEncoder {
    pub(super) fn new(
        weights: EncoderWeights,
        config: &TransformerConfig,
        pooling: TokenPooling,
    ) -> Self {
        Self { weights, heads: config.num_attention_heads, eps: config.layer_norm_eps, pooling }
    }

    /// Dimension of a vector.
    pub(super) fn dimension(&self) -> usize {
        self.weights.words.ncols()
    }

    /// Returns one vector of length 1 per sequence of token ids, in order: (sequences, dimension).
    /// No sequence may be empty.
    pub(super) fn embed_sequences(&self, sequences: &[&[u32]]) -> Array2<f32> {
        let (mut states, spans) = self.token_embeddings(sequences);
        for layer in &self.weights.layers {
            self.apply_layer(layer, &mut states, &spans);
        }
        let mut vectors = Array2::zeros((sequences.len(), self.dimension()));
        for (mut vector, span) in vectors.rows_mut().into_iter().zip(spans) {
            vector.assign(&match self.pooling {
                TokenPooling::Mean => matrix_block(states.view(), &span, 0..self.dimension())
                    .mean_axis(Axis(0))
                    .expect("invariant: no sequence is empty"),
                TokenPooling::Cls => states.row(span.start).to_owned(),
            });
            let length = vector.dot(&vector).sqrt();
            if length > 0.0 {
                vector /= length;
            }
        }
        vectors
    }

    fn token_embeddings(&self, sequences: &[&[u32]]) -> (Array2<f32>, Vec<Range<usize>>) {
        let total = sequences.iter().map(|ids| ids.len()).sum();
        let mut states = Array2::zeros((total, self.dimension()));
        let mut spans = Vec::with_capacity(sequences.len());
        let mut row = 0;
        for ids in sequences {
            for (id, position) in ids.iter().zip(self.weights.positions.rows()) {
                states.row_mut(row).assign(&position);
                states.row_mut(row).scaled_add(1.0, &self.weights.words.row(*id as usize));
                row += 1;
            }
            spans.push(row - ids.len()..row);
        }
        layer_normalise(&mut states, &self.weights.embedding_norm, self.eps);
        (states, spans)
    }

    fn apply_layer(&self, layer: &EncoderLayer, states: &mut Array2<f32>, spans: &[Range<usize>]) {
        let mixed =
            self_attention(&apply_linear(states, &layer.query_key_value), self.heads, spans);
        *states += &apply_linear(&mixed, &layer.attention_output);
        layer_normalise(states, &layer.attention_norm, self.eps);
        let mut inner = apply_linear(states, &layer.expand);
        inner
            .as_slice_mut()
            .expect("invariant: a product is contiguous")
            .iter_mut()
            .for_each(|x| *x = gelu(*x));
        *states += &apply_linear(&inner, &layer.contract);
        layer_normalise(states, &layer.output_norm, self.eps);
    }
}

/// Scaled dot-product attention within each span; `projected` is (tokens, 3 hidden): queries, keys
/// and values, each with the columns of its heads one after the other.
pub(in crate::embed) fn self_attention(
    projected: &Array2<f32>,
    heads: usize,
    spans: &[Range<usize>],
) -> Array2<f32> {
    let hidden = projected.ncols() / 3;
    let width = hidden / heads;
    let scale = 1.0 / (width as f32).sqrt();
    let mut mixed = Array2::zeros((projected.nrows(), hidden));
    for span in spans {
        let mut scores = Array2::zeros((span.len(), span.len()));
        for head in (0..hidden).step_by(width) {
            let part = |offset: usize| {
                matrix_block(projected.view(), span, offset + head..offset + head + width)
            };
            general_mat_mul(scale, &part(0), &part(hidden).t(), 0.0, &mut scores);
            scores.rows_mut().into_iter().for_each(|mut row| {
                let highest = row.fold(f32::NEG_INFINITY, |a, b| a.max(*b));
                row.mapv_inplace(|x| exponential(x - highest));
                row /= row.sum();
            });
            let mut target = matrix_block(mixed.view_mut(), span, head..head + width);
            general_mat_mul(1.0, &scores, &part(2 * hidden), 0.0, &mut target);
        }
    }
    mixed
}

/// The part of a matrix in these rows and columns. (ndarray's `s!` macro does not compile in a
/// crate that forbids unsafe code.)
fn matrix_block<S: RawData>(
    mut matrix: ArrayBase<S, Ix2>,
    rows: &Range<usize>,
    columns: Range<usize>,
) -> ArrayBase<S, Ix2> {
    matrix.slice_axis_inplace(Axis(0), Slice::from(rows.clone()));
    matrix.slice_axis_inplace(Axis(1), Slice::from(columns));
    matrix
}

fn apply_linear(x: &Array2<f32>, map: &LinearLayer) -> Array2<f32> {
    let mut product = rows_of(&map.bias, x.nrows());
    general_mat_mul(1.0, x, &map.weight, 1.0, &mut product);
    product
}

fn rows_of(row: &Array1<f32>, count: usize) -> Array2<f32> {
    row.broadcast((count, row.len()))
        .expect("invariant: a row broadcasts to any number of rows")
        .to_owned()
}

/// Layer normalisation of each row (Ba et al. 2016), with the biased variance.
fn layer_normalise(x: &mut Array2<f32>, norm: &LayerNorm, eps: f32) {
    let contiguous = "invariant: arrays made from vectors are contiguous";
    let (gain, shift) =
        (norm.gain.as_slice().expect(contiguous), norm.shift.as_slice().expect(contiguous));
    for row in x.as_slice_mut().expect(contiguous).chunks_exact_mut(gain.len()) {
        let count = row.len() as f32;
        let mean = ArrayView1::from(&*row).sum() / count;
        row.iter_mut().for_each(|x| *x -= mean);
        let view = ArrayView1::from(&*row);
        let inverse = 1.0 / (view.dot(&view) / count + eps).sqrt();
        for ((x, gain), shift) in row.iter_mut().zip(gain).zip(shift) {
            *x = *x * inverse * gain + shift;
        }
    }
}

/// `x · Φ(x)` with the exact normal distribution, as in BERT.
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function as `x P(x²) / Q(x²)`, absolute error below 5e-7. P and Q come from a weighted
/// least-squares fit on [0, 4], beyond which erf is 1 in f32. Branch-free, so that the compiler
/// vectorises the loop around it.
fn erf(x: f32) -> f32 {
    const P: [f32; 7] = [
        1.128_378_6,
        0.213_945_15,
        0.052_433_528,
        0.004_293_073,
        0.000_155_537_35,
        -1.990_323_9e-6,
        1.921_72e-8,
    ];
    const Q: [f32; 5] = [1.0, 0.522_931_64, 0.120_799_81, 0.015_551_129, 0.001_098_043];
    let x = x.clamp(-4.0, 4.0);
    let square = x * x;
    let horner =
        |coefficients: &[f32]| coefficients.iter().rev().fold(0.0, |sum, c| sum * square + c);
    x * horner(&P) / horner(&Q)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Maclaurin's series in f64, exact enough for |x| <= 5.
    fn series(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * std::f64::consts::FRAC_2_SQRT_PI
    }

    #[test]
    fn erf_is_exact_to_half_a_millionth() {
        for step in -5_000..=5_000 {
            let x = step as f32 / 1_000.0;
            assert!((f64::from(erf(x)) - series(f64::from(x))).abs() < 5e-7, "{x}");
        }
        assert_eq!(erf(0.0), 0.0);
        assert!((erf(1e30) - 1.0).abs() < 5e-7 && erf(f32::NAN).is_nan());
    }
}
