//! What extraction hands on: candidates, and a count of what was turned down and why.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::model::MemoryKind;

/// A statement that may become a semantic memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The statement: third person, dates resolved, in the language of its message.
    pub content: String,
    /// Its category.
    pub kind: MemoryKind,
    /// 0 to 1: how sure the reading is.
    pub confidence: f32,
    /// 0 to 1: how much it matters.
    pub importance: f32,
    /// Whom or what it is about.
    pub subject: String,
    /// Which attribute of the subject it states (`employer`, `home`, …); may be empty.
    pub attribute: String,
    /// Which value the attribute takes, normalised: lower case, without articles and final
    /// punctuation. `not X` states that the value X ended; empty where the rules can't tell.
    pub value: String,
    /// From when on it held: the date the message gives, else when it was said.
    pub valid_from: Moment,
    /// Ids of the messages that prove it.
    pub source_messages: Vec<String>,
}

/// The outcome of an extraction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extraction {
    /// In the order of their messages; no two say the same.
    pub candidates: Vec<Candidate>,
    /// How many sentences that looked like statements were turned down, by reason.
    pub rejected: BTreeMap<RejectReason, u64>,
}

impl Extraction {
    /// Counts one rejection.
    pub fn reject(&mut self, reason: RejectReason) {
        *self.rejected.entry(reason).or_default() += 1;
    }
}

/// Why a statement is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RejectReason {
    /// It has no words.
    Empty,
    /// It asks.
    Question,
    /// It supposes, wishes or doubts.
    Hypothetical,
    /// It is an agent's statement that is not about a user.
    NotAboutUser,
    /// Below `min_confidence`.
    LowConfidence,
    /// Below `min_importance`.
    LowImportance,
    /// Better sentences of the same segment fill its volume.
    Volume,
    /// The same segment says it already.
    Duplicate,
    /// It cites no message.
    NoSource,
    /// A name in it occurs in none of its messages.
    UnsupportedName,
    /// A number in it occurs in none of its messages.
    UnsupportedNumber,
    /// A date in it neither occurs in nor follows from its messages.
    UnsupportedDate,
    /// Too few of its words occur in its messages.
    UnsupportedWords,
    /// It repeats a prompt.
    Echo,
}

impl RejectReason {
    /// The word used in counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Question => "question",
            Self::Hypothetical => "hypothetical",
            Self::NotAboutUser => "not_about_user",
            Self::LowConfidence => "low_confidence",
            Self::LowImportance => "low_importance",
            Self::Volume => "volume",
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
