//! Later statements about the same thing.

use std::sync::Arc;

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::error::Result;
use crate::model::{FactLink, LinkKind, SemanticMemory};

/// An earlier and a later quotation about the same thing.
#[derive(Debug, Clone)]
pub struct SaidLater {
    /// The fact with the earlier words.
    pub old: Arc<SemanticMemory>,
    /// The fact with the later words.
    pub new: Arc<SemanticMemory>,
    /// The earlier words.
    pub old_words: String,
    /// The later words.
    pub new_words: String,
    /// Their link.
    pub link: FactLink,
}

impl Engine {
    /// The links of a user, those with the latest words first; empty for an unknown user. `since`
    /// bounds the day of the later words.
    ///
    /// # Errors
    /// `InvalidInput` for a malformed user id; `Io`; `Interrupted`.
    pub fn changes(
        &self,
        user_id: &str,
        since: Option<Moment>,
        kind: Option<LinkKind>,
        control: &dyn CallControl,
    ) -> Result<Vec<SaidLater>> {
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Vec::new()) };
        let view = user.view.read();
        let mut found: Vec<SaidLater> = Vec::new();
        for pair in &view.shown_links().pairs {
            let Some(linked) = view.linked_facts(*pair) else { continue };
            let Some([old_words, new_words]) = linked.words() else { continue };
            let said = linked.new.quote.as_ref().map(|quote| quote.said_at);
            if said < since || kind.is_some_and(|kind| kind != linked.link.kind) {
                continue;
            }
            found.push(SaidLater {
                old: Arc::new(linked.old.clone()),
                new: Arc::new(linked.new.clone()),
                old_words: old_words.to_owned(),
                new_words: new_words.to_owned(),
                link: linked.link.clone(),
            });
        }
        let said = |fact: &SemanticMemory| fact.quote.as_ref().map(|quote| quote.said_at);
        found.sort_by_key(|one| std::cmp::Reverse((said(&one.new), said(&one.old))));
        Ok(found)
    }
}
