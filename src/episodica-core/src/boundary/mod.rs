//! Finds the boundaries between episodes. A place is the index of a message before which an episode
//! may end.
//!
//! [`segments_read`] reads a user's buffer and returns the finished segments; [`flush_segments`]
//! also returns the rest. Both read the messages one by one, and a bounded number of messages after
//! each place, so the result does not depend on how the messages were batched. With a model,
//! [`window`] asks about a stretch of messages at once and [`turn`] about each message;
//! [`keyword_overlap`] is the fallback while the model does not answer. The engine calls the model
//! and stores the result.

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

pub use heuristic::{flush_segments, segments_read};
pub use reading::FeatureCache;
pub use scan::{BufferSegment, describe_reason, topic_summary};
