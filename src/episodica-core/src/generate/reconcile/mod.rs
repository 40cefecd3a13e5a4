//! Decides what to do with a candidate, given the known facts: add, update, supersede or ignore it.
//!
//! [`CandidateWords::reconcile_offline`] decides by rules over subject, attribute, value and date,
//! never by the similarity of characters or vectors alone. [`apply`] turns a decision into the
//! records to append; [`restore`] undoes a supersession. A language model's list of ended facts is
//! parsed with its facts (`facts::model`). Nothing here reads or writes a store.

mod decide;
mod denial;
mod records;
#[cfg(test)]
mod tests;

pub(crate) use decide::{
    CandidateWords, PaddedWords, WordSignature, known_value, same_words, subject_key,
};
pub use decide::{FactDecision, is_single_valued};
pub(crate) use denial::{Denial, denied, ends};
pub use records::apply;
pub(crate) use records::{
    AppliedDecision, BY_RULES, BY_USER, SUPERSEDES, close, is_ahead, note_statement, restore,
    superseded,
};
