//! Late interaction: every word of the question looks for its nearest word in a text (MaxSim; Khattab and Zaharia, SIGIR 2020), over the
//! rows of the static token table, which both sides have whatever embedder is in use.

use crate::embed::StaticTable;

/// What late interaction needs of a token table.
pub trait TokenTable: Send + Sync {
    /// The tokens of a text.
    fn ids(&self, text: &str) -> Vec<u16>;
    /// How telling a token is: the length of its row, which falls with its frequency.
    fn weight(&self, id: u16) -> f32;
    /// The cosine of the rows of two tokens.
    fn cosine(&self, a: u16, b: u16) -> f32;
    /// The median of all weights.
    fn typical_weight(&self) -> f32;
}

impl TokenTable for StaticTable {
    fn ids(&self, text: &str) -> Vec<u16> {
        self.token_ids(text)
    }

    fn weight(&self, id: u16) -> f32 {
        self.token(id).norm
    }

    fn cosine(&self, a: u16, b: u16) -> f32 {
        let (a, b) = (self.token(a), self.token(b));
        let norms = a.norm * b.norm;
        if norms <= 0.0 {
            return 0.0;
        }
        let dot: i32 = a.row.iter().zip(b.row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        dot as f32 * (a.scale * b.scale / norms)
    }

    fn typical_weight(&self) -> f32 {
        self.median_norm()
    }
}

/// A question's tokens, ready to be compared with many texts: each pair of tokens is compared once.
pub struct MaxSim<'a> {
    table: &'a dyn TokenTable,
    ids: Vec<u16>,
    weights: Vec<f32>,
    /// For each token of any vocabulary, where its cosines begin in `rows`.
    places: Vec<u32>,
    rows: Vec<f32>,
    maxima: Vec<f32>,
}

impl<'a> MaxSim<'a> {
    /// Takes the distinct tokens of a text.
    pub fn new(table: &'a dyn TokenTable, text: &str) -> Self {
        let mut ids: Vec<u16> = Vec::new();
        for id in table.ids(text) {
            if table.weight(id) > 0.0 && !ids.contains(&id) {
                ids.push(id);
            }
        }
        let total: f32 = ids.iter().map(|id| table.weight(*id)).sum();
        let weights: Vec<f32> = ids.iter().map(|id| table.weight(*id) / total).collect();
        let maxima = vec![0.0; ids.len()];
        Self { table, ids, weights, places: vec![u32::MAX; 1 << 16], rows: Vec::new(), maxima }
    }

    /// Mean over the question's tokens, weighted by how telling they are, of the best cosine among the text's tokens (0 at least).
    pub fn score(&mut self, tokens: &[u16]) -> f32 {
        self.maxima.fill(0.0);
        for token in tokens {
            let mut at = self.places[usize::from(*token)] as usize;
            if at == u32::MAX as usize {
                at = self.rows.len();
                self.places[usize::from(*token)] = at as u32;
                self.rows.extend(self.ids.iter().map(|id| self.table.cosine(*id, *token)));
            }
            for (maximum, value) in self.maxima.iter_mut().zip(&self.rows[at..]) {
                *maximum = maximum.max(*value);
            }
        }
        self.maxima.iter().zip(&self.weights).map(|(maximum, weight)| maximum * weight).sum()
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
        assert!(question.score(&table.ids("a nurse")) > question.score(&table.ids("a bicycle")) + 0.1);
        assert_eq!(question.score(&[]), 0.0);
        assert_eq!(MaxSim::new(table, "").score(&table.ids("word")), 0.0);
    }
}
