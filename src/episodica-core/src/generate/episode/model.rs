//! The text of an episode as a language model tells it.
//!
//! The rules ([`write_offline`]) supply missing parts, and parts that are too long are cut after a
//! sentence. A text in another language than the messages is rejected as a whole. Otherwise the
//! model is believed: the episode records what the model was shown, so that a deletion reaches the
//! text.

use std::sync::Arc;

use super::offline::{EpisodeText, write_offline};
use crate::llm::{is_chinese, is_from_prompt, single_line};
use crate::model::Message;
use crate::text::{Language, count_tokens, language, sentences};

/// Maximum lengths: a title in characters, L0 and L1 in tokens.
const MAX_TITLE_CHARS: usize = 80;
const SUMMARY_TOKENS: usize = 60;
const MAX_NARRATIVE_TOKENS: usize = 2_000;
/// Messages with at most this many tokens are their own narrative.
const SHORT_TOKENS: usize = 50;
/// Minimum length of a text whose language can be detected, in characters.
const TELLING_CHARS: usize = 24;

/// Why an answer can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnusableAnswer {
    /// No JSON, or neither title nor narrative in it.
    Malformed,
    /// Written in another language than the messages.
    OtherLanguage,
}

impl UnusableAnswer {
    /// The name used in counters and in `provenance.fallback`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_answer",
            Self::OtherLanguage => "other_language",
        }
    }
}

/// The text read from an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenEpisode {
    /// The complete text.
    pub text: EpisodeText,
    /// True if the JSON needed repair or the rules filled a gap.
    pub salvaged: bool,
}

/// The text of an episode of `messages` with this title and narrative. With `narratives`, the
/// narrative is the episode's content; without, the rules write that, and the narrative is a
/// sentence that sums the episode up.
///
/// # Errors
/// The reason why the text can't be used.
pub fn written_episode(
    title: &str,
    narrative: &str,
    messages: &[Arc<Message>],
    narratives: bool,
    salvaged: bool,
) -> Result<WrittenEpisode, UnusableAnswer> {
    let real = |text: &str| {
        let is_real = text.chars().any(char::is_alphanumeric) && !is_from_prompt(text);
        if is_real { text.to_owned() } else { String::new() }
    };
    let (title, narrative) = (real(&single_line(title)), real(narrative));
    if title.is_empty() || narrative.is_empty() {
        return Err(UnusableAnswer::Malformed);
    }
    let all = format!("{title} {narrative}");
    if all.chars().count() >= TELLING_CHARS
        && is_chinese(messages) != (language(&all) == Language::Chinese)
    {
        return Err(UnusableAnswer::OtherLanguage);
    }
    let rules = write_offline(messages);
    let content = match source_if_short(messages) {
        Some(source) => source,
        None if narratives => fit_sentences(&narrative, MAX_NARRATIVE_TOKENS),
        None => rules.content,
    };
    Ok(WrittenEpisode {
        text: EpisodeText {
            title: title.chars().take(MAX_TITLE_CHARS).collect(),
            // The first sentence sums the narrative up.
            summary: fit_sentences(&single_line(&narrative), SUMMARY_TOKENS),
            content,
            entities: rules.entities,
        },
        salvaged,
    })
}

fn source_if_short(messages: &[Arc<Message>]) -> Option<String> {
    let bytes: usize = messages.iter().map(|message| message.content.len()).sum();
    if bytes > 8 * SHORT_TOKENS {
        return None;
    }
    let lines: Vec<String> = messages
        .iter()
        .map(|message| format!("{}: {}", message.speaker(), single_line(&message.content)))
        .collect();
    let source = lines.join("\n");
    (count_tokens(&source) <= SHORT_TOKENS).then_some(source)
}

/// As many whole sentences as fit the budget. A first sentence that is too long is cut at a
/// character boundary.
fn fit_sentences(text: &str, budget: usize) -> String {
    if text.len() <= budget || count_tokens(text) <= budget {
        return text.to_owned();
    }
    let (mut end, mut used) = (0, 0);
    for sentence in sentences(text) {
        let tokens = count_tokens(sentence) + 1;
        if used + tokens > budget {
            break;
        }
        used += tokens;
        end = sentence.as_ptr() as usize - text.as_ptr() as usize + sentence.len();
    }
    let mut cut = text[..end].trim_end().to_owned();
    if cut.is_empty() {
        cut = text.chars().take(budget).collect();
        while count_tokens(&cut) > budget {
            cut = cut.chars().take(cut.chars().count() * 3 / 4).collect();
        }
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::said;

    fn talk() -> Vec<Arc<Message>> {
        vec![
            said(
                0,
                "user",
                Some("Ann"),
                "2024-03-11T09:30:00+01:00",
                "I finally moved to Lyon last Friday, the flat is tiny but it has a balcony over \
                 the Rhône.",
            ),
            said(
                1,
                "user",
                Some("Ben"),
                "2024-03-11T09:31:00+01:00",
                "Congratulations! Did Marie help you carry the piano up four floors of those old \
                 stairs?",
            ),
            said(
                2,
                "user",
                Some("Ann"),
                "2024-03-11T09:35:00+01:00",
                "She did, and her brother too. We broke two lamps and nobody's back, which I call \
                 a success.",
            ),
        ]
    }

    fn told(title: &str, narrative: &str, narratives: bool) -> Result<EpisodeText, UnusableAnswer> {
        written_episode(title, narrative, &talk(), narratives, false).map(|written| written.text)
    }

    #[test]
    fn a_text_is_taken_as_it_is() {
        let narrative = "Ann told Ben that she moved to Lyon on 8 March 2024, like Napoleon.";
        let text = told("Ann moves to Lyon", narrative, false).expect("usable");
        assert_eq!((&*text.title, &*text.summary), ("Ann moves to Lyon", narrative));
        assert_eq!(text.content, write_offline(&talk()).content);
        assert!(text.entities.contains(&"Lyon".to_owned()));
        let text = told("Ann moves to Lyon", narrative, true).expect("usable");
        assert_eq!(text.content, narrative);
    }

    #[test]
    fn nothing_usable_is_said_so() {
        assert_eq!(told("...", "...", false), Err(UnusableAnswer::Malformed));
        assert_eq!(told("A move", "", false), Err(UnusableAnswer::Malformed));
        let chinese = "安告诉本，她上周五搬到了里昂，公寓有阳台。";
        assert_eq!(told("安搬到里昂", chinese, false), Err(UnusableAnswer::OtherLanguage));
    }

    #[test]
    fn lengths_are_bounded_and_short_talks_are_their_own_narrative() {
        let long = "Ann spoke of Lyon and of the long way there. ".repeat(600);
        let text = told(&long, &long, true).expect("usable");
        assert!(
            count_tokens(&text.summary) <= SUMMARY_TOKENS
                && count_tokens(&text.content) <= MAX_NARRATIVE_TOKENS
        );
        assert_eq!(text.title.chars().count(), MAX_TITLE_CHARS);
        let short = [said(0, "user", Some("Ann"), "2024-03-11T09:30:00Z", "Lunch at noon?")];
        let asked = "Ann asked whether to have lunch at noon.";
        let text = written_episode("Lunch", asked, &short, true, false).expect("usable").text;
        assert_eq!(text.content, "Ann: Lunch at noon?");
    }
}
