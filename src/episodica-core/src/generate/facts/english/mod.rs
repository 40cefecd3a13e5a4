//! English sentences: who does what, in a form that stands by itself.

mod clauses;
mod cues;
mod lexicon;
mod phrase;
mod predicate;
mod relations;
mod render;
mod rules;
mod sentence;
mod states;
mod subjects;
mod tokens;
mod verbs;

#[cfg(test)]
mod tests;

pub(super) use cues::{is_problem, is_solution, procedure};
pub(super) use lexicon::{COMMON_OPENERS, word};
pub(super) use sentence::read;
