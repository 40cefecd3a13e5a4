//! Where one episode ends and the next begins.
//!
//! [`segments`] reads a user's buffer and gives back the segments that are finished; [`flush`] also
//! gives the rest. Both look at the messages one by one and at a bounded number of messages behind
//! each place, so the result doesn't depend on how the messages were batched into calls. With a
//! model, [`window`] asks it about a stretch of messages at once and [`turn`] about each message;
//! [`keyword_overlap`] is the stand-in while it doesn't answer. Nothing here calls the model,
//! stores or writes text; the engine does.

mod cohesion;
mod cues;
mod heuristic;
pub mod keyword_overlap;
mod reading;
mod scan;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_model;
pub mod turn;
pub mod window;

pub use heuristic::{flush, segments_read};
pub use reading::Readings;
pub use scan::{Segment, describe, topic_summary};
