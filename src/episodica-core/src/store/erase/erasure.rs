//! The records that an erasure removes, and their replacements.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::model::{Episode, SemanticMemory};

/// Records to remove, and records that replace all revisions with their ids.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UserErasure {
    /// Ids of messages. Every current episode that contains one of them must be removed or replaced
    /// in the same erasure.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Ids of episodes; all revisions are removed.
    #[serde(default)]
    pub episodes: Vec<String>,
    /// Ids of facts; all revisions are removed.
    #[serde(default)]
    pub semantic: Vec<String>,
    /// Each replaces all revisions of its id.
    #[serde(default)]
    pub replace_episodes: Vec<Arc<Episode>>,
    /// Each replaces all revisions of its id.
    #[serde(default)]
    pub replace_semantic: Vec<Arc<SemanticMemory>>,
    /// True to remove dead lines too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub compact: bool,
    /// Time of the deletion.
    #[serde(default)]
    pub at: Option<Moment>,
}

impl UserErasure {
    /// An erasure that only compacts the logs.
    pub fn compaction(at: Moment) -> Self {
        Self { compact: true, at: Some(at), ..Self::default() }
    }

    /// True if the erasure removes no record.
    pub(super) fn only_compacts(&self) -> bool {
        *self == Self { compact: true, at: self.at, ..Self::default() }
    }

    /// Adds a later erasure, whose removals and replacements take precedence.
    pub(super) fn merge_later(&mut self, later: Self) {
        self.messages.extend(later.messages);
        self.episodes.extend(later.episodes);
        self.semantic.extend(later.semantic);
        self.at = later.at.or(self.at);
        self.compact |= later.compact;
        self.replace_episodes.retain(|old| {
            !later.replace_episodes.iter().any(|new| new.episode_id == old.episode_id)
        });
        self.replace_episodes.extend(later.replace_episodes);
        self.replace_semantic
            .retain(|old| !later.replace_semantic.iter().any(|new| new.memory_id == old.memory_id));
        self.replace_semantic.extend(later.replace_semantic);
        self.replace_episodes.retain(|episode| !self.episodes.contains(&episode.episode_id));
        self.replace_semantic.retain(|memory| !self.semantic.contains(&memory.memory_id));
    }
}
