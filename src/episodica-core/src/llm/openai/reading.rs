//! Reads a server's response, wherever the server puts the model's text.

use serde_json::{Value, json};

use crate::llm::json::answer_of;
use crate::remote::{CallFailure, FailureCause};

/// A server's counts of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TokenCounts {
    pub(super) prompt: u64,
    pub(super) answer: u64,
    /// Of the prompt, those in the server's cache.
    pub(super) cached: u64,
    /// Of the answer, those of reasoning.
    pub(super) reasoning: u64,
}

impl TokenCounts {
    /// The counts of a response, under the names that servers use.
    fn from_reply(reply: &Value) -> Option<Self> {
        let usage = &reply["usage"];
        let count = |paths: &[&str]| paths.iter().find_map(|path| usage.pointer(path)?.as_u64());
        let (prompt, answer) = (count(&["/prompt_tokens"])?, count(&["/completion_tokens"])?);
        let cached = count(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cache_read_input_tokens",
        ]);
        let reasoning =
            count(&["/completion_tokens_details/reasoning_tokens", "/reasoning_tokens"]);
        let (cached, reasoning) = (cached.unwrap_or(0), reasoning.unwrap_or(0));
        (prompt + answer > 0).then_some(Self { prompt, answer, cached, reasoning })
    }
}

impl std::ops::AddAssign for TokenCounts {
    fn add_assign(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.answer += other.answer;
        self.cached += other.cached;
        self.reasoning += other.reasoning;
    }
}

/// The contents of an answer.
pub(super) struct AnswerContents {
    pub(super) text: Result<String, CallFailure>,
    /// The server's counts.
    pub(super) usage: Option<TokenCounts>,
    /// True if the token limit was reached before the first word.
    pub(super) is_dry: bool,
    /// True if the answer was empty without a reason.
    pub(super) is_empty: bool,
    /// True if the server reports that it rejects the content.
    pub(super) is_refusal: bool,
}

impl Default for AnswerContents {
    fn default() -> Self {
        Self {
            text: Ok(String::new()),
            usage: None,
            is_dry: false,
            is_empty: false,
            is_refusal: false,
        }
    }
}

/// Reads a response. `is_answer` distinguishes a model's answer from its reasoning.
pub(super) fn read_reply(
    reply: &Value,
    origin: &str,
    is_answer: impl Fn(&str) -> bool,
) -> AnswerContents {
    let unusable = |what: &str| {
        CallFailure::new(
            FailureCause::Unusable,
            format!("server answered without {what}: `{origin}`"),
        )
    };
    let usage = TokenCounts::from_reply(reply);
    let choice = &reply["choices"][0];
    // Ollama's own format has the message outside of a list.
    let message = if choice.is_object() { &choice["message"] } else { &reply["message"] };
    if !choice.is_object() && !message.is_object() {
        return AnswerContents {
            text: Err(unusable("a choice")),
            usage,
            ..AnswerContents::default()
        };
    }
    let said = [
        text_of(&message["content"]),
        text_of(&choice["text"]),
        tool_arguments(&message["tool_calls"][0]["function"]),
        tool_arguments(&message["function_call"]),
    ];
    // Some servers report the whole answer as reasoning.
    let thought = ["reasoning_content", "reasoning"].map(|key| text_of(&message[key]));
    let thought = thought.into_iter().filter(|text| is_answer(text));
    let text = said.into_iter().filter(|text| !answer_of(text).is_empty()).chain(thought).next();
    let reason = choice["finish_reason"].as_str();
    // If a grammar allows it, small models pad an answer with white space up to the limit.
    let is_blank =
        |text: &String| reason == Some("length") && 2 * text.trim_end().len() < text.len();
    if let Some(text) = text.filter(|text| !is_blank(text)) {
        return AnswerContents { text: Ok(text), usage, ..AnswerContents::default() };
    }
    if reason == Some("error") || choice["error"].is_object() {
        return AnswerContents {
            text: Err(unusable("text, because of an error of its own")),
            usage,
            ..AnswerContents::default()
        };
    }
    let is_refusal = reason == Some("content_filter") || message["refusal"].is_string();
    let is_dry = reason == Some("length");
    let what = if is_dry {
        "text, because all tokens allowed were used up (a reasoning model needs more)"
    } else if is_refusal {
        "text, because it refuses the content"
    } else {
        "text"
    };
    let is_empty = !is_dry && !is_refusal;
    AnswerContents { text: Err(unusable(what)), usage, is_dry, is_empty, is_refusal }
}

/// A text, or the joined texts of content parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()))
            .collect(),
        _ => String::new(),
    }
}

/// The arguments of a tool call that a model makes instead of answering.
fn tool_arguments(call: &Value) -> String {
    match &call["arguments"] {
        Value::String(text) => text.clone(),
        Value::Object(members) => Value::Object(members.clone()).to_string(),
        _ => String::new(),
    }
}

/// Assembles one response from a stream: server-sent events, or one JSON value per line.
pub(super) fn join_stream(body: &[u8]) -> Option<Value> {
    let body = std::str::from_utf8(body).ok()?;
    let mut chunks: Vec<Value> = Vec::new();
    for line in body.lines() {
        let line = line.trim().strip_prefix("data:").unwrap_or(line).trim();
        if let Ok(value @ Value::Object(_)) = serde_json::from_str(line) {
            chunks.push(value);
        }
    }
    chunks.first()?;
    let mut texts = [const { String::new() }; 3];
    let (mut usage, mut reason) = (Value::Null, Value::Null);
    for chunk in &chunks {
        let choice = &chunk["choices"][0];
        let delta = [&choice["delta"], &choice["message"], &chunk["message"]];
        let Some(delta) = delta.into_iter().find(|one| one.is_object()) else {
            if chunk["usage"].is_object() {
                usage = chunk["usage"].clone();
            }
            continue;
        };
        let thought = text_of(&delta["reasoning_content"]) + &text_of(&delta["reasoning"]);
        let called = tool_arguments(&delta["tool_calls"][0]["function"]);
        for (text, part) in texts.iter_mut().zip([text_of(&delta["content"]), thought, called]) {
            text.push_str(&part);
        }
        for (last, new) in [(&mut usage, &chunk["usage"]), (&mut reason, &choice["finish_reason"])]
        {
            if !new.is_null() {
                *last = new.clone();
            }
        }
    }
    let [content, thought, called] = texts;
    let call = json!([{"function": {"arguments": called}}]);
    let message = json!({"content": content, "reasoning_content": thought, "tool_calls": call});
    Some(json!({"choices": [{"message": message, "finish_reason": reason}], "usage": usage}))
}
