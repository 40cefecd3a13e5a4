//! Packing what answers a question into a budget of tokens.
//!
//! A context opens with the facts that hold, under the year since which they do, and goes on with
//! whole messages under the day they were said on. What no longer holds comes only together with
//! what superseded it.

mod form;
mod packing;
mod quote;
#[cfg(test)]
mod tests;
mod text;

pub use form::Form;
pub use packing::{Material, Packed, pack};
pub use text::{KnownFact, Outdated, Summary};
