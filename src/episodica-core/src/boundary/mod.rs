//! Where one episode ends and the next begins.
//!
//! [`segments`] reads a user's buffer and gives back the segments that are finished; [`flush`] also gives the rest. Both look at the messages one
//! by one and at a bounded number of messages behind each place, so the result doesn't depend on how the messages were batched into calls.
//! [`keyword_overlap`] is the stand-in for a model that doesn't answer. Nothing here stores or writes text; the engine calls it.

mod cohesion;
mod cues;
mod heuristic;
pub mod keyword_overlap;
mod reading;
mod scan;
#[cfg(test)]
mod tests;

pub use heuristic::{flush, segments};
pub use scan::{Segment, describe};
