//! Facts from messages, by rules: the best sentences of the narrative.
//!
//! [`extract_offline`] reads each sentence of the narrative, in the third person or as an
//! attributed quotation, ranks the sentences by a few features and keeps the best up to a volume
//! (`docs/facts.md`). [`model`] asks a language model instead and parses its answer; every fact of
//! a model must pass the check [`grounded`]. The module [`reconcile`](super::reconcile) compares
//! the candidates with known facts.

mod candidate;
mod confirmed;
mod cues;
mod dates;
mod evidence_check;
mod extract;
mod know_how;
pub mod model;
mod never_forgotten;
mod numbers;
mod rank;
mod reported;
mod separate_clauses;
mod slots;
mod stated_fact;
mod support;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_grounds;
mod words;

pub(crate) use candidate::RejectReason;
pub use candidate::{FactCandidate, FactExtraction, TurnedDown};
pub(crate) use cues::{is_asserted, tells_change};
pub use evidence_check::grounded;
pub use extract::{RULES_VERSION, extract_offline, turned_down, write_and_extract};
pub use never_forgotten::is_vital;
pub(crate) use stated_fact::{of_kind, stated};
pub(crate) use support::keys;
pub use support::shares_words;
pub(crate) use words::tells_the_past;
