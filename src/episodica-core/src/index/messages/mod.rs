//! The index of messages: their words and meaning, who speaks, who their neighbours are, and
//! features of each text.
//!
//! Rows are slots in the order of arrival. A removed message leaves its slot empty; the others
//! answer as if it had never been there.

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
