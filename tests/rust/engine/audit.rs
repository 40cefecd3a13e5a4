//! Each message has a word that no other message has. After the deletion of a message, its word is
//! in no file and no answer of the engine, whatever was derived from the message.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use episodica_core::Result;
use episodica_core::clock::DisplayZone;
use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, ContextRequest, Engine, RecordKind, StatedFact};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{ChatPrompt, LanguageModel, UsagePhase};
use episodica_core::model::{Message, Procedure, ProcedureStep};
use episodica_core::score::{HitKind, OutputForm, RecordFilter, SearchMethod, SearchRequest};
use episodica_core::store::testing::{MemoryBackend, Random};
use serde_json::{Value, json};

use super::support::*;
use crate::counts::{report, rounds};

/// A message with the word `word`, in a sentence that may state a fact.
pub fn sentence(random: &mut Random, word: &str) -> String {
    match random.below(6) {
        0 => format!("I work as a nurse at {word}."),
        1 => format!("I moved to {word} last Friday."),
        2 => format!("My favourite drink is {word}."),
        3 => format!("Did you see the {word} over the hill?"),
        4 => format!("I love {word} and kites."),
        _ => format!("We talked about {word} the whole evening, {word} again and again."),
    }
}

/// All answers of the engine about its user, as one text.
fn everything_told(engine: &Engine) -> String {
    let mut told = String::new();
    for kind in [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic] {
        for record in records(engine, "alice", kind) {
            told += &format!("{record:?}");
            told += &format!("{:?}", engine.history("alice", record.id(), &NOW).unwrap());
            told += &format!("{:?}", engine.trace("alice", record.id(), &NOW).unwrap());
        }
    }
    let search = SearchRequest {
        query: "nurse town drink kite hill".into(),
        top_k: 1_000,
        kinds: vec![HitKind::Message, HitKind::Episodic, HitKind::Semantic],
        method: SearchMethod::Hybrid,
        filter: RecordFilter::default(),
        threshold: None,
        per_kind: std::collections::BTreeMap::new(),
        include_superseded: true,
        now: moment(0),
    };
    told += &format!("{:?}", engine.search("alice", &search, &NOW).unwrap().hits);
    let request = ContextRequest {
        search,
        max_tokens: 4_000,
        form: OutputForm::Text,
        zone: DisplayZone::default(),
    };
    told += &engine.context("alice", &request, &NOW).unwrap().text;
    told += &format!("{:?}", engine.health().unwrap());
    told += &format!("{:?}", engine.user_stats("alice", &NOW).unwrap());
    told
}

/// A fact for every two messages.
fn facts(shown: &[(usize, String)]) -> Vec<Value> {
    let of_pair = |pair: &[(usize, String)]| {
        let content: Vec<&str> = pair.iter().map(|(_, text)| text.as_str()).collect();
        let numbers: Vec<usize> = pair.iter().map(|(number, _)| *number).collect();
        json!({
            "content": content.join(" "), "kind": "event", "subject": "the speaker",
            "attribute": "said", "value": content.join(" "), "confidence": 0.9,
            "importance": "high", "messages": numbers,
        })
    };
    shown.chunks(2).map(of_pair).collect()
}

/// A model that cites two messages for each fact and repeats words of everything in its prompt.
fn repeating(prompt: &ChatPrompt) -> Result<String> {
    let (_, conversation) = prompt.user.rsplit_once("<material-").unwrap_or_default();
    let shown: Vec<(usize, String)> = conversation
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, " | ");
            let number = parts.next()?.parse().ok()?;
            parts.next()?;
            Some((number, parts.next()?.split_once(": ")?.1.to_owned()))
        })
        .collect();
    let words: Vec<&str> = shown.iter().map(|(_, text)| text.as_str()).collect();
    Ok(match prompt.phase {
        // Each episode is told with the words of all others.
        UsagePhase::Episode => {
            let episode = |chunk: &[(usize, String)]| {
                json!({
                    "first": chunk[0].0, "last": chunk[chunk.len() - 1].0, "confidence": 0.9,
                    "title": words.last(), "narrative": words.join(" "),
                })
            };
            let episodes: Vec<Value> = shown.chunks(6).map(episode).collect();
            json!({"episodes": episodes, "facts": facts(&shown)})
        }
        UsagePhase::Extract => json!({"facts": facts(&shown)}),
        UsagePhase::Boundary | UsagePhase::Embedding => unreachable!("not asked of a chat model"),
    }
    .to_string())
}

