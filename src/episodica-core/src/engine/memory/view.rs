//! The view of one user: records by slot, and their indexes. Searches read it; the writer changes
//! it in short steps.
//!
//! Everything here is derived from the logs. Nothing here opens a file, embeds a text or waits.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use bytemuck::{Pod, Zeroable};
use ndarray::{Array2, ArrayView2, Axis};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::engine::memory::backlog::UserBacklog;
use crate::engine::memory::hidden::{ARCHIVED, HiddenSlots};
use crate::engine::memory::indexing::{IndexingSettings, Rows};
use crate::engine::memory::linked::ShownLinks;
use crate::engine::memory::listing::ListingOrders;
use crate::engine::memory::records::AnyRecord;
use crate::engine::memory::table::RecordTable;
use crate::engine::memory::wording::FactWording;
use crate::error::Result;
use crate::index::{
    ListColumn, MessageIndex, MessageReading, StringInterner, TextIndex, TextTerms,
};
use crate::model::{Episode, Message, SemanticMemory, block_size, map_bytes};
use crate::score::{Superseded, superseded_messages};
use crate::text::normalized;

/// Marks a message without an episode, and a fact without a successor.
pub(super) const NONE: u32 = u32::MAX;

/// The state of a fact that searches need without loading it.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct FactStatus {
    /// Number of the fact's subject.
    pub subject: u32,
    /// Number of the id of the fact that superseded this one.
    successor: u32,
    /// 1 if the fact holds and this is its latest revision.
    pub(super) current: u16,
    /// 1 if a model, the user or the application stated the fact.
    stated: u16,
    /// Bits `ARCHIVED` and `EXPIRED`: why searches leave the fact out; 0 if they include it.
    pub(super) hidden: u32,
}

impl FactStatus {
    /// Marks the fact as deleted.
    pub fn mark_deleted(&mut self) {
        self.current = 0;
    }
}

/// The records of one user and their indexes.
#[derive(Default)]
pub(crate) struct UserView {
    pub messages: MessageIndex,
    pub episodes: RecordTable<Episode>,
    /// L0 of the episodes.
    pub abstracts: TextIndex,
    /// L1 of the episodes. The vector of an episode is the mean of its messages' vectors.
    pub narratives: TextIndex,
    /// The slots of each episode's messages, by the episode's slot; replaced episodes included.
    pub members: ListColumn<u32>,
    /// The slot of each message's episode, by the message's slot. May be shorter than the messages.
    pub(crate) episode_of: Vec<u32>,
    pub facts: RecordTable<SemanticMemory>,
    /// The texts of the facts.
    pub statements: TextIndex,
    /// The tokens of the facts' texts, by slot.
    pub(crate) statement_tokens: ListColumn<u16>,
    /// The slots of each fact's source messages, by the fact's slot; replaced facts included.
    pub(crate) sources: ListColumn<u32>,
    /// The numbers of the facts that each fact is linked with, by the later fact's slot.
    pub(crate) linked: ListColumn<u32>,
    /// Subject, successor and state of each fact, by slot.
    pub(crate) standings: Vec<FactStatus>,
    pub(crate) subjects: StringInterner,
    /// Hash of a normalised text to the slot of its fact, for exact duplicates.
    pub(crate) fact_texts: FxHashMap<u64, u32>,
    /// Episodes that were merged into others: old id to new.
    pub(crate) merged: HashMap<String, String>,
    pub backlog: UserBacklog,
    /// Boundary detection starts here: messages in lower slots have vectors and are in episodes or
    /// in open sessions. 0 after loading.
    pub formed: u32,
    /// Slots in use when everything was last derived from the messages. 0 after loading.
    pub(crate) derived: u32,
    /// Records that searches leave out.
    pub(super) hidden: HiddenSlots,
    /// True once records were deleted or edited. The indexes keep the earlier words until the user
    /// is opened again, so they must not enter a snapshot.
    pub(super) erased: bool,
    /// The messages with superseded content, computed at the first request; reset by each change of
    /// a fact.
    pub(super) superseded: OnceLock<Superseded>,
    /// The links of facts, computed and reset in the same way.
    pub(super) shown_links: OnceLock<ShownLinks>,
    /// The orders of listings in progress.
    pub(super) orders: ListingOrders,
    /// Identifies this view: slots of another view of the user are others.
    pub(super) identity: Arc<()>,
}

