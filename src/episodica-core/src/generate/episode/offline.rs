//! An episode's text without a model.

use std::sync::Arc;

use super::names::find_entities;
use super::source::EpisodeSource;
use super::spans::telling_spans;
use super::{content, summary, title};
use crate::model::Message;

/// Maximum number of names per episode.
const MAX_ENTITIES: usize = 16;

/// Version of these rules, stored with every episode that they write.
pub const RULES_VERSION: &str = "offline-episode-2";

/// The text of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeText {
    /// A title; at most 120 characters.
    pub title: String,
    /// L0: what tells the episode, attributed; at most 100 tokens.
    pub summary: String,
    /// L1: the messages, or a model's narrative; attributed, dates resolved; at most 2,000 tokens.
    pub content: String,
    /// Names in the episode.
    pub entities: Vec<String>,
}

/// Writes the episode of `messages`, in their language.
///
/// Uses no statistics of other conversations, so the text does not depend on the content of the
/// store. Without messages all fields are empty.
pub fn write_offline(messages: &[Arc<Message>]) -> EpisodeText {
    write_episode(&EpisodeSource::from_messages(messages))
}

fn write_episode(source: &EpisodeSource) -> EpisodeText {
    if source.turns.is_empty() {
        return EpisodeText::default();
    }
    let spans = telling_spans(source);
    EpisodeText {
        title: title::write_title(source, &spans),
        summary: summary::write_summary(source, &spans),
        content: content::write_content(source),
        entities: find_entities(source, MAX_ENTITIES),
    }
}
