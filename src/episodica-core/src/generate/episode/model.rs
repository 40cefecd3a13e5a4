//! An episode's text by a language model: renders the prompt and parses the answer.
//!
//! The rules ([`write_offline`]) supply missing parts, and parts that are too long are cut after a
//! sentence. An answer without title and narrative, or in another language than the messages, is
//! rejected as a whole. Sentences with words that the prompt has only elsewhere, in known facts or
//! earlier messages, are left out: deleting those would not remove the words from this episode.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::lexicon::is_common_word;
use super::offline::{EpisodeText, write_offline};
use crate::error::Result;
use crate::generate::facts::model::{FACTS_TOKENS, ShownFacts, facts_schema, known_lines};
use crate::index::for_each_term;
use crate::llm::{
    AnswerSchema, ChatPrompt, PromptTemplate, WindowBudget, before, conversation, is_chinese,
    is_from_prompt, json, render, single_line,
};
use crate::model::Message;
use crate::text::{Language, count_tokens, language, sentences};

/// Maximum lengths: a title in characters, L0 and L1 in tokens.
const MAX_TITLE_CHARS: usize = 80;
const SUMMARY_TOKENS: usize = 60;
const MAX_NARRATIVE_TOKENS: usize = 2_000;
/// Messages with at most this many tokens are their own narrative.
const SHORT_TOKENS: usize = 50;
/// Maximum number of tokens for the text of an episode.
const TEXT_TOKENS: u32 = 3_000;
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
    /// Number of sentences left out because they have words from elsewhere.
    pub foreign: u64,
}

#[derive(Serialize)]
struct EpisodeAnswer {
    facts: bool,
    known: Option<String>,
    before: Option<String>,
    conversation: String,
}

/// Asks about a segment; with `wants_facts`, also for the facts that are not yet known.
///
/// # Errors
/// `Internal` if the prompt can't be rendered.
pub fn question(
    messages: &[Arc<Message>],
    shown: &ShownFacts,
    wants_facts: bool,
    budget: WindowBudget,
) -> Result<ChatPrompt> {
    let values = EpisodeAnswer {
        facts: wants_facts,
        known: known_lines(&shown.known),
        before: before(&shown.before, budget),
        conversation: conversation(messages, budget),
    };
    let (system, user) = render(PromptTemplate::Episode, is_chinese(messages), &values)?;
    let text = json!({"type": "string"});
    let mut properties = json!({"title": text, "narrative": text});
    let mut required = vec!["title", "narrative"];
    let (mut name, mut max_tokens) = ("episode", TEXT_TOKENS);
    if wants_facts {
        properties["facts"] = facts_schema();
        required.push("facts");
        (name, max_tokens) = ("episode_and_facts", TEXT_TOKENS + FACTS_TOKENS);
    }
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    Ok(ChatPrompt {
        phase: PromptTemplate::Episode.phase(),
        system,
        user,
        schema: AnswerSchema { name, schema },
        max_tokens,
    })
}

/// Reads an answer about `messages`.
///
/// # Errors
/// The reason why the answer can't be used.
pub fn read(
    answer: &str,
    messages: &[Arc<Message>],
    shown: &ShownFacts,
) -> Result<WrittenEpisode, UnusableAnswer> {
    let json::SalvagedObject { value, salvaged, .. } =
        json::object_with(answer, &["title"]).ok_or(UnusableAnswer::Malformed)?;
    let text = |key: &str| {
        let text = value.get(key).and_then(Value::as_str).unwrap_or_default().trim();
        let real = text.chars().any(char::is_alphanumeric) && !is_from_prompt(text);
        if real { text.to_owned() } else { String::new() }
    };
    let (title, narrative) = (single_line(&text("title")), text("narrative"));
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
    let words = ForeignWords::of(messages, shown);
    let (narrative, mut foreign) = words.removed_from(&narrative);
    let title = if words.are_in(&title) {
        foreign += 1;
        rules.title.clone()
    } else {
        title
    };
    let filled = narrative.is_empty();
    // The first sentence sums the narrative up.
    let summary =
        if filled { rules.summary } else { fit(&single_line(&narrative), SUMMARY_TOKENS) };
    let content = match source_if_short(messages) {
        Some(source) => source,
        None if narrative.is_empty() => rules.content,
        None => fit(&narrative, MAX_NARRATIVE_TOKENS),
    };
    Ok(WrittenEpisode {
        text: EpisodeText {
            title: title.chars().take(MAX_TITLE_CHARS).collect(),
            summary,
            content,
            topics: rules.topics,
            entities: rules.entities,
        },
        salvaged: salvaged || filled,
        foreign,
    })
}

