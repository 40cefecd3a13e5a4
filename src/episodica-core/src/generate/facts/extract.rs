//! Facts of a segment of messages: its best sentences, up to a volume.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::civil::Date;

use super::candidate::{Candidate, Extraction, RejectReason};
use super::cues::Cues;
use super::endings::endings;
use super::know_how;
use super::rank::{WEIGHTS, Weights, importance, score};
use super::slots::{self, Filled};
use super::words::{Reading, Signs};
use crate::clock::Moment;
use crate::config::{Config, LearnFrom};
use crate::generate::episode::{EpisodeText, Told, sentences_told, write_and_tell};
use crate::model::{MemoryKind, Message};
use crate::text::normalized;

/// Version of the rules, stored with their output.
pub const RULES_VERSION: &str = "facts-3";

/// Maximum number of facts per hundred messages.
pub(super) const VOLUME: usize = 45;
/// Minimum volume of a segment, whatever its length.
const MIN_VOLUME: usize = 2;

/// Confidence in a rewritten sentence, and in a quotation.
const REWRITTEN_CONFIDENCE: f32 = 0.85;
const QUOTED_CONFIDENCE: f32 = 0.75;

/// Minimum importance of a sentence that fills a slot, and of an instruction.
const SLOT_IMPORTANCE: f32 = 0.7;
const PROCEDURE_IMPORTANCE: f32 = 0.55;

/// Common speaker names of programs.
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

/// True if the speaker of a message is a program. The role decides, unless the name is personal.
pub(super) fn is_agent(message: &Message) -> bool {
    let named = |name: &str| AGENT_NAMES.contains(&name.trim().to_lowercase().as_str());
    match message.name.as_deref() {
        Some(name) => named(name) || is_machinery(message),
        None => !matches!(&*message.role, "user" | "human"),
    }
}

/// True if the message comes from the application, not from a participant.
pub(super) fn is_machinery(message: &Message) -> bool {
    matches!(&*message.role, "system" | "tool" | "developer" | "function")
}

/// A candidate with its rank.
struct Ranked {
    candidate: Candidate,
    score: f32,
    /// Kept even if the volume is used up.
    is_certain: bool,
    message: usize,
}

/// The facts of a segment: its best sentences.
///
/// Deterministic: the same messages and configuration give the same candidates. Candidates cite ids
/// of `messages`. Facts about a user come from the user's messages and from what an agent says
/// about the user; in a talk between two people, both are users.
pub fn extract_offline(messages: &[Arc<Message>], config: &Config) -> Extraction {
    extract_told(&sentences_told(messages), messages, config)
}

/// Writes the episode of `messages` and extracts its facts from one reading, as
/// [`write_offline`](crate::generate::episode::write_offline) and [`extract_offline`] do.
pub fn write_and_extract(messages: &[Arc<Message>], config: &Config) -> (EpisodeText, Extraction) {
    let (text, told) = write_and_tell(messages);
    (text, extract_told(&told, messages, config))
}

fn extract_told(told: &[Told], messages: &[Arc<Message>], config: &Config) -> Extraction {
    let rules = Rules { weights: WEIGHTS, volume: VOLUME };
    let mut found = extract(told, messages, config, &rules);
    found.candidates.retain(|candidate| is_learned(candidate, messages, config.learn_from));
    found
}

/// True if one of the messages that prove a candidate is by somebody whose messages are learned
/// from.
pub(super) fn is_learned(
    candidate: &Candidate,
    messages: &[Arc<Message>],
    from: LearnFrom,
) -> bool {
    let by_agent = match from {
        LearnFrom::Both => return true,
        LearnFrom::User => false,
        LearnFrom::Assistant => true,
    };
    let proves = |message: &&Arc<Message>| candidate.source_messages.contains(&message.message_id);
    messages.iter().filter(proves).any(|message| is_agent(message) == by_agent)
}

/// Settings that decide which sentences are kept.
pub(super) struct Rules {
    pub weights: Weights,
    /// Maximum number of facts per hundred messages.
    pub volume: usize,
}

pub(super) fn extract(
    told: &[Told],
    messages: &[Arc<Message>],
    config: &Config,
    rules: &Rules,
) -> Extraction {
    let mut out = Extraction::default();
    let mut ranked: Vec<Ranked> = Vec::new();
    for sentence in told {
        match read(sentence, messages, config, &rules.weights) {
            Ok(found) => ranked.push(found),
            Err(Some(reason)) => out.reject(reason),
            Err(None) => {}
        }
    }
    ranked.extend(know_how::cases(told, messages).map(|candidate| Ranked {
        score: f32::INFINITY,
        is_certain: true,
        message: usize::MAX,
        candidate,
    }));
    keep_best(&mut ranked, messages.len(), rules, &mut out);
    let mut seen = HashSet::new();
    for Ranked { candidate, .. } in ranked {
        if seen.insert(normalized(&candidate.content)) {
            out.candidates.push(candidate);
        } else {
            out.reject(RejectReason::Duplicate);
        }
    }
    out
}

