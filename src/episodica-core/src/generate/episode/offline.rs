//! An episode's text without a model.

use std::sync::Arc;

use super::keywords::{WordSalience, entities, phrases};
use super::source::EpisodeSource;
use super::{narrative, salience, summary, title};
use crate::model::Message;

/// Maximum number of topics and of names per episode.
const MAX_TOPICS: usize = 6;
const MAX_ENTITIES: usize = 16;

/// Version of these rules, stored with every episode that they write.
pub const RULES_VERSION: &str = "offline-episode-1";

/// The text of an episode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeText {
    /// A title as a person would write it; at most 80 characters.
    pub title: String,
    /// L0: the most informative sentences, attributed; at most 100 tokens.
    pub summary: String,
    /// L1: the narrative, attributed, dates resolved; at most 2,000 tokens.
    pub content: String,
    /// Topics, most informative first.
    pub topics: Vec<String>,
    /// Names in the episode.
    pub entities: Vec<String>,
}

/// Writes the episode of `messages`, in their language.
///
/// Uses no statistics of other conversations, so the text does not depend on the content of the
/// store. Without messages all fields are empty.
pub fn write_offline(messages: &[Arc<Message>]) -> EpisodeText {
    write(&EpisodeSource::read(messages))
}

fn write(source: &EpisodeSource) -> EpisodeText {
    if source.turns.is_empty() {
        return EpisodeText::default();
    }
    let words = WordSalience::of(source);
    let phrases = phrases(source, &words);
    let scored = salience::scored(source, &words);
    EpisodeText {
        title: title::write(source, &scored),
        summary: summary::write(source, &scored),
        content: narrative::write(source, &scored),
        topics: phrases.iter().take(MAX_TOPICS).map(|phrase| phrase.text.clone()).collect(),
        entities: entities(source, &words, MAX_ENTITIES),
    }
}
