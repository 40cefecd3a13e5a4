//! How records are ranked: one strategy a file, behind the trait [`Ranking`].
//!
//! A strategy reads a [`Corpus`] and a question; it knows nothing of users, files or locks, and
//! leaves thresholds and the number of hits to the search that calls it.

mod asked;
mod corpus;
mod hybrid;
mod norlift;
mod rrf;
mod single;
mod strategy;

pub use asked::{Asked, Settings};
pub use corpus::{Corpus, is_scored_in_full};
pub use strategy::Ranking;
