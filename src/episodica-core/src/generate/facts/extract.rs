//! The walk over a segment: who speaks, which sentences to try, which gates to pass.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::civil::Date;

use super::candidate::{Candidate, Extraction, RejectReason};
use super::support::supported;
use super::{chinese, english};
use crate::clock::Moment;
use crate::config::Config;
use crate::model::{MemoryKind, Message};
use crate::text::{Language, language, normalized_hash, sentences};

/// Version of the rules, stamped into what they produce.
pub const RULES_VERSION: &str = "facts-1";

/// Longest sentence, in bytes, that is read: what is longer is pasted text, not talk.
const MAX_SENTENCE_BYTES: usize = 600;

/// Longest message, in bytes, whose sentences are read.
const MAX_MESSAGE_BYTES: usize = 16_000;

/// How many messages may lie between a problem and its solution.
const CASE_REACH: usize = 8;

/// A statement as a reader hands it over: a candidate without its sources.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Draft {
    pub(super) kind: MemoryKind,
    pub(super) subject: String,
    pub(super) attribute: String,
    pub(super) value: String,
    pub(super) confidence: f32,
    pub(super) importance: f32,
    pub(super) content: String,
    /// The day from which it held, if the words say so.
    pub(super) from: Option<Date>,
}

/// Who speaks to whom, and when: what a reader must know besides the sentence.
#[derive(Debug, Clone)]
pub(super) struct Talk {
    /// How statements name the speaker.
    pub(super) speaker: String,
    /// The one who is "you", if that is certain.
    pub(super) other: Option<String>,
    /// Everyone's names.
    pub(super) participants: Vec<String>,
    /// The speaker is a program: what it says of itself is not kept.
    pub(super) agent: bool,
    /// When it was said.
    pub(super) said: Moment,
}

impl Talk {
    /// The subject key of statements about the speaker.
    pub(super) fn subject(&self) -> String {
        self.speaker.clone()
    }

    /// Does the name belong to somebody who takes part (in full or by its first word)?
    pub(super) fn is_participant(&self, name: &str) -> bool {
        let first = name.split_whitespace().next().unwrap_or_default();
        self.participants
            .iter()
            .any(|known| known == name || known.split_whitespace().next() == Some(first))
    }
}

/// Names under which programs speak.
const AGENT_NAMES: [&str; 13] = [
    "assistant",
    "ai",
    "bot",
    "chatbot",
    "agent",
    "system",
    "copilot",
    "model",
    "助手",
    "助理",
    "机器人",
    "客服",
    "ai助手",
];

/// Is the speaker of a message a program? By role, unless a personal name says otherwise.
pub(super) fn is_agent(message: &Message) -> bool {
    let named = |name: &str| AGENT_NAMES.contains(&name.trim().to_lowercase().as_str());
    match message.name.as_deref() {
        Some(name) => {
            named(name) || matches!(&*message.role, "system" | "tool" | "developer" | "function")
        }
        None => !matches!(&*message.role, "user" | "human"),
    }
}

/// The statements of a segment that are worth keeping.
///
/// Deterministic: the same messages and configuration give the same candidates. A candidate's ids
/// are those of `messages`. Statements about a user come from the user's words and from what an
/// agent says about the user; where two people talk, both are users.
pub fn extract_offline(messages: &[Arc<Message>], config: &Config) -> Extraction {
    let mut walk = Walk::new(messages, config);
    for (index, message) in messages.iter().enumerate() {
        walk.message(index, message);
    }
    walk.out
}

struct Walk<'a> {
    messages: &'a [Arc<Message>],
    config: &'a Config,
    speakers: Vec<&'a str>,
    seen: HashSet<String>,
    out: Extraction,
}

impl<'a> Walk<'a> {
    fn new(messages: &'a [Arc<Message>], config: &'a Config) -> Self {
        let mut speakers: Vec<&str> = Vec::new();
        for message in
            messages.iter().filter(|message| !matches!(&*message.role, "system" | "tool"))
        {
            if !speakers.contains(&message.speaker()) {
                speakers.push(message.speaker());
            }
        }
        Self { messages, config, speakers, seen: HashSet::new(), out: Extraction::default() }
    }

    fn message(&mut self, index: usize, message: &Message) {
        if matches!(&*message.role, "system" | "tool" | "developer" | "function")
            || message.content.len() > MAX_MESSAGE_BYTES
        {
            return;
        }
        let chinese = message.content.bytes().any(|byte| byte >= 0xe3)
            && language(&message.content) == Language::Chinese;
        let mut talk: Option<Talk> = None;
        let mut fenced = false;
        for sentence in sentences(&message.content) {
            fenced ^= sentence.starts_with("```");
            if fenced || sentence.len() > MAX_SENTENCE_BYTES {
                continue;
            }
            let talk = talk.get_or_insert_with(|| self.talk(message, chinese));
            if chinese {
                self.keep(index, message, chinese::read(sentence, talk));
            } else {
                self.keep(index, message, english::read(sentence, talk));
            }
            self.know_how(index, message, sentence, chinese);
        }
    }

