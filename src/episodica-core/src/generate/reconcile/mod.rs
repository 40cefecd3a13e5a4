//! What to do with a candidate, given the known facts: add, update, supersede or ignore it.
//!
//! [`Said::reconcile_offline`] decides by rules over subject, attribute, value and date, never by
//! the similarity of characters or vectors alone. [`model`] asks a language model about all
//! candidates of an episode at once and checks its decisions. [`apply`] turns a decision from
//! either source into the records to append; [`restore`] undoes a supersession. Nothing here reads
//! or writes a store.

mod decide;
mod denial;
pub mod model;
mod records;
#[cfg(test)]
mod tests;

pub use decide::{Decision, is_single_valued};
pub(crate) use decide::{Said, Signature, known_value};
pub(crate) use denial::{denied, ends};
pub use records::apply;
pub(crate) use records::{Applied, close, is_ahead, restore};
