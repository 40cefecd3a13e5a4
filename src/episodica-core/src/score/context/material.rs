//! What may enter a context, and what entered it.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::dates::LaterWords;
use super::excerpt::Parts;
use super::form::OutputForm;
use super::text::{EpisodeSummary, KnownFact, Outdated};
use super::wording::ContextWords;
use crate::clock::DisplayZone;
use crate::index::MessageIndex;
use crate::score::{ParsedQuery, ScoredMessage, TokenTable};
use crate::text::count_tokens;

/// The candidates for a context, each kind best first.
pub struct ContextCandidates<'a> {
    /// All messages.
    pub index: &'a MessageIndex,
    /// The question.
    pub query: &'a ParsedQuery,
    /// Compares tokens by meaning.
    pub table: &'a dyn TokenTable,
    /// The messages that answer the question, best first.
    pub messages: &'a [ScoredMessage],
    /// The relevance of a message with a score.
    pub relevance: &'a dyn Fn(f64) -> f64,
    /// For messages that contain an earlier context: the parts that may be quoted.
    pub own: &'a FxHashMap<u32, Parts>,
    /// Current facts. Those from index `asked` on are included only because they supersede the
    /// content of a message.
    pub facts: &'a [KnownFact],
    /// Number of facts that answer the question.
    pub asked: usize,
    /// Tests whether a message may be shown.
    pub admits: &'a dyn Fn(u32) -> bool,
    /// Messages with superseded content.
    pub outdated: &'a Outdated,
    /// What was said later about parts of a message.
    pub later: &'a dyn Fn(u32) -> Vec<LaterWords>,
    /// The parts of a message, in bytes, that are not its speaker's own words.
    pub foreign: &'a dyn Fn(u32) -> Vec<Range<usize>>,
    /// Summaries of episodes.
    pub summaries: &'a [EpisodeSummary],
    /// The words of headings and marks.
    pub words: &'static ContextWords,
    /// The output format.
    pub form: OutputForm,
    /// Time zone in which dates are shown.
    pub zone: &'a DisplayZone,
}

/// A packed context.
#[derive(Debug, Clone, Default)]
pub struct ContextParts {
    /// The text, ready for a prompt; at most as many tokens as the budget.
    pub text: String,
    /// Token count of `text` (o200k_base).
    pub token_count: usize,
    /// The included messages, in the order of the text.
    pub messages: Vec<u32>,
    /// The included messages that are quoted in part.
    pub excerpts: Vec<u32>,
    /// The included facts, in the order of the text, by index.
    pub facts: Vec<usize>,
    /// The included summaries, by index.
    pub summaries: Vec<usize>,
    /// False if the question asks for nothing, or a long talk has no word, name or day of it.
    pub known: bool,
    /// For each included message that is not a hit, the reason why it is included.
    pub reasons: FxHashMap<u32, LineReason>,
}

/// The reason why a message that did not match by itself is in a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineReason {
    /// It replies to the question of a hit.
    Reply,
    /// It asks the question that a short hit answers.
    Question,
    /// It is a later message of the best hit's speaker on the same subject.
    Later,
}

impl LineReason {
    /// The name in the public interface.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reply => "reply",
            Self::Question => "question",
            Self::Later => "later",
        }
    }
}

impl ContextParts {
    /// The empty context in this format, or no text if the budget is too small for its frame.
    pub fn empty(form: OutputForm, budget: usize) -> Self {
        let tokens = count_tokens(form.empty());
        if tokens > budget {
            return Self::default();
        }
        Self { text: form.empty().to_owned(), token_count: tokens, ..Self::default() }
    }
}
