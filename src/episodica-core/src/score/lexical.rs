//! BM25 over single records. [`super::windowed`] computes it over windows of conversation, from the
//! same postings.
//!
//! This is Okapi BM25 (Robertson and Zaragoza, 2009) without the constant `k1 + 1`, divided by the
//! score of a record that repeats every term of the question infinitely often. The result is the
//! share of the question that the record answers, 0 to 1. Unlike scaling by the best match, this
//! leaves a weak best match weak.

use std::iter;

use super::query::QueryTerm;
use super::variants::WordVariant;
use crate::index::Postings;

/// Saturation of repeated terms.
pub const BM25_K1: f32 = 1.2;
/// Length normalisation for messages and facts.
pub const BM25_B: f32 = 0.6;
/// Length normalisation for longer texts.
pub const BM25_B_LONG: f32 = 0.75;

/// A term of the question of which the index contains at least one form.
pub(super) struct KnownTerm<'a> {
    /// The term and its variants, each with the weight of one occurrence.
    pub forms: Vec<(&'a str, f32)>,
    /// The term's share of the ideal score.
    pub worth: f32,
}

/// The known terms of a question.
pub(super) fn weigh<'a>(postings: &Postings, terms: &'a [QueryTerm]) -> Vec<KnownTerm<'a>> {
    let mut known = Vec::new();
    let mut ideal = 0.0;
    for term in terms {
        let form = |variant: &'a WordVariant| (variant.text.as_str(), variant.share);
        let mut forms: Vec<(&str, f32)> =
            iter::once((term.text.as_str(), 1.0)).chain(term.variants.iter().map(form)).collect();
        let mut frequency = 0;
        forms.retain(|(form, _)| {
            let records = postings.document_frequency(form);
            frequency += records;
            records > 0
        });
        if !forms.is_empty() {
            let worth = term.weight * postings.idf(frequency.min(postings.len()));
            known.push(KnownTerm { forms, worth });
            ideal += worth;
        } else if !term.unspaced {
            // A word that occurs in no message lowers every score: nothing matches well. An unseen
            // bigram does not, since it may only mean that the text was split in the wrong place.
            ideal += term.weight * postings.idf(0);
        }
    }
    known.iter_mut().for_each(|known| known.worth /= ideal);
    known
}

pub(super) fn saturation(length: f32, mean: f32, b: f32) -> f32 {
    BM25_K1 * (1.0 - b + b * length / mean)
}

/// Scaled BM25 of every slot, 0 to 1; 0 for removed slots.
pub fn bm25(postings: &Postings, terms: &[QueryTerm], b: f32) -> Vec<f32> {
    let mut scores = vec![0.0; postings.slot_count()];
    let mean = postings.mean_length();
    let scored =
        |slot: u32, tf: f32| tf / (tf + saturation(postings.term_count(slot) as f32, mean, b));
    let alive = |form: &str| {
        postings.term_postings(form).iter().filter(|posting| postings.is_alive(posting.slot))
    };
    // Indexed by slot while a term of several forms is counted; `touched` lists the slots above
    // zero.
    let mut frequencies: Vec<f32> = Vec::new();
    let mut touched: Vec<u32> = Vec::new();
    for KnownTerm { forms, worth } in weigh(postings, terms) {
        if let [(form, share)] = forms[..] {
            for posting in alive(form) {
                scores[posting.slot as usize] +=
                    worth * scored(posting.slot, share * posting.frequency as f32);
            }
            continue;
        }
        frequencies.resize(postings.slot_count(), 0.0);
        for (form, share) in forms {
            for posting in alive(form) {
                let sum = &mut frequencies[posting.slot as usize];
                if *sum == 0.0 {
                    touched.push(posting.slot);
                }
                *sum += share * posting.frequency as f32;
            }
        }
        for slot in touched.drain(..) {
            let frequency = std::mem::take(&mut frequencies[slot as usize]);
            scores[slot as usize] += worth * scored(slot, frequency);
        }
    }
    scores
}