fn audit(seed: u64, llm: Option<Arc<dyn LanguageModel>>) -> u64 {
    let mut random = Random::new(seed);
    let disk = Disk::new(MemoryBackend::new());
    let config = || MemoryConfig {
        snapshot_threshold: 1,
        trace: true,
        narratives: seed.is_multiple_of(2),
        ..MemoryConfig::default()
    };
    let mut engine = open_with(&disk, false, config(), llm.clone()).unwrap();
    let words: Vec<String> = (0..18).map(|n| format!("zq{seed}x{n}word")).collect();
    let messages = words.iter().enumerate().map(|(n, word)| {
        let text = sentence(&mut random, word);
        said(&format!("m{n}"), &text, 60 * n as i64, Some(if n < 9 { "s1" } else { "s2" }))
    });
    engine.add_messages("alice", messages.collect(), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    assert!(engine.wait(None, Some(Duration::from_secs(60)), &NOW).unwrap());
    remember_procedures(&engine, &words);
    let (mut gone, mut deletions) = (BTreeSet::new(), 0);
    for round in 0..8 {
        // The model replaces quotations in the background.
        assert!(engine.wait(None, Some(Duration::from_secs(60)), &NOW).unwrap());
        shelve_some(&mut random, &engine);
        let Some(victim) = Victim::chosen(&mut random, &engine) else { break };
        // Another thread reads meanwhile.
        std::thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| drop(everything_told(&engine))));
            victim.delete(&engine);
        });
        deletions += 1;
        victim.assert_uncounted(&disk);
        gone.extend(words.iter().filter(|word| victim.told.contains(*word)));
        if round == 4 {
            engine.close(Duration::from_secs(5), &NOW).unwrap();
            drop(engine);
            engine = open_with(&disk, false, config(), llm.clone()).unwrap();
        }
        assert_silent(&engine, &disk, &gone, &format!("seed {seed}, {:?}", victim.kind));
    }
    engine.delete_user_data("alice", &NOW).unwrap();
    assert_silent(&engine, &disk, &words.iter().collect(), &format!("seed {seed}, the user"));
    deletions + 1
}

/// A procedure of the agent with every third word deep inside a step; its sources are the word's
/// message and another message.
fn remember_procedures(engine: &Engine, words: &[String]) {
    for (number, word) in words.iter().enumerate().step_by(3) {
        let arguments = json!({"for": [{"what": word}]});
        let step = ProcedureStep { action: "look".into(), arguments, ..ProcedureStep::default() };
        let goal = format!("Find thing number {number}");
        let procedure = Procedure { goal, steps: vec![step], ..Procedure::default() };
        let proofs = [number, (number + 1) % words.len()].map(|proof| format!("m{proof}"));
        let statement = StatedFact {
            procedure: Some(procedure),
            source_messages: proofs.into(),
            ..StatedFact::default()
        };
        let (fact, _) = engine.remember("alice", statement, &NOW).unwrap();
        assert_eq!(fact.source_messages.len(), 2);
    }
}

/// Archives one record and restores another, so that each deletion finds revisions of both.
fn shelve_some(random: &mut Random, engine: &Engine) {
    let mut there = records(engine, "alice", RecordKind::Episode);
    there.extend(records(engine, "alice", RecordKind::Semantic));
    for restores in [false, true] {
        let pick = random.below(there.len().max(1) as u64) as usize;
        let Some(record) = there.get(pick) else { continue };
        let ids = [record.id().to_owned()];
        let shelved = if restores {
            engine.restore("alice", &ids, &NOW)
        } else {
            engine.archive("alice", &ids, &NOW)
        };
        assert_eq!(shelved.unwrap().len(), 1);
    }
}

/// The target of a deletion.
#[derive(Debug)]
enum Kind {
    Record(String),
    Several(Vec<String>),
    Session(String),
}

struct Victim {
    kind: Kind,
    /// The texts of all messages to be deleted.
    told: String,
}

