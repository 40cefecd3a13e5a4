//! A window of messages by one question to a model: where its episodes end, what they are called,
//! what happened in them, and the facts in them.
//!
//! [`boundary::window`](crate::boundary::window) decides from an answer where the episodes end, and
//! [`facts::model`](super::facts::model) reads its facts; this module asks, and reads the texts.

use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::episode::model::{UnusableAnswer, WrittenEpisode, written_episode};
use super::facts::model::{FACTS_TOKENS, ShownFacts, facts_schema, known_lines};
use crate::boundary::window::claimed_messages;
use crate::config::MemoryConfig;
use crate::error::Result;
use crate::llm::{
    AnswerSchema, ChatPrompt, PromptTemplate, UsagePhase, WindowBudget, format_before,
    format_conversation, is_chinese, json, render_prompt,
};
use crate::model::Message;

/// Maximum number of tokens for the titles and sentences of a window, and for its narratives.
const TEXTS_TOKENS: u32 = 1_000;
const NARRATIVES_TOKENS: u32 = 3_000;

/// What a question about a window asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowParts {
    /// Everything.
    All,
    /// Everything but the text and the facts of the last episode: more messages follow.
    Finished,
    /// The facts.
    Facts,
}

#[derive(Serialize)]
struct WindowValues {
    min: usize,
    max: usize,
    facts: bool,
    narratives: bool,
    known: Option<String>,
    before: Option<String>,
    conversation: String,
    open: bool,
    only_facts: bool,
}

/// Asks about a window. All questions of one memory begin with the same instructions.
///
/// # Errors
/// `Internal` if the prompt can't be rendered.
pub fn question(
    window: &[Arc<Message>],
    shown: &ShownFacts,
    parts: WindowParts,
    config: &MemoryConfig,
    budget: WindowBudget,
) -> Result<ChatPrompt> {
    let values = WindowValues {
        min: config.buffer_size_min,
        max: config.buffer_size_max,
        facts: config.semantic_memory,
        narratives: config.narratives,
        known: known_lines(&shown.known),
        before: format_before(&shown.before, budget),
        conversation: format_conversation(window, budget),
        open: parts == WindowParts::Finished,
        only_facts: parts == WindowParts::Facts,
    };
    let (system, user) = render_prompt(PromptTemplate::Window, is_chinese(window), &values)?;
    let texts = if config.narratives { NARRATIVES_TOKENS } else { TEXTS_TOKENS };
    let (name, keys, phase, max_tokens) = match parts {
        WindowParts::Facts => ("facts", &["facts"][..], UsagePhase::Extract, FACTS_TOKENS),
        _ if config.semantic_memory => {
            let keys = &["episodes", "facts"][..];
            ("episodes_and_facts", keys, UsagePhase::Episode, texts + FACTS_TOKENS)
        }
        _ => ("episodes", &["episodes"][..], UsagePhase::Episode, texts),
    };
    let property = |key: &&str| {
        let schema = if *key == "facts" { facts_schema() } else { episodes_schema() };
        ((*key).to_owned(), schema)
    };
    let schema = json!({
        "type": "object",
        "properties": keys.iter().map(property).collect::<serde_json::Map<_, _>>(),
        "required": keys,
        "additionalProperties": false,
    });
    Ok(ChatPrompt { phase, system, user, schema: AnswerSchema { name, schema }, max_tokens })
}

fn episodes_schema() -> Value {
    let (whole, text) = (json!({"type": "integer"}), json!({"type": "string"}));
    let episode = json!({
        "type": "object",
        "properties": {
            "first": whole,
            "last": whole,
            "confidence": {"type": "number"},
            "title": text,
            "narrative": text,
        },
        "required": ["first", "last", "confidence", "title", "narrative"],
        "additionalProperties": false,
    });
    json!({"type": "array", "items": episode})
}

/// The text of an episode, or why it can't be used.
pub type TextOutcome = Result<WrittenEpisode, UnusableAnswer>;

