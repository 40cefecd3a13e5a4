//! Writes episodes from segments of messages, and facts from episodes; links later sentences with
//! earlier ones.

pub mod episode;
pub mod estimate;
pub mod facts;
pub(crate) mod links;
pub mod voice;
pub mod window;
