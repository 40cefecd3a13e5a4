//! All records of a user as JSON, exactly as they are stored: dates keep their offsets.

use std::sync::Arc;

use serde::Serialize;

use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::error::{Error, Result};
use crate::model::{Episode, Message, SemanticMemory};

/// Records of one user at one moment, in the form that `import_records` reads.
#[derive(Debug, Clone, Default)]
pub struct ExportedRecords {
    /// Every version of every message, oldest first, the messages in the order of arrival.
    pub messages: Vec<String>,
    /// Every version of every episode, oldest first; `message_ids` names its messages.
    pub episodes: Vec<String>,
    /// Every version of every fact, oldest first.
    pub facts: Vec<String>,
    /// Number of messages, of episodes and of facts.
    pub counts: (usize, usize, usize),
    /// Ids of episodes whose facts are still to be learned.
    pub unlearned: Vec<String>,
}

impl Engine {
    /// All records of a user at one moment.
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn export_records(
        &self,
        user_id: &str,
        control: &dyn CallControl,
    ) -> Result<ExportedRecords> {
        let Some(user) = self.known_user(user_id, control)? else {
            return Ok(ExportedRecords::default());
        };
        let (messages, episodes, facts, unlearned) = {
            let view = user.view.read();
            let mut messages: Vec<Arc<Message>> = Vec::new();
            for message in view.messages.all_messages() {
                messages
                    .extend(view.messages.earlier_versions(&message.message_id).iter().cloned());
                messages.push(Arc::clone(message));
                let awaited = view.backlog.awaited_edits().get(&message.message_id);
                messages.extend(awaited.into_iter().flatten().cloned());
            }
            let messages = (view.messages.len(), messages);
            let mut episodes: Vec<Arc<Episode>> = Vec::new();
            for (_, episode) in view.episodes.iter() {
                episodes.extend(view.episodes.earlier_revisions(&episode.episode_id));
                episodes.push(Arc::clone(episode));
            }
            let mut facts: Vec<Arc<SemanticMemory>> = Vec::new();
            for (_, fact) in view.facts.iter() {
                facts.extend(view.facts.earlier_revisions(&fact.memory_id));
                facts.push(Arc::clone(fact));
            }
            let unlearned = view.backlog.unlearned_episodes().keys().cloned().collect();
            (messages, (view.episodes.len(), episodes), (view.facts.len(), facts), unlearned)
        };
        control.check()?;
        Ok(ExportedRecords {
            counts: (messages.0, episodes.0, facts.0),
            messages: messages.1.iter().map(to_json).collect::<Result<_>>()?,
            episodes: episodes.1.iter().map(to_json).collect::<Result<_>>()?,
            facts: facts.1.iter().map(to_json).collect::<Result<_>>()?,
            unlearned,
        })
    }
}

fn to_json(record: &impl Serialize) -> Result<String> {
    serde_json::to_string(record)
        .map_err(|error| Error::internal("a record has no JSON form").caused_by(error))
}
