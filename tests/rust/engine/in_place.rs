//! A deletion or an edit changes the indexes in place: afterwards every search answers as it would
//! in a newly opened store.

use std::collections::BTreeMap;

use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, RecordKind};
use episodica_core::model::NewMessage;
use episodica_core::score::{HitKind, HitRecord, SearchMethod};
use episodica_core::store::testing::{MemoryBackend, Random};

use super::support::*;
use crate::counts::{report, rounds};

const KINDS: [HitKind; 3] = [HitKind::Message, HitKind::Episodic, HitKind::Semantic];
const QUESTIONS: [&str; 6] = [
    "Where does Ann live?",
    "favourite drink of Ben",
    "kite hill",
    "What did Ann say on Friday?",
    "林晓禾 喜欢 什么 茶",
    "nurse",
];

pub fn id_of(record: &AnyRecord) -> &str {
    match record {
        AnyRecord::Message(message) => &message.message_id,
        AnyRecord::Episode(episode) => &episode.episode_id,
        AnyRecord::Semantic(fact) => &fact.memory_id,
    }
}

/// A message from a person who repeats themselves, in random order of time.
pub fn any_message(random: &mut Random, number: u64) -> NewMessage {
    let word = random.below(6);
    let content = match random.below(7) {
        0 => format!("I moved to town{word} last Friday."),
        1 => format!("My favourite drink is ade{word}."),
        2 => format!("The kite{word} flew over the hill, kite after kite."),
        3 => format!("Do you know town{word}? What is it like?"),
        4 => format!("I work as a nurse{word}."),
        5 => format!("林晓禾喜欢喝{word}号茶。"),
        _ => "Yes.".to_owned(),
    };
    let names = [Some("Ann"), Some("Ben"), Some("林晓禾"), None];
    let sessions = [None, None, Some("s1"), Some("s2")];
    let session = sessions[random.below(4) as usize];
    let mut message =
        said(&format!("m{number}"), &content, random.below(40) as i64 * 3_600, session);
    message.name = names[random.below(4) as usize].map(str::to_owned);
    message
}

/// Hits by id, with their scores.
fn answers(
    engine: &Engine,
    query: &str,
    kind: HitKind,
    method: SearchMethod,
) -> BTreeMap<String, f64> {
    let request = asked(query, 1_000, vec![kind], method);
    let response = engine.search("alice", &request, &NOW).unwrap();
    let id = |record: &HitRecord| match record {
        HitRecord::Message(message) => message.message_id.clone(),
        HitRecord::Episode(episode) => episode.episode_id.clone(),
        HitRecord::Semantic(fact) => fact.memory_id.clone(),
    };
    response.hits.iter().map(|hit| (id(&hit.record), hit.score)).collect()
}

/// An engine on the same logs, without the caches that the writer made.
fn opened_anew(disk: &Disk) -> episodica_core::engine::EngineHandle {
    let logs = Disk::new(MemoryBackend::new());
    for (path, bytes) in disk.inner().files() {
        if path.extension().is_some_and(|extension| extension == "jsonl")
            || path.ends_with("episodica.json")
        {
            logs.inner().put(path, &bytes);
        }
    }
    open_as(&logs, true, MemoryConfig::default()).unwrap()
}

