//! What a model will cost for messages: the questions that the engine will ask, and their tokens.

use std::sync::Arc;

use super::facts::model::ShownFacts;
use super::window::{WindowParts, question};
use crate::boundary::window::{WindowStep, plan_step};
use crate::config::MemoryConfig;
use crate::error::Result;
use crate::llm::WindowBudget;
use crate::model::{BoundaryReason, Message};
use crate::text::count_tokens;

/// Messages in an episode of a model, and how many of them stay open for the next question.
const EPISODE: usize = 8;
const OPEN: usize = 4;
/// Tokens of a known fact, and of the messages before a window.
const KNOWN_TOKENS: usize = 26;
const BEFORE_TOKENS: usize = 70;
/// Tokens of an answer: for the text of an episode, for a fact, and with a narrative.
const TEXT_TOKENS: usize = 75;
const NARRATIVE_TOKENS: usize = 140;
const FACT_TOKENS: usize = 50;
/// Messages for each fact that a model finds.
const PER_FACT: usize = 2;

/// What learning will cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CostEstimate {
    /// Questions to the model.
    pub calls: u64,
    /// Tokens of the prompts, without the schemas of the answers.
    pub prompt_tokens: u64,
    /// Tokens of the answers, without reasoning.
    pub completion_tokens: u64,
}

/// Estimates the questions about the finished conversation of one session.
///
/// # Errors
/// `Internal` if a prompt can't be rendered.
pub fn estimate(messages: &[Arc<Message>], config: &MemoryConfig) -> Result<CostEstimate> {
    let (mut sum, mut rest, mut seen, mut known) = (CostEstimate::default(), messages, 0, 0);
    while !rest.is_empty() {
        let (asked, done) = match plan_step(rest, seen, Some(BoundaryReason::Session), config) {
            WindowStep::Wait => break,
            WindowStep::Cut(segments) => {
                let length: usize = segments.iter().map(|segment| segment.length).sum();
                (length, length)
            }
            WindowStep::Ask(count) if count >= rest.len() => (rest.len(), rest.len()),
            WindowStep::Ask(count) => (count, count.saturating_sub(OPEN).max(1)),
        };
        let asked = asked.clamp(1, rest.len());
        sum.add(&rest[..asked], known, config)?;
        known += asked / PER_FACT;
        seen = asked - done.min(asked);
        rest = &rest[done.clamp(1, rest.len())..];
    }
    Ok(sum)
}

impl CostEstimate {
    /// Adds a question about these messages.
    fn add(&mut self, window: &[Arc<Message>], known: usize, config: &MemoryConfig) -> Result<()> {
        let budget = WindowBudget::for_window(None);
        let shown = ShownFacts::default();
        let prompt = question(window, &shown, WindowParts::All, config, budget)?;
        let known = if config.prediction_correction { known.min(budget.known) } else { 0 };
        let beside = KNOWN_TOKENS * known + BEFORE_TOKENS;
        let sent = count_tokens(&prompt.system) + count_tokens(&prompt.user) + beside;
        let text = if config.narratives { NARRATIVE_TOKENS } else { TEXT_TOKENS };
        let facts = if config.semantic_memory { window.len().div_ceil(PER_FACT) } else { 0 };
        let told = text * window.len().div_ceil(EPISODE) + FACT_TOKENS * facts;
        self.calls += 1;
        self.prompt_tokens += sent as u64;
        self.completion_tokens += told as u64;
        Ok(())
    }
}

impl std::ops::AddAssign for CostEstimate {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::said;

    #[test]
    fn an_estimate_grows_with_the_messages_and_what_is_wanted() {
        let talk = |count: u64| -> Vec<Arc<Message>> {
            let one = |at| said(at, "user", Some("Ann"), "2024-03-11T09:30:00Z", "The kite flew.");
            (0..count).map(one).collect()
        };
        let config = MemoryConfig::default();
        let of = |count, config: &MemoryConfig| estimate(&talk(count), config).expect("renders");
        assert_eq!(of(0, &config), CostEstimate::default());
        assert_eq!([6, 30, 100].map(|count| of(count, &config).calls), [1, 1, 5]);
        let (few, many) = (of(100, &config), of(1_000, &config));
        assert!((45..=65).contains(&many.calls), "{many:?}");
        assert!(many.prompt_tokens > 9 * few.prompt_tokens, "{few:?} {many:?}");
        let texts = MemoryConfig { semantic_memory: false, ..MemoryConfig::default() };
        assert!(of(100, &texts).completion_tokens < few.completion_tokens / 3);
        let narratives = MemoryConfig { narratives: true, ..MemoryConfig::default() };
        assert!(of(100, &narratives).completion_tokens > few.completion_tokens);
    }
}
