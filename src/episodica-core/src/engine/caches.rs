//! Vectors between two openings, and from an old view to a new one: taken over where the text is the same, computed where it isn't.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ndarray::{Array2, Axis};

use super::system::Engine;
use super::user::User;
use super::view::View;
use crate::control::Control;
use crate::error::Result;
use crate::ids::{Owner, content_hash};
use crate::index::{Field, VectorIndexKind};
use crate::model::Problem;
use crate::store::{CacheRow, LogKind, VectorCache, VectorCacheHead};

/// Layers of an episode in the caches.
const L0: &str = "L0";
const L1: &str = "L1";

/// Vectors by what they were made from.
#[derive(Default)]
pub(super) struct Known {
    places: HashMap<(String, String), (String, usize)>,
    vectors: Array2<f32>,
    /// The file of an index over just these vectors in this order, if there is a sound one.
    index: Option<std::path::PathBuf>,
}

/// Known vectors of the three logs.
#[derive(Default)]
pub(super) struct KnownVectors([Option<Known>; 3]);

/// How fields got their vectors: from what was known, from the embedder.
struct Filled {
    taken: usize,
    computed: usize,
}

impl std::ops::AddAssign for Filled {
    fn add_assign(&mut self, other: Self) {
        self.taken += other.taken;
        self.computed += other.computed;
    }
}

/// One text that wants a vector.
struct Wanted {
    slot: u32,
    row: CacheRow,
    text: String,
}

/// A text without a vector.
pub(super) struct Missing {
    /// `message`, `episodic`, `semantic`.
    pub kind: &'static str,
    /// `L0` or `L1` of an episode.
    pub layer: &'static str,
    slot: u32,
    pub id: String,
    text: String,
}

impl Engine {
    /// The vectors on disk, as far as they can be believed.
    pub(super) fn read_caches(&self, owner: &Owner, problems: &mut Vec<Problem>) -> Result<KnownVectors> {
        let mut known = KnownVectors::default();
        for kind in LogKind::ALL {
            let cache = self.store.load_vectors(owner, kind, self.embedder.model(), self.embedder.dimension(), problems)?;
            known.0[kind as usize] = cache.map(Known::from);
        }
        Ok(known)
    }

    /// The vectors of a view that is about to be replaced.
    pub(super) fn carry_over(view: &View) -> KnownVectors {
        KnownVectors(LogKind::ALL.map(|kind| {
            let (rows, vectors) = cached(view, kind)?;
            Some(Known::new(rows, vectors, None))
        }))
    }

    /// Gives every record of a fresh view its vectors; `true` if some were computed, or some of the known ones have no record any more.
    pub(super) fn fill_vectors(&self, view: &mut View, known: KnownVectors, control: &dyn Control) -> Result<bool> {
        let available: usize = known.0.iter().flatten().map(|known| known.vectors.nrows()).sum();
        let [messages, episodes, semantic] = known.0;
        let wanted = wanted_messages(view);
        let mut filled = self.fill(&mut view.messages.field, &wanted, messages.unwrap_or_default(), control)?;
        if let Some(vectors) = view.messages.field.vectors() {
            view.unembedded.retain(|slot| vectors.vector(u64::from(*slot)).is_none());
        }
        let episodes = episodes.unwrap_or_default();
        let (abstracts, narratives) = (wanted_layer(view, L0), wanted_layer(view, L1));
        filled += self.fill(&mut view.abstracts, &abstracts, episodes.share(), control)?;
        filled += self.fill(&mut view.narratives, &narratives, episodes, control)?;
        let wanted = wanted_facts(view);
        filled += self.fill(&mut view.statements, &wanted, semantic.unwrap_or_default(), control)?;
        Ok(filled.computed > 0 || filled.taken < available)
    }