/// Reads the texts of the episodes that were cut from the front of `window`, with these numbers of
/// messages. `None` where the answer tells of other messages, or nothing.
///
/// An episode that joins several of the answer has the title of the longest and all narratives.
pub fn read_texts(
    answer: &str,
    window: &[Arc<Message>],
    lengths: &[usize],
    config: &MemoryConfig,
) -> Vec<Option<TextOutcome>> {
    let items = json::read_items(answer, "episodes");
    let mut told: Vec<ToldText> = items.values.iter().filter_map(ToldText::read).collect();
    let mut salvaged = items.salvaged || items.lost > 0;
    if let ([length], true) = (lengths, told.iter().all(|one| one.title.is_empty())) {
        // Models that are shown a single episode may tell it next to the list.
        if let Some(found) = json::object_with(answer, &["title"]) {
            salvaged = found.salvaged;
            told = vec![ToldText::of(&found.value.into(), 0..*length)];
        }
    }
    let text_of = |range: Range<usize>| {
        let overlaps = |one: &&ToldText| one.at.start < range.end && one.at.end > range.start;
        let here: Vec<&ToldText> = told.iter().filter(overlaps).collect();
        if here.iter().any(|one| one.at.start < range.start || one.at.end > range.end) {
            return None;
        }
        let title = &here.iter().max_by_key(|one| one.at.len())?.title;
        let narratives: Vec<&str> = here.iter().map(|one| &*one.narrative).collect();
        let narrative = narratives.join(" ").trim().to_owned();
        if title.is_empty() && narrative.is_empty() {
            return None;
        }
        let messages = &window[range];
        Some(written_episode(title, &narrative, messages, config.narratives, salvaged))
    };
    ranges(lengths, window.len()).map(text_of).collect()
}

/// The places of consecutive episodes with these numbers of messages in a window.
pub(crate) fn ranges(lengths: &[usize], window: usize) -> impl Iterator<Item = Range<usize>> {
    lengths.iter().scan(0, move |start, length| {
        let range = *start..(*start + length).min(window);
        *start = range.end;
        Some(range)
    })
}

/// What an answer tells of an episode.
struct ToldText {
    at: Range<usize>,
    title: String,
    narrative: String,
}

impl ToldText {
    fn read(item: &Value) -> Option<Self> {
        let messages = claimed_messages(item)?;
        let numbers = messages.into_iter().filter_map(|number| usize::try_from(number).ok());
        let (first, last) = numbers
            .fold((usize::MAX, 0), |(first, last), number| (first.min(number), last.max(number)));
        (first <= last).then(|| Self::of(item, first..last.saturating_add(1)))
    }

