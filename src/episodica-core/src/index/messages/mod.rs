//! The message index: words and vectors of the contents, speakers, neighbours, and features of each
//! text.
//!
//! Rows are slots, in order of arrival. The slot of a removed message stays empty; all results are
//! as if the message had never been added.

mod index;
mod names;
mod prior;
mod reading;
mod sample;
mod snapshot;
mod threads;

pub use index::{MessageIndex, SpeakerId};
pub use names::name_forms;
pub use prior::{LocalDay, MessagePrior};
pub use reading::MessageReading;
pub(crate) use threads::OWN_WEIGHT;