/// Keeps the best sentences, in the order of their messages.
fn keep_best(ranked: &mut Vec<Ranked>, messages: usize, rules: &Rules, out: &mut Extraction) {
    let volume = messages.saturating_mul(rules.volume).div_ceil(100).max(MIN_VOLUME);
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order.sort_by(|a, b| ranked[*b].score.total_cmp(&ranked[*a].score).then(a.cmp(b)));
    let mut said = HashSet::new();
    for at in &order {
        if !said.insert(ranked[*at].message) {
            ranked[*at].score += rules.weights.same_message;
        }
    }
    order.sort_by(|a, b| ranked[*b].score.total_cmp(&ranked[*a].score).then(a.cmp(b)));
    let mut kept = vec![false; ranked.len()];
    for (rank, at) in order.into_iter().enumerate() {
        kept[at] = rank < volume || ranked[at].is_certain;
        if !kept[at] {
            out.reject(RejectReason::Volume);
        }
    }
    let mut kept = kept.into_iter();
    ranked.retain(|_| kept.next().unwrap_or_default());
}

/// Reads one sentence; `Err(None)` if the sentence is not a possible fact at all.
fn read(
    told: &Told,
    messages: &[Arc<Message>],
    config: &Config,
    weights: &Weights,
) -> Result<Ranked, Option<RejectReason>> {
    let message = &*messages[told.message];
    if is_machinery(message) {
        return Err(None);
    }
    if told.asks {
        return Err(Some(RejectReason::Question));
    }
    let reading = Reading::of(&told.said);
    if reading.first.has(Signs::HYPOTHETICAL) {
        return Err(Some(RejectReason::Hypothetical));
    }
    let is_procedure = know_how::is_procedure(&told.said, told.language);
    let content = match (is_agent(message), is_procedure) {
        (_, true) => told.said.clone(),
        (false, _) => told.content.clone(),
        (true, _) => know_how::about_user(told).ok_or(Some(RejectReason::NotAboutUser))?,
    };
    let answers = told.message > 0 && answers(&messages[told.message - 1], message);
    let cues = Cues::of(&told.said);
    let score = score(weights, told, reading, cues, answers);
    let slot = if is_agent(message) { None } else { slot(told, cues) };
    let ends = !is_agent(message) && cues.is_real() && !endings(&told.said).is_empty();
    let least = if slot.is_some() || ends { SLOT_IMPORTANCE } else { 0.0 };
    let least = if is_procedure { PROCEDURE_IMPORTANCE } else { least };
    let importance = importance(score).max(least);
    if importance < config.min_importance {
        return Err(Some(RejectReason::LowImportance));
    }
    let (kind, attribute, value, whose) = match slot {
        Some(slot) => (slot.kind, slot.attribute, slot.value, slot.whose),
        None if is_procedure => (MemoryKind::Procedure, String::new(), String::new(), None),
        None => (kind(told.date.is_some(), reading), String::new(), String::new(), None),
    };
    let confidence = if told.is_rewritten { REWRITTEN_CONFIDENCE } else { QUOTED_CONFIDENCE };
    if confidence < config.min_confidence {
        return Err(Some(RejectReason::LowConfidence));
    }
    let candidate = Candidate {
        content,
        kind,
        confidence,
        importance,
        subject: match whose {
            Some(whose) => format!("{}'s {whose}", told.speaker),
            None => told.speaker.clone(),
        },
        attribute,
        value,
        valid_from: valid_from(told, message.timestamp),
        source_messages: vec![message.message_id.clone()],
    };
    let is_certain = is_procedure || ends || !candidate.attribute.is_empty();
    Ok(Ranked { candidate, score, is_certain, message: told.message })
}

/// The slot that a sentence fills permanently: not limited in time, not in addition, not in a
/// dream.
fn slot(told: &Told, cues: Cues) -> Option<Filled> {
    let slot = slots::fill(&told.said, told.date.as_ref())?;
    (cues.is_lasting() || slots::is_paired(&slot.attribute)).then_some(slot)
}

/// True if the message answers another speaker's question.
fn answers(before: &Message, message: &Message) -> bool {
    before.speaker() != message.speaker() && before.content.trim_end().ends_with(['?', '？'])
}

/// The category of a sentence without a slot.
pub(super) fn kind(is_dated: bool, reading: Reading) -> MemoryKind {
    let signs = reading.all;
    if signs.has(Signs::CHOICE) {
        MemoryKind::Decision
    } else if signs.has(Signs::TASTE) {
        MemoryKind::Preference
    } else if signs.has(Signs::PAST) && is_dated {
        MemoryKind::Event
    } else if signs.has(Signs::INTENT) {
        MemoryKind::Goal
    } else if signs.has(Signs::PEOPLE) {
        MemoryKind::Relationship
    } else if signs.has(Signs::WORK) {
        MemoryKind::WorkHistory
    } else if signs.has(Signs::PERSON) {
        MemoryKind::PersonalInfo
    } else if signs.has(Signs::PAST) {
        MemoryKind::Event
    } else {
        MemoryKind::Entity
    }
}

/// Start of validity: the day that the sentence names, if that day is past; else the time of the
/// message.
fn valid_from(told: &Told, said: Moment) -> Moment {
    told.date
        .and_then(|mention| midnight(mention.from, said))
        .filter(|moment| *moment < said)
        .unwrap_or(said)
}

/// Start of a day in the UTC offset of `said`.
fn midnight(date: Date, said: Moment) -> Option<Moment> {
    let days = date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs();
    Moment::new(
        (days - i64::from(said.offset_seconds())).checked_mul(1_000_000)?,
        said.offset_seconds(),
    )
    .ok()
}
