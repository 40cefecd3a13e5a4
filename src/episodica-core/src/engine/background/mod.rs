//! Work behind the caller: the queue of users, and what there is to do for one.

pub(crate) mod pending;
pub(crate) mod queue;
pub(crate) mod snapshots;
pub(crate) mod work_status;
