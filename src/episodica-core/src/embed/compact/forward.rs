//! The forward pass: a table of pieces, attention, a map of two layers, and weighted means.
//!
//! Before attention and before the map each token takes a share of its two neighbours on either
//! side (a convolution of each dimension by itself), which tells the order of words.

use std::ops::Range;

use bytemuck::cast_slice;
use half::f16;
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis, Slice};
use safetensors::SafeTensors;

use crate::embed::exponential::exponential;
use crate::embed::transformer::self_attention;

/// Dimension of a vector, and width of the table.
pub(super) const DIMENSION: usize = 256;
const ROW_BYTES: usize = DIMENSION / 2;
const ATTENTION_HEADS: usize = 4;
/// Means of a text's tokens, each with weights of its own.
const MEANS: usize = 4;
const REACH: usize = 2;
const EPSILON: f32 = 1e-6;

/// The weights.
pub(super) struct CompactEncoder {
    /// Two values of 4 bits in a byte.
    rows: &'static [[u8; ROW_BYTES]],
    scales: Vec<f32>,
    attention_gain: Vec<f32>,
    attention_neighbours: Array2<f32>,
    query_key_value: Array2<f32>,
    attention_output: Array2<f32>,
    map_gain: Vec<f32>,
    map_neighbours: Array2<f32>,
    expand: Array2<f32>,
    expand_bias: Vec<f32>,
    contract: Array2<f32>,
    mean_gain: Vec<f32>,
    mean_weights: Array2<f32>,
    mean_bias: Vec<f32>,
    head_gain: Vec<f32>,
    head: Array2<f32>,
    head_expand: Array2<f32>,
    head_bias: Vec<f32>,
    head_contract: Array2<f32>,
}

impl CompactEncoder {
    pub(super) fn new(file: &'static [u8]) -> Self {
        let tensors = SafeTensors::deserialize(file)
            .expect("invariant: the file in the package is the one a test has checked");
        let tensor =
            |name: &str| tensors.tensor(name).expect("invariant: the file has all tensors");
        let vector = |name: &str| -> Vec<f32> {
            let (halves, _) = tensor(name).data().as_chunks();
            halves.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect()
        };
        let matrix = |name: &str| {
            let shape = (tensor(name).shape()[0], tensor(name).shape()[1]);
            Array2::from_shape_vec(shape, vector(name))
                .expect("invariant: a tensor has as many values as its shape says")
        };
        let (scales, _) = tensor("scales").data().as_chunks();
        Self {
            rows: cast_slice::<u8, [u8; ROW_BYTES]>(tensor("embeddings").data()),
            scales: scales.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
            attention_gain: vector("g1"),
            attention_neighbours: matrix("c1"),
            query_key_value: matrix("qkv"),
            attention_output: matrix("o"),
            map_gain: vector("g2"),
            map_neighbours: matrix("c2"),
            expand: matrix("w1"),
            expand_bias: vector("b1"),
            contract: matrix("w2"),
            mean_gain: vector("gp"),
            mean_weights: matrix("wg"),
            mean_bias: vector("bg"),
            head_gain: vector("gh"),
            head: matrix("h0"),
            head_expand: matrix("h1"),
            head_bias: vector("hb"),
            head_contract: matrix("h2"),
        }
    }

    /// The mean of the pieces' rows, of the first two and of the last two, each of length 1; `None`
    /// for no pieces. Costs a thousandth of a vector.
    pub(super) fn table_means(&self, ids: &[u16]) -> Option<[f32; 3 * DIMENSION]> {
        let mut means = [0.0; 3 * DIMENSION];
        let (all, ends) = means.split_at_mut(DIMENSION);
        let (first, last) = ends.split_at_mut(DIMENSION);
        for (place, id) in ids.iter().enumerate() {
            let row = self.piece_row(*id);
            let add = |sums: &mut [f32]| sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
            add(all);
            if place < 2 {
                add(first);
            }
            if place + 2 >= ids.len() {
                add(last);
            }
        }
        for part in [all, first, last] {
            let length = part.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length == 0.0 {
                return None;
            }
            part.iter_mut().for_each(|x| *x /= length);
        }
        Some(means)
    }

    /// The row of a piece in the table.
    fn piece_row(&self, id: u16) -> [f32; DIMENSION] {
        let at = usize::from(id);
        let mut row = [0.0; DIMENSION];
        for (pair, byte) in row.as_chunks_mut::<2>().0.iter_mut().zip(&self.rows[at]) {
            *pair = [byte & 15, byte >> 4].map(|bits| (f32::from(bits) - 8.0) * self.scales[at]);
        }
        row
    }

