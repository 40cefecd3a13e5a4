//! The texts of a view that are embedded.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2, Axis};

use crate::engine::memory::follow::ArrivedRecords;
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::view::UserView;
use crate::error::Result;
use crate::ids::{VectorKey, vector_key};
use crate::index::{TextIndex, VectorIndex};
use crate::model::SemanticMemory;
use crate::parallel;

/// Up to this number of texts, one thread hashes faster than several.
const FEW_HASHES: usize = 1_024;

/// An embedded text. An episode has none: its vector is the mean of its messages' vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorField {
    /// The content of a message.
    Message,
    /// The content of a fact; of one that quotes a message, the content of that message, so that
    /// both have the same vector.
    Fact,
}

/// A text without a vector.
pub(crate) struct MissingVector {
    pub field: VectorField,
    slot: u32,
    pub id: String,
    pub text: String,
}

impl VectorField {
    pub const ALL: [Self; 2] = [Self::Message, Self::Fact];

    /// The number of the field's part of a segment. Earlier versions wrote parts 1 and 2.
    pub fn part_number(self) -> usize {
        match self {
            Self::Message => 0,
            Self::Fact => 3,
        }
    }

    /// The kind of the record, as dead letters name it.
    pub fn kind_name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Fact => "semantic",
        }
    }

    pub fn index(self, view: &UserView) -> &TextIndex {
        match self {
            Self::Message => &view.messages.field,
            Self::Fact => &view.statements,
        }
    }

    pub fn index_mut(self, view: &mut UserView) -> &mut TextIndex {
        match self {
            Self::Message => &mut view.messages.field,
            Self::Fact => &mut view.statements,
        }
    }

    /// The slots that have a vector, in the order of the index.
    pub fn indexed_labels(self, view: &UserView) -> &[u64] {
        self.index(view).vector_index().map_or(&[][..], VectorIndex::labels)
    }

    fn has_vector(self, view: &UserView, slot: u32) -> bool {
        self.index(view).vector_index().is_some_and(|vectors| vectors.has_label(u64::from(slot)))
    }

    /// Number of records.
    pub fn record_count(self, view: &UserView) -> usize {
        match self {
            Self::Message => view.messages.len(),
            Self::Fact => view.facts.len(),
        }
    }

    /// The slots of the records, in ascending order.
    pub fn record_slots(self, view: &UserView) -> Vec<u32> {
        match self {
            Self::Message => view.messages.message_slots().collect(),
            Self::Fact => view.facts.current_slots().collect(),
        }
    }

    /// True if the slot has a record.
    pub fn has_record(self, view: &UserView, slot: u32) -> bool {
        match self {
            Self::Message => view.messages.has_message(slot),
            Self::Fact => view.facts.is_current(slot),
        }
    }

    /// The id and the text of the record in a slot.
    ///
    /// # Panics
    /// If the slot has no record.
    pub fn record_text(self, view: &UserView, slot: u32) -> (&str, Cow<'_, str>) {
        const RECORD: &str = "invariant: the slot has a record";
        match self {
            Self::Message => {
                let message = view.messages.get(slot);
                (&message.message_id, message.content.as_str().into())
            }
            Self::Fact => {
                let fact = view.facts.get(slot).expect(RECORD);
                (&fact.memory_id, view.embedded_text(fact).into())
            }
        }
    }

    /// The keys of the texts in these slots.
    pub fn vector_keys(self, view: &UserView, slots: Vec<u32>) -> Vec<VectorKey> {
        parallel::map_items(slots, FEW_HASHES, |slot| vector_key(&self.record_text(view, slot).1))
    }

    fn missing_vector(self, view: &UserView, slot: u32) -> MissingVector {
        let (id, text) = self.record_text(view, slot);
        MissingVector { field: self, slot, id: id.to_owned(), text: text.into_owned() }
    }
}

impl UserView {
    /// The text whose vector a fact has.
    pub(crate) fn embedded_text<'a>(&'a self, fact: &'a SemanticMemory) -> &'a str {
        let message = self.quoted_message(fact);
        message.map_or(&*fact.content, |slot| &*self.messages.get(slot).content)
    }

    /// The slot of the message that a fact quotes.
    pub(crate) fn quoted_message(&self, fact: &SemanticMemory) -> Option<u32> {
        fact.quote.as_ref()?;
        self.messages.slot_of(fact.source_messages.first()?)
    }

    /// The vector of the message that a fact quotes, as one row.
    pub(crate) fn quoted_vector(&self, fact: &SemanticMemory) -> Option<Array2<f32>> {
        let slot = self.quoted_message(fact)?;
        self.message_vectors(&[slot])
    }

    pub(crate) fn lacks_vectors(&self) -> bool {
        let mut fields = VectorField::ALL.into_iter();
        fields.any(|field| field.index(self).vector_count() < field.record_count(self))
    }

    pub(crate) fn without_vector(&self) -> Vec<MissingVector> {
        let mut missing = Vec::new();
        for field in VectorField::ALL {
            if field.index(self).vector_count() < field.record_count(self) {
                let slots = field.record_slots(self).into_iter();
                let lacking = slots.filter(|slot| !field.has_vector(self, *slot));
                missing.extend(lacking.map(|slot| field.missing_vector(self, slot)));
            }
        }
        missing
    }

    /// The texts of arrived records.
    pub(super) fn texts_of(&self, arrived: &ArrivedRecords) -> Vec<MissingVector> {
        let mut texts = Vec::new();
        if arrived.messages {
            let slots = self.backlog.unembedded_slots().iter();
            texts.extend(slots.map(|slot| VectorField::Message.missing_vector(self, *slot)));
        }
        let facts = arrived.facts.iter().filter_map(|id| self.facts.slot_by_id(id));
        texts.extend(facts.map(|slot| VectorField::Fact.missing_vector(self, slot)));
        texts
    }

    /// Adds the vectors of texts, one row each, unless the record is gone or has one; returns how
    /// many vectors could not be added.
    pub(super) fn add_missing(
        &mut self,
        missing: &[MissingVector],
        rows: ArrayView2<'_, f32>,
        to: &IndexingSettings<'_>,
    ) -> Result<usize> {
        let mut left = 0;
        for (MissingVector { field, slot, .. }, row) in missing.iter().zip(rows.rows()) {
            let row = row.insert_axis(Axis(0));
            let added = if *field == VectorField::Message {
                self.add_message_vectors(&[*slot], row, to)?
            } else if field.has_record(self, *slot) && !field.has_vector(self, *slot) {
                to.add_vectors(field.index_mut(self), &[u64::from(*slot)], Some(row))?
            } else {
                true
            };
            left += usize::from(!added);
        }
        Ok(left)
    }
}
