//! Merging, if configured: an episode that continues the topic of a recent one is merged into it.
//!
//! The two episodes must be of one session and close in time, and together no larger than the
//! maximum size of an episode. The earlier episode keeps its id and gets a new text from the
//! messages of both; the id of the later episode leads to it (`metadata.merged_from`).

use std::sync::Arc;

use serde_json::Value;

use crate::control::CallControl;
use crate::engine::asking::conversation::write_trace;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::commit_episodes::commit_episodes;
use crate::engine::writing::compose::{compose_texts, shown_in_all};
use crate::engine::writing::ingest::embed_messages;
use crate::error::Result;
use crate::model::Episode;

/// Earlier episodes considered, nearest first.
const NEAREST: usize = 5;

/// Commits episodes one by one, each merged into an earlier one if possible; returns the
/// resulting episodes.
pub(crate) fn commit_merged(
    services: &EngineServices,
    user: &OpenUser,
    episodes: Vec<Arc<Episode>>,
    basis: DecisionBasis,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    let mut committed: Vec<Arc<Episode>> = Vec::with_capacity(episodes.len());
    for episode in episodes {
        let episode = match merge_partner(services, user, &episode, control)? {
            Some(earlier) => {
                Arc::new(merged_revision(services, user, &earlier, &episode, control)?)
            }
            None => episode,
        };
        commit_episodes(services, user, std::slice::from_ref(&episode), &[], basis)?;
        committed.retain(|other| other.episode_id != episode.episode_id);
        committed.push(episode);
    }
    Ok(committed)
}

/// The earlier episode that this one continues.
fn merge_partner(
    services: &EngineServices,
    user: &OpenUser,
    episode: &Episode,
    control: &dyn CallControl,
) -> Result<Option<Arc<Episode>>> {
    embed_messages(services, user, control)?;
    let view = user.view.read();
    let said = episode.original_messages.iter();
    let slots: Vec<u32> =
        said.filter_map(|message| view.messages.slot_of(&message.message_id)).collect();
    let Some(vector) = view.mean_vector(&slots) else { return Ok(None) };
    let near = view.narratives.nearest_slots(vector.view(), NEAREST)?;
    let fits = |earlier: &&Arc<Episode>| {
        let gap = episode
            .timestamp
            .seconds_since(earlier.ended_at)
            .max(earlier.timestamp.seconds_since(episode.ended_at));
        earlier.session_id == episode.session_id
            && gap <= services.config.merge_max_gap_minutes * 60.0
            && earlier.message_count + episode.message_count <= services.config.buffer_size_max
            && earlier.provenance.method != "user"
            && earlier.archived_at.is_none()
    };
    let similar = near
        .into_iter()
        .filter(|(_, cosine)| *cosine >= services.config.merge_similarity_threshold);
    Ok(similar.filter_map(|(slot, _)| view.episodes.get(slot)).find(fits).cloned())
}

/// The next revision of `earlier`, with the messages of `later`.
fn merged_revision(
    services: &EngineServices,
    user: &OpenUser,
    earlier: &Episode,
    later: &Episode,
    control: &dyn CallControl,
) -> Result<Episode> {
    let mut messages = earlier.original_messages.clone();
    messages.extend(later.original_messages.iter().cloned());
    messages.sort_by_key(|message| message.seq);
    let mut texts = compose_texts(services, user, &[&messages], control)?;
    let text = texts.remove(0);
    write_trace(services, user, text.asked.with_ids(std::slice::from_ref(&earlier.episode_id)));
    let mut metadata = earlier.metadata.clone();
    let merged = metadata.entry("merged_from").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(ids) = merged {
        ids.push(Value::String(later.episode_id.clone()));
    }
    services.counters.count_event("episodes_merged", 1);
    Ok(Episode {
        shown: shown_in_all(earlier, &text.shown),
        title: text.text.title,
        summary: text.text.summary,
        content: text.text.content,
        entities: text.text.entities,
        message_count: messages.len(),
        original_messages: messages,
        boundary_reason: later.boundary_reason.clone(),
        boundary: later.boundary.clone(),
        timestamp: earlier.timestamp.min(later.timestamp),
        ended_at: earlier.ended_at.max(later.ended_at),
        metadata,
        provenance: text.provenance,
        revision: earlier.revision + 1,
        ..earlier.clone()
    })
}
