//! Indexes over records: postings for words, vectors for meaning. They are caches that can be
//! rebuilt from the log.

mod field;
mod keys;
mod messages;
mod postings;
mod ragged;
mod sampled;
mod terms;
mod vectors;

pub use crate::matrix::Matrix;
pub use field::TextIndex;
pub use keys::StringInterner;
pub(crate) use messages::OWN_WEIGHT;
pub use messages::{LocalDay, MessageIndex, MessagePrior, MessageReading, SpeakerId, name_forms};
pub(crate) use postings::{Beginning, first_letters};
pub use postings::{Posting, Postings};
pub use ragged::ListColumn;
pub use sampled::sampled_bound;
pub use terms::{RecordTerm, TextTerms, for_each_term, stem_word};
pub use vectors::{VectorIndex, VectorIndexFactory, search_until_no_tie};
