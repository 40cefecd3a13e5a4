//! Embeds, appends and indexes episodes.

use std::sync::Arc;

use ndarray::Array2;

use crate::control::CallControl;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::rows_of;
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

/// Embeds episodes and commits them.
pub(crate) fn commit_with_vectors(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    basis: DecisionBasis,
    control: &dyn CallControl,
) -> Result<()> {
    let rows = embed_episodes(services, episodes, control)?;
    commit_episodes(services, user, episodes, &[], rows, basis)
}

/// Two vectors per episode: L0, L1.
pub(crate) fn embed_episodes(
    services: &EngineServices,
    episodes: &[Arc<Episode>],
    control: &dyn CallControl,
) -> Result<Option<Array2<f32>>> {
    let texts: Vec<String> = episodes
        .iter()
        .flat_map(|episode| [episode.abstract_text(), episode.content.clone()])
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    services.indexing().embed(&texts, control)
}

/// Appends episodes to the log, then adds them to the view. `rows` holds two vectors per
/// episode. The `notes` are written first: without them the next opening would learn from the
/// episodes.
pub(crate) fn commit_episodes(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    notes: &[StateRecord],
    rows: Option<Array2<f32>>,
    basis: DecisionBasis,
) -> Result<()> {
    let terms = parallel::map(episodes.iter().collect(), parallel::FEW_TEXTS, |episode| {
        episode_terms(episode)
    });
    commit_terms(services, user, episodes, notes, &terms, rows, basis)
}

/// [`commit_episodes`] for episodes with known terms.
pub(crate) fn commit_terms(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    notes: &[StateRecord],
    terms: &[[TextTerms; 2]],
    rows: Option<Array2<f32>>,
    basis: DecisionBasis,
) -> Result<()> {
    let _writer = user.lock_writer_on(basis, !notes.is_empty(), &services.indexing())?;
    if !notes.is_empty() {
        user.store.append_semantic(&[], &[], notes)?;
    }
    user.store.append_episodes(episodes, &[], &[])?;
    log::debug!("{} episodes are in the log", episodes.len());
    user.note_change();
    let to = services.indexing();
    let numbered: Vec<(usize, &Arc<Episode>)> = episodes.iter().enumerate().collect();
    for batch in numbered.chunks(VIEW_BATCH) {
        let mut view = user.view.write();
        for (number, episode) in batch {
            let rows = rows.as_ref().map(|rows| rows_of(rows.view(), 2 * number..2 * number + 2));
            view.put_episode(Arc::clone(episode), &terms[*number], rows, &to)?;
            if services.config.semantic_memory {
                view.backlog.await_learning(&episode.episode_id, episode.revision);
            }
        }
    }
    Ok(())
}
