//! Decides which messages bear on a question: a context ends where none does any more.

use unicode_categories::UnicodeCategories;

use super::excerpt::ExcerptTerms;
use super::exchange::is_small_talk;
use super::material::ContextCandidates;
use super::packing::BEST;
use crate::score::ScoredMessage;
use crate::score::ranking::LONG_TALK;
use crate::score::terms::{DATE, TOKENS, VECTOR};
use crate::text::heads::small_talk;
use crate::text::script::is_alphanumeric;
use crate::text::sentences;
use crate::text::words::has_words;

/// Number of messages considered: as many as would fit with [`SHORT`] tokens each, at least this.
const CONSIDERED: usize = 512;
const SHORT: usize = 8;
/// Number of best messages that are never left out for what they lack: as many as a search gives.
const KEPT: usize = 10;
/// Least bearing of a message, as a share of the greatest: the share of the question's words that
/// it has, and half of its likeness to the question.
const BEARS: f64 = 0.1;
const LIKENESS: f64 = 0.5;
/// How sure the head for small talk must be: surely of a greeting or a thanks, and nearly. Single
/// words, such as a search may have, lie between.
const SURELY: f32 = 4.0;
const NEARLY: f32 = 2.2;
const HARDLY: f32 = 0.5;

/// What of a conversation bears on a question.
pub(super) struct Bearing<'a> {
    /// The messages, best first.
    pub messages: Vec<&'a ScoredMessage>,
    /// True for a greeting, a thanks or a reaction: it asks for nothing.
    pub idle: bool,
    /// True if the talk has nothing that the question names.
    pub foreign: bool,
}

impl<'a> Bearing<'a> {
    /// In a long talk, messages are left out that have next to nothing of the question, but for the
    /// first [`KEPT`], and small talk, unless it is the best hit or has a word of the question. If
    /// the talk has nothing that the question names, only the [`BEST`] are considered.
    pub fn new(material: &ContextCandidates<'a>, sought: &ExcerptTerms<'_>, budget: usize) -> Self {
        let ContextCandidates { messages, index, .. } = *material;
        let considered: Vec<&ScoredMessage> =
            messages.iter().take(CONSIDERED.max(budget / SHORT)).collect();
        if let Some(messages) = told_of_greeting(material, &considered) {
            return Self { messages, idle: true, foreign: false };
        }
        let foreign = !is_known(material);
        let most = if foreign { BEST } else { considered.len() };
        if index.len() < LONG_TALK {
            let messages = considered.into_iter().take(most).collect();
            return Self { messages, idle: false, foreign };
        }
        let own_words = |one: &ScoredMessage| f64::from(sought.words(&index.get(one.slot).content));
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
            ((all[number] >= BEARS * best || number < KEPT || is_meant) && !is_talk).then_some(one)
        };
        let messages = considered.into_iter().enumerate().filter_map(bears).take(most).collect();
        Self { messages, idle: false, foreign }
    }
}

/// For a greeting, a thanks or a reaction, the messages that tell of it: that have its words in a
/// sentence that is no small talk. `None` if the text asks for something, or if most of the
/// messages with its words tell of it, as of a name.
fn told_of_greeting<'a>(
    material: &ContextCandidates<'a>,
    considered: &[&'a ScoredMessage],
) -> Option<Vec<&'a ScoredMessage>> {
    let text = &material.query.text;
    if !text.is_empty() && !text.contains(is_alphanumeric) {
        return Some(told_beside_signs(material, considered));
    }
    let sure = small_talk(text);
    if sure > SURELY {
        return Some(Vec::new());
    }
    if sure <= HARDLY || !material.query.named.is_empty() {
        return None;
    }
    let (mut told, mut idle) = (Vec::new(), 0);
    for one in considered {
        let said = sentences(&material.index.get(one.slot).content);
        let mut found = said.iter().filter(|sentence| has_words(sentence, text)).peekable();
        if found.peek().is_some() {
            // A word that the head doesn't know looks like small talk, a sentence with it less so.
            let tells = found.any(|sentence| small_talk(sentence) <= sure / 2.0);
            if tells { told.push(*one) } else { idle += 1 }
        }
    }
    let is_greeting = told.len() <= idle && (idle > 0 || sure > NEARLY);
    told.truncate(BEST);
    is_greeting.then_some(told)
}

/// For a question without a letter or digit, such as an emoji, the messages that have one of its
/// signs and words: a sticker or a reaction tells nothing.
fn told_beside_signs<'a>(
    material: &ContextCandidates<'a>,
    considered: &[&'a ScoredMessage],
) -> Vec<&'a ScoredMessage> {
    let joins = |c: char| matches!(c, '\u{fe0f}' | '\u{200d}' | '\u{1f3fb}'..='\u{1f3ff}');
    let is_sign = |c: &char| !c.is_ascii() && !c.is_punctuation() && !joins(*c);
    let signs: Vec<char> = material.query.text.chars().filter(is_sign).collect();
    let tells = |one: &&&ScoredMessage| {
        let content = &material.index.get(one.slot).content;
        content.contains(&signs[..])
            && content.contains(is_alphanumeric)
            && small_talk(content) <= 0.0
    };
    considered.iter().filter(tells).take(BEST).copied().collect()
}

/// True if the talk has a word, a speaker or a day that the question names.
fn is_known(material: &ContextCandidates<'_>) -> bool {
    let ContextCandidates { messages, query, .. } = *material;
    query.text.is_empty()
        || messages.is_empty()
        || query.asks_of_the_talk
        || !query.named.is_empty()
        || messages.iter().any(|one| one.terms[DATE] > 0.0)
}
