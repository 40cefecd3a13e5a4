//! A user's memory as ranking reads it.

use std::sync::Arc;

use crate::engine::memory::view::UserView;
use crate::index::{MessageIndex, TextIndex};
use crate::model::{Episode, SemanticMemory};
use crate::score::UserCorpus;

impl UserCorpus for UserView {
    fn messages(&self) -> &MessageIndex {
        &self.messages
    }

    fn facts(&self) -> &TextIndex {
        &self.statements
    }

    fn fact_slots(&self) -> Vec<u32> {
        self.facts.current_slots().collect()
    }

    fn has_fact(&self, slot: u32) -> bool {
        self.facts.is_current(slot)
    }

    fn fact(&self, slot: u32) -> Option<&Arc<SemanticMemory>> {
        self.facts.get(slot)
    }

    fn fact_tokens(&self, slot: u32) -> &[u16] {
        self.statement_tokens(slot)
    }

    fn sources(&self, slot: u32) -> &[u32] {
        self.sources.get(slot)
    }

    fn is_fact_hidden(&self, slot: u32) -> bool {
        UserView::is_fact_hidden(self, slot)
    }

    fn is_current(&self, slot: u32) -> bool {
        UserView::is_current(self, slot)
    }

    fn is_stated(&self, slot: u32) -> bool {
        UserView::is_stated(self, slot)
    }

    fn subject(&self, slot: u32) -> (u32, &str) {
        UserView::fact_subject(self, slot)
    }

    fn successor(&self, slot: u32) -> Option<u32> {
        UserView::fact_successor(self, slot)
    }

    fn abstracts(&self) -> &TextIndex {
        &self.abstracts
    }

    fn narratives(&self) -> &TextIndex {
        &self.narratives
    }

    fn episode_slots(&self) -> Vec<u32> {
        self.episodes.current_slots().filter(|slot| !self.is_episode_hidden(*slot)).collect()
    }

    fn has_episode(&self, slot: u32) -> bool {
        self.episodes.is_current(slot) && !self.is_episode_hidden(slot)
    }

    fn episode(&self, slot: u32) -> Option<&Arc<Episode>> {
        self.episodes.get(slot)
    }

    fn members(&self, slot: u32) -> &[u32] {
        self.members.get(slot)
    }

    fn episode_of(&self, message: u32) -> Option<u32> {
        UserView::episode_of(self, message)
    }

    fn hides_messages(&self) -> bool {
        UserView::hides_messages(self)
    }

    fn is_message_hidden(&self, message: u32) -> bool {
        UserView::is_message_hidden(self, message)
    }
}
