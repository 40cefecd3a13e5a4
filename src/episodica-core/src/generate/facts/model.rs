//! Statements by a model: what was to be expected, and what was said beyond it.
//!
//! An answer is read item by item, and an item is kept only if the messages it cites carry it
//! ([`supported`]), share words with it, and nothing of it comes from a prompt. What was turned
//! down is counted by reason. An empty list is a good answer; no list is [`None`].

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::candidate::{Candidate, Extraction, RejectReason};
use super::extract::is_agent;
use super::support::{shares_words, supported};
use crate::clock::Moment;
use crate::config::Config;
use crate::error::Result;
use crate::llm::{
    AnswerSchema, Prompt, Template, conversation, is_chinese, is_from_prompt, json, render,
    single_line,
};
use crate::model::{Episode, MemoryKind, Message, SemanticMemory};
use crate::text::normalized_hash;

/// Longest prediction that is passed on, in characters.
const MAX_PREDICTION_CHARS: usize = 2_000;
/// Longest statement, in characters.
const MAX_STATEMENT_CHARS: usize = 400;
/// Most statements of one episode.
const MAX_STATEMENTS: usize = 50;
/// What a statement counts whose confidence or importance the model did not give.
const UNSAID_CONFIDENCE: f32 = 0.7;
const UNSAID_IMPORTANCE: f32 = 0.5;

#[derive(Serialize)]
struct Expectation {
    known: String,
    title: String,
    participants: String,
    date: String,
}

/// The question what an episode will hold, given known statements.
///
/// # Errors
/// `Internal` when the prompt can't be filled in.
pub fn prediction_question(episode: &Episode, known: &[Arc<SemanticMemory>]) -> Result<Prompt> {
    let lines: Vec<String> =
        known.iter().map(|memory| format!("- {}", single_line(&memory.content))).collect();
    let values = Expectation {
        known: lines.join("\n"),
        title: single_line(&episode.title),
        participants: participants(&episode.original_messages)
            .iter()
            .map(|name| single_line(name))
            .collect::<Vec<_>>()
            .join(", "),
        date: episode.timestamp.local().date().to_string(),
    };
    let (system, user) =
        render(Template::Predict, is_chinese(&episode.original_messages), &values)?;
    let schema = json!({
        "type": "object",
        "properties": {"prediction": {"type": "string"}},
        "required": ["prediction"],
        "additionalProperties": false,
    });
    Ok(Prompt {
        phase: Template::Predict.phase(),
        system,
        user,
        schema: AnswerSchema { name: "prediction", schema },
        max_tokens: 400,
    })
}

/// What a model expects; prose without JSON will do.
pub fn read_prediction(answer: &str) -> Option<String> {
    let found = json::object(answer)
        .and_then(|found| found.value.get("prediction").and_then(Value::as_str).map(str::to_owned));
    let text = found.unwrap_or_else(|| answer.to_owned());
    let text: String = text.trim().chars().take(MAX_PREDICTION_CHARS).collect();
    text.chars().any(char::is_alphanumeric).then_some(text)
}

#[derive(Serialize)]
struct Values {
    prediction: Option<String>,
    kinds: String,
    conversation: String,
}

/// The question what these messages say that lasts, beyond the prediction if there is one.
///
/// # Errors
/// `Internal` when the prompt can't be filled in.
pub fn statements_question(messages: &[Arc<Message>], prediction: Option<&str>) -> Result<Prompt> {
    let kinds: Vec<&str> = MemoryKind::ALL.iter().map(|kind| kind.name()).collect();
    let values = Values {
        prediction: prediction.map(str::to_owned),
        kinds: kinds.join(", "),
        conversation: conversation(messages, 0),
    };
    let (system, user) = render(Template::Extract, is_chinese(messages), &values)?;
    let text = json!({"type": "string"});
    let statement = json!({
        "type": "object",
        "properties": {
            "content": text,
            "kind": {"type": "string", "enum": kinds},
            "subject": text,
            "attribute": text,
            "value": text,
            "confidence": {"type": "number"},
            "importance": {"type": "string", "enum": ["low", "medium", "high", "critical"]},
            "messages": {"type": "array", "items": {"type": "integer"}},
        },
        "required": [
            "content", "kind", "subject", "attribute", "value", "confidence", "importance",
            "messages",
        ],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {"statements": {"type": "array", "items": statement}},
        "required": ["statements"],
        "additionalProperties": false,
    });
    Ok(Prompt {
        phase: Template::Extract.phase(),
        system,
        user,
        schema: AnswerSchema { name: "statements", schema },
        max_tokens: 3_000,
    })
}