impl UserView {
    /// Appends messages with their readings; ignores known ids. Vectors come later.
    pub fn add_messages(&mut self, messages: &[Arc<Message>], readings: &[MessageReading]) {
        for (message, reading) in messages.iter().zip(readings) {
            if let Some(slot) = self.messages.add_read(Arc::clone(message), reading) {
                self.backlog.message_arrived(slot);
            }
        }
    }

    /// Makes newer versions of messages hold: the last of each becomes its words, the others become
    /// history.
    pub fn edit_messages(
        &mut self,
        versions: &[Arc<Message>],
        readings: &[MessageReading],
    ) -> Result<()> {
        self.erased = true;
        // What a segment knows of the slots is about other words.
        self.identity = Arc::default();
        for (version, reading) in versions.iter().zip(readings) {
            if let Some(slot) = self.messages.replace_message(version, reading)? {
                self.backlog.message_edited(slot, &version.message_id, 1);
            }
        }
        Ok(())
    }

    /// Adds the vectors of messages, except those that have one or were deleted. `false` if the
    /// vectors have another dimension.
    pub fn add_message_vectors(
        &mut self,
        slots: &[u32],
        rows: ArrayView2<'_, f32>,
        to: &IndexingSettings<'_>,
    ) -> Result<bool> {
        let wanted: Vec<usize> = (0..slots.len())
            .filter(|at| self.backlog.unembedded_slots().contains(&slots[*at]))
            .collect();
        let labels: Vec<u64> = wanted.iter().map(|at| u64::from(slots[*at])).collect();
        let added = if wanted.len() == slots.len() {
            to.add_vectors(&mut self.messages.field, &labels, Some(rows))?
        } else {
            let rows = rows.select(Axis(0), &wanted);
            to.add_vectors(&mut self.messages.field, &labels, Some(rows.view()))?
        };
        if added {
            wanted.iter().for_each(|at| self.backlog.message_embedded(slots[*at]));
            let mut episodes: Vec<u32> =
                wanted.iter().filter_map(|at| self.episode_of(slots[*at])).collect();
            episodes.dedup();
            self.add_episode_vectors(&episodes, to)?;
        }
        Ok(added)
    }

    /// Stores an episode (or a new revision) with its [`episode_terms`].
    pub fn put_episode(
        &mut self,
        episode: Arc<Episode>,
        terms: &[TextTerms; 2],
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        let (slot, earlier) = self.episodes.put_revision(&episode.episode_id, Arc::clone(&episode));
        if let Some(earlier) = earlier {
            self.abstracts.remove_slot(earlier)?;
            self.narratives.remove_slot(earlier)?;
            self.hidden.remove_episode(earlier, self.members.get(earlier));
        }
        if let Some(merged) = episode.metadata.get("merged_from").and_then(|ids| ids.as_array()) {
            let merged = merged.iter().filter_map(|id| id.as_str());
            self.merged.extend(merged.map(|id| (id.to_owned(), episode.episode_id.clone())));
        }
        self.backlog.episode_written(&episode.episode_id, &episode.provenance);
        self.abstracts.postings.add_terms(slot, &terms[0]);
        self.narratives.postings.add_terms(slot, &terms[1]);
        let members: Vec<u32> = episode
            .original_messages
            .iter()
            .filter_map(|message| self.messages.slot_of(&message.message_id))
            .collect();
        members.iter().for_each(|member| self.backlog.message_in_episode(*member));
        self.episode_of.resize(self.messages.slot_count(), NONE);
        members.iter().for_each(|member| self.episode_of[*member as usize] = slot);
        self.hidden.put_episode(slot, &members, episode.archived_at.is_some());
        self.members.pad_to(slot as usize);
        self.members.push_list(members);
        self.add_episode_vectors(&[slot], to)
    }

