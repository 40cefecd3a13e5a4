//! Finds the messages that belong to a message: the reply to a question, the question that a short
//! reply answers, and a later message of the same speaker on the same subject.

use rustc_hash::{FxHashMap, FxHashSet};

use super::text::Place;
use crate::index::{MessageIndex, for_each_term};
use crate::text::script::is_unspaced;

/// A message is a question if a question mark occurs within this many characters of its end, about
/// the length of a sentence.
const LAST_CHARS: usize = 80;
/// A reply of at most this many words is not understandable without its question.
const SHORT_REPLY: usize = 8;
/// A message is small talk if it answers no question, has at most `SMALL_TALK` words, and each of
/// them occurs in at least one in `OFTEN` messages, and in at least `LEAST_OFTEN` messages.
const SMALL_TALK: usize = 3;
const OFTEN: usize = 100;
const LEAST_OFTEN: usize = 5;
/// Number of characters that count as one word in scripts without spaces.
const CHARS_OF_A_WORD: usize = 2;
/// Minimum cosine, over rare words, of two messages on the same subject.
const LEAST_COSINE: f32 = 0.1;
/// Words in more messages than this say nothing about the subject.
const COMMON: usize = 2_048;
/// Number of later messages compared as a whole, those that share the rarest words first.
const COMPARED: usize = 16;

fn asks(content: &str) -> bool {
    content.chars().rev().take(LAST_CHARS).any(|c| matches!(c, '?' | '？' | '؟'))
}

fn is_by_same_speaker(index: &MessageIndex, one: u32, other: u32) -> bool {
    index.get(one).speaker() == index.get(other).speaker()
}

/// The reply of another speaker to a message that asks a question.
pub(super) fn reply_to(index: &MessageIndex, slot: u32) -> Option<u32> {
    let next = asks(&index.get(slot).content).then(|| index.next(slot))?;
    next.filter(|next| !is_by_same_speaker(index, slot, *next))
}

/// The question of another speaker that a short message answers.
pub(super) fn question_of(index: &MessageIndex, slot: u32) -> Option<u32> {
    let is_short = has_at_most(&index.get(slot).content, SHORT_REPLY);
    let before = if is_short { index.previous(slot) } else { None };
    before.filter(|before| {
        !is_by_same_speaker(index, slot, *before) && asks(&index.get(*before).content)
    })
}

/// True for a message such as "Yeah!" that answers no question and consists of a few very common
/// words.
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

/// True if a text has at most `words` words.
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

/// A later message of the same speaker, under another heading, that shares the most rare words with
/// the message in `slot`.
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
