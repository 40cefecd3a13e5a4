//! Indexes over records: postings for words, vectors for meaning. Caches of the log, never the truth.

mod field;
mod postings;
mod terms;
mod vectors;
mod words;

pub use field::Field;
pub use postings::{Posting, Postings};
pub use terms::{Side, for_each_term, for_each_word, is_unspaced, terms};
pub use vectors::{VectorIndex, VectorIndexFactory, VectorIndexKind};
pub use words::{base_form, is_function_word};
