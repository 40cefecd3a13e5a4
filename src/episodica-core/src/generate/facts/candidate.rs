//! The result of extraction: candidates, and counts of rejected sentences by reason.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::model::MemoryKind;

/// A sentence that may become a fact.
#[derive(Debug, Clone, PartialEq)]
pub struct FactCandidate {
    /// The text: third person, dates resolved, in the language of its message.
    pub content: String,
    /// Its category.
    pub kind: MemoryKind,
    /// Confidence that the sentence was understood, 0 to 1.
    pub confidence: f32,
    /// Importance, 0 to 1.
    pub importance: f32,
    /// The person or thing that the fact is about.
    pub subject: String,
    /// The attribute of the subject that the fact states (`employer`, `home`, …); may be empty.
    pub attribute: String,
    /// The value of the attribute, normalised: lower case, without articles and final punctuation.
    /// `not X` means that the value X ended; empty if the rules can't tell.
    pub value: String,
    /// Start of validity: the date in the message, else the time of the message.
    pub valid_from: Moment,
    /// When it was said. Of two values of an attribute, the one that was said later holds.
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
    /// The texts of the candidates.
    pub fn contents(&self) -> impl Iterator<Item = &str> {
        self.candidates.iter().map(|candidate| candidate.content.as_str())
    }

    /// Number of rejected sentences that the messages don't support, or that state nothing.
    pub fn junk(&self) -> u64 {
        use RejectReason::*;
        let junk = [
            Empty,
            Question,
            NoSource,
            UnsupportedName,
            UnsupportedNumber,
            UnsupportedDate,
            UnsupportedWords,
            Echo,
        ];
        junk.iter().filter_map(|reason| self.rejected.get(reason)).sum()
    }

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
    /// It expresses a supposition, wish or doubt.
    Hypothetical,
    /// It is not in the speaker's own words.
    Quoted,
    /// An agent said the sentence, and it is not about a user.
    NotAboutUser,
    /// Below `min_confidence`.
    LowConfidence,
    /// Below `min_importance`.
    LowImportance,
    /// Better sentences of the same segment use up the volume.
    Volume,
    /// A speaker said it who was heard in few sessions, and it is not important.
    PassingSpeaker,
    /// The same segment already has a fact with this content.
    Duplicate,
    /// It cites no message.
    NoSource,
    /// None of the cited messages contains a name in the sentence.
    UnsupportedName,
    /// None of the cited messages contains a number in the sentence.
    UnsupportedNumber,
    /// A date in the sentence neither occurs in nor follows from the cited messages.
    UnsupportedDate,
    /// The cited messages contain too few of the sentence's words.
    UnsupportedWords,
    /// It repeats text of a prompt.
    Echo,
}

impl RejectReason {
    /// The name used in counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Question => "question",
            Self::Hypothetical => "hypothetical",
            Self::Quoted => "quoted",
            Self::NotAboutUser => "not_about_user",
            Self::LowConfidence => "low_confidence",
            Self::LowImportance => "low_importance",
            Self::Volume => "volume",
            Self::PassingSpeaker => "passing_speaker",
            Self::Duplicate => "duplicate",
            Self::NoSource => "no_source",
            Self::UnsupportedName => "unsupported_name",
            Self::UnsupportedNumber => "unsupported_number",
            Self::UnsupportedDate => "unsupported_date",
            Self::UnsupportedWords => "unsupported_words",
            Self::Echo => "echo",
        }
    }
}
