//! Packs the records that answer a question into a token budget.
//!
//! A context quotes messages under their days, in the order of time, with the days that their
//! relative dates mean, and has its own words in the language of the talk. What ranks first goes in
//! first, whole, with what belongs to it; then the best sentences of as many others as fit. A
//! question comes with its reply, a short reply with its question, and the best message with its
//! speaker's later message on the same subject. Facts that a model, the user or the application
//! stated open the text, grouped by the year since which they hold. A message that one of them made
//! outdated is marked, and brings the fact along unless the search leaves it out; one whose facts
//! were ended without a successor is only marked.

mod bearing;
mod dates;
mod excerpt;
mod exchange;
mod form;
mod material;
mod packing;
mod quote;
mod recalled;
#[cfg(test)]
mod tests;
mod text;
mod wording;

pub use dates::{LaterWords, LineMark, later_mark, unmarked};
pub use excerpt::Parts;
pub use form::{FactSection, OutputForm};
pub use material::{ContextCandidates, ContextParts, LineReason};
pub use packing::pack;
pub use recalled::{is_date, without_contexts};
pub use text::{EpisodeSummary, KnownFact, Outdated, Successors};
pub use wording::ContextWords;
