//! Finds the messages that belong to a message: the reply to a question, the question that a short
//! reply answers, and a later message of the same speaker on the same subject.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::index::MessageIndex;
use crate::score::{MaxSim, ScoredMessage, TokenTable};
use crate::text::heads::SentenceHeads;
use crate::text::sentences;

/// A message is a question if a question mark occurs within this many characters of its end, about
/// the length of a sentence.
const LAST_CHARS: usize = 80;
/// A reply of at most this many bytes is not understandable without its question.
const SHORT_REPLY: usize = 60;
/// Maximum length of small talk, in bytes.
const SMALL_TALK: usize = 80;
/// Number of nearest messages and of hits among which a later message is looked for.
const COMPARED: usize = 32;
const COMPARED_HITS: usize = 64;
/// Likeness of a later message: its cosine with the message, plus its words like those of the
/// message (MaxSim) and its score for the question, each with its weight. Words about a new state
/// are like the old ones and like the question, seldom very like either.
const LIKE_WORDS: f64 = 4.0;
const LIKE_QUESTION: f64 = 0.4;
/// Score for the question of a message that is not among its hits.
const NO_HIT: f64 = -0.5;
/// Minimum likeness, and the minimum by which it exceeds the mean of the next [`RIVALS`]: if a
/// speaker often returns to a subject, no single message tells its state.
const LEAST_LIKE: f64 = 1.2;
const STANDS_OUT: f64 = 0.2;
const RIVALS: usize = 3;

fn asks(content: &str) -> bool {
    content.chars().rev().take(LAST_CHARS).any(|c| matches!(c, '?' | '？' | '؟'))
}

/// The message before, if it asks a question of the speaker.
fn asked_before(index: &MessageIndex, slot: u32) -> Option<u32> {
    index.previous_slot(slot).filter(|before| {
        !is_by_same_speaker(index, slot, *before) && asks(&index.get(*before).content)
    })
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
    let is_short = index.get(slot).content.len() <= SHORT_REPLY;
    if is_short { asked_before(index, slot) } else { None }
}

/// True for a short message of greetings, reactions and fragments that answers no question.
pub(super) fn is_small_talk(index: &MessageIndex, slot: u32) -> bool {
    let content = &index.get(slot).content;
    let by_agent = index.priors()[slot as usize].by_agent;
    content.len() <= SMALL_TALK
        && sentences(content).iter().all(|one| SentenceHeads::of(one, by_agent).small_talk > 0.0)
        && asked_before(index, slot).is_none()
}

/// Up to `most` later messages of the same speaker that are more like a message and its question
/// than all others are. `hits` are the question's, best first.
///
/// # Errors
/// `Index` if the vectors cannot be searched.
pub(super) fn said_later(
    index: &MessageIndex,
    table: &dyn TokenTable,
    slot: u32,
    hits: &[ScoredMessage],
    most: usize,
    is_later: impl Fn(u32) -> bool,
) -> Result<Vec<u32>> {
    let hits = hits.iter().take(COMPARED_HITS);
    let scores: FxHashMap<u32, f64> = hits.map(|hit| (hit.slot, hit.score)).collect();
    let mut slots: Vec<u32> = scores.keys().copied().collect();
    let vector = index.field.vector_index().and_then(|vectors| vectors.vector_of(u64::from(slot)));
    if let Some(vector) = &vector {
        let near = index.field.nearest_and_ties(vector.view(), COMPARED)?;
        slots.extend(near.into_iter().map(|(slot, _)| slot));
    }
    slots.retain(|later| is_by_same_speaker(index, slot, *later) && is_later(*later));
    slots.sort_unstable();
    slots.dedup();
    let labels: Vec<u64> = slots.iter().copied().map(u64::from).collect();
    let cosines = match (vector, index.field.vector_index()) {
        (Some(vector), Some(vectors)) => vectors.inner_products(vector.view(), &labels),
        _ => vec![None; slots.len()],
    };
    let mut words = MaxSim::new(table, &index.get(slot).content);
    let likeness = |(later, cosine): (u32, Option<f32>)| {
        let words = f64::from(words.score_best_part(index.token_ids(later)));
        let asked = scores.get(&later).copied().unwrap_or(NO_HIT);
        (f64::from(cosine.unwrap_or(0.0)) + LIKE_WORDS * words + LIKE_QUESTION * asked, later)
    };
    let mut likest: Vec<(f64, u32)> = slots.into_iter().zip(cosines).map(likeness).collect();
    let said = |later: u32| (index.get(later).timestamp, &index.get(later).message_id);
    likest.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| said(b.1).cmp(&said(a.1))));
    let stands_out = |last: &usize| {
        let likeness = |number: usize| likest.get(number).map_or(0.0, |(likeness, _)| *likeness);
        let rivals: f64 = (last + 1..=last + RIVALS).map(likeness).sum();
        let rivals = rivals / likest.len().saturating_sub(last + 1).clamp(1, RIVALS) as f64;
        likeness(*last) >= LEAST_LIKE.max(rivals + STANDS_OUT)
    };
    let count = (0..most.min(likest.len())).rev().find(stands_out).map_or(0, |last| last + 1);
    Ok(likest[..count].iter().map(|(_, later)| *later).collect())
}
