//! The result of extraction: candidates, and counts of rejected sentences by reason.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::model::{FactQuote, MemoryKind};

/// A span of a message, or a sentence of a model, that becomes a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct FactCandidate {
    /// The quotation with its speaker and resolved dates, or the model's sentence.
    pub content: String,
    /// The words of the message; `None` for a model's sentence.
    pub quote: Option<Box<FactQuote>>,
    /// Its category.
    pub kind: MemoryKind,
    /// How certain the fact is, 0 to 1.
    pub confidence: f32,
    /// Importance, 0 to 1.
    pub importance: f32,
    /// The person or thing that the fact is about.
    pub subject: String,
    /// The attribute of the subject that the fact states (`employer`, `home`, …); may be empty.
    pub attribute: String,
    /// The value of the attribute; may be empty.
    pub value: String,
    /// Since when the fact holds.
    pub valid_from: Moment,
    /// When it was said.
    pub said: Moment,
    /// Ids of the messages that support the fact.
    pub source_messages: Vec<String>,
}

/// The outcome of an extraction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FactExtraction {
    /// In the order of their messages; no two have the same content.
    pub candidates: Vec<FactCandidate>,
    /// Number of rejected sentences by reason.
    pub rejected: BTreeMap<RejectReason, u64>,
}

impl FactExtraction {
    /// Counts one rejection.
    pub fn reject(&mut self, reason: RejectReason) {
        *self.rejected.entry(reason).or_default() += 1;
    }
}

/// A sentence that was rejected as a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnedDown {
    /// The id of the message with the sentence.
    pub message_id: String,
    /// The sentence.
    pub statement: String,
    /// When the sentence was said.
    pub said: Moment,
    /// The name of the reason.
    pub reason: &'static str,
}

/// Why a sentence is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RejectReason {
    /// It has no words.
    Empty,
    /// It is a question.
    Question,
    /// It is not in the speaker's own words.
    Quoted,
    /// It is too long to be quoted, and no clause of it is shorter.
    TooLong,
    /// An agent said it, and it tells of nothing that was done or found.
    NotAboutUser,
    /// Below `min_confidence`.
    LowConfidence,
    /// Below `min_importance`.
    LowImportance,
    /// It can't be understood without the question that it answers, and there is none.
    Unclear,
    /// The same answer has it already.
    Duplicate,
    /// It cites no message.
    NoSource,
    /// It is about a person of whom the cited messages do not speak.
    OtherSpeaker,
    /// It repeats text of a prompt.
    Echo,
}

impl RejectReason {
    /// The name used in counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Question => "question",
            Self::Quoted => "quoted",
            Self::TooLong => "too_long",
            Self::NotAboutUser => "not_about_user",
            Self::LowConfidence => "low_confidence",
            Self::LowImportance => "low_importance",
            Self::Unclear => "unclear",
            Self::Duplicate => "duplicate",
            Self::NoSource => "no_source",
            Self::OtherSpeaker => "other_speaker",
            Self::Echo => "echo",
        }
    }
}
