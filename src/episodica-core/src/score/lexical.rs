//! BM25 over single records and over windows of talk, from the same postings.
//!
//! Okapi BM25 (Robertson and Zaragoza, 2009) without the constant `k1 + 1`, divided by what a record would score that held every term of the question
//! without end: 0 to 1, comparable between questions. A weak best match stays weak, which scaling by the best match would hide.

use crate::index::{MessageIndex, Postings, is_unspaced};

/// Saturation of repeated terms.
pub const BM25_K1: f32 = 1.2;
/// Correction for length.
pub const BM25_B: f32 = 0.6;

/// The idf of each term with postings, and what the ideal record scores.
fn weigh<'a>(postings: &Postings, terms: &'a [String]) -> (Vec<(&'a str, f32)>, f32) {
    let mut known = Vec::new();
    let mut ideal = 0.0;
    for term in terms {
        let frequency = postings.document_frequency(term);
        if frequency > 0 {
            let idf = postings.idf(frequency);
            known.push((term.as_str(), idf));
            ideal += idf;
        } else if !term.starts_with(is_unspaced) {
            // A word nobody ever said tells that nothing matches well; an unseen bigram only that it was cut in the wrong place.
            ideal += postings.idf(0);
        }
    }
    (known, ideal)
}

fn saturation(length: f32, mean: f32) -> f32 {
    BM25_K1 * (1.0 - BM25_B + BM25_B * length / mean)
}

/// The scaled BM25 of every slot, 0 to 1.
pub fn bm25(postings: &Postings, terms: &[String]) -> Vec<f32> {
    let mut scores = vec![0.0; postings.slots()];
    let (known, ideal) = weigh(postings, terms);
    let mean = postings.mean_length();
    for (term, idf) in known {
        for posting in postings.postings(term) {
            if postings.is_alive(posting.slot) {
                let tf = posting.frequency as f32;
                scores[posting.slot as usize] += idf / ideal * tf / (tf + saturation(postings.length(posting.slot) as f32, mean));
            }
        }
    }
    scores
}

/// The scaled BM25 of the window around every message, 0 to 1: term frequencies and lengths are weighted sums over the neighbours.
pub fn windowed_bm25(index: &MessageIndex, terms: &[String]) -> Vec<f32> {
    let postings = &index.field.postings;
    let mut scores = vec![0.0; postings.slots()];
    let (known, ideal) = weigh(postings, terms);
    if known.is_empty() {
        return scores;
    }
    let mean = index.mean_window_length();
    let mut frequency = vec![0.0_f32; postings.slots()];
    let mut touched: Vec<u32> = Vec::new();
    for (term, idf) in known {
        let mut lend = |slot: u32, amount: f32| {
            let sum = &mut frequency[slot as usize];
            if *sum == 0.0 {
                touched.push(slot);
            }
            *sum += amount;
        };
        for posting in postings.postings(term) {
            index.for_each_window(posting.slot, |slot, worth| lend(slot, worth * posting.frequency as f32));
        }
        for slot in touched.drain(..) {
            let tf = std::mem::take(&mut frequency[slot as usize]);
            scores[slot as usize] += idf / ideal * tf / (tf + saturation(index.window_length(slot), mean));
        }
    }
    scores
}
