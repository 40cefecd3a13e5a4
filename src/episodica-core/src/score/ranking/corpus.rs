//! The interface through which ranking reads one user's records.

use std::sync::Arc;

use crate::index::{MessageIndex, TextIndex};
use crate::model::{Episode, SemanticMemory};
use crate::score::{fields, messages};

/// One user's indexes, and the properties of each record that ranking uses.
///
/// Records have slots. Reading a whole record ([`UserCorpus::fact`], [`UserCorpus::episode`]) may
/// decompress it, so strategies read only hits, and candidates only if a filter needs them.
pub trait UserCorpus: Sync {
    /// The messages.
    fn messages(&self) -> &MessageIndex;

    /// The text of the facts.
    fn facts(&self) -> &TextIndex;
    /// Slots of all facts, superseded ones included, ascending.
    fn fact_slots(&self) -> Vec<u32>;
    /// True if the slot holds the latest revision of a fact.
    fn has_fact(&self, slot: u32) -> bool;
    /// The fact in a slot.
    fn fact(&self, slot: u32) -> Option<&Arc<SemanticMemory>>;
    /// Tokens of a fact, as ids of the static table.
    fn fact_tokens(&self, slot: u32) -> &[u16];
    /// The slots of the messages that prove a fact, deleted ones included.
    fn sources(&self, slot: u32) -> &[u32];
    /// True if the fact was archived or has expired; searches do not return it.
    fn is_fact_hidden(&self, slot: u32) -> bool;
    /// True if the fact is current.
    fn is_current(&self, slot: u32) -> bool;
    /// True if a model, the user or the application stated the fact.
    fn is_stated(&self, slot: u32) -> bool;
    /// The number and name of a fact's subject.
    fn subject(&self, slot: u32) -> (u32, &str);
    /// The slot of the fact that superseded this fact.
    fn successor(&self, slot: u32) -> Option<u32>;

    /// Titles and summaries (L0) of the episodes.
    fn abstracts(&self) -> &TextIndex;
    /// Narratives (L1) of the episodes.
    fn narratives(&self) -> &TextIndex;
    /// Slots of all episodes that were not archived, ascending.
    fn episode_slots(&self) -> Vec<u32>;
    /// True if the slot holds the latest revision of an episode that was not archived.
    fn has_episode(&self, slot: u32) -> bool;
    /// The episode in a slot.
    fn episode(&self, slot: u32) -> Option<&Arc<Episode>>;
    /// The slots of an episode's messages.
    fn members(&self, slot: u32) -> &[u32];
    /// The slot of the episode that contains a message.
    fn episode_of(&self, message: u32) -> Option<u32>;
    /// True if some messages are hidden from searches because their episodes were archived.
    fn hides_messages(&self) -> bool;
    /// True if the message is hidden.
    fn is_message_hidden(&self, message: u32) -> bool;
}

/// True if there are few enough records that all are scored, regardless of the number requested.
pub fn is_scored_in_full(corpus: &dyn UserCorpus) -> bool {
    corpus.messages().len() <= messages::SCORE_ALL
        && [corpus.facts(), corpus.abstracts(), corpus.narratives()].into_iter().all(is_small)
}

/// True if there are few enough facts that all are scored, regardless of the number requested.
pub fn are_facts_scored_in_full(corpus: &dyn UserCorpus) -> bool {
    is_small(corpus.facts())
}

fn is_small(field: &TextIndex) -> bool {
    field.postings.slot_count().max(field.vector_count()) <= fields::SCORE_ALL
}
