//! Background work: the queue of users, and the pending work of each.

pub(crate) mod pending;
pub(crate) mod queue;
pub(crate) mod snapshots;
pub(crate) mod work_status;
