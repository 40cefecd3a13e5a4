//! Appends episodes and adds them to the view.

use std::sync::Arc;

use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::view::episode_terms;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::error::Result;
use crate::index::TextTerms;
use crate::model::Episode;
use crate::parallel;
use crate::store::StateRecord;

/// Episodes that enter the view under one lock. The number limits how long searches wait.
const VIEW_BATCH: usize = 64;

/// Appends episodes to the log, then adds them to the view. The `notes` are written first: without
/// them the next opening would learn from the episodes.
pub(crate) fn commit_episodes(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    notes: &[StateRecord],
    basis: DecisionBasis,
) -> Result<()> {
    let terms = parallel::map_items(episodes.iter().collect(), parallel::FEW_TEXTS, |episode| {
        episode_terms(episode)
    });
    commit_terms(services, user, episodes, notes, &terms, basis)
}

/// [`commit_episodes`] for episodes with known terms.
pub(crate) fn commit_terms(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    notes: &[StateRecord],
    terms: &[[TextTerms; 2]],
    basis: DecisionBasis,
) -> Result<()> {
    let _writer = user.lock_writer_on(basis, !notes.is_empty(), &services.indexing_settings())?;
    if !notes.is_empty() {
        user.store.append_semantic(&[], &[], notes)?;
    }
    user.store.append_episodes(episodes, &[], &[])?;
    log::debug!("{} episodes are in the log", episodes.len());
    user.note_change();
    let to = services.indexing_settings();
    for (batch, terms) in episodes.chunks(VIEW_BATCH).zip(terms.chunks(VIEW_BATCH)) {
        let mut view = user.view.write();
        for (episode, terms) in batch.iter().zip(terms) {
            view.put_episode(Arc::clone(episode), terms, &to)?;
            if services.config.semantic_memory {
                view.backlog.await_learning(&episode.episode_id, episode.revision);
            }
        }
    }
    Ok(())
}
