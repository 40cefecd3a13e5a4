//! Making the logs of a user smaller: what nothing follows from any more goes.

use crate::control::CallControl;
use crate::embed::STATIC_MODEL;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::error::Result;
use crate::store::{KEPT_REVISIONS, LogKind, UserErasure};

/// A log with fewer lines is not compacted by itself.
const MIN_LINES: u64 = 512;

impl EngineServices {
    /// Takes the dead lines out of a user's logs. The caller has the user's turn.
    ///
    /// # Errors
    /// As a deletion.
    pub(crate) fn compact(&self, user: &OpenUser, control: &dyn CallControl) -> Result<()> {
        control.check()?;
        let (basis, to) = (user.basis(), self.indexing());
        let writer = user.lock_writer_on(basis, true, &to)?;
        let outcome = user.store.erase(UserErasure::compaction(self.clock.now()));
        if outcome.is_err() && !user.store.is_erasing() {
            return outcome.map(|_| ());
        }
        user.view.write().trim_histories(KEPT_REVISIONS);
        user.note_change();
        drop(writer);
        user.measure();
        outcome?;
        // The package's own vectors are made again in less time than writing all of them takes.
        if self.embedder.model() != STATIC_MODEL {
            user.save_caches(&self.store, &to)?;
        }
        Ok(())
    }

    /// Compacts the logs of a user if more than half of one is dead. The caller has the user's turn
    /// and has done what it was asked: a failure here may not make it look undone.
    pub(crate) fn compact_if_worth(&self, user: &OpenUser, control: &dyn CallControl) {
        let is_mostly_dead = |kind, kept: &dyn Fn() -> usize| {
            let lines = user.store.position(kind).records;
            lines >= MIN_LINES && lines > 2 * kept() as u64
        };
        let (facts, episodes) = {
            let view = user.view.read();
            let episodes = || view.episodes.revisions_kept(KEPT_REVISIONS);
            // A note for each episode tells that it was learned from.
            let facts = || view.facts.revisions_kept(KEPT_REVISIONS) + view.episodes.len();
            (
                is_mostly_dead(LogKind::Semantic, &facts),
                is_mostly_dead(LogKind::Episodes, &episodes),
            )
        };
        if (facts || episodes)
            && let Err(error) = self.compact(user, control)
        {
            self.counters.note_failure(Some(&user.owner.user), &error);
        }
    }
}
