//! Records that searches and contexts leave out although they are in the logs: archived records,
//! the messages of archived episodes, expired facts, and facts that have ended by now.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::clock::Moment;
use crate::engine::memory::view::UserView;
use crate::model::SemanticMemory;

/// In `FactStatus::hidden`: the fact was archived.
pub(super) const ARCHIVED: u32 = 1;
/// In `FactStatus::hidden`: the fact has expired.
pub(super) const EXPIRED: u32 = 2;

/// Hidden records by slot. [`FactStatus`](super::view::FactStatus) tells whether a fact is hidden.
#[derive(Default)]
pub(crate) struct HiddenSlots {
    /// Archived episodes.
    pub(super) episodes: BTreeSet<u32>,
    /// The messages of archived episodes.
    messages: FxHashSet<u32>,
    /// When facts expire or end (microseconds), with their slots. Facts whose moment has come are
    /// taken out.
    pub(super) expiring: BTreeSet<(i64, u32)>,
    /// How many facts have expired so far.
    pub(super) expired: usize,
}

impl HiddenSlots {
    /// Records whether an episode with these messages is archived.
    pub(super) fn put_episode(&mut self, slot: u32, members: &[u32], archived: bool) {
        if archived {
            self.episodes.insert(slot);
            self.messages.extend(members);
        } else if !self.messages.is_empty() {
            self.messages.retain(|message| !members.contains(message));
        }
    }

    /// Removes an episode that was replaced or deleted.
    pub(super) fn remove_episode(&mut self, slot: u32, members: &[u32]) {
        if self.episodes.remove(&slot) {
            self.messages.retain(|message| !members.contains(message));
        }
    }

    /// Takes the expiry dates and the count of expired facts from `facts`.
    pub(super) fn with_facts_of(self, facts: Self) -> Self {
        Self { expiring: facts.expiring, expired: facts.expired, ..self }
    }

    /// Records when a fact expires and ends.
    pub(super) fn put_fact(&mut self, slot: u32, fact: &SemanticMemory) {
        let moments = [fact.expires_at, fact.valid_to].into_iter().flatten();
        self.expiring.extend(moments.map(|moment| (moment.micros(), slot)));
    }
}

impl UserView {
    /// True if a fact expires or ends by `now` and is not marked yet.
    pub fn expires_by(&self, now: Moment) -> bool {
        self.hidden.expiring.first().is_some_and(|(expires, _)| *expires <= now.micros())
    }

    /// Marks the facts that have expired or ended by `now`.
    pub fn expire_facts(&mut self, now: Moment) {
        while self.expires_by(now) {
            let Some((_, slot)) = self.hidden.expiring.pop_first() else { break };
            let Some(fact) = self.facts.get(slot) else { continue };
            let has_expired = fact.expires_at.is_some_and(|expires| expires <= now);
            let holds = fact.holds_at(now);
            let status = &mut self.standings[slot as usize];
            if !holds {
                status.mark_deleted();
            }
            if has_expired && status.hidden & EXPIRED == 0 {
                status.hidden |= EXPIRED;
                self.hidden.expired += 1;
            }
        }
        self.facts_changed();
    }

    /// True if searches leave out the fact in a slot.
    pub fn is_fact_hidden(&self, slot: u32) -> bool {
        self.standings.get(slot as usize).is_some_and(|standing| standing.hidden != 0)
    }

    /// True if the episode in a slot was archived.
    pub fn is_episode_hidden(&self, slot: u32) -> bool {
        self.hidden.episodes.contains(&slot)
    }

    /// True if the message in a slot belongs to an archived episode.
    pub fn is_message_hidden(&self, slot: u32) -> bool {
        self.hidden.messages.contains(&slot)
    }

    /// True if an archived episode has messages.
    pub fn hides_messages(&self) -> bool {
        !self.hidden.messages.is_empty()
    }

    /// Number of hidden episodes and facts.
    pub fn hidden_count(&self) -> usize {
        let facts = self.facts.current_slots().filter(|slot| self.is_fact_hidden(*slot)).count();
        self.hidden.episodes.len() + facts
    }

    /// Restores the archived episodes of a snapshot; `None` if one is missing.
    pub(super) fn take_archived(&mut self, episodes: &[u32]) -> Option<()> {
        for slot in episodes {
            let members = self.episodes.is_current(*slot).then(|| self.members.get(*slot))?;
            self.hidden.put_episode(*slot, members, true);
        }
        Some(())
    }

    /// Restores the expiry dates of a snapshot; `None` for an invalid slot.
    pub(super) fn take_expiring(&mut self, expiring: &[[i64; 2]]) -> Option<()> {
        for [expires, slot] in expiring {
            let slot = u32::try_from(*slot).ok()?;
            ((slot as usize) < self.facts.slot_count()).then_some(())?;
            self.hidden.expiring.insert((*expires, slot));
        }
        Some(())
    }
}
