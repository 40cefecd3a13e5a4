//! Work behind the caller: who waits for it, and what there is to do for a user.

pub(crate) mod pending;
pub(crate) mod queue;
