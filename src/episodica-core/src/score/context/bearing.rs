//! Decides which messages bear on a question: a context ends where none does any more.

use super::excerpt::ExcerptTerms;
use super::exchange::is_small_talk;
use super::material::ContextCandidates;
use crate::score::ranking::LONG_TALK;
use crate::score::terms::{DATE, TOKENS, VECTOR};
use crate::score::{QueryTerm, ScoredMessage};
use crate::text::heads::small_talk;
use crate::text::sentences;

/// Number of messages considered: as many as would fit with [`SHORT`] tokens each, at least this.
const CONSIDERED: usize = 512;
const SHORT: usize = 8;
/// Least bearing of a message, as a share of the greatest: the share of the question's words that
/// it has, and half of its likeness to the question.
const BEARS: f64 = 0.1;
const LIKENESS: f64 = 0.5;
/// Maximum number of messages if none of the question's words occurs in any.
const FEW: usize = 10;
/// How sure the head for small talk must be of a greeting or a thanks: single words, such as a
/// search may have, come near to this.
const SURELY: f32 = 2.2;

/// The messages that bear on the question, best first. None bears on a greeting, but for those that
/// have a word of it other than in small talk. In a long talk messages are left out if they have
/// next to nothing of the question; so is small talk, unless it is the best hit or has a word of
/// the question.
pub(super) fn bearing<'a>(
    material: &ContextCandidates<'a>,
    sought: &ExcerptTerms<'_>,
    budget: usize,
) -> Vec<&'a ScoredMessage> {
    let ContextCandidates { messages, query, index, .. } = *material;
    let considered: Vec<&ScoredMessage> =
        messages.iter().take(CONSIDERED.max(budget / SHORT)).collect();
    let own_words = |one: &ScoredMessage| f64::from(sought.words(&index.get(one.slot).content));
    if small_talk(&query.text) > SURELY {
        let says = |sentence: &&str| small_talk(sentence) <= 0.0 && sought.words(sentence) > 0.0;
        let answers =
            |one: &&&ScoredMessage| sentences(&index.get(one.slot).content).iter().any(says);
        let named: Vec<&ScoredMessage> = considered.iter().filter(answers).copied().collect();
        if named.is_empty() || index.len() >= LONG_TALK {
            return named;
        }
    }
    if index.len() < LONG_TALK {
        return considered;
    }
    let of = |one: &ScoredMessage| {
        let likeness = one.terms[TOKENS].max(0.0) + one.terms[VECTOR].max(0.0);
        own_words(one) + LIKENESS * f64::from(likeness)
    };
    let all: Vec<f64> = considered.iter().map(|one| of(one)).collect();
    // A method without terms has ranked by its own measure.
    let has_terms = considered.iter().any(|one| one.terms.iter().any(|term| *term != 0.0));
    let best = if has_terms { all.iter().copied().fold(0.0, f64::max) } else { 0.0 };
    let bears = |(number, one): (usize, &'a ScoredMessage)| {
        let is_meant = one.raised > 0.0 || one.terms[DATE] >= 1.0;
        let is_talk = number > 0 && is_small_talk(index, one.slot) && own_words(one) == 0.0;
        ((all[number] >= BEARS * best || is_meant) && !is_talk).then_some(one)
    };
    let postings = &index.field.postings;
    let is_said =
        |term: &QueryTerm| !term.variants.is_empty() || postings.document_frequency(&term.text) > 0;
    let is_known = query.terms.iter().any(is_said) || !query.named.is_empty();
    let most = if is_known || query.names_a_day() { considered.len() } else { FEW };
    considered.into_iter().enumerate().filter_map(bears).take(most).collect()
}
