//! Access to a language model: cache, limits, cost, trace.

pub(crate) mod conversation;
pub(crate) mod estimate;
pub(crate) mod gate;
pub(crate) mod note_files;
pub(crate) mod question_trace;
