//! What is deleted was never said: after deletions the same values hold as in a store that never
//! had the messages. Nearly always all facts are the same, up to ids and the times of processing;
//! one that several messages prove may keep fewer of them, and their words.

use std::collections::{BTreeMap, BTreeSet};

use episodica_core::engine::{AnyRecord, Engine, RecordKind};
use episodica_core::model::{Episode, NewMessage, SemanticMemory};
use episodica_core::score::{Hit, HitKind, Method, Record};
use episodica_core::store::testing::{MemoryBackend, Random};

use super::support::*;
use crate::counts::{report, rounds};

const DAY: i64 = 86_400;
const TOWNS: [&str; 6] = ["Paris", "Moscow", "Lyon", "Oslo", "Bergen", "Quito"];
const SHOPS: [&str; 4] = ["Acme", "Globex", "Initech", "Umbrella"];
const TEAS: [&str; 4] = ["green tea", "cocoa", "black coffee", "lemonade"];

fn facts(engine: &Engine) -> Vec<SemanticMemory> {
    let semantic = |record| match record {
        AnyRecord::Semantic(fact) => Some((*fact).clone()),
        _ => None,
    };
    records(engine, "alice", RecordKind::Semantic).into_iter().filter_map(semantic).collect()
}

fn episodes(engine: &Engine) -> Vec<Episode> {
    let episode = |record| match record {
        AnyRecord::Episode(episode) => Some((*episode).clone()),
        _ => None,
    };
    records(engine, "alice", RecordKind::Episode).into_iter().filter_map(episode).collect()
}

/// A fact in words: what it says, its proofs, from when until when it held, and what came instead.
fn standings(engine: &Engine) -> BTreeSet<String> {
    let facts = facts(engine);
    let named: BTreeMap<&str, &SemanticMemory> =
        facts.iter().map(|fact| (fact.memory_id.as_str(), fact)).collect();
    let name = |id: &str| {
        let fact = named.get(id).unwrap_or_else(|| panic!("`{id}` is the id of nothing"));
        format!("{} ({})", fact.content, fact.valid_from)
    };
    let told = facts.iter().map(|fact| {
        let proofs: BTreeSet<&String> = fact.source_messages.iter().collect();
        let replaced = fact.metadata.get("supersedes").and_then(|id| id.as_str());
        format!(
            "{} [{} = {}] {proofs:?} {} to {:?}, then {:?}, instead of {:?}",
            fact.content,
            fact.attribute,
            fact.metadata.get("value").map_or("", |value| value.as_str().unwrap_or("")),
            fact.valid_from,
            fact.valid_to.map(|moment| moment.to_string()),
            fact.superseded_by.as_deref().map(name),
            replaced.map(name),
        )
    });
    told.collect()
}

/// What holds now, by attribute.
fn holding(engine: &Engine) -> BTreeSet<(String, String, String)> {
    let current = facts(engine).into_iter().filter(|fact| fact.is_current());
    let stated = current.filter(|fact| !fact.attribute.is_empty());
    let value = |fact: &SemanticMemory| fact.metadata.get("value").map(ToString::to_string);
    stated
        .map(|fact| {
            (fact.subject.clone(), fact.attribute.clone(), value(&fact).unwrap_or_default())
        })
        .collect()
}

fn cuts(engine: &Engine) -> BTreeMap<Vec<String>, String> {
    let told = episodes(engine).into_iter().map(|episode| {
        let ids = episode.original_messages.iter().map(|message| message.message_id.clone());
        let text = format!(
            "{} / {} / {} / {} to {} / {:?} / {}",
            episode.title,
            episode.summary,
            episode.content,
            episode.timestamp,
            episode.ended_at,
            episode.session_id,
            episode.boundary.topic_summary,
        );
        (ids.collect(), text)
    });
    told.collect()
}

