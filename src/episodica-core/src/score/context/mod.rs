//! Packs the records that answer a question into a token budget.
//!
//! A context begins with the current facts, grouped by the year since which they hold. Whole
//! messages follow, grouped by day. An outdated message appears only together with the fact that
//! superseded it. The best messages that do not fit as a whole are quoted in part.

mod excerpt;
mod form;
mod packing;
mod quote;
#[cfg(test)]
mod tests;
mod text;

pub use form::{Form, Section};
pub use packing::{Material, Packed, pack};
pub use text::{KnownFact, Outdated, Summary};
