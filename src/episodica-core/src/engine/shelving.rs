//! Forgetting: proposes records to archive, archives and restores them. Nothing here deletes.

use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::records::AnyRecord;
use crate::engine::reading::forgetting::{ForgettingPlan, ForgettingPolicy};
use crate::engine::writing::archive::{ArchiveChange, shelve_records};
use crate::engine::writing::erase::unknown_record;
use crate::error::Result;

impl Engine {
    /// The records that a policy would archive, weakest first, with reasons. Changes nothing.
    ///
    /// # Errors
    /// `Io` when the user's files can't be read.
    pub fn forgetting(
        &self,
        user_id: &str,
        policy: &ForgettingPolicy,
        control: &dyn CallControl,
    ) -> Result<ForgettingPlan> {
        let Some(user) = self.known_user(user_id, control)? else {
            return Ok(ForgettingPlan::default());
        };
        let uses = user.use_counts(&self.services.store)?;
        let now = self.services.clock.now();
        let view = user.view.read();
        Ok(policy.apply_policy(&view, &uses, now))
    }

    /// Hides episodes and facts from searches, contexts and listings. `get`, `history`, exports and
    /// deletions still see them. An episode hides its messages too; facts learned from it stay.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown id or a message: nothing was archived; `Io`; `ReadOnly`.
    pub fn archive(
        &self,
        user_id: &str,
        ids: &[String],
        control: &dyn CallControl,
    ) -> Result<Vec<AnyRecord>> {
        self.change_archived(user_id, ids, ArchiveChange::Archive, control)
    }

    /// Restores archived records and expired facts.
    ///
    /// # Errors
    /// As [`Engine::archive`].
    pub fn restore(
        &self,
        user_id: &str,
        ids: &[String],
        control: &dyn CallControl,
    ) -> Result<Vec<AnyRecord>> {
        self.change_archived(user_id, ids, ArchiveChange::Restore, control)
    }

    fn change_archived(
        &self,
        user_id: &str,
        ids: &[String],
        shelving: ArchiveChange,
        control: &dyn CallControl,
    ) -> Result<Vec<AnyRecord>> {
        self.check_writable()?;
        let Some(first) = ids.first() else { return Ok(Vec::new()) };
        let records = self.with_user(user_id, control, |user| {
            let records = shelve_records(&self.services, user, ids, shelving, control)?;
            user.measure_size();
            Ok(records)
        })?;
        records.ok_or_else(|| unknown_record(first))
    }
}
