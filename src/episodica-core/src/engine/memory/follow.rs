//! Follows other processes: adds their records to the view before each search and each write. If
//! lines were removed from the logs, the view is outdated, and the user is opened again.
//!
//! A search only compares the lengths of the logs, which takes microseconds. A writer first locks
//! out other writers, follows, and then writes.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering;

use crate::sync::MutexGuard;

use crate::control::{CallControl, Uninterrupted};
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::user::{UserMemory, WriterState};
use crate::error::{Error, ErrorKind, Result};
use crate::store::{LoadedUser, StateRecord};

/// The state of the view compared with the logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFreshness {
    Current,
    /// Records of other processes were added to the view.
    Followed,
    /// The logs were rewritten: the user must be opened again.
    Outdated,
}

/// Counts of the records that came from other processes, and of changes in steps. If one changes
/// while a decision is made, the decision must be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct DecisionBasis {
    episodes: u64,
    facts: u64,
}

/// Records of other processes that may lack a vector, by id.
#[derive(Debug, Default)]
pub(super) struct ArrivedRecords {
    pub facts: Vec<String>,
    pub messages: bool,
}

/// Permission to write, in this process and among all processes.
pub(crate) struct WriteGuard<'a> {
    _hold: crate::store::Hold<'a>,
    state: MutexGuard<'a, WriterState>,
}

impl Deref for WriteGuard<'_> {
    type Target = WriterState;

    fn deref(&self) -> &WriterState {
        &self.state
    }
}

impl DerefMut for WriteGuard<'_> {
    fn deref_mut(&mut self) -> &mut WriterState {
        &mut self.state
    }
}

impl UserMemory {
    /// Locks out all other writers, in this process and others, and brings the view up to date with
    /// the logs.
    ///
    /// # Errors
    /// `Closed` if the user was deleted, the engine closed or the view outdated meanwhile;
    /// `StoreLocked`; `Io`.
    pub fn lock_writer(&self, to: &IndexingSettings<'_>) -> Result<WriteGuard<'_>> {
        let mut state = self.writer.lock();
        if state.gone {
            return Err(closed_error());
        }
        self.store.finish_erasure()?;
        let hold = self.store.exclude_writers()?;
        if self.follow_logs(to)? == LogFreshness::Outdated {
            return Err(closed_error());
        }
        state.next_seq = state.next_seq.max(self.followed_seq.load(Ordering::SeqCst));
        Ok(WriteGuard { _hold: hold, state })
    }

    /// [`UserMemory::lock_writer`] for a decision that was begun at `basis`.
    ///
    /// # Errors
    /// `Conflict` if other processes have changed episodes since then, or facts if `facts` is set.
    pub fn lock_writer_on(
        &self,
        basis: DecisionBasis,
        facts: bool,
        to: &IndexingSettings<'_>,
    ) -> Result<WriteGuard<'_>> {
        let writing = self.lock_writer(to)?;
        let now = self.decision_basis();
        if now.episodes != basis.episodes || facts && now.facts != basis.facts {
            return Err(Error::new(
                ErrorKind::Conflict,
                "another process changed the records of a decision",
            ));
        }
        Ok(writing)
    }

    /// Locks out other writers while a file besides the logs is written; `None` if records were
    /// erased meanwhile, or the store is unavailable.
    pub fn hold_to_note(&self) -> Option<crate::store::Hold<'_>> {
        let hold = self.store.exclude_writers().ok()?;
        let is_continued = !self.is_outdated() && self.store.is_continued().ok()?;
        is_continued.then_some(hold)
    }

    /// The basis of a decision that begins now.
    pub fn decision_basis(&self) -> DecisionBasis {
        DecisionBasis {
            episodes: self.foreign_episodes.load(Ordering::SeqCst),
            facts: self.foreign_facts.load(Ordering::SeqCst),
        }
    }

    /// True if the user must be opened again.
    pub fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::SeqCst)
    }

    /// Adds new records of other processes, and embeds them unless the embedder is remote.
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn refresh_view(
        &self,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<LogFreshness> {
        let freshness = if !self.is_outdated() && self.store.is_current()? {
            LogFreshness::Current
        } else {
            self.follow_logs(to)?
        };
        if freshness != LogFreshness::Outdated && self.has_arrived.swap(false, Ordering::SeqCst) {
            if to.embedder.is_local() {
                self.embed_arrived(to, control)?;
            }
            return Ok(LogFreshness::Followed);
        }
        Ok(freshness)
    }

    fn follow_logs(&self, to: &IndexingSettings<'_>) -> Result<LogFreshness> {
        let _following = self.following.lock();
        if self.is_outdated() {
            return Ok(LogFreshness::Outdated);
        }
        if self.store.is_current()? {
            return Ok(LogFreshness::Current);
        }
        let followed = self.store.load_appended().and_then(|behind| match behind {
            Some(behind) => self.take_up(behind, to).map(Some),
            None => Ok(None),
        });
        if !matches!(followed, Ok(Some(_))) {
            self.outdated.store(true, Ordering::SeqCst);
        }
        Ok(followed?.unwrap_or(LogFreshness::Outdated))
    }

    /// Adds records of other processes to the view.
    fn take_up(&self, mut behind: LoadedUser, to: &IndexingSettings<'_>) -> Result<LogFreshness> {
        if behind.is_empty() {
            return Ok(LogFreshness::Current);
        }
        let mut view = self.view.write();
        let was_caught_up = view.is_caught_up();
        if !view.add_later(&mut behind, to, &Uninterrupted)? {
            return Ok(LogFreshness::Outdated);
        }
        if was_caught_up {
            // The process that added them derives the rest.
            view.derived = view.messages.slot_count() as u32;
        }
        drop(view);
        self.followed_seq.fetch_max(behind.next_seq, Ordering::SeqCst);
        let learned = |state: &&StateRecord| matches!(state, StateRecord::Learned { .. });
        let learned = behind.states.iter().filter(learned).count();
        self.foreign_episodes.fetch_add(behind.episodes.len() as u64, Ordering::SeqCst);
        self.foreign_facts.fetch_add((behind.semantic.len() + learned) as u64, Ordering::SeqCst);
        self.note_arrived(&behind, !behind.messages.is_empty());
        Ok(LogFreshness::Followed)
    }

    /// Notes records that came without vectors.
    pub(super) fn note_arrived(&self, behind: &LoadedUser, messages: bool) {
        let mut arrived = self.arrived.lock();
        arrived.facts.extend(behind.semantic.iter().map(|fact| fact.memory_id.clone()));
        arrived.messages |= messages;
        self.has_arrived.store(true, Ordering::SeqCst);
    }

    /// Embeds the records of other processes: processes do not share vectors.
    pub(super) fn embed_arrived(
        &self,
        to: &IndexingSettings<'_>,
        control: &dyn CallControl,
    ) -> Result<()> {
        let arrived = std::mem::take(&mut *self.arrived.lock());
        let missing = self.view.read().texts_of(&arrived);
        self.embed_texts(&missing, to, control).map(drop)
    }
}

fn closed_error() -> Error {
    Error::new(ErrorKind::Closed, "the memory system was closed meanwhile")
}
