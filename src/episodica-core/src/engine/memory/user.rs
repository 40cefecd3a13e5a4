//! One open user: logs, view, and who may write.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use ndarray::{Array2, Axis, concatenate};
use parking_lot::{Mutex, RwLock};
use rayon::prelude::*;

use crate::boundary::Readings;
use crate::control::Control;
use crate::engine::asking::ask::Notes;
use crate::engine::background::queue::Standing;
use crate::engine::memory::snapshot::{Positions, Restored};
use crate::engine::memory::turn::Turns;
use crate::engine::memory::view::{View, episode_terms};
use crate::engine::reading::recall::Recalled;
use crate::engine::registry::Engine;
use crate::engine::writing::group_commit::Arrivals;
use crate::error::Result;
use crate::ids::Owner;
use crate::index::MessageReading;
use crate::model::{Episode, Message, Problem};
use crate::store::{LoadedUser, LogKind, SessionState, StateRecord, UserStore};

/// Texts embedded between two looks at whether the caller still waits.
const EMBED_BATCH: usize = 1_024;

/// From so many messages on vectors are read while records are indexed.
const BUILT_BESIDE: usize = 1_024;

/// What a process takes for each byte that records and indexes know of: room to grow, the
/// allocator's own books, what closed users leave in pieces, and what the package takes by itself.
/// Measured: a process in which users of 100 messages were opened and closed at random took 1.8.
const TAKEN_FOR_EACH: usize = 2;

/// What a user takes without any record: logs, tables, locks.
const BYTES_PER_USER: usize = 4_096;

/// A user in memory.
pub(crate) struct User {
    pub owner: Owner,
    pub store: UserStore,
    /// Held while a message gets its place: from the log to the view. Never across an embedding.
    pub writer: Mutex<WriterState>,
    pub view: RwLock<View>,
    /// Batches that wait for their place, for whoever gets the writer's lock next.
    pub arrivals: Arrivals,
    /// Who forms memories now.
    pub turns: Turns,
    /// Does somebody who has added messages wait for the turn?
    pub awaited: AtomicBool,
    /// What was wrong with the files when they were opened.
    pub problems: Vec<Problem>,
    pub last_used: AtomicU64,
    heap_bytes: AtomicUsize,
    /// What all open users take together.
    memory: Arc<AtomicUsize>,
    /// Have vectors been added or removed since the caches were written?
    pub vectors_changed: AtomicBool,
    /// How far the logs reached when the snapshot on disk was made; `None` where there is none that
    /// holds.
    pub snapshot: Mutex<Option<Positions>>,
    /// Where the work behind the caller stands.
    pub standing: Mutex<Standing>,
    /// Set while the user is being deleted: work under way stops.
    pub leaving: AtomicBool,
    /// The files that hold what models were asked.
    pub notes: Mutex<Notes>,
    /// Up to which message (its number in the log, exclusive) a model has seen each session.
    pub seen: Mutex<HashMap<Option<Arc<str>>, u64>>,
    /// What the rules have read of messages in the buffer.
    pub readings: Readings,
    /// Lines that were handed out as context.
    pub recalled: Mutex<Recalled>,
}

/// What only the writer needs.
pub(crate) struct WriterState {
    pub next_seq: u64,
    /// Set when the user is deleted: who waited for the lock must not write any more.
    pub gone: bool,
}

impl User {
    /// Rough size in memory, in bytes, as of the last change.
    pub fn heap_bytes(&self) -> usize {
        self.heap_bytes.load(Ordering::Relaxed)
    }

    /// Notes that the caches are out of date.
    pub fn note_change(&self) {
        self.vectors_changed.store(true, Ordering::SeqCst);
    }

    /// Measures anew.
    pub fn measure(&self) {
        let now = (self.view.read().heap_bytes() + BYTES_PER_USER) * TAKEN_FOR_EACH;
        let before = self.heap_bytes.swap(now, Ordering::Relaxed);
        self.memory.fetch_add(now, Ordering::Relaxed);
        self.memory.fetch_sub(before, Ordering::Relaxed);
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.memory.fetch_sub(self.heap_bytes(), Ordering::Relaxed);
    }
}

impl Engine {
    /// Opens a user: the view comes from the snapshot where that holds, else from the logs; then
    /// vectors come from the caches, or from a reader's view that is out of date, where these agree
    /// with the logs.
    pub(crate) fn load(
        &self,
        owner: Owner,
        stale: Option<&User>,
        control: &dyn Control,
    ) -> Result<User> {
        let head = if stale.is_none() { self.snapshot_head(&owner) } else { None };
        let open = || self.store.open_known_user(&owner, head.as_ref().map(|head| &head.logs));
        let restore = || head.as_ref().and_then(|head| self.restore(&owner, head));
        let (opened, restored) =
            if head.is_some() { rayon::join(open, restore) } else { (open(), None) };
        let (store, loaded) = match (opened?, restored) {
            ((store, None), Some(Restored { view, next_seq })) => {
                let positions = LogKind::ALL.map(|kind| store.position(kind));
                return Ok(self.opened(
                    owner,
                    store,
                    view,
                    next_seq,
                    Vec::new(),
                    false,
                    Some(positions),
                ));
            }
            ((store, Some(loaded)), _) => (store, loaded),
            ((store, None), None) => {
                // One user is open once.
                drop(store);
                self.store.open_user(&owner)?
            }
        };
        self.load_from_logs(owner, store, loaded, stale, control)
    }

