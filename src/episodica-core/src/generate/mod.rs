//! From a segment of messages to an episode, and from episodes to semantic memories.

pub mod episode;
pub mod facts;
pub mod reconcile;