fn hits(engine: &Engine, query: &str) -> BTreeSet<String> {
    let kinds = vec![HitKind::Message, HitKind::Semantic];
    let request = asked(query, 100, kinds, Method::Bm25);
    let response = engine.search("alice", &request, &NOW).unwrap();
    let text = |hit: &Hit| match &hit.record {
        Record::Message(message) => message.content.clone(),
        Record::Semantic(fact) => fact.content.clone(),
        Record::Episode(episode) => episode.content.clone(),
    };
    response.hits.iter().map(text).collect()
}

fn sentence(random: &mut Random) -> String {
    let mut pick = |words: &[&'static str]| words[random.below(words.len() as u64) as usize];
    let (town, shop, tea) = (pick(&TOWNS), pick(&SHOPS), pick(&TEAS));
    match random.below(8) {
        0 => format!("I live in {town}."),
        1 => format!("I moved to {town} last week."),
        2 => format!("I work at {shop}."),
        3 => format!("My favourite drink is {tea}."),
        4 => format!("I live in {town} near the old harbour."),
        5 => format!("I bought a blue bicycle in {town}."),
        6 => format!("My sister works at {shop}."),
        _ => "What do you think of that?".to_owned(),
    }
}

/// Messages in groups, each of which is closed before the next.
fn history(random: &mut Random) -> Vec<Vec<NewMessage>> {
    let (mut day, mut number) = (0, 0);
    let groups = 2 + random.below(5);
    (0..groups)
        .map(|group| {
            day += 1 + random.below(30) as i64;
            let session = format!("s{group}");
            (0..1 + random.below(4) as i64)
                .map(|minute| {
                    number += 1;
                    let at = (day - 400) * DAY + minute * 60;
                    said(&format!("m{number}"), &sentence(random), at, Some(&session))
                })
                .collect()
        })
        .collect()
}

fn told(disk: &Disk, groups: &[Vec<NewMessage>]) -> episodica_core::engine::Handle {
    let engine = open(disk).unwrap();
    for group in groups.iter().filter(|group| !group.is_empty()) {
        engine.add_messages("alice", group.clone(), None, &NOW).unwrap();
        engine.flush("alice", &NOW).unwrap();
    }
    engine
}

#[test]
fn deleting_a_lie_brings_the_truth_back() {
    for form in ["message", "episode", "fact"] {
        let disk = Disk::new(MemoryBackend::new());
        let engine = told(
            &disk,
            &[
                vec![said("truth", "I live in Paris.", -60 * DAY, Some("s1"))],
                vec![said("lie", "I moved to Moscow.", -30 * DAY, Some("s2"))],
            ],
        );
        assert!(facts(&engine).iter().any(|fact| !fact.is_current()), "the lie ends the truth");
        let id = match form {
            "message" => "lie".to_owned(),
            "episode" => {
                let of_lie = |one: &Episode| one.original_messages[0].message_id == "lie";
                episodes(&engine).into_iter().find(of_lie).unwrap().episode_id
            }
            _ => {
                let of_lie = |one: &SemanticMemory| one.source_messages == ["lie"];
                facts(&engine).into_iter().find(of_lie).unwrap().memory_id
            }
        };
        engine.delete("alice", &id, &NOW).unwrap();
        let left = facts(&engine);
        assert_eq!(left.len(), 1, "{form}: {left:?}");
        assert!(left[0].content.contains("Paris") && left[0].is_current(), "{form}: {left:?}");
    }
}

#[test]
fn a_fact_that_a_deleted_message_crowded_out_is_learned_and_no_deleted_one_comes_back() {
    let texts = [
        "I bought a blue bicycle in Oslo.",
        "I painted a boat in Lyon.",
        "I built a shed in Rome.",
    ];
    for deletes_a_fact_first in [false, true] {
        let disk = Disk::new(MemoryBackend::new());
        let group = texts.iter().zip(0..);
        let group = group.map(|(text, n)| said(&format!("m{n}"), text, n * 60, Some("s")));
        let engine = told(&disk, &[group.collect()]);
        let proofs = |engine: &Engine| -> BTreeSet<String> {
            facts(engine).into_iter().flat_map(|fact| fact.source_messages).collect()
        };
        let known: Vec<String> = proofs(&engine).into_iter().collect();
        assert_eq!(known.len(), 2, "the limit refuses one of three");
        let all = BTreeSet::from(["m0", "m1", "m2"].map(str::to_owned));
        let refused = all.iter().find(|id| !known.contains(id)).unwrap().clone();
        if deletes_a_fact_first {
            let first = facts(&engine).into_iter().find(|one| one.source_messages == known[..1]);
            engine.delete("alice", &first.unwrap().memory_id, &NOW).unwrap();
        }
        engine.delete("alice", &known[1], &NOW).unwrap();
        let mut expected = BTreeSet::from([refused]);
        if !deletes_a_fact_first {
            expected.insert(known[0].clone());
        }
        assert_eq!(proofs(&engine), expected, "{deletes_a_fact_first}");
        drop(engine);
        assert_eq!(proofs(&open(&disk).unwrap()), expected, "read again");
    }
}

#[test]
fn what_is_deleted_was_never_said() {
    let (mut same, mut same_cuts, mut ended, mut total) = (0_u64, 0_u64, 0_u64, 0_u64);
    for seed in 0..rounds(80, 2_000) {
        let mut random = Random::new(seed + 1);
        let groups = history(&mut random);
        let all: Vec<&NewMessage> = groups.iter().flatten().collect();
        let chosen = 1 + random.below(3.min(all.len() as u64));
        let gone: BTreeSet<String> = (0..chosen)
            .map(|_| all[random.below(all.len() as u64) as usize].message_id.clone().unwrap())
            .collect();
        let left: Vec<Vec<NewMessage>> = groups
            .iter()
            .map(|group| {
                let stays = |message: &&NewMessage| {
                    !gone.contains(message.message_id.as_deref().unwrap_or_default())
                };
                group.iter().filter(stays).cloned().collect()
            })
            .collect();
        let texts: Vec<Vec<(&str, &str)>> = groups
            .iter()
            .map(|group| {
                let told = group.iter();
                told.map(|one| (one.message_id.as_deref().unwrap(), &*one.content)).collect()
            })
            .collect();
        let case = format!("seed {seed}: {texts:?} without {gone:?}");
        let (disk, other) = (Disk::new(MemoryBackend::new()), Disk::new(MemoryBackend::new()));
        let engine = told(&disk, &groups);
        ended += facts(&engine).iter().filter(|fact| !fact.is_current()).count() as u64;
        let ids: Vec<String> = gone.iter().cloned().collect();
        if random.below(2) == 0 {
            engine.delete_all("alice", &ids, &NOW).unwrap();
        } else {
            for id in &ids {
                engine.delete("alice", id, &NOW).unwrap();
            }
        }
        let never = told(&other, &left);
        assert_eq!(holding(&engine), holding(&never), "{case}");
        let is_same = standings(&engine) == standings(&never);
        same += u64::from(is_same);
        let (mine, others) = (cuts(&engine), cuts(&never));
        if mine.keys().eq(others.keys()) {
            same_cuts += 1;
            assert_eq!(mine, others, "{case}");
        }
        for query in ["where does she live", "work", "favourite drink", "bicycle harbour"] {
            if is_same {
                assert_eq!(hits(&engine, query), hits(&never, query), "{query}, {case}");
            }
        }
        for id in &gone {
            let quoted = format!("\"{id}\"");
            assert!(files_with(&disk, &quoted).is_empty(), "{case}");
        }
        // The logs say the same as the memory.
        let before = standings(&engine);
        drop(engine);
        assert_eq!(standings(&open(&disk).unwrap()), before, "read again, {case}");
        total += 1;
    }
    assert!(same * 20 >= total * 19, "all facts stand the same in {same} of {total}");
    assert!(same_cuts * 2 > total && ended > total / 2, "{same_cuts} and {ended} of {total}");
    report("unsaid", &[("histories", total)]);
}
