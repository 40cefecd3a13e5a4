//! Vectors between two openings, and from an old view to a new one: taken over where the text is
//! the same, computed where it isn't.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ndarray::Axis;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use crate::control::Control;
use crate::engine::memory::snapshot::VectorSums;
use crate::engine::memory::user::User;
use crate::engine::memory::view::View;
use crate::engine::registry::Engine;
use crate::error::Result;
use crate::ids::{Owner, content_hash};
use crate::index::{Field, VectorIndexKind};
use crate::matrix::Matrix;
use crate::model::Problem;
use crate::store::{CacheRow, LogKind, VectorCache, VectorCacheHead};

/// Layers of an episode in the caches.
const L0: &str = "L0";
const L1: &str = "L1";

/// Vectors and what they were made from.
#[derive(Default)]
pub(crate) struct Known {
    rows: Vec<CacheRow>,
    vectors: Matrix<'static>,
    /// The file of an index over just these vectors in this order, if there is a sound one.
    index: Option<std::path::PathBuf>,
}

/// Known vectors of the three logs.
#[derive(Default)]
pub(crate) struct KnownVectors([Option<Known>; 3]);

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
struct Wanted<'a> {
    slot: u32,
    id: &'a str,
    text: Cow<'a, str>,
}

/// A text without a vector.
pub(crate) struct Missing {
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
    pub(crate) fn read_caches(&self, owner: &Owner) -> Result<(KnownVectors, Vec<Problem>)> {
        let (mut known, mut problems) = (KnownVectors::default(), Vec::new());
        for kind in LogKind::ALL {
            let cache = self.store.load_vectors(
                owner,
                kind,
                self.embedder.model(),
                self.embedder.dimension(),
                &mut problems,
            )?;
            known.0[kind as usize] = cache.map(Known::from);
        }
        Ok((known, problems))
    }

    /// The vectors of a view that is about to be replaced.
    pub(crate) fn carry_over(view: &View) -> KnownVectors {
        KnownVectors(LogKind::ALL.map(|kind| {
            let (rows, vectors) = cached(view, kind)?;
            Some(Known { rows, vectors: vectors.into_owned(), index: None })
        }))
    }

    /// Gives every record of a fresh view its vectors; `true` if some were computed, or some of the
    /// known ones have no record any more.
    pub(crate) fn fill_vectors(
        &self,
        view: &mut View,
        known: KnownVectors,
        control: &dyn Control,
    ) -> Result<bool> {
        let available: usize = known.0.iter().flatten().map(|known| known.vectors.nrows()).sum();
        let [messages, episodes, semantic] = known.0;
        let (abstracts, narratives) = episodes.unwrap_or_default().split();
        let mut fields = [
            &mut view.messages.field,
            &mut view.abstracts,
            &mut view.narratives,
            &mut view.statements,
        ]
        .map(std::mem::take);
        let mut filled = Filled { taken: 0, computed: 0 };
        let sources =
            [messages.unwrap_or_default(), abstracts, narratives, semantic.unwrap_or_default()];
        for ((field, known), wanted) in fields.iter_mut().zip(sources).zip(WANTING) {
            filled += self.fill(field, &wanted(view), known, control)?;
        }
        [view.messages.field, view.abstracts, view.narratives, view.statements] = fields;
        if let Some(vectors) = view.messages.field.vectors() {
            view.unembedded.retain(|slot| !vectors.contains(u64::from(*slot)));
        }
        Ok(filled.computed > 0 || filled.taken < available)
    }

