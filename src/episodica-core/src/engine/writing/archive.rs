//! Archives and restores records: hides them from searches and contexts, and shows them again. Each
//! change is a new revision in the log; nothing is deleted.

use std::collections::HashSet;
use std::sync::Arc;

use ndarray::{Array2, Axis};

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::memory::records::AnyRecord;
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::commit_episodes::commit_episodes;
use crate::engine::writing::erase::{still_learned, unknown_record};
use crate::engine::writing::remember::append_facts;
use crate::error::{Error, Result};
use crate::model::{Episode, SemanticMemory};
use crate::store::StateRecord;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArchiveChange {
    Archive,
    Restore,
}

impl ArchiveChange {
    /// The next revision of a fact; `None` if nothing changes.
    fn change_fact(self, known: &SemanticMemory, now: Moment) -> Option<SemanticMemory> {
        let has_expired = known.expires_at.is_some_and(|expires| expires <= now);
        let (archived_at, expires_at) = match self {
            Self::Archive if known.archived_at.is_none() => (Some(now), known.expires_at),
            Self::Restore if has_expired => (None, None),
            Self::Restore if known.archived_at.is_some() => (None, known.expires_at),
            _ => return None,
        };
        Some(SemanticMemory {
            archived_at,
            expires_at,
            updated_at: now,
            revision_count: known.revision_count + 1,
            ..known.clone()
        })
    }

    /// The next revision of an episode; `None` if nothing changes.
    fn change_episode(self, known: &Episode, now: Moment) -> Option<Episode> {
        let archived_at = match self {
            Self::Archive if known.archived_at.is_none() => Some(now),
            Self::Restore if known.archived_at.is_some() => None,
            _ => return None,
        };
        Some(Episode { archived_at, revision: known.revision + 1, ..known.clone() })
    }
}

/// Archives or restores records; returns their new state, in the order of the ids.
pub(crate) fn shelve_records(
    services: &EngineServices,
    user: &OpenUser,
    ids: &[String],
    shelving: ArchiveChange,
    control: &dyn CallControl,
) -> Result<Vec<AnyRecord>> {
    let _step = user.turns.take_step(control)?;
    let basis = user.decision_basis();
    let now = services.clock.now();
    let (mut facts, mut episodes) = (Vec::new(), Vec::new());
    let (mut kept, mut seen) = (Vec::new(), HashSet::new());
    for id in ids {
        let record = user.find_record(id).ok_or_else(|| unknown_record(id))?;
        if !seen.insert(record.id().to_owned()) {
            continue;
        }
        match &record {
            AnyRecord::Message(_) => {
                return Err(Error::invalid(format!("a message can't be archived: `{id}`"))
                    .with_hint("archive its episode, or delete the message"));
            }
            AnyRecord::Semantic(known) => {
                facts.extend(shelving.change_fact(known, now).map(Arc::new));
            }
            AnyRecord::Episode(known) => {
                episodes.extend(shelving.change_episode(known, now).map(Arc::new));
            }
        }
        kept.push(record.id().to_owned());
    }
    if !facts.is_empty() {
        let known = known_rows(&user.view.read(), &facts);
        append_facts(services, user, basis, &facts, known, control)?;
    }
    if !episodes.is_empty() {
        let learned = still_learned(services, user, &episodes);
        commit_episodes(services, user, &episodes, &learned, basis)?;
        user.note_step(true, true);
        let mut view = user.view.write();
        for state in &learned {
            if let StateRecord::Learned { episode_id, .. } = state {
                view.backlog.nothing_to_learn(episode_id);
            }
        }
    }
    Ok(kept.iter().filter_map(|id| user.find_record(id)).collect())
}

/// The present vectors of facts; `None` if one is missing.
fn known_rows(view: &UserView, facts: &[Arc<SemanticMemory>]) -> Option<Array2<f32>> {
    let vectors = view.statements.vector_index()?;
    let slots = facts.iter().map(|fact| view.facts.slot_by_id(&fact.memory_id));
    let rows: Option<Vec<_>> = slots.map(|slot| vectors.vector_of(u64::from(slot?))).collect();
    ndarray::stack(Axis(0), &rows?.iter().map(|row| row.view()).collect::<Vec<_>>()).ok()
}
