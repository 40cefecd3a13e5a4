//! Reconciling by a model: one prompt for all candidates of an episode, and the checks of its
//! answer.
//!
//! The model sees numbers, never ids. It is believed about what ends, whatever the attribute is
//! called, because history makes that reversible; only a fact about the same subject ends another,
//! and no event ends. A merged or improved text contains no name, number or date that neither of
//! the two facts has. The rules decide for a candidate without a usable decision.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::decide::{Decision, Words, known_value, same_attribute, same_subject};
use crate::error::Result;
use crate::generate::facts::{Candidate, numbers, supported};
use crate::llm::{AnswerSchema, Prompt, Template, json, render, single_line};
use crate::model::{EventKind, MemoryKind, Message, SemanticMemory};
use crate::text::time::{TimeMention, mentions};
use crate::text::{Language, language};

/// Maximum length of a merged text, in characters.
const MAX_CHARS: usize = 600;
/// Maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 120;

#[derive(Serialize)]
struct Values {
    known: String,
    candidates: String,
}

/// Asks what to do with `candidates`, given `known`.
///
/// # Errors
/// `Internal` if the prompt can't be rendered.
pub fn question(candidates: &[&Candidate], known: &[&SemanticMemory]) -> Result<Prompt> {
    let line = |number: usize, content: &str, subject: &str, attribute: &str, since: String| {
        let (content, subject, attribute) =
            (single_line(content), single_line(subject), single_line(attribute));
        format!("{number} | {subject} | {attribute} | {since} | {content}")
    };
    let known_lines: Vec<String> = known
        .iter()
        .enumerate()
        .map(|(n, memory)| {
            line(
                n,
                &memory.content,
                &memory.subject,
                &memory.attribute,
                memory.valid_from.local().date().to_string(),
            )
        })
        .collect();
    let candidate_lines: Vec<String> = candidates
        .iter()
        .enumerate()
        .map(|(n, one)| {
            line(
                n,
                &one.content,
                &one.subject,
                &one.attribute,
                one.valid_from.local().date().to_string(),
            )
        })
        .collect();
    let values = Values { known: known_lines.join("\n"), candidates: candidate_lines.join("\n") };
    let chinese = candidates
        .first()
        .is_some_and(|candidate| language(&candidate.content) == Language::Chinese);
    let (system, user) = render(Template::Reconcile, chinese, &values)?;
    let decision = json!({
        "type": "object",
        "properties": {
            "candidate": {"type": "integer"},
            "action": {
                "type": "string", "enum": ["IGNORE", "MERGE", "UPDATE", "SUPERSEDE", "CREATE"],
            },
            "memory": {"type": ["integer", "null"]},
            "content": {"type": ["string", "null"]},
            "reason": {"type": "string"},
        },
        "required": ["candidate", "action", "memory", "content", "reason"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {"decisions": {"type": "array", "items": decision}},
        "required": ["decisions"],
        "additionalProperties": false,
    });
    Ok(Prompt {
        phase: Template::Reconcile.phase(),
        system,
        user,
        schema: AnswerSchema { name: "decisions", schema },
        max_tokens: 200 + 100 * candidates.len() as u32,
    })
}

/// The decisions in an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decisions {
    /// One per candidate; `None` if the answer has no usable decision. Targets are indexes into
    /// `known`.
    pub decisions: Vec<Option<Decision>>,
    /// Number of changed or rejected decisions, by reason.
    pub corrected: BTreeMap<&'static str, u64>,
    /// True if the JSON needed repair or an item was lost.
    pub salvaged: bool,
}

