//! From the first to the third person: "I moved" by Maya -> "Maya moved".
//!
//! Rewrites only sentences whose grammar stays correct. Everything else is quoted, so that no
//! sentence says more than the speaker did. The speaker's name is never replaced by a guessed
//! pronoun. Sentences in other languages are always quoted: their verbs, possessives and dropped
//! subjects would need a parser.

mod chinese;
mod english;

pub(super) use chinese::chinese;
pub(super) use english::{english, may_be_english};
