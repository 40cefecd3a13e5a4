//! From what somebody says of themself to what is told of them: "I moved" by Maya -> "Maya moved".
//!
//! Only sentences whose grammar stays right are rewritten. Everything else is left to be quoted, so
//! that no sentence says more than the speaker did. The speaker stays a name throughout: no pronoun
//! is guessed. Other languages are quoted always: their verbs, possessives and dropped subjects
//! would need a parser.

mod chinese;
mod english;

pub(super) use chinese::chinese;
pub(super) use english::{english, may_be_english, possessive};
