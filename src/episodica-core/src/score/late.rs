//! Late interaction: every word of the question looks for its nearest word in a message (MaxSim; Khattab and Zaharia, SIGIR 2020),
//! over the rows of the static token table, which both sides have whatever embedder is in use.

use crate::index::MessageIndex;

/// What late interaction needs of a token table.
pub trait TokenTable: Send + Sync {
    /// The WordPiece ids of a text, unknown words left out.
    fn ids(&self, text: &str) -> Vec<u16>;
    /// How telling a token is: the length of its row, which falls with its frequency.
    fn weight(&self, id: u16) -> f32;
    /// The cosine of the rows of two tokens.
    fn cosine(&self, a: u16, b: u16) -> f32;
}

/// How much a neighbour's word is worth, from three messages before to one after: what was said before explains a turn.
const WINDOW: [f32; 5] = [0.4, 0.5, 0.7, 1.0, 0.4];
const BEFORE: usize = 3;

/// The windowed MaxSim of each of `slots` with the question's tokens, not scaled: mean over the distinct tokens, weighted by how telling they are,
/// of the best cosine (0 at least) in the message or, discounted, in its neighbours.
pub fn windowed_maxsim(table: &dyn TokenTable, query_ids: &[u16], index: &MessageIndex, slots: &[u32]) -> Vec<f32> {
    let mut ids: Vec<u16> = Vec::new();
    for id in query_ids {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    let total: f32 = ids.iter().map(|id| table.weight(*id)).sum();
    if ids.is_empty() || total <= 0.0 {
        return vec![0.0; slots.len()];
    }
    let weights: Vec<f32> = ids.iter().map(|id| table.weight(*id) / total).collect();
    let mut best =
        Best { table, ids: &ids, index, cosines: vec![u32::MAX; 1 << 16], rows: Vec::new(), messages: std::collections::HashMap::new() };
    slots
        .iter()
        .map(|slot| {
            let mut window = [None; 5];
            window[BEFORE] = Some(*slot);
            for back in (0..BEFORE).rev() {
                window[back] = window[back + 1].and_then(|slot| index.previous(slot));
            }
            window[BEFORE + 1] = index.next(*slot);
            let mut maxima = vec![0.0_f32; ids.len()];
            for (slot, worth) in window.iter().zip(WINDOW) {
                if let Some(slot) = slot {
                    let message = best.of_message(*slot);
                    for (maximum, value) in maxima.iter_mut().zip(message) {
                        *maximum = maximum.max(worth * value);
                    }
                }
            }
            maxima.iter().zip(&weights).map(|(maximum, weight)| maximum * weight).sum()
        })
        .collect()
}

/// The best cosine of each query token in a message, each pair of tokens and each message computed once.
struct Best<'a> {
    table: &'a dyn TokenTable,
    ids: &'a [u16],
    index: &'a MessageIndex,
    /// For each token of the vocabulary, where its cosines begin in `rows`.
    cosines: Vec<u32>,
    rows: Vec<f32>,
    messages: std::collections::HashMap<u32, Vec<f32>>,
}

impl Best<'_> {
    fn of_message(&mut self, slot: u32) -> &[f32] {
        if !self.messages.contains_key(&slot) {
            let mut maxima = vec![0.0_f32; self.ids.len()];
            for token in self.index.tokens(slot) {
                let mut at = self.cosines[usize::from(*token)];
                if at == u32::MAX {
                    at = self.rows.len() as u32;
                    self.cosines[usize::from(*token)] = at;
                    self.rows.extend(self.ids.iter().map(|id| self.table.cosine(*id, *token)));
                }
                let row = &self.rows[at as usize..at as usize + self.ids.len()];
                for (maximum, value) in maxima.iter_mut().zip(row) {
                    *maximum = maximum.max(*value);
                }
            }
            self.messages.insert(slot, maxima);
        }
        &self.messages[&slot]
    }
}