/// What was made of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Statements {
    /// What is kept, and counts of what isn't.
    pub extraction: Extraction,
    /// The JSON had to be pieced together, or an item of it was lost.
    pub salvaged: bool,
}

/// Reads an answer about `messages`; `None` if it holds no list at all.
pub fn read_statements(
    answer: &str,
    messages: &[Arc<Message>],
    config: &Config,
) -> Option<Statements> {
    let items = json::items(answer, "statements");
    if !items.found {
        return None;
    }
    let names = participants(messages);
    let mut seen = HashSet::new();
    let mut extraction = Extraction::default();
    for value in items.values.iter().take(MAX_STATEMENTS) {
        match read_one(value, messages, &names, config) {
            Ok(candidate) if seen.insert(normalized_hash(&candidate.content)) => {
                extraction.candidates.push(candidate)
            }
            Ok(_) => extraction.reject(RejectReason::Duplicate),
            Err(reason) => extraction.reject(reason),
        }
    }
    Some(Statements { extraction, salvaged: items.salvaged || items.lost > 0 })
}

fn read_one(
    value: &Value,
    messages: &[Arc<Message>],
    names: &[&str],
    config: &Config,
) -> Result<Candidate, RejectReason> {
    let text = |key: &str| single_line(value.get(key).and_then(Value::as_str).unwrap_or_default());
    let content = text("content");
    if !content.chars().any(char::is_alphanumeric) || content.chars().count() > MAX_STATEMENT_CHARS
    {
        return Err(RejectReason::Empty);
    }
    if is_from_prompt(&content) {
        return Err(RejectReason::Echo);
    }
    if content.ends_with(['?', '？']) {
        return Err(RejectReason::Question);
    }
    let confidence = value
        .get("confidence")
        .and_then(Value::as_f64)
        .map_or(UNSAID_CONFIDENCE, |value| value.clamp(0.0, 1.0) as f32);
    if confidence < config.min_confidence {
        return Err(RejectReason::LowConfidence);
    }
    let importance = importance(value.get("importance"));
    if importance < config.min_importance {
        return Err(RejectReason::LowImportance);
    }
    let cited = cited(value, messages);
    let sources: Vec<&Message> = cited.iter().map(|at| &*messages[*at]).collect();
    supported(&content, &sources, names)?;
    if !shares_words(&content, &sources, names) {
        return Err(RejectReason::UnsupportedWords);
    }
    let kind = kind(&text("kind"));
    let subject = text("subject");
    let of_agents = sources.iter().all(|message| is_agent(message));
    let about_agent =
        sources.iter().any(|message| is_agent(message) && same_name(&subject, message.speaker()));
    if of_agents && about_agent && !matches!(kind, MemoryKind::Case | MemoryKind::Procedure) {
        return Err(RejectReason::NotAboutUser);
    }
    Ok(Candidate {
        content,
        kind,
        confidence,
        importance,
        subject,
        attribute: text("attribute").to_lowercase().replace([' ', '-'], "_"),
        value: text("value").to_lowercase().trim_end_matches(['.', '。']).to_owned(),
        // When it was said: a date within the statement need not be its beginning.
        valid_from: sources.iter().map(|message| message.timestamp).max().unwrap_or(Moment::MIN),
        source_messages: sources.iter().map(|message| message.message_id.clone()).collect(),
    })
}

