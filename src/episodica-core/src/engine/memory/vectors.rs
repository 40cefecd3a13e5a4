//! Carries vectors from one opening to the next, and from an old view to a new one: reuses those of
//! known texts, computes the others.

use rustc_hash::FxHashMap;

use crate::control::CallControl;
use crate::embed::{Embedder, is_earlier_default};
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::user::UserMemory;
use crate::engine::memory::vector_field::{MissingVector, VectorField};
use crate::engine::memory::view::UserView;
use crate::error::Result;
use crate::ids::{Owner, VectorKey};
use crate::index::TextIndex;
use crate::matrix::Matrix;
use crate::model::StoreProblem;
use crate::store::{Segment, SegmentFooter, Store};

/// How often a segment is read again that another process replaces meanwhile.
const READ_ATTEMPTS: usize = 3;

/// Known vectors of one field, with the keys of their texts.
#[derive(Default)]
struct KnownField {
    keys: Vec<VectorKey>,
    vectors: Matrix<'static>,
}

/// Known vectors of the fields.
#[derive(Default)]
pub(crate) struct KnownVectors([KnownField; 2]);

/// Numbers of reused and of computed vectors.
#[derive(Default)]
struct FilledCount {
    taken: usize,
    computed: usize,
}

impl KnownVectors {
    /// Reads the vectors of a user's segment, and reports damage. Vectors of an earlier default
    /// embedder count as missing and are computed again.
    ///
    /// # Errors
    /// `EmbeddingMismatch` if they come from another embedder.
    pub fn read_segment(
        store: &Store,
        owner: &Owner,
        embedder: &dyn Embedder,
    ) -> Result<(Self, Vec<StoreProblem>)> {
        let mut segment = store.open_segment(owner);
        for attempt in 1.. {
            let mut problems = Vec::new();
            let known = match &segment {
                Ok(Some(known))
                    if !is_earlier_default(&known.footer.model, embedder.model_name()) =>
                {
                    known.check_model(embedder.model_name(), embedder.dimension())?;
                    Self(VectorField::ALL.map(|field| {
                        KnownField::read_part(known, field.part_number(), &mut problems)
                            .unwrap_or_default()
                    }))
                }
                Ok(_) => Self::default(),
                Err(problem) => {
                    problems.push(problem.clone());
                    Self::default()
                }
            };
            if problems.is_empty() || attempt == READ_ATTEMPTS {
                return Ok((known, problems));
            }
            let now = store.open_segment(owner);
            if segment_footer(&now) == segment_footer(&segment) {
                return Ok((known, problems));
            }
            segment = now;
        }
        unreachable!("the last attempt returns")
    }

    /// The vectors of a view that is about to be replaced.
    pub fn carried_over(view: &UserView) -> Self {
        Self(VectorField::ALL.map(|field| {
            let Some(vectors) = field.index(view).vector_index() else {
                return KnownField::default();
            };
            let slots = (0..).zip(vectors.labels()).map(|(row, label)| (row, *label as u32));
            let (rows, slots): (Vec<usize>, Vec<u32>) =
                slots.filter(|(_, slot)| field.has_record(view, *slot)).unzip();
            let vectors = vectors.vectors().select(&rows).into_owned();
            KnownField { keys: field.vector_keys(view, slots), vectors }
        }))
    }
}

fn segment_footer(read: &Result<Option<Segment>, StoreProblem>) -> Option<&SegmentFooter> {
    read.as_ref().ok()?.as_ref().map(|segment| &segment.footer)
}

impl KnownField {
    /// Reads a part of the segment; `None`, and a problem, if it is damaged.
    fn read_part(
        segment: &Segment,
        number: usize,
        problems: &mut Vec<StoreProblem>,
    ) -> Option<Self> {
        let mut note = |problem| problems.push(problem);
        let keys = segment.read_keys(number).map_err(&mut note).ok()?;
        let vectors = segment.read_vectors(number).map_err(note).ok()?;
        Some(Self { keys, vectors })
    }

    /// The field of a view with a vector for each record: known ones unchanged, the others from the
    /// embedder.
    fn fill_field(
        self,
        view: &UserView,
        field: VectorField,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<(TextIndex, FilledCount)> {
        let labels = |slots: &[u32]| slots.iter().map(|slot| u64::from(*slot)).collect::<Vec<_>>();
        let (mut index, slots) = (TextIndex::default(), field.record_slots(view));
        let (mut found, mut rows, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let mut in_order = false;
        if self.keys.is_empty() {
            missing.clone_from(&slots);
        } else {
            let keys = field.vector_keys(view, slots.clone());
            in_order = keys == self.keys;
            let places: FxHashMap<&VectorKey, usize> =
                (0..).zip(&self.keys).map(|(at, key)| (key, at)).collect();
            for (slot, key) in slots.into_iter().zip(&keys) {
                match places.get(key) {
                    Some(row) => {
                        found.push(slot);
                        rows.push(*row);
                    }
                    None => missing.push(slot),
                }
            }
        }
        let vectors = if in_order { self.vectors } else { self.vectors.select(&rows) };
        // Invalid numbers, such as infinity, mean damage: the vectors are computed again.
        if index.restore_vectors(to.factory, labels(&found), vectors).is_err() {
            missing.append(&mut found);
        }
        let mut count = FilledCount { taken: found.len(), computed: 0 };
        if to.opens_without_embedding {
            return Ok((index, count));
        }
        let texts: Vec<_> = missing.iter().map(|slot| field.record_text(view, *slot).1).collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        if let Some(rows) = to.embed_batches(&texts, control)? {
            to.add_vectors(&mut index, &labels(&missing), Some(rows.view()))?;
            count.computed = missing.len();
        }
        Ok((index, count))
    }
}

impl UserView {
    /// Gives every record of a new view its vectors; `true` if the segment is outdated, because
    /// vectors were computed or known ones left over.
    pub fn fill_vectors(
        &mut self,
        known: KnownVectors,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<bool> {
        let mut is_outdated = false;
        for (field, known) in VectorField::ALL.into_iter().zip(known.0) {
            let available = known.keys.len();
            let (filled, count) = known.fill_field(self, field, to, control)?;
            field.index_mut(self).take_vectors(filled);
            is_outdated |= count.computed > 0 || count.taken < available;
        }
        if let Some(vectors) = self.messages.field.vector_index() {
            self.backlog.messages_embedded(|slot| vectors.has_label(u64::from(slot)));
        }
        self.fill_episode_vectors(to)?;
        Ok(is_outdated)
    }
}

impl UserMemory {
    /// Embeds the records that lack a vector; returns how many still do. The caller holds the
    /// user's `FormingTurn`.
    pub(crate) fn embed_missing(
        &self,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<usize> {
        let missing = self.view.read().without_vector();
        self.embed_texts(&missing, to, control)
    }

    /// Embeds texts; returns how many still lack a vector.
    pub(super) fn embed_texts(
        &self,
        missing: &[MissingVector],
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<usize> {
        let texts: Vec<&str> = missing.iter().map(|one| &*one.text).collect();
        if texts.is_empty() {
            return Ok(0);
        }
        let Some(rows) = to.embed_batches(&texts, control)? else { return Ok(missing.len()) };
        let left = self.view.write().add_missing(missing, rows.view(), to)?;
        self.note_change();
        Ok(left)
    }
}