    /// Returns one vector of length 1 for each sequence of ids, in order. No sequence may be empty.
    pub(super) fn embed_sequences(&self, sequences: &[&[u16]]) -> Array2<f32> {
        let total = sequences.iter().map(|ids| ids.len()).sum();
        let mut states = Array2::zeros((total, DIMENSION));
        let ids = sequences.iter().flat_map(|ids| ids.iter());
        for (mut state, id) in states.rows_mut().into_iter().zip(ids) {
            let at = usize::from(*id);
            let state = state.as_slice_mut().expect("invariant: a row is contiguous");
            for (pair, byte) in state.as_chunks_mut::<2>().0.iter_mut().zip(&self.rows[at]) {
                *pair =
                    [byte & 15, byte >> 4].map(|bits| (f32::from(bits) - 8.0) * self.scales[at]);
            }
        }
        let mut end = 0;
        let spans: Vec<Range<usize>> = sequences
            .iter()
            .map(|ids| {
                end += ids.len();
                end - ids.len()..end
            })
            .collect();

        let input = with_neighbours(
            &rms_normalised(&states, &self.attention_gain),
            &self.attention_neighbours,
            &spans,
        );
        let mixed = self_attention(&input.dot(&self.query_key_value), ATTENTION_HEADS, &spans);
        states += &mixed.dot(&self.attention_output);
        let input =
            with_neighbours(&rms_normalised(&states, &self.map_gain), &self.map_neighbours, &spans);
        states += &gelu_layer(&input, &self.expand, &self.expand_bias).dot(&self.contract);

        let means = rms_normalised(&self.span_means(&states, &spans), &self.head_gain);
        let mut vectors = means.dot(&self.head);
        vectors += &gelu_layer(&means, &self.head_expand, &self.head_bias).dot(&self.head_contract);
        for mut vector in vectors.rows_mut() {
            let length = vector.dot(&vector).sqrt();
            if length > 0.0 {
                vector /= length;
            }
        }
        vectors
    }

    /// The weighted means of each span, one after the other: (spans, means × dimension).
    fn span_means(&self, states: &Array2<f32>, spans: &[Range<usize>]) -> Array2<f32> {
        let mut weights = rms_normalised(states, &self.mean_gain).dot(&self.mean_weights);
        for mut row in weights.rows_mut() {
            for (weight, bias) in row.iter_mut().zip(&self.mean_bias) {
                *weight = softplus(*weight + bias);
            }
        }
        let mut means = Array2::zeros((spans.len(), MEANS * DIMENSION));
        for (span, mut row) in spans.iter().zip(means.rows_mut()) {
            let part = |matrix: &'_ Array2<f32>| span_rows(matrix.view(), span).to_owned();
            let mut weights = part(&weights);
            weights /= &(weights.sum_axis(Axis(0)) + EPSILON);
            let product = weights.t().dot(&span_rows(states.view(), span));
            row.iter_mut().zip(product.iter()).for_each(|(to, from)| *to = *from);
        }
        means
    }
}

fn span_rows<'a>(mut matrix: ArrayView2<'a, f32>, span: &Range<usize>) -> ArrayView2<'a, f32> {
    matrix.slice_axis_inplace(Axis(0), Slice::from(span.clone()));
    matrix
}

/// Rows of mean square 1, times a gain for each column (Zhang and Sennrich 2019).
fn rms_normalised(x: &Array2<f32>, gain: &[f32]) -> Array2<f32> {
    let mut result = x.clone();
    for mut row in result.rows_mut() {
        let inverse = 1.0 / (row.dot(&row) / gain.len() as f32 + EPSILON).sqrt();
        row.iter_mut().zip(gain).for_each(|(x, gain)| *x *= inverse * gain);
    }
    result
}

/// Adds the neighbours of each row within its span, weighted by distance and column.
fn with_neighbours(x: &Array2<f32>, weights: &Array2<f32>, spans: &[Range<usize>]) -> Array2<f32> {
    let mut result = x.clone();
    let contiguous = "invariant: arrays made from vectors are contiguous";
    // Arrays of a length known to the compiler, which then uses vector instructions.
    let (sources, _) = x.as_slice().expect(contiguous).as_chunks::<DIMENSION>();
    let (weights, _) = weights.as_slice().expect(contiguous).as_chunks::<DIMENSION>();
    let (targets, _) = result.as_slice_mut().expect(contiguous).as_chunks_mut::<DIMENSION>();
    for span in spans {
        for at in span.clone() {
            for from in at.saturating_sub(REACH).max(span.start)..(at + REACH + 1).min(span.end) {
                let weight = &weights[from + REACH - at];
                for column in 0..DIMENSION {
                    targets[at][column] += sources[from][column] * weight[column];
                }
            }
        }
    }
    result
}

/// `gelu(x · map + bias)`.
fn gelu_layer(x: &Array2<f32>, map: &Array2<f32>, bias: &[f32]) -> Array2<f32> {
    let mut product = Array2::zeros((x.nrows(), map.ncols()));
    general_mat_mul(1.0, x, map, 0.0, &mut product);
    for mut row in product.rows_mut() {
        row.iter_mut().zip(bias).for_each(|(x, bias)| *x = gelu(*x + bias));
    }
    product
}

/// The form of GELU with tanh, with which the encoder was trained.
fn gelu(x: f32) -> f32 {
    x / (1.0 + exponential(-1.595_769 * (x + 0.044_715 * x * x * x)))
}

fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}