fn same_name(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Places of the messages that a statement cites, each once, in order; numbers that stand for none
/// are passed over.
fn cited(value: &Value, messages: &[Arc<Message>]) -> Vec<usize> {
    let numbers = value.get("messages").and_then(Value::as_array).into_iter().flatten();
    let numbers = numbers
        .filter_map(|number| number.as_u64().or_else(|| number.as_str()?.trim().parse().ok()));
    let mut cited: Vec<usize> = numbers
        .filter_map(|number| usize::try_from(number).ok())
        .filter(|at| *at < messages.len())
        .collect();
    cited.sort_unstable();
    cited.dedup();
    cited
}

fn importance(value: Option<&Value>) -> f32 {
    match value {
        Some(Value::String(label)) => match label.trim().to_lowercase().as_str() {
            "low" => 0.25,
            "medium" => 0.5,
            "high" => 0.75,
            "critical" => 1.0,
            other => other
                .parse::<f32>()
                .ok()
                .filter(|number| number.is_finite())
                .map_or(UNSAID_IMPORTANCE, |number| number.clamp(0.0, 1.0)),
        },
        Some(Value::Number(number)) => {
            number.as_f64().map_or(UNSAID_IMPORTANCE, |number| number.clamp(0.0, 1.0) as f32)
        }
        _ => UNSAID_IMPORTANCE,
    }
}

fn kind(word: &str) -> MemoryKind {
    let word = word.to_lowercase().replace([' ', '-'], "_");
    MemoryKind::ALL.into_iter().find(|kind| kind.name() == word).unwrap_or_default()
}

/// The names of all who speak, in order of appearance.
pub(super) fn participants(messages: &[Arc<Message>]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for message in messages {
        if !names.contains(&message.speaker()) {
            names.push(message.speaker());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::said;

    const DAY: &str = "2024-03-11T09:30:00+01:00";

    fn talk() -> Vec<Arc<Message>> {
        vec![
            said(
                0,
                "user",
                Some("Ann"),
                DAY,
                "I moved to Lyon last Friday and started at Renault.",
            ),
            said(1, "assistant", None, DAY, "Lovely! I am a language model, I never move."),
        ]
    }

    fn statement(content: &str, subject: &str, messages: Value) -> Value {
        json!({
            "content": content, "kind": "personal_info", "subject": subject, "attribute": "Home",
            "value": "Lyon.", "confidence": 0.9, "importance": "high", "messages": messages,
        })
    }

    fn read(statements: Vec<Value>) -> Extraction {
        let answer = json!({"statements": statements}).to_string();
        read_statements(&answer, &talk(), &Config::default()).expect("a list").extraction
    }

    #[test]
    fn a_supported_statement_is_kept_with_its_sources() {
        let found =
            read(vec![statement("Ann moved to Lyon on 8 March 2024.", "Ann", json!([0, "0", 77]))]);
        let [candidate] = &found.candidates[..] else { panic!("{found:?}") };
        assert_eq!((candidate.attribute.as_str(), candidate.value.as_str()), ("home", "lyon"));
        assert_eq!(candidate.source_messages, ["m0"]);
        assert_eq!(candidate.importance, 0.75);
    }

    #[test]
    fn junk_is_turned_down_and_counted() {
        use RejectReason::*;
        let mut doubtful = statement("Ann moved to Lyon.", "Ann", json!([0]));
        doubtful["confidence"] = json!(0.2);
        for (value, reason) in [
            (statement("Ann moved to Paris.", "Ann", json!([0])), UnsupportedName),
            (statement("Ann moved to Lyon in 2019.", "Ann", json!([0])), UnsupportedDate),
            (statement("Ann pays 900 euros.", "Ann", json!([0])), UnsupportedNumber),
            (statement("Ann enjoys spicy pickles.", "Ann", json!([0])), UnsupportedWords),
            (statement("Ann moved to Lyon.", "Ann", json!([])), NoSource),
            (statement("Ann moved to Lyon.", "Ann", json!([9])), NoSource),
            (statement("An empty list is a good answer", "Ann", json!([0])), Echo),
            (statement("Did Ann move to Lyon?", "Ann", json!([0])), Question),
            (
                statement("The assistant is a language model.", "assistant", json!([1])),
                NotAboutUser,
            ),
            (statement("", "Ann", json!([0])), Empty),
            (doubtful, LowConfidence),
        ] {
            let found = read(vec![value.clone()]);
            assert_eq!(found.rejected.keys().collect::<Vec<_>>(), [&reason], "{value}");
            assert!(found.candidates.is_empty());
        }
    }

    #[test]
    fn one_bad_item_loses_no_other_and_no_list_is_no_answer() {
        let answer = concat!(
            r#"{"statements":[{"content":"Ann works at "#,
            r#"Renault.","kind":"work_history","messages":[0]}, 7, {"content":"Ann mov"#,
        );
        let read = read_statements(answer, &talk(), &Config::default()).expect("a list");
        assert_eq!(read.extraction.candidates.len(), 1);
        assert!(read.salvaged);
        assert_eq!(read_statements("no idea", &talk(), &Config::default()), None);
        assert!(
            read_statements(r#"{"statements":[]}"#, &talk(), &Config::default())
                .expect("empty")
                .extraction
                .candidates
                .is_empty()
        );
    }

    #[test]
    fn predictions_may_be_prose() {
        assert_eq!(
            read_prediction(r#"{"prediction":"Ann will talk of Lyon."}"#).as_deref(),
            Some("Ann will talk of Lyon.")
        );
        assert_eq!(
            read_prediction("She will talk of work.").as_deref(),
            Some("She will talk of work.")
        );
        assert_eq!(read_prediction("  "), None);
    }
}