    /// Adds the vectors of `wanted`: known ones as they are, the others from the embedder.
    fn fill(
        &self,
        field: &mut Field,
        wanted: &[Wanted<'_>],
        known: Known,
        control: &dyn Control,
    ) -> Result<Filled> {
        let to = self.indexing();
        let slots = |wanted: &[&Wanted<'_>]| {
            wanted.iter().map(|one| u64::from(one.slot)).collect::<Vec<u64>>()
        };
        let hashes: Vec<String> = match known.rows.is_empty() {
            true => vec![String::new(); wanted.len()],
            false => wanted.par_iter().map(|one| content_hash(&one.text)).collect(),
        };
        let same =
            |row: &CacheRow, one: &Wanted<'_>, hash: &String| row.id == one.id && row.hash == *hash;
        let all = wanted.iter().zip(&hashes);
        let in_order = known.rows.len() == wanted.len()
            && known.rows.iter().zip(all.clone()).all(|(row, (one, hash))| same(row, one, hash));
        let (mut found, mut rows, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        if in_order {
            found.extend(wanted);
        } else {
            let places: FxHashMap<&str, usize> =
                known.rows.iter().enumerate().map(|(at, row)| (row.id.as_str(), at)).collect();
            for (one, hash) in all {
                match places.get(one.id) {
                    Some(row) if same(&known.rows[*row], one, hash) => {
                        found.push(one);
                        rows.push(*row);
                    }
                    _ => missing.push(one),
                }
            }
        }
        // A graph is worth reading: building it anew takes minutes where reading takes moments.
        let graph = known.index.filter(|_| in_order && found.len() >= to.config.hnsw_threshold);
        match graph
            .and_then(|path| self.vectors.read(&path, known.vectors.ncols(), slots(&found)).ok())
        {
            Some(graph) => field.set_vectors(graph),
            None => {
                let vectors = if in_order { known.vectors } else { known.vectors.select(&rows) };
                field.restore_vectors(
                    to.factory,
                    to.config.hnsw_threshold,
                    slots(&found),
                    vectors,
                )?;
            }
        }
        let taken = found.len();
        let texts: Vec<&str> = missing.iter().map(|one| &*one.text).collect();
        match self.embed_all(&texts, control)? {
            Some(rows) => to
                .add(field, &slots(&missing), Some(rows.view()))
                .map(|()| Filled { taken, computed: missing.len() }),
            None => Ok(Filled { taken, computed: 0 }),
        }
    }

    /// Records that have no vector and should have one.
    pub(crate) fn without_vector(view: &View) -> Vec<Missing> {
        let fields = [
            ("message", "", &view.messages.field, view.messages.len()),
            ("episodic", L0, &view.abstracts, view.episodes.len()),
            ("episodic", L1, &view.narratives, view.episodes.len()),
            ("semantic", "", &view.statements, view.facts.len()),
        ];
        let mut missing = Vec::new();
        for ((kind, layer, field, records), wanted) in fields.into_iter().zip(WANTING) {
            if field.vector_count() >= records {
                continue;
            }
            let has = |slot: u32| {
                field.vectors().is_some_and(|vectors| vectors.contains(u64::from(slot)))
            };
            let lacking = wanted(view).into_iter().filter(|one| !has(one.slot));
            missing.extend(lacking.map(|one| Missing {
                kind,
                layer,
                slot: one.slot,
                id: one.id.to_owned(),
                text: one.text.into_owned(),
            }));
        }
        missing
    }

    /// Embeds what an outage of the embedder left without a vector; returns how many records are
    /// still without. The caller has the user's turn.
    pub(crate) fn embed_missing(&self, user: &User, control: &dyn Control) -> Result<usize> {
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
                ("episodic", L0) if view.episodes.contains(one.slot) => {
                    to.add(&mut view.abstracts, &label, Some(row))?
                }
                ("episodic", _) if view.episodes.contains(one.slot) => {
                    to.add(&mut view.narratives, &label, Some(row))?
                }
                ("semantic", _) if view.facts.contains(one.slot) => {
                    to.add(&mut view.statements, &label, Some(row))?
                }
                _ => {}
            }
        }
        user.note_change();
        Ok(0)
    }

    /// Writes all that makes the next opening fast, as far as it changed. The caller has the user's
    /// turn.
    pub(crate) fn save_for_next_opening(&self, user: &User) -> Result<()> {
        if self.read_only || user.store.is_erasing() {
            return self.save_caches(user);
        }
        let wanted = self.wants_snapshot(user);
        let stale = wanted
            && *user.snapshot.lock() != Some(LogKind::ALL.map(|kind| user.store.position(kind)));
        if stale {
            // Its rows and labels have to be in one order with the file.
            user.note_change();
        }
        // What is wanted and not written now is there already, and holds.
        match self.write_changed(user)? {
            _ if !wanted => self.store.remove_snapshot(&user.owner),
            Some(vectors) => self.save_snapshot(user, vectors),
            None => Ok(()),
        }
    }

