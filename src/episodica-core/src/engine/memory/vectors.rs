//! Carries vectors from one opening to the next, and from an old view to a new one: reuses those of
//! unchanged texts, computes the others.

use std::borrow::Cow;

use ndarray::Axis;
use rustc_hash::FxHashMap;

use crate::control::CallControl;
use crate::embed::{Embedder, is_earlier_default};
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::user::UserMemory;
use crate::engine::memory::view::UserView;
use crate::error::Result;
use crate::ids::{Owner, content_hash};
use crate::index::TextIndex;
use crate::matrix::Matrix;
use crate::model::StoreProblem;
use crate::parallel;
use crate::store::{CacheRow, LogKind, Store, VectorCache};

/// Up to this number of texts, one thread hashes faster than several.
const FEW_HASHES: usize = 1_024;
/// Layers of an episode in the caches.
const L0: &str = "L0";
const L1: &str = "L1";

/// Known vectors, with the hashes of their texts.
#[derive(Default)]
pub(crate) struct ComputedVectors {
    rows: Vec<CacheRow>,
    vectors: Matrix<'static>,
    /// The file of a graph over these vectors in this order, if there is a valid one.
    index: Option<std::path::PathBuf>,
}

/// Known vectors of the three logs.
#[derive(Default)]
pub(crate) struct KnownVectors([Option<ComputedVectors>; 3]);

/// Numbers of reused and of computed vectors.
struct FilledCount {
    taken: usize,
    computed: usize,
}

impl std::ops::AddAssign for FilledCount {
    fn add_assign(&mut self, other: Self) {
        self.taken += other.taken;
        self.computed += other.computed;
    }
}

struct WantedVector<'a> {
    slot: u32,
    id: &'a str,
    text: Cow<'a, str>,
}

pub(crate) struct MissingVector {
    /// `message`, `episodic`, `semantic`.
    pub kind: &'static str,
    /// `L0` or `L1` of an episode.
    pub layer: &'static str,
    slot: u32,
    pub id: String,
    text: String,
}

/// Reads the vectors of one log from disk, as [`Store::load_vectors`] does. Vectors of an earlier
/// default embedder count as missing and are computed again.
///
/// # Errors
/// `EmbeddingMismatch` if they come from another embedder; `Io`.
pub(crate) fn load_vectors(
    store: &Store,
    owner: &Owner,
    kind: LogKind,
    embedder: &dyn Embedder,
    problems: &mut Vec<StoreProblem>,
) -> Result<Option<VectorCache>> {
    let (model, dimension) = (embedder.model(), embedder.dimension());
    let stored = store.vectors_model(owner, kind);
    if stored.is_some_and(|stored| is_earlier_default(&stored, model)) {
        return Ok(None);
    }
    store.load_vectors(owner, kind, model, dimension, problems)
}

impl KnownVectors {
    /// Reads the vectors on disk that match this embedder, and reports damaged files.
    pub fn read(
        store: &Store,
        owner: &Owner,
        to: &IndexingSettings<'_>,
    ) -> Result<(Self, Vec<StoreProblem>)> {
        let (mut known, mut problems) = (Self::default(), Vec::new());
        for kind in LogKind::ALL {
            let cache = load_vectors(store, owner, kind, to.embedder, &mut problems)?;
            known.0[kind as usize] = cache.map(ComputedVectors::from);
        }
        Ok((known, problems))
    }

    /// The vectors of a view that is about to be replaced.
    pub fn carried_over(view: &UserView) -> Self {
        Self(LogKind::ALL.map(|kind| {
            let (rows, vectors) = cached(view, kind)?;
            Some(ComputedVectors { rows, vectors: vectors.into_owned(), index: None })
        }))
    }
}

