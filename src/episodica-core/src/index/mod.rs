//! Indexes over records: postings for words, vectors for meaning. Caches of the log, never the
//! truth.

mod field;
mod keys;
mod messages;
mod postings;
mod ragged;
mod terms;
mod vectors;
mod words;

pub use crate::matrix::Matrix;
pub use field::Field;
pub use keys::Keys;
pub use messages::{Day, MessageIndex, MessageReading, Prior, SpeakerId, name_forms};
pub use postings::{Posting, Postings};
pub use ragged::Ragged;
pub use terms::{
    Term, Terms, fold, for_each_bigram, for_each_term, for_each_word, is_unspaced, stem,
};
pub use vectors::{VectorIndex, VectorIndexFactory, VectorIndexKind};
pub use words::{base_form, is_function_word, tells_time};