    /// Adds the vectors of `wanted`: known ones as they are, the others from the embedder.
    fn fill(&self, field: &mut Field, wanted: &[Wanted], known: Known, control: &dyn Control) -> Result<Filled> {
        let to = self.indexing();
        let slots = |wanted: &[&Wanted]| wanted.iter().map(|one| u64::from(one.slot)).collect::<Vec<u64>>();
        let (mut found, mut rows, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for one in wanted {
            match known.places.get(&(one.row.id.clone(), one.row.layer.clone())) {
                Some((hash, row)) if *hash == one.row.hash => {
                    found.push(one);
                    rows.push(*row);
                }
                _ => missing.push(one),
            }
        }
        let in_order = rows.len() == known.vectors.nrows() && rows.iter().enumerate().all(|(at, row)| at == *row);
        match &known.index {
            // A graph is worth reading: building it anew takes minutes where reading takes moments.
            Some(path) if in_order && rows.len() >= to.config.hnsw_threshold => {
                if let Ok(index) = self.vectors.read(path, known.vectors.ncols(), slots(&found)) {
                    field.set_vectors(index);
                } else {
                    to.add(field, &slots(&found), Some(known.vectors.view()))?;
                }
            }
            _ if in_order => to.add(field, &slots(&found), Some(known.vectors.view()))?,
            _ => to.add(field, &slots(&found), Some(known.vectors.select(Axis(0), &rows).view()))?,
        }
        let texts: Vec<&str> = missing.iter().map(|one| one.text.as_str()).collect();
        let taken = found.len();
        match self.embed_all(&texts, control)? {
            Some(rows) => to.add(field, &slots(&missing), Some(rows.view())).map(|()| Filled { taken, computed: missing.len() }),
            None => Ok(Filled { taken, computed: 0 }),
        }
    }

    /// Records that have no vector and should have one.
    pub(super) fn without_vector(view: &View) -> Vec<Missing> {
        type Wanting = fn(&View) -> Vec<Wanted>;
        let fields: [(&str, &str, &Field, usize, Wanting); 4] = [
            ("message", "", &view.messages.field, view.messages.len(), wanted_messages),
            ("episodic", L0, &view.abstracts, view.episodes.len(), |view| wanted_layer(view, L0)),
            ("episodic", L1, &view.narratives, view.episodes.len(), |view| wanted_layer(view, L1)),
            ("semantic", "", &view.statements, view.facts.len(), wanted_facts),
        ];
        let mut missing = Vec::new();
        for (kind, layer, field, records, wanted) in fields {
            if field.vector_count() >= records {
                continue;
            }
            let has = |slot: u32| field.vectors().is_some_and(|vectors| vectors.vector(u64::from(slot)).is_some());
            let lacking = wanted(view).into_iter().filter(|one| !has(one.slot));
            missing.extend(lacking.map(|one| Missing { kind, layer, slot: one.slot, id: one.row.id, text: one.text }));
        }
        missing
    }

    /// Embeds what an outage of the embedder left without a vector; returns how many records are still without. The caller has the
    /// user's turn.
    pub(super) fn embed_missing(&self, user: &User, control: &dyn Control) -> Result<usize> {
        let missing = Self::without_vector(&user.view.read());
        let texts: Vec<&str> = missing.iter().map(|one| one.text.as_str()).collect();
        if texts.is_empty() {
            return Ok(0);
        }
        let Some(rows) = self.embed_all(&texts, control)? else { return Ok(missing.len()) };
        let to = self.indexing();
        let mut view = user.view.write();
        for (one, row) in missing.iter().zip(rows.rows()) {
            let row = row.insert_axis(Axis(0));
            let label = [u64::from(one.slot)];
            match (one.kind, one.layer) {
                ("message", _) => view.add_message_vectors(&[one.slot], row, &to)?,
                ("episodic", L0) if view.episodes.get(one.slot).is_some() => to.add(&mut view.abstracts, &label, Some(row))?,
                ("episodic", _) if view.episodes.get(one.slot).is_some() => to.add(&mut view.narratives, &label, Some(row))?,
                ("semantic", _) if view.facts.get(one.slot).is_some() => to.add(&mut view.statements, &label, Some(row))?,
                _ => {}
            }
        }
        user.note_change();
        Ok(0)
    }

    /// Writes the vectors of a user for the next opening, if any changed.
    pub(super) fn save_caches(&self, user: &User) -> Result<()> {
        if self.read_only || !user.vectors_changed.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.write_caches(user).inspect_err(|_| user.note_change())
    }

    fn write_caches(&self, user: &User) -> Result<()> {
        let view = user.view.read();
        for kind in LogKind::ALL {
            let Some((rows, vectors)) = cached(&view, kind) else {
                self.store.remove_vectors(&user.owner, kind)?;
                continue;
            };
            let field = match kind {
                LogKind::Messages => &view.messages.field,
                LogKind::Episodes => &view.narratives,
                LogKind::Semantic => &view.statements,
            };
            // The two layers of episodes share a cache but no index; they are never many enough for a graph to be worth a file.
            let index = field.vectors().filter(|_| kind != LogKind::Episodes);
            let head = VectorCacheHead {
                model: self.embedder.model().to_owned(),
                dimension: vectors.ncols(),
                index_kind: match index.map(crate::index::VectorIndex::kind) {
                    Some(VectorIndexKind::Hnsw) => "hnsw".to_owned(),
                    _ => "flat".to_owned(),
                },
                log: user.store.position(kind),
                rows,
            };
            let mut write = |path: &Path| match index {
                Some(index) => index.write(path),
                None => {
                    let mut both = self.vectors.create(VectorIndexKind::Flat, vectors.ncols())?;
                    both.add(&(0..vectors.nrows() as u64).collect::<Vec<u64>>(), vectors.view())?;
                    both.write(path)
                }
            };
            self.store.save_vectors(&user.owner, kind, &head, vectors.view(), Some(&mut write))?;
        }
        Ok(())
    }

    /// Opens a user with all vectors computed anew; `None` if there is no such user.
    pub(super) fn rebuilt_user(&self, user_id: &str, control: &dyn Control) -> Result<Option<Arc<User>>> {
        let owner = self.owner(user_id)?;
        if let Some(user) = self.open_user(user_id) {
            let turn = user.turns.take(control)?;
            self.rebuild_view(&user, KnownVectors::default(), |_| {}, control)?;
            drop(turn);
            return Ok(Some(user));
        }
        for kind in LogKind::ALL {
            self.store.remove_vectors(&owner, kind)?;
        }
        self.user(user_id, false, control)
    }
}

impl Known {
    fn new(rows: Vec<CacheRow>, vectors: Array2<f32>, index: Option<std::path::PathBuf>) -> Self {
        let places = rows.into_iter().enumerate().map(|(at, row)| ((row.id, row.layer), (row.hash, at))).collect();
        Self { places, vectors, index }
    }

