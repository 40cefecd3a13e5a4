//! Reads a memory without changing it: searches, contexts, listings, checks, reports.

pub(crate) mod changes;
pub(crate) mod context;
mod corpus;
pub(crate) mod export;
pub(crate) mod forgetting;
pub(crate) mod hits;
mod later;
mod moments;
pub(crate) mod records;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod stats;
pub(crate) mod verify;
