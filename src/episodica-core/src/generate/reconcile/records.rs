//! Turns a decision into log records.

use serde_json::{Map, Value, json};

use super::decide::FactDecision;
use crate::clock::Moment;
use crate::generate::facts::{FactCandidate, RULES_VERSION};
use crate::ids::{Owner, record_id};
use crate::model::{EventKind, STATED, SemanticEvent, SemanticMemory, TextProvenance};

/// The provenance method of facts written by the rules.
pub(crate) const BY_RULES: &str = "offline";
/// The provenance method of facts stated or corrected by the application.
pub(crate) const BY_USER: &str = "user";
/// The metadata key under which a fact names the fact that it replaced.
pub(crate) const SUPERSEDES: &str = "supersedes";

/// The id of the fact that this fact replaced.
pub(crate) fn superseded(fact: &SemanticMemory) -> Option<&str> {
    fact.metadata.get(SUPERSEDES).and_then(Value::as_str)
}

/// Notes in a fact that the application stated it too, so that it stays when the messages that
/// support it are deleted.
pub(crate) fn note_statement(
    metadata: &mut Map<String, Value>,
    content: &str,
    valid_from: Moment,
    at: Moment,
) {
    let note = json!({"content": content, "valid_from": valid_from, "at": at});
    metadata.insert(STATED.to_owned(), note);
}

/// The outcome of applying a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedDecision {
    /// Records to append, in this order; a later record with the same id replaces an earlier one.
    /// Empty for IGNORE.
    pub records: Vec<SemanticMemory>,
    /// The event to report.
    pub event: SemanticEvent,
}

/// Carries out a decision: returns the records to append to the user's fact log, and the event to
/// report.
///
/// `nearest` is the list that the decision's index refers to; an index outside of it turns the
/// decision into an ADD. `sources` are the ids of the candidate's episodes. A superseded fact stays
/// as a closed revision that names its successor, and the successor names it in
/// `metadata.supersedes`, so that [`restore`] can undo it. The provenance names the offline rules;
/// callers that use a model overwrite it.
pub fn apply(
    owner: &Owner,
    candidate: &FactCandidate,
    decision: &FactDecision,
    nearest: &[&SemanticMemory],
    sources: &[String],
    now: Moment,
) -> AppliedDecision {
    let target = decision.target.and_then(|index| nearest.get(index).copied());
    let content = decision.content.as_deref().unwrap_or(&candidate.content);
    // A fact that begins in the future ends nothing before its day.
    let target = match decision.event {
        EventKind::Supersede => target.filter(|_| !is_ahead(candidate.valid_from, now)),
        EventKind::Add => target.filter(|newer| !is_ahead(newer.valid_from, now)),
        _ => target,
    };
    match (decision.event, target) {
        (EventKind::Ignore, Some(known)) => AppliedDecision {
            records: Vec::new(),
            event: event(EventKind::Ignore, known, None, decision),
        },
        (EventKind::Ignore, None) => {
            let fresh = fresh(owner, candidate, content, sources, now);
            AppliedDecision {
                records: Vec::new(),
                event: event(EventKind::Ignore, &fresh, None, decision),
            }
        }
        (kind @ (EventKind::Update | EventKind::Merge), Some(known)) => {
            let revised = revise(known, candidate, content, sources, now);
            let event = event(kind, &revised, Some(&known.content), decision);
            AppliedDecision { records: vec![revised], event }
        }
        (EventKind::Supersede, Some(known)) => {
            let mut new = fresh(owner, candidate, content, sources, now);
            new.metadata.insert(SUPERSEDES.to_owned(), Value::String(known.memory_id.clone()));
            let old = close(known, candidate.valid_from, &new.memory_id, now);
            let event = event(EventKind::Supersede, &old, Some(&known.content), decision);
            AppliedDecision { records: vec![old, new], event }
        }
        (EventKind::Add, Some(newer)) => {
            let mut new = fresh(owner, candidate, content, sources, now);
            // The candidate's date may be later than the start of the newer fact.
            new.valid_to = Some(newer.valid_from.max(new.valid_from));
            new.superseded_by = Some(newer.memory_id.clone());
            let event = event(EventKind::Add, &new, None, decision);
            AppliedDecision { records: vec![new], event }
        }
        (EventKind::Add | EventKind::Update | EventKind::Merge | EventKind::Supersede, None) => {
            let new = fresh(owner, candidate, content, sources, now);
            let event = event(EventKind::Add, &new, None, decision);
            AppliedDecision { records: vec![new], event }
        }
    }
}