impl Victim {
    /// A random record or user; `None` if nothing is left.
    fn chosen(random: &mut Random, engine: &Engine) -> Option<Self> {
        let kind = match random.below(8) {
            0 => RecordKind::Episode,
            1 => RecordKind::Semantic,
            _ => RecordKind::Message,
        };
        let mut there = records(engine, "alice", kind);
        if there.is_empty() {
            there = records(engine, "alice", RecordKind::Message);
        }
        let all: Vec<AnyRecord> = records(engine, "alice", RecordKind::Message);
        let told = |wanted: &dyn Fn(&Message) -> bool| {
            let message = |record: &AnyRecord| match record {
                AnyRecord::Message(message) if wanted(message) => Some(message.content.clone()),
                _ => None,
            };
            all.iter().filter_map(message).collect::<String>()
        };
        let pick = random.below(there.len().max(1) as u64) as usize;
        Some(match there.get(pick)? {
            AnyRecord::Semantic(fact) => {
                Self { kind: Kind::Record(fact.memory_id.clone()), told: String::new() }
            }
            AnyRecord::Episode(episode) => {
                let held = &episode.original_messages;
                let ids: Vec<&str> = held.iter().map(|held| held.message_id.as_str()).collect();
                Self {
                    kind: Kind::Record(episode.episode_id.clone()),
                    told: told(&|message| ids.contains(&message.message_id.as_str())),
                }
            }
            AnyRecord::Message(message) => match random.below(8) {
                0 => {
                    let session = message.session_id.as_deref().unwrap_or_default().to_owned();
                    let told = told(&|other| other.session_id.as_deref() == Some(&session));
                    Self { kind: Kind::Session(session), told }
                }
                1 | 2 => {
                    let number = message.seq;
                    let beside = |other: &Message| other.seq.abs_diff(number) <= 1;
                    let ids = all.iter().filter_map(|record| match record {
                        AnyRecord::Message(other) if beside(other) => Some(&other.message_id),
                        _ => None,
                    });
                    Self { kind: Kind::Several(ids.cloned().collect()), told: told(&beside) }
                }
                _ => {
                    let id = message.message_id.clone();
                    Self { told: message.content.clone(), kind: Kind::Record(id) }
                }
            },
        })
    }

    fn delete(&self, engine: &Engine) {
        let report = match &self.kind {
            Kind::Record(id) => engine.delete("alice", id, &NOW),
            Kind::Several(ids) => engine.delete_all("alice", ids, &NOW),
            Kind::Session(session) => {
                let filter =
                    RecordFilter { session_id: Some(session.clone()), ..RecordFilter::default() };
                engine.delete_where("alice", &filter, &[RecordKind::Message], &NOW)
            }
        }
        .unwrap();
        let removed = report.messages + report.semantic_memories;
        assert!(removed > 0 && report.files > 0, "{:?}: {report:?}", self.kind);
    }

    /// Asserts that the counts of uses contain no record deleted by its id.
    fn assert_uncounted(&self, disk: &Disk) {
        let ids = match &self.kind {
            Kind::Record(id) => std::slice::from_ref(id),
            Kind::Several(ids) => ids,
            Kind::Session(_) => &[],
        };
        for id in ids {
            let files = files_with(disk, format!("\"{id}\""));
            assert!(!files.iter().any(|path| path.starts_with("/m/uses")), "{id} in {files:?}");
        }
    }
}

/// Asserts that no answer and no file contains one of these words.
pub fn assert_silent(engine: &Engine, disk: &Disk, gone: &BTreeSet<&String>, case: &str) {
    let told = everything_told(engine);
    for word in gone {
        let at = told.find(*word).map(|at| &told[at.saturating_sub(200)..at + 20]);
        assert_eq!(at, None, "{word} is told: {case}");
        let files = files_with(disk, word);
        assert!(files.is_empty(), "{word} in {files:?}: {case}");
    }
}

#[test]
fn no_word_of_a_deleted_message_is_left_in_what_was_derived_from_it() {
    let mut deletions = 0;
    for seed in 0..rounds(20, 140) {
        deletions += audit(2 * seed + 1, None);
        let model = ScriptedModel::new(repeating);
        deletions += audit(2 * seed + 2, Some(Arc::new(model)));
    }
    assert!(deletions >= 300, "{deletions}");
    report("deletion_audit", &[("deletions", deletions), ("leaks", 0)]);
}

#[test]
fn a_fact_that_two_messages_prove_keeps_no_word_of_the_deleted_one() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let mut messages = vec![
        said("m0", "I work as a nurse.", 0, None),
        said("m1", "I work as a nurse at Siemens.", 60, None),
    ];
    messages.iter_mut().for_each(|message| message.name = Some("Ann".into()));
    engine.add_messages("alice", messages, None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    engine.delete("alice", "m1", &NOW).unwrap();
    assert!(files_with(&disk, "Siemens").is_empty(), "{:?}", files_with(&disk, "Siemens"));
    assert!(!everything_told(&engine).contains("Siemens"));
}

#[test]
fn the_boundary_of_a_rewritten_episode_is_described_by_the_messages_that_are_left() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let messages = vec![
        said("m0", "The zqmarmalade boiled over, zqmarmalade everywhere.", 0, None),
        said("m1", "We cleaned the kitchen together.", 60, None),
    ];
    engine.add_messages("alice", messages, None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    engine.delete("alice", "m0", &NOW).unwrap();
    let AnyRecord::Episode(episode) = records(&engine, "alice", RecordKind::Episode).remove(0)
    else {
        panic!("asked for episodes")
    };
    assert!(!format!("{episode:?}").contains("zqmarmalade"), "{episode:?}");
    assert!(episode.boundary.topic_summary.contains("kitchen"), "{:?}", episode.boundary);
}
