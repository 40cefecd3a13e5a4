//! The text of an episode: title, summary (L0), content (L1), topics and entities, written from its
//! messages.
//!
//! [`write_offline`] needs no model: it quotes the messages, names their speakers and invents
//! nothing. It is a pure function of the messages, so the same conversation gives the same
//! episodes in every store. [`model`] asks a language model to write the text. Other modules decide
//! where episodes end and store them.

mod content;
mod lexicon;
pub mod model;
mod names;
mod offline;
mod quotation;
mod source;
mod spans;
mod summary;
#[cfg(test)]
mod tests;
mod title;
mod units;

pub(in crate::generate) use lexicon::is_common_word;
pub use offline::{EpisodeText, RULES_VERSION, write_offline};
pub(in crate::generate) use quotation::quote_speaker;
pub(in crate::generate) use source::speaker_label;
pub(in crate::generate) use units::{SpokenSentence, spoken_sentences};