/// Maximum clock difference; a date further ahead is in the future.
const AHEAD_SECONDS: f64 = 86_400.0;

/// True if a date lies more than a day ahead of the clock.
pub(crate) fn is_ahead(date: Moment, now: Moment) -> bool {
    date.seconds_since(now) > AHEAD_SECONDS
}

/// Returns the next revision of `fact`, current again if it was superseded. Does not change the
/// fact that replaced it.
pub(crate) fn restore(fact: &SemanticMemory, now: Moment) -> SemanticMemory {
    SemanticMemory {
        valid_to: None,
        superseded_by: None,
        updated_at: now,
        revision_count: fact.revision_count + 1,
        ..fact.clone()
    }
}

/// Returns the next revision of `known`: valid until `until`, and superseded by `successor`.
pub(crate) fn close(
    known: &SemanticMemory,
    until: Moment,
    successor: &str,
    now: Moment,
) -> SemanticMemory {
    SemanticMemory {
        valid_to: Some(until.max(known.valid_from)),
        superseded_by: Some(successor.to_owned()),
        updated_at: now,
        revision_count: known.revision_count + 1,
        ..known.clone()
    }
}

fn revise(
    known: &SemanticMemory,
    candidate: &FactCandidate,
    content: &str,
    sources: &[String],
    now: Moment,
) -> SemanticMemory {
    let mut revised = SemanticMemory {
        content: content.to_owned(),
        confidence: known.confidence.max(candidate.confidence),
        importance: known.importance.max(candidate.importance),
        // A repeated fact is not to be forgotten.
        expires_at: None,
        archived_at: None,
        updated_at: now,
        revision_count: known.revision_count + 1,
        ..known.clone()
    };
    // The text that the application stated stays, even when the messages with more detail are
    // deleted.
    let is_stated =
        known.provenance.method == BY_USER && known.provenance.prompt_version.is_empty();
    if is_stated && content != known.content && !revised.metadata.contains_key(STATED) {
        let (valid_from, at) = (known.valid_from, known.created_at);
        note_statement(&mut revised.metadata, &known.content, valid_from, at);
    }
    extend(&mut revised.source_episodes, sources);
    extend(&mut revised.source_messages, &candidate.source_messages);
    if !candidate.value.is_empty() && candidate.attribute == known.attribute {
        revised.metadata.insert("value".to_owned(), Value::String(candidate.value.clone()));
    }
    revised
}

fn fresh(
    owner: &Owner,
    candidate: &FactCandidate,
    content: &str,
    sources: &[String],
    now: Moment,
) -> SemanticMemory {
    let first = candidate.source_messages.first().map_or("", String::as_str);
    let parts: [&[u8]; 4] = [
        candidate.subject.as_bytes(),
        candidate.attribute.as_bytes(),
        content.as_bytes(),
        first.as_bytes(),
    ];
    let mut metadata = serde_json::Map::new();
    if !candidate.value.is_empty() {
        metadata.insert("value".to_owned(), Value::String(candidate.value.clone()));
    }
    SemanticMemory {
        memory_id: record_id(owner, "semantic", &parts),
        user_id: owner.user.clone(),
        content: content.to_owned(),
        kind: candidate.kind,
        source_episodes: sources.to_vec(),
        created_at: now,
        confidence: candidate.confidence,
        importance: candidate.importance,
        metadata,
        source_messages: candidate.source_messages.clone(),
        subject: candidate.subject.clone(),
        attribute: candidate.attribute.clone(),
        valid_from: candidate.valid_from,
        valid_to: None,
        superseded_by: None,
        expires_at: None,
        archived_at: None,
        updated_at: now,
        revision_count: 0,
        provenance: TextProvenance {
            method: BY_RULES.to_owned(),
            prompt_version: RULES_VERSION.to_owned(),
            ..TextProvenance::default()
        },
    }
}

fn extend(list: &mut Vec<String>, more: &[String]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}

fn event(
    kind: EventKind,
    memory: &SemanticMemory,
    previous: Option<&str>,
    decision: &FactDecision,
) -> SemanticEvent {
    SemanticEvent {
        event: kind,
        memory_id: memory.memory_id.clone(),
        previous: previous.map(str::to_owned),
        reason: decision.reason.clone(),
    }
}
