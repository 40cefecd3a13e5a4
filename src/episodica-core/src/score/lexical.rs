//! BM25 over single records and over windows of conversation, from the same postings.
//!
//! Okapi BM25 (Robertson and Zaragoza, 2009) without the constant `k1 + 1`, divided by the limit
//! for a record that repeats every term of the question infinitely often. The result is the share
//! of the question that the record answers, 0 to 1. A weak best match stays weak; scaling by the
//! best match would hide this.

use std::iter;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::kinds::INSTANCE_SHARE;
use super::query::QueryTerm;
use super::variants::Variant;
use crate::index::{MessageIndex, Postings};

/// Saturation of repeated terms.
pub const BM25_K1: f32 = 1.2;
/// Length correction for messages and facts.
pub const BM25_B: f32 = 0.6;
/// Length correction for longer texts.
pub const BM25_B_LONG: f32 = 0.75;

/// What a message gains, as a share of the question, if it has the rarest word of the kind that is
/// asked for itself and not only around it.
const OWN_INSTANCE: f32 = 0.1;

/// A term of the question that the index knows in one form at least.
struct Known<'a> {
    /// The term, its variants and its instances, each with the share that one occurrence counts.
    forms: Vec<(&'a str, f32)>,
    /// The term's share of the ideal score.
    worth: f32,
}

/// The known terms of a question.
fn weigh<'a>(postings: &Postings, terms: &'a [QueryTerm]) -> Vec<Known<'a>> {
    let mut known = Vec::new();
    let mut ideal = 0.0;
    for term in terms {
        let form = |variant: &'a Variant| (variant.text.as_str(), variant.share);
        let mut forms: Vec<(&str, f32)> =
            iter::once((term.text.as_str(), 1.0)).chain(term.variants.iter().map(form)).collect();
        let mut frequency = 0;
        forms.retain(|(form, _)| {
            let records = postings.document_frequency(form);
            frequency += records;
            records > 0
        });
        let instances = term.instances.iter().map(form);
        forms.extend(instances.filter(|(form, _)| postings.document_frequency(form) > 0));
        if !forms.is_empty() {
            let worth = term.weight * postings.idf(frequency.min(postings.len()));
            known.push(Known { forms, worth });
            ideal += worth;
        } else if !term.unspaced {
            // A word that occurs in no message shows that nothing matches well. An unseen bigram
            // only shows that the text was split in the wrong place.
            ideal += term.weight * postings.idf(0);
        }
    }
    known.iter_mut().for_each(|known| known.worth /= ideal);
    known
}

/// Ranges of slots that have a term; they may overlap.
#[derive(Default)]
struct Touched(Vec<Range<usize>>);

impl Touched {
    fn add(&mut self, slots: Range<usize>) {
        match self.0.last_mut() {
            Some(last) if (last.start..=last.end).contains(&slots.start) => {
                last.end = last.end.max(slots.end);
            }
            _ => self.0.push(slots),
        }
    }
}

fn saturation(length: f32, mean: f32, b: f32) -> f32 {
    BM25_K1 * (1.0 - b + b * length / mean)
}

/// Scaled BM25 of every slot, 0 to 1; 0 for removed slots.
pub fn bm25(postings: &Postings, terms: &[QueryTerm], b: f32) -> Vec<f32> {
    let mut scores = vec![0.0; postings.slots()];
    let mean = postings.mean_length();
    let scored = |slot: u32, tf: f32| tf / (tf + saturation(postings.length(slot) as f32, mean, b));
    let alive = |form: &str| {
        postings.postings(form).iter().filter(|posting| postings.is_alive(posting.slot))
    };
    // By slot, while a term of several forms is counted; `touched` has the slots above zero.
    let mut frequencies: Vec<f32> = Vec::new();
    let mut touched: Vec<u32> = Vec::new();
    for Known { forms, worth } in weigh(postings, terms) {
        if let [(form, share)] = forms[..] {
            for posting in alive(form) {
                scores[posting.slot as usize] +=
                    worth * scored(posting.slot, share * posting.frequency as f32);
            }
            continue;
        }
        frequencies.resize(postings.slots(), 0.0);
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

/// Scaled BM25 of the window around every message, 0 to 1, by slot: term frequencies and lengths
/// are weighted sums over the neighbours.
pub fn windowed_bm25(index: &MessageIndex, terms: &[QueryTerm]) -> Vec<f32> {
    let postings = &index.field.postings;
    let mut scores = vec![0.0_f32; postings.slots()];
    let mean = postings.mean_length() * index.window_weight();
    let mut frequencies = vec![0.0_f32; postings.slots()];
    let mut touched = Touched::default();
    for Known { forms, worth } in weigh(postings, terms) {
        for (form, counts) in forms {
            for posting in postings.postings(form) {
                let counts = counts * posting.frequency as f32;
                index.lend(posting.slot, counts, &mut frequencies, |slots| touched.add(slots));
            }
        }
        for slots in touched.0.drain(..) {
            let lengths = &index.window_lengths()[slots.clone()];
            let of_slots = scores[slots.clone()].iter_mut().zip(&mut frequencies[slots]);
            for ((score, frequency), length) in of_slots.zip(lengths) {
                // Slots that stand here twice add nothing the second time.
                let tf = std::mem::take(frequency);
                *score += worth * tf / (tf + saturation(*length, mean, BM25_B));
            }
        }
    }
    // Rarer words of a kind say more, and a message gains by the rarest.
    let mut gains: FxHashMap<u32, f32> = FxHashMap::default();
    for Variant { text, share } in terms.iter().flat_map(|term| &term.instances) {
        for posting in postings.postings(text) {
            let gain = gains.entry(posting.slot).or_insert(0.0);
            *gain = gain.max(OWN_INSTANCE * share / INSTANCE_SHARE);
        }
    }
    for (slot, gain) in gains {
        let score = &mut scores[slot as usize];
        *score = (*score + gain).min(1.0);
    }
    scores
}
