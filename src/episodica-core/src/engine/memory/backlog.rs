//! The pending work of a user. Only this list decides whether work is queued. A snapshot keeps the
//! list; a deletion takes the deleted records off it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{Message, REFUSED, TextProvenance};
use crate::store::{AwaitedEdits, StateRecord};

/// Pending work of a user; see the module documentation. Derived from the logs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UserBacklog {
    /// Slots of messages in no episode, in order of arrival.
    buffer: BTreeSet<u32>,
    /// Slots of messages without a vector: not embedded yet, or the embedder failed. While there
    /// are any, no snapshot is taken.
    #[serde(skip)]
    unembedded: BTreeSet<u32>,
    /// Episodes whose facts are still to be learned: id to revision.
    unlearned: BTreeMap<String, u32>,
    /// Episodes that the rules wrote because the model failed; the model writes them again.
    unwritten: BTreeSet<String>,
    /// Episodes whose messages the model refused; the model is asked again on request only.
    #[serde(default)]
    refused: BTreeSet<String>,
    /// Episodes that the rules learned from because the model failed; the model learns from them
    /// again.
    relearn: BTreeSet<String>,
    /// Sessions that the caller closed and whose work is not finished.
    closing_sessions: BTreeSet<String>,
    /// Revisions, by episode, that were learned from but are not in the view yet: the fact log,
    /// which has the notes of learning, may be read further than the episode log.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    learned_ahead: BTreeMap<String, u32>,
    /// Newer versions of messages that do not hold yet. While there are any, no snapshot is taken.
    #[serde(skip)]
    edits: AwaitedEdits,
}

impl UserBacklog {
    /// A message arrived: it is in no episode and has no vector.
    pub fn message_arrived(&mut self, slot: u32) {
        self.buffer.insert(slot);
        self.unembedded.insert(slot);
    }

    pub fn message_in_episode(&mut self, slot: u32) {
        self.buffer.remove(&slot);
    }

    pub fn message_embedded(&mut self, slot: u32) {
        self.unembedded.remove(&slot);
    }

    /// The messages for which `has_vector` holds got their vectors.
    pub fn messages_embedded(&mut self, has_vector: impl Fn(u32) -> bool) {
        self.unembedded.retain(|slot| !has_vector(*slot));
    }

    pub fn message_deleted(&mut self, slot: u32, id: &str) {
        self.buffer.remove(&slot);
        self.unembedded.remove(&slot);
        self.edits.remove(id);
    }

    /// A newer version of a message is in the log.
    pub fn await_edit(&mut self, version: Arc<Message>) {
        self.edits.entry(version.message_id.clone()).or_default().push(version);
    }

    /// Adds versions as they were read from a log.
    pub fn await_edits(&mut self, edits: AwaitedEdits) {
        self.edits.extend(edits);
    }

    /// The oldest versions of a message that do not hold yet became the message's words.
    pub fn message_edited(&mut self, slot: u32, id: &str, versions: usize) {
        if let Some(waiting) = self.edits.get_mut(id) {
            waiting.drain(..versions.min(waiting.len()));
            if waiting.is_empty() {
                self.edits.remove(id);
            }
        }
        self.unembedded.insert(slot);
    }

    /// Newer versions of messages that do not hold yet, oldest first, by id.
    pub fn awaited_edits(&self) -> &AwaitedEdits {
        &self.edits
    }

    /// An episode was written; its provenance names the author.
    pub fn episode_written(&mut self, id: &str, provenance: &TextProvenance) {
        set_member(&mut self.unwritten, id, provenance.pending_llm);
        set_member(&mut self.refused, id, provenance.fallback == REFUSED);
    }

    /// The facts of an episode's revision are to be learned.
    pub fn await_learning(&mut self, id: &str, revision: u32) {
        let ahead = self.learned_ahead.get(id).copied();
        if ahead.is_some_and(|ahead| ahead <= revision) {
            self.learned_ahead.remove(id);
        }
        if ahead.is_none_or(|ahead| ahead < revision) {
            self.unlearned.insert(id.to_owned(), revision);
        }
    }

    /// An episode was learned from in a revision that the view does not have yet.
    pub fn learned_ahead(&mut self, id: &str, revision: u32) {
        self.learned_ahead.insert(id.to_owned(), revision);
    }

