//! An episode's text without a model.

use std::sync::Arc;

use super::keywords::{Salience, entities, phrases};
use super::source::Source;
use super::{narrative, salience, summary, title};
use crate::clock::Moment;
use crate::model::Message;

/// Most topics and most names of an episode.
const MAX_TOPICS: usize = 6;
const MAX_ENTITIES: usize = 16;

/// Version of these rules, stamped into every episode they wrote.
pub const RULES_VERSION: &str = "offline-episode-1";

/// What is written about an episode.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpisodeText {
    /// What a person would call the talk; at most 80 characters.
    pub title: String,
    /// L0: the most telling sentences, attributed; at most 100 tokens.
    pub summary: String,
    /// L1: the narrative, attributed, dates resolved; at most 2,000 tokens.
    pub content: String,
    /// What it is about, most telling first.
    pub topics: Vec<String>,
    /// Names that occur.
    pub entities: Vec<String>,
}

/// Writes the episode that `messages` make, in the language they are in.
///
/// Only the messages count: no statistics of other conversations take part, so the text doesn't
/// depend on what the store held when it was written. Without messages everything is empty.
pub fn write_offline(messages: &[Arc<Message>]) -> EpisodeText {
    if messages.is_empty() {
        return EpisodeText::default();
    }
    let source = Source::read(messages);
    let moments: Vec<Moment> =
        source.turns.iter().map(|turn| messages[turn.message].timestamp).collect();
    let words = Salience::of(&source);
    let phrases = phrases(&source, &words);
    let scored = salience::scored(&source, &words);
    EpisodeText {
        title: title::write(&source, &scored, &phrases),
        summary: summary::write(&source, &scored, &moments),
        content: narrative::write(&source, &scored, &moments),
        topics: phrases.iter().take(MAX_TOPICS).map(|phrase| phrase.text.clone()).collect(),
        entities: entities(&source, &words, MAX_ENTITIES),
    }
}