    fn load_from_logs(
        &self,
        owner: Owner,
        store: UserStore,
        mut loaded: LoadedUser,
        stale: Option<&User>,
        control: &dyn Control,
    ) -> Result<User> {
        let vectors = || match stale {
            Some(stale) => Ok((Self::carry_over(&stale.view.read()), Vec::new())),
            None => self.read_caches(&owner),
        };
        let next_seq = loaded.next_seq;
        let mut problems = std::mem::take(&mut loaded.problems);
        // What lasts of a small user is made by the caller's thread, which also frees it: an
        // allocator that keeps the memory of threads apart would otherwise keep what closed users
        // leave from those who are opened after them.
        let (known, view) = match loaded.messages.len() < BUILT_BESIDE {
            true => (vectors(), self.build_records(loaded, control)),
            false => rayon::join(vectors, || self.build_records(loaded, control)),
        };
        let (known, mut damaged) = known?;
        problems.append(&mut damaged);
        for problem in &problems {
            log::warn!("{} in `{}`; {}", problem.message, problem.path.display(), problem.remedy);
        }
        let mut view = view?;
        let changed = self.fill_vectors(&mut view, known, control)?;
        Ok(self.opened(owner, store, view, next_seq, problems, changed, None))
    }

    #[expect(clippy::too_many_arguments, reason = "all that differs between two users")]
    fn opened(
        &self,
        owner: Owner,
        store: UserStore,
        view: View,
        next_seq: u64,
        problems: Vec<Problem>,
        changed: bool,
        snapshot: Option<Positions>,
    ) -> User {
        let user = User {
            owner,
            store,
            writer: Mutex::new(WriterState { next_seq, gone: false }),
            view: RwLock::new(view),
            arrivals: Arrivals::default(),
            turns: Turns::default(),
            awaited: AtomicBool::new(false),
            problems,
            last_used: AtomicU64::new(0),
            heap_bytes: AtomicUsize::new(0),
            memory: Arc::clone(&self.memory),
            vectors_changed: AtomicBool::new(changed),
            snapshot: Mutex::new(snapshot),
            standing: Mutex::default(),
            leaving: AtomicBool::new(false),
            notes: Mutex::default(),
            seen: Mutex::default(),
            readings: Readings::default(),
            recalled: Mutex::default(),
        };
        user.measure();
        user
    }

    /// The view over what was loaded, without vectors.
    pub(crate) fn build_records(&self, loaded: LoadedUser, control: &dyn Control) -> Result<View> {
        let to = self.indexing();
        let mut view = View::default();
        for batch in loaded.messages.chunks(4 * EMBED_BATCH) {
            control.check()?;
            let readings: Vec<_> =
                batch.par_iter().map(|message| self.read_message(&message.content)).collect();
            view.add_messages(batch, &readings);
        }
        for state in &loaded.states {
            if let StateRecord::Session { session_id, state, .. } = state {
                let (closed, closing) = (
                    *state == SessionState::Closed,
                    *state != SessionState::Closed && *state != SessionState::Active,
                );
                set_member(&mut view.closed_sessions, session_id, closed);
                set_member(&mut view.closing_sessions, session_id, closing);
            }
        }
        for batch in loaded.episodes.chunks(EMBED_BATCH) {
            control.check()?;
            let terms: Vec<_> = batch.par_iter().map(|episode| episode_terms(episode)).collect();
            for (episode, terms) in batch.iter().zip(&terms) {
                view.put_episode(Arc::clone(episode), terms, None, &to)?;
                // Another program's episodes come with that program's memories.
                if self.config.semantic_memory && episode.provenance.method != "imported" {
                    view.unlearned.insert(episode.episode_id.clone(), episode.revision);
                }
            }
        }
        for state in &loaded.states {
            if let StateRecord::Learned { episode_id, revision, pending_llm, .. } = state
                && view
                    .episodes
                    .by_id(episode_id)
                    .is_some_and(|episode| episode.revision <= *revision)
            {
                view.unlearned.remove(episode_id);
                set_member(&mut view.relearn, episode_id, *pending_llm);
            }
        }
        for fact in &loaded.semantic {
            view.put_fact(Arc::clone(fact), None, &to)?;
        }
        view.episodes.set_history(loaded.episode_history);
        view.facts.set_history(loaded.semantic_history);
        Ok(view)
    }

    /// The vectors of texts in batches, one row a text; `None` (and a count) when the embedder
    /// fails.
    pub(crate) fn embed_all(
        &self,
        texts: &[&str],
        control: &dyn Control,
    ) -> Result<Option<Array2<f32>>> {
        let mut parts = Vec::new();
        for batch in texts.chunks(EMBED_BATCH) {
            control.check()?;
            match self.embedder.embed(batch) {
                Ok(rows) => parts.push(rows),
                Err(error) if error.kind() == crate::ErrorKind::Interrupted => return Err(error),
                Err(error) => {
                    self.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
                    self.note_failure(&error);
                    return Ok(None);
                }
            }
        }
        let views: Vec<_> = parts.iter().map(|rows| rows.view()).collect();
        match views.as_slice() {
            [] => Ok(None),
            [_] => Ok(parts.pop()),
            _ => Ok(concatenate(Axis(0), &views).ok()),
        }
    }

    /// The two rows of an episode after another: L0, L1.
    pub(crate) fn episode_texts(episodes: &[Arc<Episode>]) -> Vec<String> {
        episodes
            .iter()
            .flat_map(|episode| [episode.abstract_text(), episode.content.clone()])
            .collect()
    }

    /// What the index wants to know of a message.
    pub(crate) fn read_message(&self, content: &str) -> MessageReading {
        MessageReading::of(content, self.tokens.ids(content))
    }

    /// What of a message is embedded.
    pub(crate) fn message_text(message: &Message) -> &str {
        &message.content
    }
}

fn set_member(set: &mut std::collections::BTreeSet<String>, member: &str, inside: bool) {
    match inside {
        true => set.insert(member.to_owned()),
        false => set.remove(member),
    };
}