/// Words that the known facts and earlier messages of a prompt have, and the episode's messages do
/// not.
struct ForeignWords(HashSet<String>);

impl ForeignWords {
    fn of(messages: &[Arc<Message>], shown: &ShownFacts) -> Self {
        let said = messages.iter().flat_map(|message| [&*message.content, message.speaker()]);
        let heard: HashSet<String> = said.flat_map(terms_of).collect();
        let known = shown.known.iter().map(|fact| &*fact.content);
        let elsewhere = known.chain(shown.before.iter().map(|message| &*message.content));
        let is_foreign = |term: &String| !heard.contains(term) && !is_common_word(term);
        Self(elsewhere.flat_map(terms_of).filter(is_foreign).collect())
    }

    fn are_in(&self, text: &str) -> bool {
        !self.0.is_empty() && terms_of(text).iter().any(|term| self.0.contains(term))
    }

    /// The text without the sentences that have such words, and the number of these.
    fn removed_from(&self, text: &str) -> (String, u64) {
        let all = sentences(text);
        let kept: Vec<&str> = all.iter().copied().filter(|one| !self.are_in(one)).collect();
        let dropped = all.len() - kept.len();
        if dropped == 0 {
            return (text.to_owned(), 0);
        }
        let gap = if language(text) == Language::Chinese { "" } else { " " };
        (kept.join(gap), dropped as u64)
    }
}

fn terms_of(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.text.to_owned()));
    terms
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
fn fit(text: &str, budget: usize) -> String {
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

    #[test]
    fn a_good_answer_is_taken_as_it_is() {
        let answer = concat!(
            r#"{"title":"Ann moves to Lyon","narrative":"Ann told Ben that she moved to Lyon on "#,
            r#"8 March 2024."}"#,
        );
        let written = read(answer, &talk(), &ShownFacts::default()).expect("usable");
        assert_eq!(written.text.title, "Ann moves to Lyon");
        assert_eq!(written.text.summary, "Ann told Ben that she moved to Lyon on 8 March 2024.");
        assert!(written.text.entities.contains(&"Lyon".to_owned()));
        assert!(!written.salvaged);
    }

    #[test]
    fn gaps_are_filled_by_the_rules() {
        let answer = r#"Sure! ```json
{"title":"A move","narrative":"Napoleon moved to Elba."}
```"#;
        let elba = said(9, "user", Some("Ann"), "2024-03-10T09:30:00Z", "Napoleon saw Elba.");
        let shown = ShownFacts { before: vec![elba], ..ShownFacts::default() };
        let written = read(answer, &talk(), &shown).expect("usable");
        assert!(written.salvaged);
        assert_eq!(written.foreign, 1);
        assert!(!written.text.summary.is_empty() && written.text.topics.is_empty());
    }

    #[test]
    fn nothing_usable_is_said_so() {
        assert_eq!(
            read("I am sorry, I can't.", &talk(), &ShownFacts::default()),
            Err(UnusableAnswer::Malformed)
        );
        assert_eq!(
            read(r#"{"title":"...","narrative":"..."}"#, &talk(), &ShownFacts::default()),
            Err(UnusableAnswer::Malformed)
        );
        let chinese =
            r#"{"title":"安搬到里昂","narrative":"安告诉本，她上周五搬到了里昂，公寓有阳台。"}"#;
        assert_eq!(
            read(chinese, &talk(), &ShownFacts::default()),
            Err(UnusableAnswer::OtherLanguage)
        );
    }

    #[test]
    fn lengths_are_bounded_and_short_talks_are_their_own_narrative() {
        let long = "Ann spoke of Lyon and of the long way there. ".repeat(600);
        let answer = json!({"title": long, "narrative": long}).to_string();
        let text = read(&answer, &talk(), &ShownFacts::default()).expect("usable").text;
        assert!(
            count_tokens(&text.summary) <= SUMMARY_TOKENS
                && count_tokens(&text.content) <= MAX_NARRATIVE_TOKENS
        );
        assert_eq!(text.title.chars().count(), MAX_TITLE_CHARS);
        let short = [said(0, "user", Some("Ann"), "2024-03-11T09:30:00Z", "Lunch at noon?")];
        let answer = concat!(
            r#"{"title":"Lunch","narrative":"Ann asked "#,
            r#"whether to have lunch at noon."}"#,
        );
        assert_eq!(
            read(answer, &short, &ShownFacts::default()).expect("usable").text.content,
            "Ann: Lunch at noon?"
        );
    }
}