    /// The facts of an episode were learned up to a revision; `pending_llm` if the rules learned
    /// them because the model failed.
    pub fn mark_learned(&mut self, id: &str, revision: u32, pending_llm: bool) {
        if self.unlearned.get(id).is_some_and(|waiting| *waiting <= revision) {
            self.unlearned.remove(id);
        }
        set_member(&mut self.relearn, id, pending_llm);
    }

    /// Takes up a note of learning.
    pub fn note_learned(&mut self, note: &StateRecord) {
        if let StateRecord::Learned { episode_id, revision, pending_llm, .. } = note {
            self.mark_learned(episode_id, *revision, *pending_llm);
        }
    }

    /// An episode changed, but has no new content to learn from.
    pub fn nothing_to_learn(&mut self, id: &str) {
        self.unlearned.remove(id);
    }

    pub fn episode_deleted(&mut self, id: &str) {
        self.unlearned.remove(id);
        self.unwritten.remove(id);
        self.refused.remove(id);
        self.relearn.remove(id);
        self.learned_ahead.remove(id);
    }

    /// The caller closed a session.
    pub fn session_closing(&mut self, id: &str) {
        self.closing_sessions.insert(id.to_owned());
    }

    /// The work of a closed session is finished, or the session was reopened.
    pub fn session_settled(&mut self, id: &str) {
        self.closing_sessions.remove(id);
    }

    /// Copies the state of episodes and sessions from the backlog of an earlier view of the same
    /// records; not that of messages, whose slots differ between the views.
    pub fn take_over(&mut self, earlier: &Self) {
        *self = Self {
            buffer: std::mem::take(&mut self.buffer),
            unembedded: std::mem::take(&mut self.unembedded),
            ..earlier.clone()
        };
    }

    /// Slots of messages in no episode, in ascending order.
    pub fn buffered_slots(&self) -> &BTreeSet<u32> {
        &self.buffer
    }

    /// Slots of messages without a vector, in ascending order.
    pub fn unembedded_slots(&self) -> &BTreeSet<u32> {
        &self.unembedded
    }

    pub fn unlearned_episodes(&self) -> &BTreeMap<String, u32> {
        &self.unlearned
    }

    pub fn unwritten_episodes(&self) -> &BTreeSet<String> {
        &self.unwritten
    }

    pub fn refused_episodes(&self) -> &BTreeSet<String> {
        &self.refused
    }

    pub fn episodes_to_relearn(&self) -> &BTreeSet<String> {
        &self.relearn
    }

    pub fn closing_sessions(&self) -> &BTreeSet<String> {
        &self.closing_sessions
    }

    /// Number of episodes that a model is to write or to learn from again.
    pub fn pending_llm(&self) -> usize {
        self.unwritten.union(&self.relearn).count()
    }

    pub fn is_empty(&self) -> bool {
        // Refused episodes wait for a request, and `learned_ahead` is not work.
        let Self {
            buffer, unembedded, unlearned, unwritten, relearn, closing_sessions, edits, ..
        } = self;
        edits.is_empty()
            && [buffer, unembedded].iter().all(|slots| slots.is_empty())
            && unlearned.is_empty()
            && [unwritten, relearn, closing_sessions].iter().all(|ids| ids.is_empty())
    }
}

fn set_member(set: &mut BTreeSet<String>, member: &str, inside: bool) {
    if inside {
        set.insert(member.to_owned());
    } else {
        set.remove(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_leaves_the_backlog() {
        let mut backlog = UserBacklog::default();
        backlog.message_arrived(3);
        backlog.await_learning("e", 1);
        let pending = TextProvenance { pending_llm: true, ..TextProvenance::default() };
        backlog.episode_written("e", &pending);
        backlog.session_closing("s");
        // Learning from an earlier revision does not cover a later one.
        backlog.mark_learned("e", 0, true);
        assert_eq!((backlog.unlearned_episodes().len(), backlog.pending_llm()), (1, 1));
        let packed = serde_json::to_string(&backlog).unwrap();
        backlog.messages_embedded(|slot| slot == 3);
        assert_eq!(serde_json::from_str::<UserBacklog>(&packed).unwrap(), backlog);
        backlog.message_in_episode(3);
        backlog.mark_learned("e", 1, false);
        backlog.session_settled("s");
        assert!(!backlog.is_empty());
        backlog.episode_deleted("e");
        assert!(backlog.is_empty());
    }
}