    fn talk(&self, message: &Message, chinese: bool) -> Talk {
        let label = |message: &Message| match message.name.as_deref() {
            Some(name) => name.to_owned(),
            None if is_agent(message) => if chinese { "助手" } else { "the assistant" }.to_owned(),
            None => if chinese { "用户" } else { "the user" }.to_owned(),
        };
        let mut others = self.messages.iter().filter(|other| {
            other.speaker() != message.speaker() && !matches!(&*other.role, "system" | "tool")
        });
        let other =
            (self.speakers.len() == 2).then(|| others.next().map(|other| label(other))).flatten();
        // An agent that talks alone still talks to its user.
        let other = other.or_else(|| {
            (self.speakers.len() == 1 && is_agent(message))
                .then(|| if chinese { "用户" } else { "the user" }.to_owned())
        });
        Talk {
            speaker: label(message),
            other,
            participants: self.speakers.iter().map(|name| (*name).to_owned()).collect(),
            agent: is_agent(message),
            said: message.timestamp,
        }
    }

    fn keep(&mut self, index: usize, message: &Message, found: Vec<Result<Draft, RejectReason>>) {
        for draft in found {
            match draft {
                Ok(draft) => self.admit(draft, &[index], message.timestamp),
                Err(reason) => self.out.reject(reason),
            }
        }
    }

    /// Instructions, and solutions with their problems: whole sentences, whoever says them.
    fn know_how(&mut self, index: usize, message: &Message, sentence: &str, chinese: bool) {
        let whole = |kind, subject: &str, attribute: &str, confidence, importance, content| Draft {
            kind,
            subject: subject.to_owned(),
            attribute: attribute.to_owned(),
            value: String::new(),
            confidence,
            importance,
            content,
            from: None,
        };
        let (procedure, solution) = if chinese {
            (chinese::procedure(sentence), chinese::is_solution(sentence))
        } else {
            (english::procedure(sentence), english::is_solution(sentence))
        };
        if procedure {
            let draft =
                whole(MemoryKind::Procedure, "", "procedure", 0.75, 0.55, sentence.to_owned());
            self.admit(draft, &[index], message.timestamp);
        }
        let Some((at, problem)) =
            solution.then(|| self.problem_before(index, sentence, chinese)).flatten()
        else {
            return;
        };
        let (subject, content) = match chinese {
            true => ("助手", format!("问题：{problem} 解决：{sentence}")),
            false => ("assistant", format!("Problem: {problem} Solution: {sentence}")),
        };
        let sources = if at == index { vec![index] } else { vec![at, index] };
        self.admit(
            whole(MemoryKind::Case, subject, "case", 0.72, 0.62, content),
            &sources,
            message.timestamp,
        );
    }

    /// The latest sentence before `solution` that tells of a failure, with its message.
    fn problem_before(
        &self,
        index: usize,
        solution: &str,
        chinese: bool,
    ) -> Option<(usize, String)> {
        let is_problem = |sentence: &str| {
            if chinese { chinese::is_problem(sentence) } else { english::is_problem(sentence) }
        };
        (index.saturating_sub(CASE_REACH)..=index).rev().find_map(|at| {
            let content = &self.messages[at].content;
            let before = if at == index {
                content.split(solution).next().unwrap_or_default()
            } else {
                content
            };
            if before.len() > MAX_MESSAGE_BYTES {
                return None;
            }
            let found = sentences(before)
                .into_iter()
                .rfind(|sentence| sentence.len() <= MAX_SENTENCE_BYTES && is_problem(sentence))?;
            Some((at, found.to_owned()))
        })
    }

    /// The gates that every statement passes.
    fn admit(&mut self, mut draft: Draft, sources: &[usize], said: Moment) {
        if draft.confidence < self.config.min_confidence {
            return self.out.reject(RejectReason::LowConfidence);
        }
        if draft.importance < self.config.min_importance {
            return self.out.reject(RejectReason::LowImportance);
        }
        capitalise(&mut draft.content);
        let cited: Vec<&Message> = sources.iter().map(|index| &*self.messages[*index]).collect();
        if let Err(reason) = supported(&draft.content, &cited, &self.speakers) {
            return self.out.reject(reason);
        }
        if !self.seen.insert(normalized_hash(&draft.content)) {
            return self.out.reject(RejectReason::Duplicate);
        }
        let valid_from = draft
            .from
            .and_then(|date| midnight(date, said))
            .filter(|moment| *moment < said)
            .unwrap_or(said);
        self.out.candidates.push(Candidate {
            content: draft.content,
            kind: draft.kind,
            confidence: draft.confidence,
            importance: draft.importance,
            subject: draft.subject,
            attribute: draft.attribute,
            value: draft.value,
            valid_from,
            source_messages: sources
                .iter()
                .map(|index| self.messages[*index].message_id.clone())
                .collect(),
        });
    }
}

fn capitalise(text: &mut String) {
    if let Some(first) = text.chars().next().filter(char::is_ascii_lowercase) {
        text.replace_range(0..1, &first.to_ascii_uppercase().to_string());
    }
}

/// The start of a day on the clock that `said` was read from.
fn midnight(date: Date, said: Moment) -> Option<Moment> {
    let days = date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs();
    Moment::new(
        (days - i64::from(said.offset_seconds())).checked_mul(1_000_000)?,
        said.offset_seconds(),
    )
    .ok()
}
