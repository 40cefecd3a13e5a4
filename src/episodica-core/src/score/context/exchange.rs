//! What belongs to a message in the talk: the reply to a question, the question of a short reply,
//! and what its speaker says later about the same thing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::text::Place;
use crate::index::{MessageIndex, for_each_term};
use crate::text::script::is_unspaced;

/// A message asks if a question mark stands in its last characters, of about a sentence.
const LAST_CHARS: usize = 80;
/// A reply of at most so many words can't be understood without its question.
const SHORT_REPLY: usize = 8;
/// A message of at most so many words that answers no question is small talk, if each of them
/// stands in one of so many messages, and in so many at least.
const SMALL_TALK: usize = 3;
const OFTEN: usize = 100;
const LEAST_OFTEN: usize = 5;
/// Characters that count as a word where words are written without spaces.
const CHARS_OF_A_WORD: usize = 2;
/// Least cosine of the rare words of two messages about the same thing.
const LEAST_COSINE: f32 = 0.1;
/// Words in more messages than these tell nothing about the subject.
const COMMON: usize = 2_048;
/// Later messages that are compared as a whole: those that share the rarest words.
const COMPARED: usize = 16;

fn asks(content: &str) -> bool {
    content.chars().rev().take(LAST_CHARS).any(|c| matches!(c, '?' | '？' | '؟'))
}

fn is_by_same_speaker(index: &MessageIndex, one: u32, other: u32) -> bool {
    index.get(one).speaker() == index.get(other).speaker()
}

/// The reply of somebody else to a message that asks.
pub(super) fn reply_to(index: &MessageIndex, slot: u32) -> Option<u32> {
    let next = asks(&index.get(slot).content).then(|| index.next(slot))?;
    next.filter(|next| !is_by_same_speaker(index, slot, *next))
}

/// The question of somebody else to which a message replies in a few words.
pub(super) fn question_of(index: &MessageIndex, slot: u32) -> Option<u32> {
    let is_short = has_at_most(&index.get(slot).content, SHORT_REPLY);
    let before = if is_short { index.previous(slot) } else { None };
    before.filter(|before| {
        !is_by_same_speaker(index, slot, *before) && asks(&index.get(*before).content)
    })
}

/// True of a message such as "Yeah!" that answers no question: a few words that many messages have.
pub(super) fn is_small_talk(index: &MessageIndex, slot: u32) -> bool {
    let content = &index.get(slot).content;
    if !has_at_most(content, SMALL_TALK) || question_of(index, slot).is_some() {
        return false;
    }
    let postings = &index.field.postings;
    let (least, mut is_common) = ((index.len() / OFTEN).max(LEAST_OFTEN), true);
    for_each_term(content, |term| is_common &= postings.document_frequency(term.text) >= least);
    is_common
}

/// True if a text has at most so many words.
fn has_at_most(content: &str, words: usize) -> bool {
    let word = |word: &str| {
        let unspaced = word.chars().filter(|c| is_unspaced(*c)).count();
        unspaced.div_ceil(CHARS_OF_A_WORD).max(1)
    };
    let mut counted = 0;
    content.split_whitespace().all(|part| {
        counted += word(part);
        counted <= words
    })
}

/// The message that its speaker says later, at another `place`, and that shares most rare words.
pub(super) fn said_later(
    index: &MessageIndex,
    slot: u32,
    place: impl Fn(u32) -> Place,
    admits: &dyn Fn(u32) -> bool,
) -> Option<u32> {
    let postings = &index.field.postings;
    let weights = |content: &str| {
        let mut weights: FxHashMap<String, f32> = FxHashMap::default();
        for_each_term(content, |term| {
            let weight = || postings.idf(postings.document_frequency(term.text)).powi(2);
            weights.entry(term.text.to_owned()).or_insert_with(weight);
        });
        weights
    };
    let own = weights(&index.get(slot).content);
    let (time, here) = (index.get(slot).timestamp, place(slot));
    let mut shared: FxHashMap<u32, f32> = FxHashMap::default();
    let mut other: FxHashSet<u32> = FxHashSet::default();
    for (term, weight) in &own {
        if postings.document_frequency(term) > COMMON {
            continue;
        }
        for posting in postings.postings(term) {
            let later = posting.slot;
            if later == slot || other.contains(&later) {
                continue;
            }
            let is_candidate = shared.contains_key(&later)
                || index.contains(later)
                    && index.get(later).timestamp > time
                    && is_by_same_speaker(index, slot, later)
                    && place(later) != here
                    && admits(later);
            if is_candidate {
                *shared.entry(later).or_default() += weight;
            } else {
                other.insert(later);
            }
        }
    }
    let mut best: Vec<(u32, f32)> = shared.into_iter().collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    let norm = |weights: &FxHashMap<String, f32>| weights.values().sum::<f32>().sqrt();
    let own = norm(&own);
    let cosine = |(later, shared): (u32, f32)| {
        (later, shared / (own * norm(&weights(&index.get(later).content))).max(f32::MIN_POSITIVE))
    };
    let compared = best.into_iter().take(COMPARED).map(cosine);
    let nearest = compared.filter(|(_, cosine)| *cosine >= LEAST_COSINE);
    nearest.max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))).map(|(later, _)| later)
}
