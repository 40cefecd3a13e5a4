//! Facts: what is known beyond the messages.
//!
//! Without a model, facts are spans of messages, chosen by learned heads ([`extract_quotes`]). A
//! language model states facts in its own sentences, with the messages that it cites and the known
//! facts that they end ([`model`]). [`fold`] computes from these endings when each fact ends.
//! Nothing here reads or writes a store.

mod about;
mod answer_form;
mod candidate;
mod claims;
pub(crate) mod fold;
pub mod model;
mod records;
#[cfg(test)]
mod tests_sections;

pub use candidate::{FactCandidate, FactExtraction, TurnedDown};
pub use claims::{RULES_VERSION, asked_before, extract_quotes, turned_down};
pub use records::is_vital;
pub(crate) use records::{EvidenceWords, fact_from, next_revision, stated_candidate};