    /// The same vectors for a second field.
    fn share(&self) -> Self {
        Self { places: self.places.clone(), vectors: self.vectors.clone(), index: None }
    }
}

impl From<VectorCache> for Known {
    fn from(cache: VectorCache) -> Self {
        Self::new(cache.head.rows, cache.vectors, cache.index)
    }
}

fn wanted_messages(view: &View) -> Vec<Wanted> {
    let messages = view.messages.records().iter().enumerate();
    messages.map(|(slot, message)| wanted(slot as u32, &message.message_id, "", Engine::message_text(message))).collect()
}

fn wanted_layer(view: &View, layer: &str) -> Vec<Wanted> {
    let text = |episode: &crate::model::Episode| if layer == L0 { episode.abstract_text() } else { episode.content.clone() };
    view.episodes.iter().map(|(slot, episode)| wanted(slot, &episode.episode_id, layer, &text(episode))).collect()
}

fn wanted_facts(view: &View) -> Vec<Wanted> {
    view.facts.iter().map(|(slot, fact)| wanted(slot, &fact.memory_id, "", &fact.content)).collect()
}

fn wanted(slot: u32, id: &str, layer: &str, text: &str) -> Wanted {
    Wanted { slot, row: CacheRow { id: id.to_owned(), layer: layer.to_owned(), hash: content_hash(text) }, text: text.to_owned() }
}

/// What the cache of a log holds: rows and vectors; `None` where there are none.
fn cached(view: &View, kind: LogKind) -> Option<(Vec<CacheRow>, Array2<f32>)> {
    let fields: Vec<(&Field, Vec<Wanted>)> = match kind {
        LogKind::Messages => vec![(&view.messages.field, wanted_messages(view))],
        LogKind::Episodes => vec![(&view.abstracts, wanted_layer(view, L0)), (&view.narratives, wanted_layer(view, L1))],
        LogKind::Semantic => vec![(&view.statements, wanted_facts(view))],
    };
    let (mut rows, mut parts) = (Vec::new(), Vec::new());
    for (field, wanted) in &fields {
        let Some(vectors) = field.vectors() else { continue };
        let by_slot: HashMap<u64, &Wanted> = wanted.iter().map(|one| (u64::from(one.slot), one)).collect();
        let known: Vec<(usize, &CacheRow)> =
            vectors.labels().iter().enumerate().filter_map(|(at, label)| Some((at, &by_slot.get(label)?.row))).collect();
        rows.extend(known.iter().map(|(_, row)| (*row).clone()));
        parts.push(vectors.vectors().select(Axis(0), &known.iter().map(|(at, _)| *at).collect::<Vec<_>>()));
    }
    let views: Vec<_> = parts.iter().map(|rows| rows.view()).collect();
    let vectors = ndarray::concatenate(Axis(0), &views).ok()?;
    (!rows.is_empty()).then_some((rows, vectors))
}
