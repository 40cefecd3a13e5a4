//! Makes moments of message hits: adds to each message its episode and the facts that quote it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::memory::view::UserView;
use crate::model::SemanticMemory;
use crate::score::{HitKind, HitRecord, SearchHit};

/// Adds the episode and the quoted facts of each message hit. A message that is not in an episode
/// yet has neither.
pub(super) fn add_moments(view: &UserView, hits: &mut [SearchHit]) {
    let slot_of = |hit: &SearchHit| match &hit.record {
        HitRecord::Message(message) => view.messages.slot_of(&message.message_id),
        HitRecord::Episode(_) | HitRecord::Semantic(_) => None,
    };
    if !hits.iter().any(|hit| hit.kind == HitKind::Message) {
        return;
    }
    let mut claims: FxHashMap<u32, Vec<Arc<SemanticMemory>>> =
        hits.iter().filter_map(slot_of).map(|slot| (slot, Vec::new())).collect();
    for fact in view.facts.current_slots().filter(|fact| is_quoted(view, *fact)) {
        for source in view.sources.get(fact) {
            if let Some(of_message) = claims.get_mut(source) {
                of_message.extend(view.facts.get(fact).cloned());
            }
        }
    }
    for hit in hits {
        let Some(slot) = slot_of(hit) else { continue };
        let episode = view.episode_of(slot).filter(|episode| !view.is_episode_hidden(*episode));
        hit.episode = episode.and_then(|episode| view.episodes.get(episode)).cloned();
        hit.claims = claims.get(&slot).cloned().unwrap_or_default();
    }
}

/// True for a current fact whose words are those of a message.
fn is_quoted(view: &UserView, fact: u32) -> bool {
    view.is_current(fact) && !view.is_stated(fact) && !view.is_fact_hidden(fact)
}