    fn of(item: &Value, at: Range<usize>) -> Self {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        Self { at, title: text("title").trim().into(), narrative: text("narrative").trim().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::facts::model::read as read_facts;
    use crate::model::testing::said;
    use crate::text::count_tokens;

    const DAY: &str = "2024-03-11T09:30:00+01:00";

    fn window() -> Vec<Arc<Message>> {
        let texts = [
            "I moved to Lyon on Friday.",
            "The flat has a balcony.",
            "By the way, my dog is called Rex.",
            "He hates the new stairs.",
            "Did you see the match?",
        ];
        let one = |(at, text): (usize, &&str)| said(at as u64, "user", Some("Ann"), DAY, text);
        texts.iter().enumerate().map(one).collect()
    }

    fn episode(first: usize, last: usize, title: &str) -> Value {
        json!({
            "first": first, "last": last, "confidence": 0.9, "title": title,
            "narrative": format!("Ann told of {title}."),
        })
    }

    fn titles(episodes: Value, lengths: &[usize]) -> Vec<Option<String>> {
        let answer = json!({"episodes": episodes, "facts": []}).to_string();
        let found = read_texts(&answer, &window(), lengths, &MemoryConfig::default());
        let title = |outcome: TextOutcome| outcome.expect("usable").text.title;
        found.into_iter().map(|one| one.map(title)).collect()
    }

    #[test]
    fn each_episode_has_its_text() {
        let some = |title: &str| Some(title.to_owned());
        let two = json!([episode(0, 1, "Lyon"), episode(2, 4, "Rex")]);
        assert_eq!(titles(two.clone(), &[2, 3]), [some("Lyon"), some("Rex")]);
        assert_eq!(titles(two.clone(), &[2]), [some("Lyon")], "the rest stays open");
        assert_eq!(titles(two.clone(), &[5]), [some("Rex")], "one that joins two");
        assert_eq!(titles(two, &[3, 2]), [None, None], "other messages than in the answer");
        let untold = json!([{"first": 0, "last": 4, "confidence": 0.9}]);
        assert_eq!(titles(untold, &[5]), [None]);
    }

    #[test]
    fn of_a_single_episode_the_list_may_be_missing() {
        let answer = r#"{"title": "Ann moves", "narrative": "Ann told of Lyon.", "facts": []}"#;
        let config = MemoryConfig::default();
        let mut found = read_texts(answer, &window(), &[5], &config);
        let text = found.remove(0).expect("told").expect("usable");
        assert_eq!((&*text.text.title, text.salvaged), ("Ann moves", false));
        assert!(read_texts("no idea", &window(), &[5], &config)[0].is_none());
        let chinese = json!({"episodes": [{
            "first": 0, "last": 4, "title": "安搬到里昂",
            "narrative": "安上周五搬到了里昂，公寓很小，但有阳台，狗叫雷克斯，讨厌楼梯。",
        }]});
        let found = read_texts(&chinese.to_string(), &window(), &[5], &config);
        assert_eq!(found, [Some(Err(UnusableAnswer::OtherLanguage))]);
    }

    #[test]
    fn the_facts_of_a_window_belong_to_the_episodes_of_their_last_messages() {
        let fact = |sentence: &str, messages: &str| {
            json!(["personal_info", "high", "Ann", "", "", "", "", "", messages, sentence])
        };
        let facts = [
            fact("Ann lives in Lyon.", "0"),
            fact("Ann's dog is called Rex.", "2"),
            fact("Ann's dog Rex hates the stairs of the flat.", "1, 3"),
            fact("Ann likes matches.", "4"),
        ];
        let answer = json!({"episodes": [], "facts": facts}).to_string();
        let config = MemoryConfig::default();
        let found = read_facts(&answer, &window(), &ShownFacts::default(), &config).expect("some");
        let parts = found.split(&window(), &[2, 2]);
        let told = parts.iter().map(|part| part.told.len());
        assert_eq!(told.collect::<Vec<_>>(), [1, 2], "what is open is asked about later");
        assert_eq!(parts[0].extraction.candidates[0].content, "Ann lives in Lyon.");
    }

    #[test]
    fn the_instructions_are_long_enough_to_be_cached_and_never_vary() {
        let config = MemoryConfig::default();
        let budget = WindowBudget::for_window(None);
        let ask = |messages: &[Arc<Message>], parts| {
            let shown = ShownFacts { known: Vec::new(), before: messages[..1].to_vec() };
            question(messages, &shown, parts, &config, budget).expect("renders")
        };
        let all = window();
        let first = ask(&all, WindowParts::All);
        for parts in [WindowParts::Finished, WindowParts::Facts] {
            assert_eq!(ask(&all[2..], parts).system, first.system);
        }
        let tokens = count_tokens(&first.system);
        assert!((1_024..1_400).contains(&tokens), "{tokens}");
        let chinese: Vec<_> =
            (0..2).map(|at| said(at, "user", None, DAY, "我上周搬到了里昂。")).collect();
        let tokens = count_tokens(&ask(&chinese, WindowParts::All).system);
        assert!((1_024..1_800).contains(&tokens), "{tokens}");
        assert!(ask(&all, WindowParts::Finished).user.ends_with("(more follows)"));
        assert!(ask(&all, WindowParts::Facts).user.ends_with("(Give `facts` only.)"));
    }
}