    /// Stores a fact (or a new revision) with the vector of its text (one row).
    pub fn put_fact(
        &mut self,
        fact: Arc<SemanticMemory>,
        rows: Rows<'_>,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        let wording = FactWording::from_fact(&fact, to.tokens);
        self.put_read(fact, &wording, rows, to)
    }

    /// [`UserView::put_fact`] for a fact whose text was read before.
    pub fn put_read(
        &mut self,
        fact: Arc<SemanticMemory>,
        wording: &FactWording,
        rows: Rows<'_>,
        to: &IndexingSettings<'_>,
    ) -> Result<()> {
        self.facts_changed();
        let (slot, earlier) = self.facts.put_revision(&fact.memory_id, Arc::clone(&fact));
        if let Some(earlier) = earlier {
            self.statements.remove_slot(earlier)?;
            self.standings[earlier as usize].current = 0;
        }
        self.statements.postings.add_terms(slot, &wording.terms);
        self.statement_tokens.pad_to(slot as usize);
        self.statement_tokens.push_list(wording.tokens.iter().copied());
        self.sources.pad_to(slot as usize);
        let proofs = fact.source_messages.iter();
        self.sources.push_list(proofs.filter_map(|message| self.messages.slot_of(message)));
        self.linked.pad_to(slot as usize);
        let linked = fact.links.iter().map(|link| self.facts.number_of(&link.old));
        self.linked.push_list(linked.collect::<Vec<_>>());
        let (subject, _) = self.subjects.intern_key(&fact.subject);
        let successor = fact.superseded_by.as_deref().map_or(NONE, |id| self.facts.number_of(id));
        self.standings.resize(slot as usize, FactStatus::zeroed());
        let hidden = if fact.archived_at.is_some() { ARCHIVED } else { 0 };
        // A fact that ends later is current until `expire_facts` finds that the moment has come.
        let current = fact.holds_at(fact.updated_at).into();
        let stated = (!fact.provenance.is_by_rules()).into();
        self.standings.push(FactStatus { subject, successor, current, stated, hidden });
        self.hidden.put_fact(slot, &fact);
        self.note_text(text_key(&wording.normalized), slot);
        to.add_vectors(&mut self.statements, &[u64::from(slot)], rows).map(drop)
    }

    /// Resets values that were computed from all facts.
    pub(super) fn facts_changed(&mut self) {
        self.superseded.take();
        self.shown_links.take();
    }

    /// The messages with superseded content, each with the facts that superseded it.
    pub fn superseded_messages(&self) -> &Superseded {
        self.superseded.get_or_init(|| superseded_messages(self))
    }

    /// Makes `slot` the fact that is found by its text. A current fact is not replaced by a
    /// superseded one.
    pub(super) fn note_text(&mut self, key: u64, slot: u32) {
        let is_current = |slot: u32| self.standings[slot as usize].current != 0;
        let known = self.fact_texts.entry(key).or_insert(slot);
        if is_current(slot) || !is_current(*known) {
            *known = slot;
        }
    }

    pub fn episode_of(&self, message: u32) -> Option<u32> {
        self.episode_of.get(message as usize).copied().filter(|slot| *slot != NONE)
    }

    pub fn statement_tokens(&self, slot: u32) -> &[u16] {
        self.statement_tokens.get(slot)
    }

    /// True if the fact in a slot holds and this is its latest revision.
    pub fn is_current(&self, slot: u32) -> bool {
        self.standings.get(slot as usize).is_some_and(|standing| standing.current != 0)
    }

    /// True if a model, the user or the application stated the fact in a slot.
    pub fn is_stated(&self, slot: u32) -> bool {
        self.standings.get(slot as usize).is_some_and(|standing| standing.stated != 0)
    }

    /// Number and name of the subject of the fact in a slot.
    pub fn fact_subject(&self, slot: u32) -> (u32, &str) {
        let number = self.standings[slot as usize].subject;
        (number, self.subjects.key_of(number))
    }

