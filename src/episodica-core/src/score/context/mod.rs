//! Packs the records that answer a question into a token budget.
//!
//! A context quotes messages under their days, in the order of time, with the days that their
//! relative dates mean. The best messages are quoted in part if they do not fit as a whole. A
//! question comes with its reply, a short reply with its question, and the best message with its
//! speaker's later message on the same subject. Facts that a model, the user or the application
//! stated come first, grouped by the year since which they hold; an outdated message appears only
//! together with the fact that supersedes it.

mod dates;
mod excerpt;
mod exchange;
mod form;
mod packing;
mod quote;
mod recalled;
#[cfg(test)]
mod tests;
mod text;

pub use dates::unmarked;
pub use excerpt::Parts;
pub use form::{FactSection, OutputForm};
pub use packing::{ContextCandidates, ContextParts, LineReason, pack};
pub use recalled::{is_date, without_contexts};
pub use text::{EpisodeSummary, KnownFact, Outdated, Successors};
