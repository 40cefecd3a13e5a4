//! Facts from messages, by rule: which statements are worth keeping, told from small talk, in the
//! language they were made in.
//!
//! [`extract_offline`] reads a segment sentence by sentence; a sentence becomes a [`Candidate`]
//! only if a pattern of a known kind fits it, it can stand alone (every pronoun has its referent),
//! and it passes the gates of the configuration. [`model`] asks a language model instead and reads
//! its answer. [`supported`] is the check that every statement must pass, whoever wrote it. None of
//! them compares with what is already known (that is [`reconcile`](super::reconcile)). The engine
//! calls them after an episode is finished.

mod candidate;
mod chinese;
mod dates;
mod english;
mod extract;
pub mod model;
mod numbers;
mod support;
#[cfg(test)]
mod tests;

pub use candidate::{Candidate, Extraction, RejectReason};
pub use extract::{RULES_VERSION, extract_offline};
pub use support::{shares_words, supported};
