//! Text without a model: tokens, scripts, sentences and the dates that people mean.
//!
//! Everything here is a pure function of its arguments: no clock, no I/O, no state beyond tables
//! that are built once. Nothing panics on any input, and nothing is worse than linear in the length
//! of the text unless its documentation names the bound. Term extraction for the lexical index
//! lives with the index.

mod hash;
mod script;
mod sentences;
pub mod time;
mod tokens;

pub use hash::{normalized, normalized_hash};
pub use script::{Language, is_cjk, is_han, language, word_count};
pub use sentences::sentences;
pub use tokens::count_tokens;
