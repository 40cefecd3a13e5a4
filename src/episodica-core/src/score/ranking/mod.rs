//! Ranking strategies, one per file, behind the trait [`Ranking`].
//!
//! A strategy reads a [`Corpus`] and a question. It has no access to users, files or locks; the
//! calling search applies thresholds and the number of hits.

mod asked;
mod corpus;
mod hybrid;
mod norlift;
mod rrf;
mod single;
mod strategy;

pub(super) use asked::LONG_TALK;
pub use asked::{Asked, Settings};
pub use corpus::{Corpus, are_facts_scored_in_full, is_scored_in_full};
pub use strategy::Ranking;
