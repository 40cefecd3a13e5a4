//! Random histories with a model that repeats whatever it is shown: after each deletion no word of
//! it is left, and no record names one that is gone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use episodica_core::Result;
use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, RecordKind};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{ChatPrompt, UsagePhase};
use episodica_core::store::testing::{MemoryBackend, Random};
use serde_json::{Value, json};

use super::audit::{assert_silent, sentence};
use super::llm::{shown, with_config};
use super::support::*;
use crate::counts::{report, rounds};

/// The text of each line of a prompt, and the numbers of its known facts.
fn material(prompt: &ChatPrompt) -> (Vec<String>, Vec<String>) {
    let texts = prompt.user.lines().filter_map(|line| line.rsplit_once(" | "));
    let texts = texts.map(|(_, text)| text.trim_start_matches("user: ").to_owned()).collect();
    let known = prompt.user.split("</known-").next().filter(|known| known.starts_with("<known-"));
    let numbers = known.unwrap_or_default().lines().filter_map(|line| line.split_once(" | "));
    (texts, numbers.map(|(number, _)| number.to_owned()).collect())
}

/// An answer in the form that the prompt asks for. Titles, narratives and facts have words of any
/// line of the prompt; facts end, correct and repeat known ones.
pub fn gossip(random: &mut Random, prompt: &ChatPrompt) -> String {
    let (messages, (texts, known)) = (shown(prompt), material(prompt));
    let any = |random: &mut Random| texts[random.below(texts.len() as u64) as usize].clone();
    let mut facts: Vec<Value> = Vec::new();
    for (number, text) in &messages {
        if random.below(3) == 0 {
            continue;
        }
        let mut ends = String::new();
        if !known.is_empty() && random.below(3) == 0 {
            let mark = ["", "", "!", "="][random.below(4) as usize];
            ends = format!("{mark}{}", known[random.below(known.len() as u64) as usize]);
        }
        let told = match random.below(3) {
            0 => text.clone(),
            1 => format!("{text} {}", any(random)),
            _ => any(random),
        };
        let sentence = format!("The user says: {}", told.replace('?', "."));
        let (kind, number) = ("personal_info", number.to_string());
        facts.push(json!([kind, "high", "user", "matter", "", "", "", ends, number, sentence]));
    }
    if prompt.phase == UsagePhase::Extract {
        return json!({"facts": facts}).to_string();
    }
    let size = 2 + random.below(6) as usize;
    let mut episode = |chunk: &[(usize, String)]| {
        json!({
            "first": chunk[0].0, "last": chunk[chunk.len() - 1].0, "confidence": 0.9,
            "title": any(random), "narrative": format!("{}; {}", any(random), any(random)),
        })
    };
    let episodes: Vec<Value> = messages.chunks(size).map(&mut episode).collect();
    json!({"episodes": episodes, "facts": facts}).to_string()
}

/// Asserts that each id that a record names is one of a record. (What a model was shown may have
/// been a quotation that its own facts have replaced since.)
fn assert_linked(engine: &Engine, case: &str) {
    let all = [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic]
        .map(|kind| records(engine, "alice", kind));
    let ids: BTreeSet<String> = all.iter().flatten().map(|one| one.id().to_owned()).collect();
    let there = |what: &str, named: &[String], of: &str| {
        let lost = named.iter().find(|id| !ids.contains(*id));
        assert_eq!(lost, None, "{what} of {of}: {case}");
    };
    let messages = |shown: &[String]| -> Vec<String> {
        shown.iter().filter(|id| id.starts_with('m')).cloned().collect()
    };
    for record in all.iter().flatten() {
        let of = record.id();
        match record {
            AnyRecord::Message(_) => {}
            AnyRecord::Episode(episode) => there("shown", &messages(&episode.shown), of),
            AnyRecord::Semantic(fact) => {
                let ends: Vec<String> = fact.ends.iter().map(|end| end.memory_id.clone()).collect();
                there("ends", &ends, of);
                there("ended_by", &fact.ended_by, of);
                there("source_messages", &fact.source_messages, of);
                there("source_episodes", &fact.source_episodes, of);
                there("shown", &messages(&fact.shown), of);
                there("superseded_by", fact.superseded_by.as_slice(), of);
            }
        }
    }
}

/// Plays a history; returns the number of deletions.
fn play(seed: u64) -> u64 {
    let mut random = Random::new(seed);
    let calls = AtomicU64::new(0);
    let model = Arc::new(ScriptedModel::new(move |prompt: &ChatPrompt| -> Result<String> {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        Ok(gossip(&mut Random::new(seed * 1_000 + call), prompt))
    }));
    let disk = Disk::new(MemoryBackend::new());
    let config = MemoryConfig {
        narratives: seed.is_multiple_of(2),
        trace: seed.is_multiple_of(3),
        ..MemoryConfig::default()
    };
    let engine = with_config(&disk, &model, config);
    let wait = || assert!(engine.wait(None, Some(Duration::from_secs(60)), &NOW).unwrap());
    // The words of each message, in all its versions.
    let mut words: Vec<Vec<String>> = Vec::new();
    let (mut gone, mut deletions, mut clock) = (BTreeSet::new(), 0, 0);
    for round in 0..3 {
        for _ in 0..4 + random.below(16) {
            let (at, session) = (words.len(), format!("s{}", random.below(2) + 2 * round));
            words.push(vec![format!("zq{seed}x{at}word")]);
            clock += if random.below(6) == 0 { 7_200 } else { 60 };
            let text = sentence(&mut random, &words[at][0]);
            let message = said(&format!("m{at}"), &text, clock, Some(&session));
            engine.add_messages("alice", vec![message], None, &NOW).unwrap();
        }
        engine.flush("alice", &NOW).unwrap();
        wait();
        for _ in 0..2 {
            let at = random.below(words.len() as u64) as usize;
            let id = format!("m{at}");
            let Some(AnyRecord::Message(known)) = engine.get("alice", &id, &NOW).unwrap() else {
                continue;
            };
            let edits = random.below(4) == 0;
            let what = if edits { "edit" } else { "deletion" };
            if edits {
                let word = format!("zq{seed}x{at}v{}word", words[at].len());
                let session = known.session_id.as_deref();
                let edited = said(&id, &sentence(&mut random, &word), 0, session);
                let edited = episodica_core::model::NewMessage { timestamp: None, ..edited };
                engine.add_messages("alice", vec![edited], None, &NOW).unwrap();
                words[at].push(word);
            } else {
                engine.delete("alice", &id, &NOW).unwrap();
                gone.extend(words[at].clone());
                deletions += 1;
            }
            let case = format!("history {seed}, round {round}, {what} of {id}");
            assert_silent(&engine, &disk, &gone.iter().collect(), &case);
            // What the model states anew must not tell of it either.
            wait();
            assert_silent(&engine, &disk, &gone.iter().collect(), &case);
            assert_linked(&engine, &case);
        }
        let facts = records(&engine, "alice", RecordKind::Semantic);
        if let Some(fact) = facts.get(random.below(facts.len().max(1) as u64) as usize) {
            engine.delete("alice", fact.id(), &NOW).unwrap();
            deletions += 1;
            wait();
            assert_linked(&engine, &format!("history {seed}, a fact"));
        }
    }
    assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
    deletions
}

#[test]
fn a_model_that_repeats_what_it_saw_leaves_no_word_of_what_is_deleted() {
    let histories = rounds(25, 2_000);
    let deletions: u64 = (0..histories).map(play).sum();
    assert!(deletions >= 3 * histories, "{deletions}");
    report("histories", &[("histories", histories), ("deletions", deletions), ("leaks", 0)]);
}
