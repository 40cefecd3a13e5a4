//! BM25 over single records and over windows of conversation, from the same postings.
//!
//! Okapi BM25 (Robertson and Zaragoza, 2009) without the constant `k1 + 1`, divided by the limit
//! for a record that repeats every term of the question infinitely often. The result is the share
//! of the question that the record answers, 0 to 1. A weak best match stays weak; scaling by the
//! best match would hide this.

use super::query::QueryTerm;
use crate::index::{MessageIndex, Postings};

/// Saturation of repeated terms.
pub const BM25_K1: f32 = 1.2;
/// Length correction for messages and facts.
pub const BM25_B: f32 = 0.6;
/// Length correction for longer texts.
pub const BM25_B_LONG: f32 = 0.75;

/// Each known term's share of the ideal score.
fn weigh<'a>(postings: &Postings, terms: &'a [QueryTerm]) -> Vec<(&'a str, f32)> {
    let mut known = Vec::new();
    let mut ideal = 0.0;
    for term in terms {
        let frequency = postings.document_frequency(&term.text);
        if frequency > 0 {
            let worth = term.weight * postings.idf(frequency);
            known.push((term.text.as_str(), worth));
            ideal += worth;
        } else if !term.unspaced {
            // A word that occurs in no message shows that nothing matches well. An unseen bigram
            // only shows that the text was split in the wrong place.
            ideal += term.weight * postings.idf(0);
        }
    }
    known.iter_mut().for_each(|(_, worth)| *worth /= ideal);
    known
}

fn saturation(length: f32, mean: f32, b: f32) -> f32 {
    BM25_K1 * (1.0 - b + b * length / mean)
}

/// Scaled BM25 of every slot, 0 to 1; 0 for removed slots.
pub fn bm25(postings: &Postings, terms: &[QueryTerm], b: f32) -> Vec<f32> {
    let mut scores = vec![0.0; postings.slots()];
    let mean = postings.mean_length();
    for (term, worth) in weigh(postings, terms) {
        for posting in postings.postings(term) {
            if postings.is_alive(posting.slot) {
                let tf = posting.frequency as f32;
                scores[posting.slot as usize] +=
                    worth * tf / (tf + saturation(postings.length(posting.slot) as f32, mean, b));
            }
        }
    }
    scores
}

/// Scaled BM25 of the window around every message, 0 to 1, by slot: term frequencies and lengths
/// are weighted sums over the neighbours.
pub fn windowed_bm25(index: &MessageIndex, terms: &[QueryTerm]) -> Vec<f32> {
    let postings = &index.field.postings;
    let mut scores = vec![0.0_f32; postings.slots()];
    let mean = postings.mean_length() * index.window_weight();
    let mut frequency = vec![0.0_f32; postings.slots()];
    let mut touched: Vec<u32> = Vec::new();
    for (term, worth) in weigh(postings, terms) {
        for posting in postings.postings(term) {
            index.for_each_window(posting.slot, |slot, share| {
                let sum = &mut frequency[slot as usize];
                if *sum == 0.0 {
                    touched.push(slot);
                }
                *sum += share * posting.frequency as f32;
            });
        }
        for slot in touched.drain(..) {
            let tf = std::mem::take(&mut frequency[slot as usize]);
            scores[slot as usize] +=
                worth * tf / (tf + saturation(index.window_length(slot), mean, BM25_B));
        }
    }
    scores
}
