//! Chinese sentences: clause by clause, by what stands after 我 (or after "my" kin), in Chinese
//! statements.

mod clause;
mod cues;
mod lexicon;
mod patterns;

#[cfg(test)]
mod tests;

pub(super) use clause::read;
pub(super) use cues::{is_problem, is_solution, procedure};
