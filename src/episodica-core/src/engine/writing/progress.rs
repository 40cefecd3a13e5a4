//! How far forming and learning have come with a user, so that nothing is read or asked twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::sync::Mutex;

use crate::boundary::Readings;
use crate::engine::writing::extract::Stated;

/// Progress of forming and learning. Lost without harm: the buffer is then read again, and the
/// model asked again.
#[derive(Default)]
pub(crate) struct Progress {
    /// Up to which message (its number in the log, exclusive) a model has seen each session.
    pub seen: Mutex<HashMap<Option<Arc<str>>, u64>>,
    /// Analysis of buffered messages by the rules.
    pub readings: Arc<Readings>,
    /// Facts that the model found while it wrote an episode, until they are learned: by the id of
    /// the episode, with its revision.
    pub stated: Mutex<HashMap<String, (u32, Stated)>>,
    /// Messages in the log when vectors were last left for later.
    pub lingered: AtomicUsize,
}
