//! What the records that an edit changes were written from, in all their revisions.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::engine::memory::view::UserView;
use crate::engine::writing::compose::shown_in_all;
use crate::model::{Episode, SemanticMemory};

/// What the facts that an edit withdraws were written from. Earlier revisions of a record that was
/// shown such a fact may have its words, and stay in the history until one of its messages goes.
pub(super) struct ShownBefore(HashMap<String, BTreeSet<String>>);

impl ShownBefore {
    pub fn from_view(view: &UserView, withdrawn: &[String]) -> Self {
        let from = |id: &String| {
            let fact = view.facts.by_id(id)?;
            let window = fact.source_episodes.iter().filter_map(|id| view.episodes.by_id(id));
            let window = window.flat_map(|episode| &episode.original_messages);
            let window = window.map(|message| &message.message_id);
            let from = window.chain(&fact.source_messages).chain(&fact.shown);
            Some((id.clone(), from.cloned().collect()))
        };
        Self(withdrawn.iter().filter_map(from).collect())
    }

    /// The ids, and those from which the withdrawn facts among them were written.
    fn with_sources(&self, ids: &[String]) -> Vec<String> {
        let mut open: Vec<&String> = ids.iter().collect();
        let mut all = BTreeSet::new();
        while let Some(id) = open.pop() {
            if all.insert(id) {
                open.extend(self.0.get(id).into_iter().flatten());
            }
        }
        all.into_iter().cloned().collect()
    }

    /// What a model was shown for an episode in any revision.
    pub fn in_all(&self, earlier: &Episode, next: &Episode) -> Vec<String> {
        self.with_sources(&shown_in_all(earlier, &next.shown))
    }

    /// Notes the same in facts to which the user gave other words than the model.
    pub fn keep_in(&self, facts: &mut [Arc<SemanticMemory>], view: &UserView) {
        for fact in facts.iter_mut().filter(|fact| fact.is_stated()) {
            if let Some(known) = view.facts.by_id(&fact.memory_id) {
                let shown = self.with_sources(&known.shown);
                Arc::make_mut(fact).shown = shown;
            }
        }
    }
}
