//! Forgetting over time: strength, expiry, and counts of uses that survive crashes.

use std::time::Duration;

use episodica_core::engine::{Engine, ForgettingPolicy, RecordKind, StatedFact};
use episodica_core::score::{HitKind, RecordFilter, SearchMethod, SearchRequest};
use episodica_core::store::testing::MemoryBackend;

use super::support::*;

fn remember(engine: &Engine, content: &str, expires_after: Option<f64>) -> String {
    let statement = StatedFact { content: content.into(), expires_after, ..StatedFact::default() };
    engine.remember("alice", statement, &NOW).unwrap().0.memory_id.clone()
}

fn weak() -> ForgettingPolicy {
    let kinds = vec![RecordKind::Semantic, RecordKind::Episode];
    ForgettingPolicy { strength: Some(0.05), kinds, ..ForgettingPolicy::default() }
}

/// Ids, uses and reasons of the proposed facts.
fn proposed(engine: &Engine, policy: &ForgettingPolicy) -> Vec<(String, u64, String)> {
    let found = engine.forgetting("alice", policy, &NOW).unwrap();
    let candidates = found.candidates.iter();
    candidates.map(|one| (one.record.id().into(), one.uses, one.reasons.join("; "))).collect()
}

fn use_it(engine: &Engine, query: &str) -> usize {
    let request = SearchRequest {
        query: query.into(),
        top_k: 1,
        kinds: vec![HitKind::Semantic],
        method: SearchMethod::Bm25,
        filter: RecordFilter::default(),
        threshold: None,
        per_kind: std::collections::BTreeMap::new(),
        include_superseded: false,
        now: moment(0),
    };
    engine.search("alice", &request, &NOW).unwrap().hits.len()
}

#[test]
fn facts_grow_weak_with_the_days_and_uses_keep_them_strong() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let kite = remember(&engine, "Ann flies kites.", None);
    let tea = remember(&engine, "Ann drinks tea.", None);
    for _ in 0..10 {
        assert_eq!(use_it(&engine, "tea"), 1);
    }
    engine.close(Duration::from_secs(5), &NOW).unwrap();
    drop(engine);
    let after = |days| proposed(&open_days_later(&disk, days).unwrap(), &weak());
    assert_eq!(after(20), []);
    let [(id, uses, reason)] = &after(40)[..] else { panic!("one is weak") };
    assert_eq!((id, *uses), (&kite, 0));
    assert_eq!(reason, "strength 0.02 is below 0.05");
    let ids: Vec<String> = after(100).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, [kite, tea]);
}

#[test]
fn a_fact_leaves_when_its_time_is_over_and_a_reader_sees_it_too() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let code = remember(&engine, "The code is kite.", Some(86_400.0));
    assert_eq!(use_it(&engine, "kite"), 1);
    engine.close(Duration::from_secs(5), &NOW).unwrap();
    drop(engine);
    let engine = open_days_later(&disk, 2).unwrap();
    assert_eq!(use_it(&engine, "kite"), 0);
    assert_eq!(engine.user_stats("alice", &NOW).unwrap().archived, 1);
    let [(id, _, reason)] = &proposed(&engine, &ForgettingPolicy { strength: None, ..weak() })[..]
    else {
        panic!("one has expired")
    };
    assert_eq!(id, &code);
    assert!(reason.starts_with("expired on "), "{reason}");
    engine.restore("alice", std::slice::from_ref(&code), &NOW).unwrap();
    assert_eq!(use_it(&engine, "kite"), 1);
    // The restored fact is also found much later, after an opening from the snapshot.
    engine.close(Duration::from_secs(5), &NOW).unwrap();
    drop(engine);
    assert_eq!(use_it(&open_days_later(&disk, 900).unwrap(), "kite"), 1);
}

#[test]
fn counts_of_uses_are_whole_or_gone_after_a_crash_and_harm_nothing() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let kite = remember(&engine, "Ann flies kites.", None);
    assert_eq!(use_it(&engine, "kites"), 1);
    engine.close(Duration::from_secs(5), &NOW).unwrap();
    drop(engine);
    // The process is killed before the second use is written.
    let engine = open(&disk).unwrap();
    assert_eq!(use_it(&engine, "kites"), 1);
    let killed = Disk::new(disk.inner().after_process_death());
    let all = ForgettingPolicy { strength: None, max_uses: Some(9), ..weak() };
    assert_eq!(proposed(&open(&killed).unwrap(), &all)[0].1, 1);
    assert_eq!(proposed(&engine, &all)[0].1, 2);
    engine.close(Duration::from_secs(5), &NOW).unwrap();
    drop(engine);
    let file = std::path::Path::new("/m/uses/alice_uses.jsonl");
    let whole = disk.inner().files()[file].clone();
    for end in 0..=whole.len() {
        let torn = Disk::new(disk.inner().after_process_death());
        torn.inner().put(file, &whole[..end]);
        let engine = open(&torn).unwrap();
        let uses = proposed(&engine, &all)[0].1;
        assert!(uses == 2 || uses == 0 && end < whole.len(), "{uses} at {end}");
        assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
        assert_eq!(use_it(&engine, "kites"), 1);
    }
    let engine = open(&disk).unwrap();
    engine.delete("alice", &kite, &NOW).unwrap();
    assert!(files_with(&disk, &kite).is_empty(), "{:?}", files_with(&disk, &kite));
}