impl UserView {
    /// Gives every record of a new view its vectors; `true` if the caches are outdated, because
    /// vectors were computed or known ones left over.
    pub fn fill_vectors(
        &mut self,
        known: KnownVectors,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<bool> {
        let available: usize = known.0.iter().flatten().map(|known| known.vectors.nrows()).sum();
        let [messages, episodes, semantic] = known.0;
        let (abstracts, narratives) = episodes.unwrap_or_default().split();
        let mut fields: [TextIndex; 4] = Default::default();
        let mut filled = FilledCount { taken: 0, computed: 0 };
        let sources =
            [messages.unwrap_or_default(), abstracts, narratives, semantic.unwrap_or_default()];
        for ((field, known), wanted) in fields.iter_mut().zip(sources).zip(EMBEDDED_FIELDS) {
            filled += fill(field, &wanted(self), known, to, control)?;
        }
        let own = [
            &mut self.messages.field,
            &mut self.abstracts,
            &mut self.narratives,
            &mut self.statements,
        ];
        own.into_iter().zip(fields).for_each(|(own, filled)| own.take_vectors(filled));
        if let Some(vectors) = self.messages.field.vectors() {
            self.backlog.messages_embedded(|slot| vectors.contains(u64::from(slot)));
        }
        Ok(filled.computed > 0 || filled.taken < available)
    }

    pub(crate) fn lacks_vectors(&self) -> bool {
        let (episodes, facts) = (self.episodes.len(), self.facts.len());
        let counts = [
            (self.messages.field.vector_count(), self.messages.len()),
            (self.abstracts.vector_count(), episodes),
            (self.narratives.vector_count(), episodes),
            (self.statements.vector_count(), facts),
        ];
        counts.iter().any(|(vectors, records)| vectors < records)
    }

    pub(crate) fn without_vector(&self) -> Vec<MissingVector> {
        let fields = [
            ("message", "", &self.messages.field, self.messages.len()),
            ("episodic", L0, &self.abstracts, self.episodes.len()),
            ("episodic", L1, &self.narratives, self.episodes.len()),
            ("semantic", "", &self.statements, self.facts.len()),
        ];
        let mut missing = Vec::new();
        for ((kind, layer, field, records), wanted) in fields.into_iter().zip(EMBEDDED_FIELDS) {
            if field.vector_count() >= records {
                continue;
            }
            let has_vector = |slot: u32| {
                field.vectors().is_some_and(|vectors| vectors.contains(u64::from(slot)))
            };
            let lacking = wanted(self).into_iter().filter(|one| !has_vector(one.slot));
            missing.extend(lacking.map(|one| MissingVector {
                kind,
                layer,
                slot: one.slot,
                id: one.id.to_owned(),
                text: one.text.into_owned(),
            }));
        }
        missing
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
        let texts: Vec<&str> = missing.iter().map(|one| one.text.as_str()).collect();
        if texts.is_empty() {
            return Ok(0);
        }
        let Some(rows) = to.embed(&texts, control)? else { return Ok(missing.len()) };
        let mut left = 0;
        let mut view = self.view.write();
        for (one, row) in missing.iter().zip(rows.rows()) {
            let row = row.insert_axis(Axis(0));
            let label = [u64::from(one.slot)];
            let added = match (one.kind, one.layer) {
                ("message", _) => view.add_message_vectors(&[one.slot], row, to)?,
                ("episodic", L0) if view.episodes.contains(one.slot) => {
                    to.add(&mut view.abstracts, &label, Some(row))?
                }
                ("episodic", _) if view.episodes.contains(one.slot) => {
                    to.add(&mut view.narratives, &label, Some(row))?
                }
                ("semantic", _) if view.facts.contains(one.slot) => {
                    to.add(&mut view.statements, &label, Some(row))?
                }
                _ => true,
            };
            left += usize::from(!added);
        }
        self.note_change();
        Ok(left)
    }
}

/// Adds the vectors of `wanted`: known ones unchanged, the others from the embedder.
fn fill(
    field: &mut TextIndex,
    wanted: &[WantedVector<'_>],
    known: ComputedVectors,
    to: &IndexingSettings<'_>,
    control: &dyn CallControl,
) -> Result<FilledCount> {
    let slots = |wanted: &[&WantedVector<'_>]| {
        wanted.iter().map(|one| u64::from(one.slot)).collect::<Vec<u64>>()
    };
    let hashes: Vec<String> = if known.rows.is_empty() {
        vec![String::new(); wanted.len()]
    } else {
        parallel::map(wanted.iter().collect(), FEW_HASHES, |one| content_hash(&one.text))
    };
    let matches = |row: &CacheRow, one: &WantedVector<'_>, hash: &String| {
        row.id == one.id && row.hash == *hash
    };
    let all = wanted.iter().zip(&hashes);
    let in_order = known.rows.len() == wanted.len()
        && known.rows.iter().zip(all.clone()).all(|(row, (one, hash))| matches(row, one, hash));
    let (mut found, mut rows, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    if in_order {
        found.extend(wanted);
    } else {
        let places: FxHashMap<&str, usize> =
            known.rows.iter().enumerate().map(|(at, row)| (row.id.as_str(), at)).collect();
        for (one, hash) in all {
            match places.get(one.id) {
                Some(row) if matches(&known.rows[*row], one, hash) => {
                    found.push(one);
                    rows.push(*row);
                }
                _ => missing.push(one),
            }
        }
    }
    // Reading a graph takes moments; building it takes minutes.
    let graph = known.index.filter(|_| in_order && found.len() >= to.config.hnsw_threshold);
    match graph.and_then(|path| to.factory.read(&path, known.vectors.ncols(), slots(&found)).ok()) {
        Some(graph) => field.set_vectors(graph),
        None => {
            let vectors = if in_order { known.vectors } else { known.vectors.select(&rows) };
            let threshold = to.config.hnsw_threshold;
            // Invalid numbers, such as infinity, mean damage: the vectors are computed again.
            if field.restore_vectors(to.factory, threshold, slots(&found), vectors).is_err() {
                missing.append(&mut found);
            }
        }
    }
    let taken = found.len();
    let texts: Vec<&str> = missing.iter().map(|one| &*one.text).collect();
    if to.opens_without_embedding {
        return Ok(FilledCount { taken, computed: 0 });
    }
    match to.embed(&texts, control)? {
        Some(rows) => to
            .add(field, &slots(&missing), Some(rows.view()))
            .map(|_| FilledCount { taken, computed: missing.len() }),
        None => Ok(FilledCount { taken, computed: 0 }),
    }
}

impl ComputedVectors {
    /// Separates the vectors of L0 from those of L1.
    fn split(self) -> (Self, Self) {
        let layer = |layer: &str| {
            let places: Vec<usize> =
                (0..self.rows.len()).filter(|at| self.rows[*at].layer == layer).collect();
            let rows = places.iter().map(|at| self.rows[*at].clone()).collect();
            Self { rows, vectors: self.vectors.view().select(&places).into_owned(), index: None }
        };
        (layer(L0), layer(L1))
    }
}

impl From<VectorCache> for ComputedVectors {
    fn from(cache: VectorCache) -> Self {
        Self { rows: cache.head.rows, vectors: cache.vectors, index: cache.index }
    }
}

/// The embedded texts, field by field: messages, L0 and L1 of episodes, facts.
const EMBEDDED_FIELDS: [fn(&UserView) -> Vec<WantedVector<'_>>; 4] = [
    |view| {
        view.messages
            .iter()
            .map(|(slot, message)| {
                wanted(slot, &message.message_id, message.content.as_str().into())
            })
            .collect()
    },
    |view| {
        view.episodes
            .iter()
            .map(|(slot, episode)| {
                wanted(slot, &episode.episode_id, episode.abstract_text().into())
            })
            .collect()
    },
    |view| {
        view.episodes
            .iter()
            .map(|(slot, episode)| {
                wanted(slot, &episode.episode_id, episode.content.as_str().into())
            })
            .collect()
    },
    |view| {
        view.facts
            .iter()
            .map(|(slot, fact)| wanted(slot, &fact.memory_id, fact.content.as_str().into()))
            .collect()
    },
];

fn wanted<'a>(slot: u32, id: &'a str, text: Cow<'a, str>) -> WantedVector<'a> {
    WantedVector { slot, id, text }
}

/// The rows and vectors of a log's cache; `None` without any. If each vector of the index belongs
/// to a record, they are borrowed instead of copied.
pub(super) fn cached(view: &UserView, kind: LogKind) -> Option<(Vec<CacheRow>, Matrix<'_>)> {
    let [messages, abstracts, narratives, statements] = EMBEDDED_FIELDS;
    let fields: Vec<(&TextIndex, &str, Vec<WantedVector<'_>>)> = match kind {
        LogKind::Messages => vec![(&view.messages.field, "", messages(view))],
        LogKind::Episodes => {
            vec![(&view.abstracts, L0, abstracts(view)), (&view.narratives, L1, narratives(view))]
        }
        LogKind::Semantic => vec![(&view.statements, "", statements(view))],
    };
    let (mut rows, mut parts) = (Vec::new(), Vec::new());
    for (field, layer, wanted) in &fields {
        let Some(vectors) = field.vectors() else { continue };
        let by_slot: FxHashMap<u64, &WantedVector<'_>> =
            wanted.iter().map(|one| (u64::from(one.slot), one)).collect();
        let known: Vec<(usize, &WantedVector<'_>)> = vectors
            .labels()
            .iter()
            .enumerate()
            .filter_map(|(at, label)| Some((at, *by_slot.get(label)?)))
            .collect();
        let row = |(_, one): (usize, &WantedVector<'_>)| CacheRow {
            id: one.id.to_owned(),
            layer: (*layer).to_owned(),
            hash: content_hash(&one.text),
        };
        parts.push(vectors.vectors().select(&known.iter().map(|(at, _)| *at).collect::<Vec<_>>()));
        rows.extend(parallel::map(known, FEW_HASHES, row));
    }
    let vectors = Matrix::concatenate(parts).ok()?;
    (!rows.is_empty()).then_some((rows, vectors))
}
