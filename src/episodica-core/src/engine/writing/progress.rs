//! How far boundary detection has read a user's buffer, so that appending does not read it again.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::boundary::Readings;

/// Progress of boundary detection. Lost without harm: the buffer is then read again.
#[derive(Default)]
pub(crate) struct Progress {
    /// Up to which message (its number in the log, exclusive) a model has seen each session.
    pub seen: Mutex<HashMap<Option<Arc<str>>, u64>>,
    /// Analysis of buffered messages by the rules.
    pub readings: Readings,
}
