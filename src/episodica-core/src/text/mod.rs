//! Text processing without a model: tokens, scripts, sentences and dates.
//!
//! Everything here is a pure function of its arguments: no clock, no I/O, no state beyond tables
//! that are built once. Nothing panics on any input, and every function is at most linear in the
//! length of the text unless its documentation says otherwise. The module `index` defines the terms
//! of the lexical index.

pub(crate) mod expression;
pub(crate) mod expressions;
pub(crate) mod hash;
pub(crate) mod heads;
mod language;
mod nesting;
mod normalized;
pub(crate) mod script;
pub(crate) mod secrets;
mod sentences;
pub mod time;
mod tokens;
pub(crate) mod tongue;
pub(crate) mod vocabulary;
pub(crate) mod words;

pub use heads::small_talk;
pub(crate) use language::telling_start;
pub use language::{Language, language};
pub use nesting::nests_deeper;
pub use normalized::{normalized, normalized_hash};
pub use script::{is_cjk, is_han};
pub use secrets::mask_secrets;
pub use sentences::sentences;
pub use tokens::{MAX_TOKEN_BYTES, count_tokens, count_tokens_while};
pub use words::word_count;