/// Reads an answer to [`question`].
pub fn read(answer: &str, candidates: &[&Candidate], known: &[&SemanticMemory]) -> Decisions {
    let items = json::items(answer, "decisions");
    let mut out = Decisions {
        decisions: vec![None; candidates.len()],
        corrected: BTreeMap::new(),
        salvaged: items.salvaged || items.lost > 0,
    };
    for value in &items.values {
        let number = value.get("candidate").and_then(index);
        let Some(candidate) = number.and_then(|at| candidates.get(at)) else {
            *out.corrected.entry("unknown_candidate").or_default() += 1;
            continue;
        };
        let place = number.unwrap_or_default();
        if out.decisions[place].is_some() {
            *out.corrected.entry("decided_twice").or_default() += 1;
            continue;
        }
        let (decision, correction) = decide(value, candidate, known);
        out.decisions[place] = decision;
        if let Some(correction) = correction {
            *out.corrected.entry(correction).or_default() += 1;
        }
    }
    out
}

fn index(value: &Value) -> Option<usize> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
        .and_then(|number| usize::try_from(number).ok())
}

fn decide(
    value: &Value,
    candidate: &Candidate,
    known: &[&SemanticMemory],
) -> (Option<Decision>, Option<&'static str>) {
    let action =
        value.get("action").and_then(Value::as_str).unwrap_or_default().trim().to_uppercase();
    let reason: String =
        single_line(value.get("reason").and_then(Value::as_str).unwrap_or_default())
            .chars()
            .take(MAX_REASON_CHARS)
            .collect();
    let target = value.get("memory").and_then(index).filter(|at| *at < known.len());
    let make = |event, target: Option<usize>, content: Option<String>| {
        Some(Decision { event, target, content, reason: reason.clone() })
    };
    let create = |why| (make(EventKind::Add, None, None), Some(why));
    let memory = target.map(|at| known[at]);
    match (action.as_str(), memory) {
        ("CREATE" | "ADD", _) => (make(EventKind::Add, None, None), None),
        ("IGNORE" | "NONE", Some(memory)) if says_more(candidate, &memory.content) => {
            create("ignore_of_news")
        }
        ("IGNORE" | "NONE", Some(_)) => (make(EventKind::Ignore, target, None), None),
        ("UPDATE" | "MERGE" | "SUPERSEDE", None) => create("unknown_memory"),
        ("UPDATE" | "MERGE" | "SUPERSEDE", Some(memory)) if !memory.is_current() => {
            create("memory_is_history")
        }
        ("UPDATE" | "MERGE", Some(memory)) if !same_subject(candidate, memory) => {
            create("other_subject")
        }
        ("UPDATE" | "MERGE", Some(memory)) => {
            let event = if action == "MERGE" { EventKind::Merge } else { EventKind::Update };
            let text =
                single_line(value.get("content").and_then(Value::as_str).unwrap_or_default());
            match (is_carried(&text, candidate, memory), event) {
                (true, _) => (make(event, target, Some(text)), None),
                // If a better wording is not supported, use the candidate's own text, unless it
                // says less.
                (false, EventKind::Update) if candidate.attribute == memory.attribute => {
                    (make(event, target, None), Some("unsupported_text"))
                }
                (false, _) => create("unsupported_text"),
            }
        }
        ("SUPERSEDE", Some(memory)) => {
            let is_same = same_attribute(candidate, memory);
            if !same_subject(candidate, memory) {
                create("supersede_across_subjects")
            } else if memory.kind == MemoryKind::Event {
                create("supersede_of_an_event")
            } else if is_same
                && !candidate.value.is_empty()
                && candidate.value == known_value(memory)
            {
                (make(EventKind::Ignore, target, None), Some("supersede_by_the_same"))
            } else if candidate.valid_from < memory.valid_from {
                // The earlier fact is stored as history.
                (make(EventKind::Add, target, None), Some("supersede_by_the_older"))
            } else {
                (make(EventKind::Supersede, target, None), None)
            }
        }
        _ => (None, Some("unknown_action")),
    }
}

/// Words that change the meaning of a fact.
const QUALIFIERS: [&str; 18] = [
    "former", "ex", "part", "full", "left", "right", "first", "second", "third", "last", "only",
    "always", "half", "until", "since", "另", "前", "只",
];

