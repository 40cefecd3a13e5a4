//! Compacts the logs of a user: removes lines that no record depends on.

use crate::control::CallControl;
use crate::embed::STATIC_MODEL;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::error::Result;
use crate::store::{KEPT_REVISIONS, LogKind, UserErasure};

/// A log with fewer lines is compacted only on request.
const MIN_LINES: u64 = 512;

/// Removes the dead lines from a user's logs. The caller holds the user's `FormingTurn`.
///
/// # Errors
/// As a deletion.
pub(crate) fn compact_logs(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    control.check()?;
    let (basis, to) = (user.decision_basis(), services.indexing_settings());
    let writer = user.lock_writer_on(basis, true, &to)?;
    let outcome = user.store.erase_records(UserErasure::compaction(services.clock.now()));
    if outcome.is_err() && !user.store.is_erasing() {
        return outcome.map(|_| ());
    }
    user.view.write().trim_histories(KEPT_REVISIONS);
    user.note_change();
    drop(writer);
    user.measure_size();
    outcome?;
    // Vectors of the table of tokens are computed faster than they are written.
    if services.embedder.model_name() != STATIC_MODEL {
        user.save_vectors(&services.store, &to)?;
    }
    Ok(())
}

/// Compacts the logs of a user if more than half of the lines of one log are dead. The caller
/// holds the user's `FormingTurn`. Errors are only noted, because the caller's own work has
/// succeeded.
pub(crate) fn compact_if_worth(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) {
    let is_mostly_dead = |kind, kept: &dyn Fn() -> usize| {
        let lines = user.store.log_position(kind).records;
        lines >= MIN_LINES && lines > 2 * kept() as u64
    };
    let (facts, episodes) = {
        let view = user.view.read();
        let episodes = || view.episodes.revisions_kept(KEPT_REVISIONS);
        // Each episode has a note that it was learned from.
        let facts = || view.facts.revisions_kept(KEPT_REVISIONS) + view.episodes.len();
        (is_mostly_dead(LogKind::Semantic, &facts), is_mostly_dead(LogKind::Episodes, &episodes))
    };
    if (facts || episodes)
        && let Err(error) = compact_logs(services, user, control)
    {
        services.counters.note_failure(Some(&user.owner.user), &error);
    }
}
