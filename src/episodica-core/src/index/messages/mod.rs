//! The index of messages: their words and meaning, who speaks, what stands next to them, and what
//! can be told from each alone.
//!
//! Rows are slots in the order of arrival. A removed message leaves its slot empty; the others
//! answer as if it had never been there.

mod index;
mod names;
mod prior;
mod reading;
mod snapshot;
mod threads;

pub use index::{MessageIndex, SpeakerId};
pub use names::name_forms;
pub use prior::{Day, Prior};
pub use reading::MessageReading;