/// True if the candidate has a number, a date, a negation or a qualifier that the known fact lacks.
/// Such a candidate is news, however similar the two are.
fn says_more(candidate: &Candidate, memory: &str) -> bool {
    let (content, when) = (&candidate.content, candidate.valid_from);
    let (new, old) = (Words::of(content), Words::of(memory));
    let days = |text: &str| mentions(text, when).iter().map(TimeMention::iso).collect::<Vec<_>>();
    let (known_numbers, known_days) = (numbers(memory), days(memory));
    new.are_negated() != old.are_negated()
        || numbers(content).iter().any(|number| !known_numbers.contains(number))
        || days(content).iter().any(|day| !known_days.contains(day))
        || QUALIFIERS.iter().any(|qualifier| {
            let has = |words: &Words| words.iter().any(|word| word == *qualifier);
            has(&new) && !has(&old)
        })
}

/// True if the candidate and the known fact together support the text.
fn is_carried(text: &str, candidate: &Candidate, memory: &SemanticMemory) -> bool {
    if text.is_empty() || text.chars().count() > MAX_CHARS {
        return false;
    }
    let both = Message {
        message_id: String::new(),
        seq: 0,
        role: "user".into(),
        name: Some(candidate.subject.as_str().into()),
        content: format!("{}\n{}", candidate.content, memory.content),
        timestamp: candidate.valid_from,
        session_id: None,
        agent_id: None,
        metadata: None,
    };
    supported(text, &[&both], &[]).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::generate::reconcile::apply;
    use crate::ids::Owner;

    fn candidate(subject: &str, attribute: &str, value: &str, content: &str) -> Candidate {
        Candidate {
            content: content.to_owned(),
            kind: MemoryKind::PersonalInfo,
            confidence: 0.8,
            importance: 0.6,
            subject: subject.to_owned(),
            attribute: attribute.to_owned(),
            value: value.to_lowercase(),
            ends: Vec::new(),
            valid_from: Moment::parse("2024-03-11").expect("valid"),
            said: Moment::parse("2024-03-11").expect("valid"),
            source_messages: vec!["m0".to_owned()],
        }
    }

    fn memory(subject: &str, attribute: &str, value: &str, content: &str) -> SemanticMemory {
        let owner = Owner::new("default", "ann").expect("valid");
        let add =
            Decision { event: EventKind::Add, target: None, content: None, reason: String::new() };
        let from = candidate(subject, attribute, value, content);
        apply(&owner, &from, &add, &[], &["e0".to_owned()], from.valid_from).records.remove(0)
    }

    fn decided(
        action: &str,
        memory_number: Value,
        content: Value,
    ) -> (Option<Decision>, BTreeMap<&'static str, u64>) {
        let (known, new) = (
            memory("Ann", "home", "Lyon", "Ann lives in Lyon."),
            candidate("Ann", "home", "Nice", "Ann lives in Nice."),
        );
        let answer = json!({
            "decisions": [
                {
                    "candidate": 0, "action": action, "memory": memory_number,
                    "content": content, "reason": "r",
                }
            ]
        });
        let mut read = read(&answer.to_string(), &[&new], &[&known]);
        (read.decisions.remove(0), read.corrected)
    }

    #[test]
    fn sound_decisions_stand() {
        let event =
            |action: &str, content| decided(action, json!(0), content).0.expect("usable").event;
        assert_eq!(event("SUPERSEDE", Value::Null), EventKind::Supersede);
        assert_eq!(event("MERGE", json!("Ann lives in Lyon and Nice.")), EventKind::Merge);
        assert_eq!(event("CREATE", Value::Null), EventKind::Add);
    }

    #[test]
    fn unsound_decisions_become_new_memories() {
        for (action, number, content, why) in [
            ("UPDATE", json!(7), Value::Null, "unknown_memory"),
            ("SUPERSEDE", json!(-1), Value::Null, "unknown_memory"),
            ("MERGE", json!(0), json!("Ann lives in Lyon, Nice and Rome."), "unsupported_text"),
        ] {
            let (decision, corrected) = decided(action, number, content);
            let decision = decision.expect("usable");
            assert_eq!((decision.event, decision.target), (EventKind::Add, None), "{action}");
            assert_eq!(corrected.keys().collect::<Vec<_>>(), [&why]);
        }
        assert_eq!(decided("EXPLODE", json!(0), Value::Null).0, None);
        assert_eq!(
            decided("IGNORE", Value::Null, Value::Null).0,
            None,
            "ignored beside nothing: the rules decide"
        );
    }

    fn decided_of(action: &str, attribute: &str, known: &str, new: &str) -> EventKind {
        let known = memory("Ann", attribute, known, known);
        let new = candidate("Ann", attribute, new, new);
        let answer = json!({"decisions": [{"candidate": 0, "action": action, "memory": 0}]});
        let mut read = read(&answer.to_string(), &[&new], &[&known]);
        read.decisions.remove(0).expect("usable").event
    }

    #[test]
    fn the_model_says_what_ends_whatever_the_attribute_is_called() {
        for (old, new, known, told) in [
            ("employer", "workplace", "Ann works at Renault.", "Ann works at Airbus."),
            ("medication", "dose", "Ann takes 50 micrograms.", "Ann takes 75 micrograms."),
            ("pet", "pet", "Ann has a dog, Rex.", "Ann has a cat, Tom."),
        ] {
            let known = memory("Ann", old, known, known);
            let new = candidate("Ann", new, told, told);
            let answer = r#"{"decisions":[{"candidate":0,"action":"SUPERSEDE","memory":0}]}"#;
            let read = read(answer, &[&new], &[&known]);
            let event = read.decisions[0].as_ref().expect("usable").event;
            assert_eq!(event, EventKind::Supersede, "{told}");
        }
    }

    #[test]
    fn no_event_ends() {
        let mut known = memory("Ann", "trip", "Rome", "Ann went to Rome.");
        known.kind = MemoryKind::Event;
        let new = candidate("Ann", "trip", "Oslo", "Ann went to Oslo.");
        let answer = r#"{"decisions":[{"candidate":0,"action":"SUPERSEDE","memory":0}]}"#;
        let read = read(answer, &[&new], &[&known]);
        assert_eq!(read.decisions[0].as_ref().expect("usable").event, EventKind::Add);
    }

    #[test]
    fn what_differs_in_number_date_or_qualifier_is_not_ignored() {
        let known = "Ann ran 5 km on 3 May 2024.";
        for news in [
            "Ann ran 10 km on 10 June 2024.",
            "Ann ran 5 km on 3 June 2024.",
            "Ann never ran 5 km on 3 May 2024.",
            "Ann only ran 5 km on 3 May 2024.",
        ] {
            assert_eq!(decided_of("IGNORE", "", known, news), EventKind::Add, "{news}");
        }
        assert_eq!(decided_of("IGNORE", "", known, "Ann ran on 3 May 2024."), EventKind::Ignore);
    }

    #[test]
    fn superseding_never_crosses_subjects_and_never_goes_back() {
        let new = candidate("Ann", "home", "Nice", "Ann lives in Nice.");
        let answer = r#"{"decisions":[{"candidate":0,"action":"SUPERSEDE","memory":0}]}"#;
        let other = memory("Ben", "home", "Lyon", "Ben lives in Lyon.");
        let read_other = read(answer, &[&new], &[&other]);
        assert_eq!(read_other.decisions[0].as_ref().expect("usable").event, EventKind::Add);
        let why = read_other.corrected.keys().collect::<Vec<_>>();
        assert_eq!(why, [&"supersede_across_subjects"]);
        let mut newer = memory("Ann", "home", "Lyon", "Ann lives in Lyon.");
        newer.valid_from = Moment::parse("2030-01-01").expect("valid");
        let decision = read(answer, &[&new], &[&newer]).decisions.remove(0).expect("usable");
        assert_eq!((decision.event, decision.target), (EventKind::Add, Some(0)));
    }
}
