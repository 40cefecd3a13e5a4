//! How far forming and learning have come with a user, so that nothing is read or asked twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crate::sync::Mutex;

use crate::boundary::FeatureCache;
use crate::engine::writing::extract::ExtractedFacts;
use crate::model::Episode;

/// Progress of forming and learning. Lost without harm: the buffer is then read again, and the
/// model asked again.
#[derive(Default)]
pub(crate) struct WriteProgress {
    /// Up to which message (its number in the log, exclusive) a model has seen each session.
    pub seen: Mutex<HashMap<Option<Arc<str>>, u64>>,
    /// Analysis of buffered messages by the rules.
    pub readings: Arc<FeatureCache>,
    /// Facts that were found while an episode was written, until they are learned: by the id of the
    /// episode, with its revision.
    stated: Mutex<HashMap<String, (u32, ExtractedFacts)>>,
    /// Messages in the log when vectors were last left for later.
    pub lingered: AtomicUsize,
}

impl WriteProgress {
    /// Keeps the facts that were found while `episodes` were written.
    pub fn keep_stated(&self, episodes: &[Arc<Episode>], stated: Vec<Option<ExtractedFacts>>) {
        let mut known = self.stated.lock();
        for (episode, stated) in episodes.iter().zip(stated) {
            if let Some(stated) = stated {
                known.insert(episode.episode_id.clone(), (episode.revision, stated));
            }
        }
    }

    /// Forgets the facts of episodes that others have learned from.
    pub fn forget_stated(&self) {
        *self.stated.lock() = HashMap::new();
    }

    /// Gives out the facts that were found while `episodes` were written.
    pub fn take_stated(&self, episodes: &[Arc<Episode>]) -> Vec<Option<ExtractedFacts>> {
        let mut known = self.stated.lock();
        let take = |episode: &Arc<Episode>| {
            let (revision, stated) = known.remove(&episode.episode_id)?;
            (revision == episode.revision).then_some(stated)
        };
        episodes.iter().map(take).collect()
    }
}
