//! Writes episodes from segments of messages, and facts from episodes.

pub mod episode;
pub mod facts;
pub mod voice;
