//! Late interaction (MaxSim; Khattab and Zaharia, SIGIR 2020): matches every word of the question
//! with its nearest word in a text by the static token table, which is available with every
//! embedder.

use episodica_simd::inner_product_i8;
use rustc_hash::FxHashSet;

use crate::embed::{StaticTable, TokenVector};

/// Maximum number of distinct question tokens that are compared, the most informative first: each
/// costs one row per token of every text.
const MAX_TOKENS: usize = 128;
/// Number of question tokens whose best cosines are in one row of `maxima`, to be updated at once.
const LANES: usize = 8;
/// Number of tokens in a part of a text, one or two sentences. Parts overlap by half.
const PART: usize = 48;

/// The operations of a token table that late interaction uses.
pub trait TokenTable: Send + Sync {
    /// The tokens of a text.
    fn ids(&self, text: &str) -> Vec<u16>;
    /// How informative a token is: the norm of its row, which falls with the token's frequency.
    fn weight(&self, id: u16) -> f32;
    /// Cosine of two tokens' rows.
    fn cosine(&self, a: u16, b: u16) -> f32;
    /// Appends to `cosines` the cosine of `token` and each of `ids`.
    fn cosines(&self, ids: &[u16], token: u16, cosines: &mut Vec<f32>) {
        cosines.extend(ids.iter().map(|id| self.cosine(*id, token)));
    }
    /// Median of all weights.
    fn typical_weight(&self) -> f32;
}

impl TokenTable for StaticTable {
    fn ids(&self, text: &str) -> Vec<u16> {
        self.token_ids(text)
    }

    fn weight(&self, id: u16) -> f32 {
        self.token_vector(id).norm
    }

    fn cosine(&self, a: u16, b: u16) -> f32 {
        cosine(self.token_vector(a), self.token_vector(b))
    }

    fn cosines(&self, ids: &[u16], token: u16, cosines: &mut Vec<f32>) {
        let token = self.token_vector(token);
        cosines.extend(ids.iter().map(|id| cosine(self.token_vector(*id), token)));
    }

    fn typical_weight(&self) -> f32 {
        self.median_norm()
    }
}

fn cosine(a: TokenVector, b: TokenVector) -> f32 {
    let norms = a.norm * b.norm;
    if norms <= 0.0 {
        return 0.0;
    }
    inner_product_i8(a.row, b.row) as f32 * (a.scale * b.scale / norms)
}

/// A question's tokens, prepared for comparison with many texts. The cosine of a pair of tokens is
/// computed only once.
pub struct MaxSim<'a> {
    table: &'a dyn TokenTable,
    ids: Vec<u16>,
    weights: Vec<f32>,
    /// For each token of the vocabulary, its number among the tokens seen so far, from 1; 0 = not
    /// seen.
    places: Vec<u16>,
    seen: usize,
    /// For each token seen, its cosines with the question's tokens, [`LANES`] at a time.
    rows: Vec<[f32; LANES]>,
    maxima: Vec<[f32; LANES]>,
    cosines: Vec<f32>,
}

impl<'a> MaxSim<'a> {
    /// Prepares the distinct tokens of a question, the most informative ones if there are too many.
    pub fn new(table: &'a dyn TokenTable, text: &str) -> Self {
        let mut seen = FxHashSet::default();
        let mut ids: Vec<u16> = table.ids(text);
        ids.retain(|id| table.weight(*id) > 0.0 && seen.insert(*id));
        if ids.len() > MAX_TOKENS {
            ids.sort_by(|a, b| table.weight(*b).total_cmp(&table.weight(*a)).then(a.cmp(b)));
            ids.truncate(MAX_TOKENS);
        }
        let total: f32 = ids.iter().map(|id| table.weight(*id)).sum();
        let weights: Vec<f32> = ids.iter().map(|id| table.weight(*id) / total).collect();
        Self {
            table,
            maxima: vec![[0.0; LANES]; ids.len().div_ceil(LANES)],
            ids,
            weights,
            places: vec![0; 1 << 16],
            seen: 0,
            rows: Vec::new(),
            cosines: Vec::new(),
        }
    }

    /// The best cosine (at least 0) of each question token among the text's tokens, averaged with
    /// the question tokens' weights.
    pub fn score(&mut self, tokens: &[u16]) -> f32 {
        self.maxima.fill([0.0; LANES]);
        for token in tokens {
            let mut number = usize::from(self.places[usize::from(*token)]);
            if number == 0 {
                self.seen += 1;
                number = self.seen;
                // The vocabulary has fewer tokens than `u16` has values, so the number never wraps
                // to 0.
                self.places[usize::from(*token)] = number as u16;
                self.compare(*token);
            }
            let at = (number - 1) * self.maxima.len();
            for (maxima, row) in self.maxima.iter_mut().zip(&self.rows[at..]) {
                for (maximum, value) in maxima.iter_mut().zip(row) {
                    // One instruction; `f32::max` also tests for NaN.
                    *maximum = if *value > *maximum { *value } else { *maximum };
                }
            }
        }
        let maxima = self.maxima.as_flattened();
        maxima.iter().zip(&self.weights).map(|(maximum, weight)| maximum * weight).sum()
    }

    /// [`MaxSim::score`] of the best part of a text. A long text as a whole has a near word for
    /// every word of a question.
    pub fn score_best_part(&mut self, tokens: &[u16]) -> f32 {
        let mut best = 0.0_f32;
        let mut start = 0;
        loop {
            let end = (start + PART).min(tokens.len());
            best = best.max(self.score(&tokens[start..end]));
            if end == tokens.len() {
                return best;
            }
            start += PART / 2;
        }
    }

    /// Appends the cosines of a token with the question's tokens.
    fn compare(&mut self, token: u16) {
        self.cosines.clear();
        self.table.cosines(&self.ids, token, &mut self.cosines);
        self.rows.extend(self.cosines.chunks(LANES).map(|values| {
            let mut row = [0.0; LANES];
            row[..values.len()].copy_from_slice(values);
            row
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_words_score_one_and_near_words_more_than_far_ones() {
        let table = StaticTable::shared();
        let mut question = MaxSim::new(table, "doctor");
        assert!((question.score(&table.ids("the doctor came")) - 1.0).abs() < 1e-5);
        assert!(
            question.score(&table.ids("a nurse")) > question.score(&table.ids("a bicycle")) + 0.1
        );
        assert_eq!(question.score(&[]), 0.0);
        assert_eq!(MaxSim::new(table, "").score(&table.ids("word")), 0.0);
    }
}
