//! Facts from messages, by rules: the best sentences of the narrative.
//!
//! [`extract_offline`] takes each sentence of the narrative, in the third person or as an
//! attributed quotation, ranks the sentences by a few features and keeps the best up to a volume
//! (`docs/facts.md`). [`model`] asks a language model instead and reads its answer. [`grounded`]
//! is the check that every fact of a model must pass. None of them compares candidates with known
//! facts (see [`reconcile`](super::reconcile)). The engine calls them after it has finished an
//! episode.

#[cfg(test)]
mod ablation;
mod apart;
mod candidate;
mod confirmed;
mod cues;
mod dates;
mod endings;
mod essential;
mod extract;
mod grounds;
mod know_how;
pub mod model;
mod numbers;
mod rank;
mod reported;
mod slots;
mod stated;
mod support;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_grounds;
mod vital;
mod words;

#[cfg(test)]
pub(crate) use candidate::RejectReason;
pub use candidate::{Candidate, Extraction, TurnedDown};
pub(crate) use endings::ended;
pub use extract::{RULES_VERSION, extract_offline, turned_down, write_and_extract};
pub use grounds::grounded;
pub(crate) use stated::{of_kind, stated};
pub(crate) use support::keys;
pub use support::shares_words;
pub use vital::is_vital;
pub(crate) use words::tells_the_past;
