//! Packs the records that answer a question into a token budget.
//!
//! A context begins with the current facts, grouped by the year since which they hold. Whole
//! messages follow, grouped by day. An outdated message appears only together with the fact that
//! superseded it. The best messages that do not fit as a whole are quoted in part. A question comes
//! with its reply, a reply of a few words with its question, and the best message with what its
//! speaker says later about the same thing.

mod excerpt;
mod exchange;
mod form;
mod packing;
mod quote;
mod recalled;
#[cfg(test)]
mod tests;
mod text;

pub use excerpt::Parts;
pub use form::{FactSection, OutputForm};
pub use packing::{ContextCandidates, ContextParts, LineReason, pack};
pub use recalled::{is_date, without_contexts};
pub use text::{EpisodeSummary, KnownFact, Outdated};