    /// Writes the vectors of a user for the next opening, if any changed.
    pub(crate) fn save_caches(&self, user: &User) -> Result<()> {
        self.write_changed(user).map(drop)
    }

    fn write_changed(&self, user: &User) -> Result<Option<VectorSums>> {
        if self.read_only || !user.vectors_changed.swap(false, Ordering::SeqCst) {
            return Ok(None);
        }
        *user.snapshot.lock() = None;
        self.write_caches(user).map(Some).inspect_err(|_| user.note_change())
    }

    fn write_caches(&self, user: &User) -> Result<VectorSums> {
        let (view, mut sums) = (user.view.read(), VectorSums::default());
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
            // The two layers of episodes share a cache but no index; they are never many enough for
            // a graph to be worth a file.
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
                    let labels = (0..vectors.nrows() as u64).collect();
                    self.vectors.restore(labels, vectors.view())?.write(path)
                }
            };
            sums[kind as usize] = Some(self.store.save_vectors(
                &user.owner,
                kind,
                &head,
                &vectors,
                Some(&mut write),
            )?);
        }
        Ok(sums)
    }

    /// Opens a user with all vectors computed anew; `None` if there is no such user.
    pub(crate) fn rebuilt_user(
        &self,
        user_id: &str,
        control: &dyn Control,
    ) -> Result<Option<Arc<User>>> {
        let owner = self.owner(user_id)?;
        if let Some(user) = self.open_user(user_id) {
            let turn = user.turns.take(control)?;
            self.rebuild_view(&user, KnownVectors::default(), |_| {}, control)?;
            drop(turn);
            return Ok(Some(user));
        }
        self.store.remove_snapshot(&owner)?;
        for kind in LogKind::ALL {
            self.store.remove_vectors(&owner, kind)?;
        }
        self.user(user_id, false, control)
    }
}

impl Known {
    /// The vectors of L0 and those of L1.
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

impl From<VectorCache> for Known {
    fn from(cache: VectorCache) -> Self {
        Self { rows: cache.head.rows, vectors: cache.vectors, index: cache.index }
    }
}

/// The texts that want a vector, field by field: messages, L0 and L1 of episodes, statements.
const WANTING: [fn(&View) -> Vec<Wanted<'_>>; 4] = [
    |view| {
        let messages = view.messages.records().enumerate();
        messages
            .map(|(slot, message)| {
                wanted(slot as u32, &message.message_id, Engine::message_text(message).into())
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

fn wanted<'a>(slot: u32, id: &'a str, text: Cow<'a, str>) -> Wanted<'a> {
    Wanted { slot, id, text }
}

/// What the cache of a log holds: rows and vectors (those of the index itself, where all of them
/// have a record); `None` where there are none.
fn cached(view: &View, kind: LogKind) -> Option<(Vec<CacheRow>, Matrix<'_>)> {
    let [messages, abstracts, narratives, statements] = WANTING;
    let fields: Vec<(&Field, &str, Vec<Wanted<'_>>)> = match kind {
        LogKind::Messages => vec![(&view.messages.field, "", messages(view))],
        LogKind::Episodes => {
            vec![(&view.abstracts, L0, abstracts(view)), (&view.narratives, L1, narratives(view))]
        }
        LogKind::Semantic => vec![(&view.statements, "", statements(view))],
    };
    let (mut rows, mut parts) = (Vec::new(), Vec::new());
    for (field, layer, wanted) in &fields {
        let Some(vectors) = field.vectors() else { continue };
        let by_slot: FxHashMap<u64, &Wanted<'_>> =
            wanted.iter().map(|one| (u64::from(one.slot), one)).collect();
        let known: Vec<(usize, &Wanted<'_>)> = vectors
            .labels()
            .iter()
            .enumerate()
            .filter_map(|(at, label)| Some((at, *by_slot.get(label)?)))
            .collect();
        let row = |(_, one): &(usize, &Wanted<'_>)| CacheRow {
            id: one.id.to_owned(),
            layer: (*layer).to_owned(),
            hash: content_hash(&one.text),
        };
        rows.par_extend(known.par_iter().map(row));
        parts.push(vectors.vectors().select(&known.iter().map(|(at, _)| *at).collect::<Vec<_>>()));
    }
    let vectors = Matrix::concatenate(parts).ok()?;
    (!rows.is_empty()).then_some((rows, vectors))
}