pub fn assert_same_answers(engine: &Engine, disk: &Disk, case: &str) -> u64 {
    let fresh = opened_anew(disk);
    let mut compared = 0;
    for kind in [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic] {
        let (own, other) = (records(engine, "alice", kind), records(&fresh, "alice", kind));
        let ids = |records: &[AnyRecord]| records.iter().map(|one| id_of(one).to_owned()).collect();
        let (mut own, mut other): (Vec<String>, Vec<String>) = (ids(&own), ids(&other));
        own.sort();
        other.sort();
        assert_eq!(own, other, "{case}: {kind:?}");
    }
    let buffered = |engine: &Engine| engine.user_stats("alice", &NOW).unwrap().buffered;
    assert_eq!(buffered(engine), buffered(&fresh), "{case}");
    for (query, kind) in QUESTIONS.iter().flat_map(|query| KINDS.map(|kind| (query, kind))) {
        for method in
            [SearchMethod::Hybrid, SearchMethod::Bm25, SearchMethod::Vector, SearchMethod::Rrf]
        {
            let (own, other) =
                (answers(engine, query, kind, method), answers(&fresh, query, kind, method));
            let same = own.len() == other.len()
                && own.iter().zip(&other).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 5e-3);
            // Ties of fused ranks are ordered by slot, and a rewritten episode has a new slot.
            assert!(
                same || method == SearchMethod::Rrf && own.keys().eq(other.keys()),
                "{case}, {method:?}, {kind:?}, `{query}`:\n{own:?}\n{other:?}"
            );
            compared += 1;
        }
    }
    compared
}

#[test]
fn after_any_changes_searches_answer_as_after_a_fresh_opening() {
    let (mut compared, mut deleted, mut edited) = (0, 0, 0);
    for case in 0..rounds(12, 200) {
        let mut random = Random::new(case + 1);
        let disk = Disk::new(MemoryBackend::new());
        let engine = open_as(&disk, false, MemoryConfig::default()).unwrap();
        let mut number = 0;
        for _ in 0..8 {
            let batch = (0..1 + random.below(8)).map(|_| {
                number += 1;
                // Sometimes an id comes back: of a deleted message, or with other words.
                let id = if random.below(5) == 0 { random.below(number) } else { number };
                let content = any_message(&mut random, id).content;
                NewMessage { content, ..any_message(&mut Random::new(id + 1), id) }
            });
            let added = engine.add_messages("alice", batch.collect(), None, &NOW).unwrap();
            edited += added.edited as u64;
            if random.below(3) == 0 {
                engine.flush("alice", &NOW).unwrap();
            }
            for _ in 0..random.below(4) {
                let kind = [
                    RecordKind::Message,
                    RecordKind::Message,
                    RecordKind::Episode,
                    RecordKind::Semantic,
                ][random.below(4) as usize];
                let there = records(&engine, "alice", kind);
                if !there.is_empty() {
                    let victim =
                        id_of(&there[random.below(there.len() as u64) as usize]).to_owned();
                    engine.delete("alice", &victim, &NOW).unwrap();
                    deleted += 1;
                }
            }
            compared += assert_same_answers(&engine, &disk, &format!("case {case}"));
        }
        assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0, "case {case}");
    }
    assert!(deleted > 50 && edited > 20, "{deleted} deletions, {edited} edits");
    assert!(compared > 1_000, "{compared} comparisons");
    let counts = [("deletions", deleted), ("edits", edited), ("comparisons", compared)];
    report("in_place", &[&counts[..], &[("differences", 0)]].concat());
}

/// With more messages than are scored in full, the candidates are also the same.
#[test]
fn after_deletions_in_a_large_user_candidates_are_those_of_a_fresh_opening() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open_as(&disk, false, MemoryConfig::default()).unwrap();
    let mut random = Random::new(7);
    let messages = (0..2_400).map(|number| any_message(&mut random, number)).collect();
    engine.add_messages("alice", messages, None, &NOW).unwrap();
    for number in (0..2_400).step_by(97) {
        engine.delete("alice", &format!("m{number}"), &NOW).unwrap();
    }
    let fresh = opened_anew(&disk);
    for query in QUESTIONS {
        let (own, other) = (
            answers(&engine, query, HitKind::Message, SearchMethod::Hybrid),
            answers(&fresh, query, HitKind::Message, SearchMethod::Hybrid),
        );
        assert!(own.keys().eq(other.keys()), "`{query}`");
        assert!(own.values().zip(other.values()).all(|(a, b)| (a - b).abs() < 1e-4), "`{query}`");
    }
}
