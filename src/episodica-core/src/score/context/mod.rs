//! Packs the records that answer a question into a token budget.
//!
//! A context begins with the current facts, grouped by the year since which they hold. Messages
//! follow, grouped by day. An outdated message appears only together with the fact that supersedes
//! it. The best messages are quoted in part if they do not fit as a whole. A question comes with
//! its reply, a short reply with its question, and the best message with its speaker's later
//! message on the same subject.

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
pub use text::{EpisodeSummary, KnownFact, Outdated, Successors};
