//! The way to a language model: cache, limits, accounts, trace.

pub(crate) mod conversation;
pub(crate) mod gate;
pub(crate) mod note_files;
