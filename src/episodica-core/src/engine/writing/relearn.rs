//! What an episode that loses messages tells now: the limit on facts per episode may have refused
//! it while the deleted messages were there.

use std::collections::HashSet;
use std::sync::Arc;

use crate::control::Control;
use crate::engine::services::Services;
use crate::engine::user::User;
use crate::engine::writing::learn::{Found, LearningStep};
use crate::error::Result;
use crate::generate::facts::crowded_out;
use crate::model::Episode;

impl Services {
    /// The candidates for which a deletion makes room. A fact that was learned once and that the
    /// user deleted since is none of them.
    pub(crate) fn made_room_for<'a>(
        &self,
        user: &User,
        left: &'a [Arc<Episode>],
    ) -> Vec<Found<'a>> {
        if !self.config.semantic_memory || left.is_empty() {
            return Vec::new();
        }
        let ids: HashSet<&str> = left.iter().map(|episode| episode.episode_id.as_str()).collect();
        let mut before = Vec::new();
        {
            let view = user.view.read();
            let mut skipped: HashSet<&str> = HashSet::new();
            for (_, fact) in view.facts.iter() {
                // A model chose among what was said by another measure.
                if !["offline", "user", "imported"].contains(&fact.provenance.method.as_str()) {
                    let episodes = fact.source_episodes.iter();
                    skipped.extend(episodes.filter_map(|id| ids.get(id.as_str())));
                }
            }
            for episode in left {
                let id = episode.episode_id.as_str();
                let backlog = &view.backlog;
                let by_rules = self.llm.is_none() || backlog.relearn().contains(id);
                if by_rules && !skipped.contains(id) && !backlog.unlearned().contains_key(id) {
                    let known = view.episodes.slot(id).and_then(|slot| view.episodes.get(slot));
                    before.extend(known.map(|known| (episode, Arc::clone(known))));
                }
            }
        }
        let mut found = Vec::new();
        for (episode, before) in before {
            let before = self.without_recalled(user, &before.original_messages);
            let left = self.without_recalled(user, &episode.original_messages);
            let candidates = crowded_out(&before, &left, &self.config);
            found.extend(candidates.into_iter().map(|candidate| (episode, candidate)));
        }
        found
    }

    /// Learns these candidates of episodes that were learned from.
    pub(crate) fn learn_in_room(
        &self,
        user: &User,
        found: &[Found<'_>],
        control: &dyn Control,
    ) -> Result<()> {
        let basis = user.basis();
        let texts = self.read_found(found, control)?;
        let step = LearningStep::by_rules(&[], found, texts, basis);
        self.reconcile_and_commit(user, step, control)
    }
}
