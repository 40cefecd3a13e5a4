//! The engine with a model: how often it asks, its use of the answers, and its behaviour while the
//! model does not answer. This module has the helpers.

mod answers;
mod calls;
mod changes;
mod meanwhile;
mod records;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, EngineHandle, RecordKind};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{ChatPrompt, LanguageModel, UsagePhase};
use episodica_core::model::{Episode, NewMessage, SemanticMemory};
use episodica_core::store::testing::MemoryBackend;
use episodica_core::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::engine::support::{Disk, NOW, open_with, records, said};

pub fn disk() -> Disk {
    Disk::new(MemoryBackend::new())
}

pub fn with(disk: &Disk, model: &Arc<ScriptedModel>) -> EngineHandle {
    with_config(disk, model, MemoryConfig::default())
}

pub fn with_config(disk: &Disk, model: &Arc<ScriptedModel>, config: MemoryConfig) -> EngineHandle {
    open_with(disk, false, config, Some(Arc::clone(model) as Arc<dyn LanguageModel>)).unwrap()
}

/// The messages of a prompt: their numbers and texts.
pub fn shown(prompt: &ChatPrompt) -> Vec<(usize, String)> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, " | ");
        let number = parts.next()?.parse().ok()?;
        parts.next()?;
        Some((number, parts.next()?.split_once(": ")?.1.to_owned()))
    };
    let (_, conversation) = prompt.user.rsplit_once("<material-").unwrap_or_default();
    conversation.lines().filter_map(line).collect()
}

fn first_fact(messages: &[(usize, String)]) -> Value {
    json!({
        "content": format!("The speaker said {}", messages[0].1), "kind": "event",
        "subject": "the speaker", "attribute": "said", "value": messages[0].1, "when": "",
        "confidence": 0.9, "importance": "high", "messages": [messages[0].0],
    })
}

/// The answers of a sensible model: episodes of eight messages, each with one fact, about its first
/// message.
pub fn sensible(prompt: &ChatPrompt) -> Result<String> {
    let messages = shown(prompt);
    let answer = match prompt.phase {
        UsagePhase::Boundary => json!({"should_end": messages.len() > 8, "confidence": 0.9}),
        UsagePhase::Episode => {
            let episode = |chunk: &[(usize, String)]| {
                json!({
                    "first": chunk[0].0, "last": chunk[chunk.len() - 1].0, "confidence": 0.9,
                    "title": format!("Model on {}", chunk[0].1),
                    "narrative": format!("It was said that {}.", chunk[0].1),
                })
            };
            let episodes: Vec<Value> = messages.chunks(8).map(episode).collect();
            let facts: Vec<Value> = messages.chunks(8).map(first_fact).collect();
            json!({"episodes": episodes, "facts": facts})
        }
        UsagePhase::Extract => json!({"facts": [first_fact(&messages)]}),
        UsagePhase::Embedding => unreachable!("not asked of a chat model"),
    };
    Ok(answer.to_string())
}

pub fn down(_: &ChatPrompt) -> Result<String> {
    Err(Error::new(ErrorKind::Llm, "the endpoint is down"))
}

/// Messages a minute apart.
pub fn talk(count: usize) -> Vec<NewMessage> {
    (0..count)
        .map(|n| {
            said(
                &format!("m{n}"),
                &format!("kite{n} flew over hill{n} with string{n}"),
                60 * n as i64,
                None,
            )
        })
        .collect()
}

pub fn wait(engine: &Engine, user: &str) {
    assert!(engine.wait(Some(user), Some(Duration::from_secs(60)), &NOW).unwrap(), "work ends");
}

pub fn episodes(engine: &Engine, user: &str) -> Vec<Arc<Episode>> {
    let all = records(engine, user, RecordKind::Episode).into_iter();
    all.filter_map(
        |record| if let AnyRecord::Episode(episode) = record { Some(episode) } else { None },
    )
    .collect()
}

/// The facts that a model stated, without the quotations of the rules.
pub fn facts(engine: &Engine, user: &str) -> Vec<Arc<SemanticMemory>> {
    let all = records(engine, user, RecordKind::Semantic).into_iter();
    let stated = |record| match record {
        AnyRecord::Semantic(fact) => Some(fact).filter(|fact| !fact.provenance.is_by_rules()),
        _ => None,
    };
    all.filter_map(stated).collect()
}

/// Asserts that every message is in exactly one episode, in order, and that the store is sound.
pub fn check_whole(engine: &Engine, user: &str, count: usize) {
    let inside: Vec<String> = episodes(engine, user)
        .iter()
        .flat_map(|episode| {
            episode.original_messages.iter().map(|message| message.message_id.clone())
        })
        .collect();
    let mut wanted: Vec<String> = (0..count).map(|n| format!("m{n}")).collect();
    let mut sorted = inside.clone();
    wanted.sort();
    sorted.sort();
    assert_eq!(sorted, wanted);
    let report = engine.verify(Some(user), &NOW).unwrap();
    assert_eq!(report.errors, 0, "{:?}", report.problems);
}

pub fn by_phase(model: &ScriptedModel) -> BTreeMap<&'static str, usize> {
    let mut calls = std::collections::BTreeMap::new();
    model.prompts().iter().for_each(|prompt| *calls.entry(prompt.phase.name()).or_default() += 1);
    calls
}