    pub fn fact_successor(&self, slot: u32) -> Option<u32> {
        self.facts.slot_of(self.standings[slot as usize].successor)
    }

    /// True if nothing is left to derive from the messages that this process added.
    pub(crate) fn is_caught_up(&self) -> bool {
        self.derived == self.messages.slot_count() as u32
    }

    /// The dimension of the vectors; `None` without vectors.
    pub fn dimension(&self) -> Option<usize> {
        let fields = [&self.messages.field, &self.statements];
        fields.into_iter().find_map(TextIndex::vector_index).map(|vectors| vectors.dimension())
    }

    /// The episode that this one was merged into.
    pub fn merged_into(&self, id: &str) -> Option<&Arc<Episode>> {
        self.episodes.by_id(self.merged.get(id)?)
    }

    /// Earlier revisions of a record, oldest first.
    pub fn earlier_revisions(&self, id: &str) -> Vec<AnyRecord> {
        let messages = self.messages.earlier_versions(id).iter().cloned().map(AnyRecord::Message);
        let episodes = self.episodes.earlier_revisions(id).into_iter().map(AnyRecord::Episode);
        let facts = self.facts.earlier_revisions(id).into_iter().map(AnyRecord::Semantic);
        messages.chain(episodes).chain(facts).collect()
    }

    /// The fact with this text. Ignores case, width, white space and outer punctuation.
    pub fn same_statement(&self, statement: &str) -> Option<&Arc<SemanticMemory>> {
        self.facts.get(self.same_text(&normalized(statement))?)
    }

    /// The slot of the fact whose normalised text is `text`.
    pub fn same_text(&self, text: &str) -> Option<u32> {
        let slot = *self.fact_texts.get(&text_key(text))?;
        (normalized(&self.facts.get(slot)?.content) == text).then_some(slot)
    }

    /// The vectors of messages, one row each; `None` if one is missing.
    pub fn message_vectors(&self, slots: &[u32]) -> Option<Array2<f32>> {
        let vectors = self.messages.field.vector_index()?;
        let rows: Option<Vec<_>> =
            slots.iter().map(|slot| vectors.vector_of(u64::from(*slot))).collect();
        let rows = rows?;
        ndarray::stack(Axis(0), &rows.iter().map(|row| row.view()).collect::<Vec<_>>()).ok()
    }

    /// The buffered messages by session, each in order.
    pub fn buffered_sessions(&self) -> Vec<Vec<u32>> {
        let mut sessions: Vec<Vec<u32>> = Vec::new();
        let mut places: FxHashMap<Option<&str>, usize> = FxHashMap::default();
        for slot in self.backlog.buffered_slots() {
            let place = *places
                .entry(self.messages.get(*slot).session_id.as_deref())
                .or_insert(sessions.len());
            match sessions.get_mut(place) {
                Some(slots) => slots.push(*slot),
                None => sessions.push(vec![*slot]),
            }
        }
        sessions
    }

    /// Memory in bytes. Called after each change, so large parts keep a count as they grow.
    pub fn heap_bytes(&self) -> usize {
        let facts = block_size(self.standings.capacity() * size_of::<FactStatus>())
            + map_bytes(self.fact_texts.capacity(), size_of::<(u64, u32)>())
            + self.statement_tokens.heap_bytes()
            + self.sources.heap_bytes()
            + self.linked.heap_bytes()
            + self.subjects.heap_bytes()
            + self.facts.heap_bytes()
            + self.statements.heap_bytes();
        let episodes = self.members.heap_bytes()
            + block_size(self.episode_of.capacity() * size_of::<u32>())
            + self.episodes.heap_bytes()
            + self.abstracts.heap_bytes()
            + self.narratives.heap_bytes();
        self.messages.heap_bytes() + episodes + facts
    }
}

pub(crate) fn episode_terms(episode: &Episode) -> [TextTerms; 2] {
    [TextTerms::from_text(&episode.abstract_text()), TextTerms::from_text(&episode.content)]
}

pub(super) fn text_key(normalized: &str) -> u64 {
    FxBuildHasher.hash_one(normalized)
}
