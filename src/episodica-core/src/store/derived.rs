//! A user's files besides the logs: the segment, counts of uses, dead letters, model answers.

use std::collections::BTreeMap;

use super::backend::{LockGuard, parent_of};
use super::dead_letter::{DeadLetter, DeadLetters};
use super::files::{remove_file, sync_dir};
use super::layout::SideFile;
use super::llm_files::{AnswerCache, UserTrace};
use super::log::LogFile;
use super::segment::{self, NewSegment, Segment};
use super::store::Store;
use super::uses::{self, RecordUse};
use crate::error::Result;
use crate::ids::Owner;
use crate::model::StoreProblem;

impl Store {
    /// Writes a user's segment, durably.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`. After an error, the earlier segment or none is in
    /// place.
    pub fn save_segment(&self, owner: &Owner, segment: NewSegment<'_>) -> Result<Segment> {
        self.shared.check_writable()?;
        self.note_generation(owner)?;
        let (backend, path) = (self.backend(), self.layout().segment_path(owner));
        segment::save_segment(backend, owner, path, segment)
    }

    /// Opens a user's segment; `None` without a segment.
    ///
    /// # Errors
    /// A problem, if the file is not a segment of this user.
    pub fn open_segment(&self, owner: &Owner) -> Result<Option<Segment>, StoreProblem> {
        Segment::open(self.backend(), owner, self.layout().segment_path(owner))
    }

    /// Removes a user's segment, durably.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn remove_segment(&self, owner: &Owner) -> Result<()> {
        self.shared.check_writable()?;
        let (backend, path) = (&**self.backend(), self.layout().segment_path(owner));
        if remove_file(backend, &path)? { sync_dir(backend, parent_of(&path)) } else { Ok(()) }
    }

    /// Locks the caches of a user; `None` if another process holds the lock and `wait` is false.
    ///
    /// # Errors
    /// `StoreLocked`; `Io`.
    pub fn lock_caches(&self, owner: &Owner, wait: bool) -> Result<Option<Box<dyn LockGuard>>> {
        let locks = self.shared.user_locks(owner);
        if wait { locks.lock_caches().map(Some) } else { locks.try_caches() }
    }

    /// How often a user's records were returned, by their ids.
    ///
    /// # Errors
    /// `Io`.
    pub fn read_uses(&self, owner: &Owner) -> Result<BTreeMap<String, RecordUse>> {
        Ok(uses::decode_uses(&self.logs.read_uses(owner)?.0))
    }

    /// Applies `change` to the counts, durably; repeats it if another process changed them
    /// meanwhile. The caller holds the lock of the caches.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn change_uses(
        &self,
        owner: &Owner,
        change: &dyn Fn(BTreeMap<String, RecordUse>) -> BTreeMap<String, RecordUse>,
    ) -> Result<()> {
        loop {
            let (bytes, number) = self.logs.read_uses(owner)?;
            let changed = uses::encode_uses(&change(uses::decode_uses(&bytes)))?;
            if self.logs.put_uses(owner, &changed, number)? {
                return Ok(());
            }
        }
    }

    /// Opens a user's dead letters; the second value is all of them, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn dead_letters(&self, owner: &Owner) -> Result<(DeadLetters, Vec<DeadLetter>)> {
        DeadLetters::open(self.side_file(owner, SideFile::DeadLetters))
    }

    /// Opens a user's cache of model answers.
    ///
    /// # Errors
    /// `Io`.
    pub fn open_answers(&self, owner: &Owner) -> Result<AnswerCache> {
        self.note_generation(owner)?;
        AnswerCache::open(self.side_file(owner, SideFile::LlmCache))
    }

    /// Opens a user's trace.
    ///
    /// # Errors
    /// `Io`.
    pub fn open_trace(&self, owner: &Owner) -> Result<UserTrace> {
        self.note_generation(owner)?;
        UserTrace::open(self.side_file(owner, SideFile::Trace))
    }

    /// If the logs are on another medium: notes their generation before files derived from them are
    /// written.
    fn note_generation(&self, owner: &Owner) -> Result<()> {
        self.apart
            .as_ref()
            .map_or(Ok(()), |apart| apart.note_generation(&self.shared, &*self.logs, owner))
    }

    fn side_file(&self, owner: &Owner, file: SideFile) -> LogFile {
        self.shared.log_file(self.layout().side_path(owner, file))
    }
}
