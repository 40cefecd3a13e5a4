//! Finds the messages that belong to a message: the reply to a question, the question that a short
//! reply answers, and a later message of the same speaker on the same subject.

use super::text::Place;
use crate::error::Result;
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
/// Minimum cosine of two messages on the same subject.
const LEAST_COSINE: f32 = 0.4;
/// Number of nearest messages among which a later one is looked for.
const COMPARED: usize = 32;

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

/// The later message of the same speaker, under another heading, whose meaning is nearest to that
/// of the message in `slot`.
///
/// # Errors
/// `Index` if the vectors cannot be searched.
pub(super) fn said_later(
    index: &MessageIndex,
    slot: u32,
    place: impl Fn(u32) -> Place,
    admits: &dyn Fn(u32) -> bool,
) -> Result<Option<u32>> {
    let vector = index.field.vectors().and_then(|vectors| vectors.vector(u64::from(slot)));
    let Some(vector) = vector else { return Ok(None) };
    let (time, here) = (index.get(slot).timestamp, place(slot));
    let near = index.field.nearest_and_ties(vector.view(), COMPARED)?;
    let later = near.into_iter().filter(|(later, cosine)| {
        *cosine >= LEAST_COSINE
            && index.get(*later).timestamp > time
            && is_by_same_speaker(index, slot, *later)
            && place(*later) != here
            && admits(*later)
    });
    let said = |later: u32| (index.get(later).timestamp, &index.get(later).message_id);
    let nearest = later.max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| said(a.0).cmp(&said(b.0))));
    Ok(nearest.map(|(later, _)| later))
}
