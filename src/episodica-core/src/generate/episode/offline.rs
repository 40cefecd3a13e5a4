//! An episode's text without a model.

use std::sync::Arc;

use crate::model::Message;

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
pub fn write_offline(messages: &[Arc<Message>]) -> EpisodeText {
    let content: Vec<String> = messages.iter().map(|message| format!("{}: {}", message.speaker(), message.content.trim())).collect();
    let title = messages.first().map(|message| message.content.chars().take(80).collect()).unwrap_or_default();
    EpisodeText { title, summary: String::new(), content: content.join("\n"), topics: Vec::new(), entities: Vec::new() }
}
