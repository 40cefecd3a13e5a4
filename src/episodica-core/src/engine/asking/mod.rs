//! The way to a language model: cache, limits, accounts, trace.

pub(crate) mod ask;
