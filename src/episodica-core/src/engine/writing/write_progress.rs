//! Progress of forming and learning for a user, so that nothing is read or asked twice.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::sync::Mutex;

use crate::boundary::FeatureCache;
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::model::Episode;

/// Progress of forming and learning. It may be lost: the buffer is then read again, and the model
/// asked again.
#[derive(Default)]
pub(crate) struct WriteProgress {
    /// The number in the log (exclusive) up to which a model has seen each session.
    pub seen: Mutex<HashMap<Option<Arc<str>>, u64>>,
    /// Readings of buffered messages by the rules.
    pub readings: Arc<FeatureCache>,
    /// Facts that were extracted together with an episode's text and are not learned yet: by id of
    /// the episode, with its revision.
    stated: Mutex<HashMap<String, (u32, ExtractedFacts)>>,
    /// Ids of facts that are about to go, and not shown to a model any more.
    pub leaving: Mutex<HashSet<String>>,
    /// Held while the messages of a window get their vectors.
    pub embedding: Mutex<()>,
    /// How often in a row work with a model was overtaken by changes of the records.
    pub overtaken: AtomicUsize,
    /// Number of messages in the log when vectors were last postponed.
    pub lingered: AtomicUsize,
}

impl WriteProgress {
    /// Stores the facts that were extracted together with `episodes`.
    pub fn keep_stated(&self, episodes: &[Arc<Episode>], stated: Vec<Option<ExtractedFacts>>) {
        let mut known = self.stated.lock();
        for (episode, stated) in episodes.iter().zip(stated) {
            if let Some(stated) = stated {
                known.insert(episode.episode_id.clone(), (episode.revision, stated));
            }
        }
    }

    /// Drops the facts of episodes that another process has learned from, or that may tell of what
    /// is erased.
    pub fn forget_stated(&self) {
        *self.stated.lock() = HashMap::new();
    }

    /// Removes and returns the facts that were extracted together with `episodes`.
    pub fn take_stated(&self, episodes: &[Arc<Episode>]) -> Vec<Option<ExtractedFacts>> {
        let mut known = self.stated.lock();
        let take = |episode: &Arc<Episode>| {
            let (revision, stated) = known.remove(&episode.episode_id)?;
            (revision == episode.revision).then_some(stated)
        };
        episodes.iter().map(take).collect()
    }
}
