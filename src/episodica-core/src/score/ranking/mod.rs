//! Ranking strategies, one per file, with the common trait [`Ranking`].
//!
//! A strategy reads a [`UserCorpus`] and a question. It has no access to users, files or locks; the
//! calling search applies thresholds and the number of hits.

mod asked;
mod corpus;
mod hybrid;
mod norlift;
mod others;
mod rrf;
mod single;
mod strategy;

pub(super) use asked::LONG_TALK;
pub use asked::{RankingInput, RankingSettings};
pub use corpus::{UserCorpus, are_facts_scored_in_full, is_scored_in_full};
pub use strategy::Ranking;
