//! The engine with a model: how often it asks, what becomes of any answer, and what happens while
//! nobody answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use episodica_core::config::{BoundaryMode, Config};
use episodica_core::control::Control;
use episodica_core::engine::{AnyRecord, ContextRequest, Engine, Handle, RecordKind};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{Answer, LanguageModel, Phase, Prompt};
use episodica_core::model::{Episode, NewMessage, SemanticMemory, ServiceHealth};
use episodica_core::score::{Filter, HitKind, Method, Request};
use episodica_core::store::testing::{Failure, MemoryBackend};
use episodica_core::{Error, ErrorKind, Result};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::{Disk, NO_VECTOR, NOW, files_with, found, moment, open_with, records, said};

fn disk() -> Disk {
    Disk::new(MemoryBackend::new())
}

fn with(disk: &Disk, model: &Arc<ScriptedModel>) -> Handle {
    with_config(disk, model, Config::default())
}

fn with_config(disk: &Disk, model: &Arc<ScriptedModel>, config: Config) -> Handle {
    open_with(disk, false, config, Some(Arc::clone(model) as Arc<dyn LanguageModel>)).unwrap()
}

/// The messages of a prompt: number and text.
fn shown(prompt: &Prompt) -> Vec<(usize, String)> {
    let line = |line: &str| {
        let mut parts = line.splitn(3, " | ");
        let number = parts.next()?.parse().ok()?;
        parts.next()?;
        Some((number, parts.next()?.split_once(": ")?.1.to_owned()))
    };
    prompt.user.lines().filter_map(line).collect()
}

/// What a sensible model would say: episodes of eight messages, one statement about the first
/// message of each.
fn sensible(prompt: &Prompt) -> Result<String> {
    let messages = shown(prompt);
    let answer = match prompt.phase {
        Phase::Boundary => {
            let groups: Vec<Value> = messages
                .chunks(8)
                .map(|chunk| json!({"messages": chunk.iter().map(|(number, _)| number).collect::<Vec<_>>(), "topic": "t", "reason": "r", "confidence": 0.9}))
                .collect();
            json!({"episodes": groups})
        }
        Phase::Episode => json!({
            "title": format!("Model on {}", messages[0].1), "summary": format!("They spoke of {}.", messages[0].1),
            "narrative": format!("It was said that {}.", messages[0].1), "timestamp": "", "topics": ["kites"], "entities": [],
        }),
        Phase::Predict => json!({"prediction": "more of the same"}),
        Phase::Extract => json!({"statements": [{
            "content": format!("The speaker said {}", messages[0].1), "kind": "event", "subject": "the speaker", "attribute": "said",
            "value": messages[0].1, "confidence": 0.9, "importance": "high", "messages": [messages[0].0],
        }]}),
        Phase::Reconcile => {
            let candidates = prompt
                .user
                .split("Candidates:")
                .nth(1)
                .unwrap_or_default()
                .lines()
                .filter(|line| line.contains(" | "))
                .count();
            let create = |number| json!({"candidate": number, "action": "CREATE", "memory": null, "content": null, "reason": "new"});
            json!({"decisions": (0..candidates).map(create).collect::<Vec<_>>()})
        }
        Phase::Embedding => unreachable!("not asked of a chat model"),
    };
    Ok(answer.to_string())
}

fn down(_: &Prompt) -> Result<String> {
    Err(Error::new(ErrorKind::Llm, "the endpoint is down"))
}

/// Messages a minute apart.
fn talk(count: usize) -> Vec<NewMessage> {
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

fn wait(engine: &Engine, user: &str) {
    assert!(engine.wait(Some(user), Some(Duration::from_secs(60)), &NOW).unwrap(), "work ends");
}

fn episodes(engine: &Engine, user: &str) -> Vec<Arc<Episode>> {
    let all = records(engine, user, RecordKind::Episode).into_iter();
    all.filter_map(
        |record| if let AnyRecord::Episode(episode) = record { Some(episode) } else { None },
    )
    .collect()
}

fn facts(engine: &Engine, user: &str) -> Vec<Arc<SemanticMemory>> {
    let all = records(engine, user, RecordKind::Semantic).into_iter();
    all.filter_map(|record| if let AnyRecord::Semantic(fact) = record { Some(fact) } else { None })
        .collect()
}

/// Every message is in exactly one episode, in order, and the store is sound.
fn check_whole(engine: &Engine, user: &str, count: usize) {
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

fn by_phase(model: &ScriptedModel) -> BTreeMap<&'static str, usize> {
    let mut calls = std::collections::BTreeMap::new();
    model.prompts().iter().for_each(|prompt| *calls.entry(prompt.phase.name()).or_default() += 1);
    calls
}

#[test]
fn four_hundred_messages_cost_what_was_promised() {
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with(&disk(), &model);
    // One by one, as an agent would: what is asked does not depend on how fast the work behind
    // follows.
    for message in talk(400) {
        engine.add_messages("ann", vec![message], None, &NOW).unwrap();
    }
    wait(&engine, "ann");
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    check_whole(&engine, "ann", 400);
    let (calls, made) = (by_phase(&model), episodes(&engine, "ann").len());
    assert!((45..=60).contains(&made), "{made} episodes");
    assert!(calls["boundary"] <= 25, "{calls:?}");
    assert!(calls["episode"] <= made, "{calls:?}");
    assert!(calls["predict"] + calls["extract"] <= 2 * made, "{calls:?}");
    assert!(calls.get("reconcile").copied().unwrap_or_default() <= made, "{calls:?}");
    assert_eq!(facts(&engine, "ann").len(), made, "each taught one thing");
    let usage = engine.usage().unwrap();
    assert_eq!(usage.total.calls, model.calls() as u64);
    assert_eq!(usage.by_phase["episode"].calls, calls["episode"] as u64);
    assert!(usage.by_user["ann"].prompt_tokens > 10_000, "{usage:?}");
}

#[test]
fn what_a_model_made_says_so() {
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with_config(&disk(), &model, Config { trace: true, ..Config::default() });
    engine.add_messages("ann", talk(20), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let episode = &episodes(&engine, "ann")[0];
    assert_eq!(
        (episode.provenance.method.as_str(), episode.provenance.prompt_version.as_str()),
        ("scripted", "v1")
    );
    assert!(episode.provenance.tokens > 0 && !episode.provenance.pending_llm);
    assert_eq!(episode.timestamp, moment(0), "an episode is dated by its messages");
    let fact = &facts(&engine, "ann")[0];
    assert_eq!((fact.provenance.method.as_str(), fact.source_messages.len()), ("scripted", 1));
    let phases = |id: &str| -> Vec<String> {
        let steps = engine.trace("ann", id, &NOW).unwrap();
        steps.iter().map(|step| step.phase.clone()).collect()
    };
    assert_eq!(phases(&episode.episode_id), ["boundary", "episode", "extract"]);
    assert_eq!(phases(&fact.memory_id), ["extract"]);
}

#[test]
fn an_outage_loses_nothing_and_is_made_good() {
    let model = Arc::new(ScriptedModel::new({
        let up = AtomicBool::new(false);
        move |prompt: &Prompt| {
            up.fetch_or(prompt.user.contains("kite39"), Ordering::SeqCst);
            if up.load(Ordering::SeqCst) { sensible(prompt) } else { down(prompt) }
        }
    }));
    model.set_available(false);
    let engine = with(&disk(), &model);
    engine.add_messages("ann", talk(30), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    check_whole(&engine, "ann", 30);
    let made = episodes(&engine, "ann");
    assert!(
        made.iter().all(
            |episode| episode.provenance.pending_llm && episode.provenance.fallback == "outage"
        )
    );
    assert!(
        made.iter()
            .all(|episode| !episode.title.is_empty() && episode.timestamp <= moment(60 * 30)),
        "dated by the messages"
    );
    assert_eq!(engine.user_stats("ann", &NOW).unwrap().pending_llm, made.len());
    assert_eq!(
        engine.retry_pending(Some("ann"), &NOW).unwrap(),
        made.len(),
        "each counts once, whatever it lacks"
    );
    // The model comes back, and the next work finds it.
    model.set_available(true);
    engine
        .add_messages("ann", vec![said("m30", "kite39 is back", 60 * 31, None)], None, &NOW)
        .unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let left = engine.retry_pending(Some("ann"), &NOW).unwrap();
    assert_eq!(left, 0);
    let again = episodes(&engine, "ann");
    assert!(
        again.iter().all(|episode| episode.provenance.method == "scripted"),
        "{:?}",
        again[0].provenance
    );
    assert_eq!(
        engine.history("ann", &again[0].episode_id, &NOW).unwrap().len(),
        2,
        "the rules' text is history"
    );
    check_whole(&engine, "ann", 31);
}

#[test]
fn without_a_model_that_answers_nothing_waits_for_it() {
    let model = Arc::new(ScriptedModel::new(down));
    let engine = with(&disk(), &model);
    engine.add_messages("ann", talk(60), None, &NOW).unwrap();
    wait(&engine, "ann");
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    check_whole(&engine, "ann", 60);
    assert!(engine.health().unwrap().last_failure.unwrap().contains("the endpoint is down"));
    engine.close(Duration::from_secs(5), &NOW).unwrap();
}

#[test]
fn what_a_crash_cut_off_goes_on() {
    let disk = disk();
    let silent = Arc::new(Waiting::default());
    {
        let engine =
            open_with(&disk, false, Config::default(), Some(Arc::clone(&silent) as _)).unwrap();
        engine.add_messages("ann", talk(40), Some("s"), &NOW).unwrap();
        while silent.inside.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(episodes(&engine, "ann").len(), 0, "the model has not answered yet");
        // Dropped without a word.
    }
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with(&disk, &model);
    assert!(engine.wait(None, Some(Duration::from_secs(60)), &NOW).unwrap());
    engine.close_session("ann", "s", &NOW).unwrap();
    wait(&engine, "ann");
    check_whole(&engine, "ann", 40);
    assert!(!facts(&engine, "ann").is_empty());
}

#[test]
fn answers_are_paid_for_once() {
    let disk = disk();
    let config = Config { boundary_mode: BoundaryMode::Message, ..Config::default() };
    let never = |prompt: &Prompt| match prompt.phase {
        Phase::Boundary => {
            Ok(json!({"should_end": false, "reason": "", "confidence": 0.9, "topic_summary": ""})
                .to_string())
        }
        _ => sensible(prompt),
    };
    for expected in [8, 0] {
        let model = Arc::new(ScriptedModel::new(never));
        let engine = with_config(&disk, &model, config.clone());
        engine.add_messages("ann", talk(10), None, &NOW).unwrap();
        wait(&engine, "ann");
        assert_eq!(model.calls(), expected, "opened again, the same questions have answers");
        assert_eq!(engine.usage().unwrap().total.cached, 8 - expected as u64);
    }
}

#[test]
fn callers_and_searches_never_wait_for_a_model() {
    let model = Arc::new(Waiting::default());
    let engine = open_with(
        &disk(),
        false,
        Config { llm_concurrency: 2, ..Config::default() },
        Some(Arc::clone(&model) as _),
    )
    .unwrap();
    for user in ["ann", "ben", "cem", "dov"] {
        engine.add_messages(user, talk(40), None, &NOW).unwrap();
    }
    while model.inside.load(Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    assert_eq!(
        found(&engine, "ann", "kite7", Method::Bm25)[0],
        "kite7 flew over hill7 with string7"
    );
    engine
        .add_messages("ann", vec![said("late", "a late word", 99_999, None)], None, &NOW)
        .unwrap();
    assert_eq!(
        engine.user_stats("ann", &NOW).unwrap().pending_vectors,
        0,
        "local vectors don't wait either"
    );
    assert_eq!(found(&engine, "ann", "late word", Method::Vector)[0], "a late word");
    assert!(
        !engine.wait(Some("ann"), Some(Duration::from_millis(1)), &NOW).unwrap(),
        "something is pending"
    );
    // A user who is deleted does not wait for the model either.
    engine.delete_user_data("ann", &NOW).unwrap();
    engine.delete_user_data("ben", &NOW).unwrap();
    engine.close(Duration::ZERO, &NOW).unwrap();
    assert_eq!(model.most.load(Ordering::SeqCst), 2, "no more calls in flight than allowed");
}

#[test]
fn a_message_without_a_vector_is_ranked_by_the_rest() {
    let engine = with(&disk(), &Arc::new(ScriptedModel::new(down)));
    let same =
        |n: usize| said(&format!("m{n}"), &format!("the kite of hill{n}"), 60 * n as i64, None);
    engine.add_messages("ann", (0..20).map(same).collect(), None, &NOW).unwrap();
    engine
        .add_messages(
            "ann",
            vec![said("last", &format!("the kite of hill99 {NO_VECTOR}"), 9_000, None)],
            None,
            &NOW,
        )
        .unwrap();
    let first = &found(&engine, "ann", "the kite of hill99", Method::Hybrid)[0];
    assert!(first.contains("hill99"), "{first}");
    assert_eq!(engine.user_stats("ann", &NOW).unwrap().pending_vectors, 1);
}

#[test]
fn what_was_recalled_is_not_learned_again() {
    let repeat = |prompt: &Prompt| match prompt.phase {
        Phase::Extract => {
            let statements: Vec<Value> = shown(prompt)
                .iter()
                .map(|(number, text)| json!({"content": format!("It holds that {text}"), "kind": "event", "messages": [number], "confidence": 1, "importance": "high"}))
                .collect();
            Ok(json!({"statements": statements}).to_string())
        }
        _ => sensible(prompt),
    };
    let model = Arc::new(ScriptedModel::new(repeat));
    let engine = with(&disk(), &model);
    engine.add_messages("ann", talk(6), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let known = facts(&engine, "ann").len();
    assert_eq!(known, 6);
    let search = Request {
        query: "kite3 hill3".into(),
        top_k: 10,
        kinds: vec![HitKind::Message, HitKind::Semantic],
        method: Method::Hybrid,
        filter: Filter::default(),
        threshold: None,
        per_kind: std::collections::BTreeMap::new(),
        include_superseded: true,
        now: moment(0),
    };
    let context = engine.context("ann", &ContextRequest { search, max_tokens: 500 }, &NOW).unwrap();
    assert!(context.text.contains("kite3"));
    let pasted = format!("{}\nand the zebra9 sleeps tonight", context.text);
    engine
        .add_messages(
            "ann",
            vec![
                said("p1", &pasted, 9_000, None),
                said("p2", "the lion8 sleeps tonight", 9_060, None),
            ],
            None,
            &NOW,
        )
        .unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let new: Vec<String> =
        facts(&engine, "ann").iter().skip(known).map(|fact| fact.content.clone()).collect();
    assert_eq!(new.len(), 2, "{new:?}");
    assert!(
        new.iter().any(|text| text.contains("zebra9"))
            && new.iter().any(|text| text.contains("lion8"))
    );
    assert!(!new.iter().any(|text| text.contains("kite")), "{new:?}");
}

#[test]
fn superseding_cites_both_sides_and_can_be_undone() {
    let script = |prompt: &Prompt| {
        let text = &shown(prompt).first().map(|(_, text)| text.clone()).unwrap_or_default();
        match prompt.phase {
            Phase::Extract => {
                let place = if text.contains("Lyon") { "Lyon" } else { "Nice" };
                Ok(json!({"statements": [{"content": format!("user lives in {place}"), "kind": "personal_info", "subject": "user", "attribute": "home",
                    "value": place, "confidence": 1, "importance": "high", "messages": [0]}]}).to_string())
            }
            Phase::Reconcile => {
                Ok(r#"{"decisions":[{"candidate":0,"action":"SUPERSEDE","memory":0,"content":null,"reason":"moved"}]}"#.into())
            }
            _ => sensible(prompt),
        }
    };
    let engine = with(&disk(), &Arc::new(ScriptedModel::new(script)));
    for (id, text, at) in [("a", "I live in Lyon now", 0), ("b", "I live in Nice now", 90_000)] {
        engine.add_messages("ann", vec![said(id, text, at, None)], None, &NOW).unwrap();
        engine.flush("ann", &NOW).unwrap();
        wait(&engine, "ann");
    }
    let all = facts(&engine, "ann");
    let old = all.iter().find(|fact| fact.content.contains("Lyon")).expect("kept");
    let new = all.iter().find(|fact| fact.content.contains("Nice")).expect("learned");
    assert_eq!(old.superseded_by.as_ref(), Some(&new.memory_id));
    assert_eq!(new.metadata["supersedes"], json!(old.memory_id));
    engine.update("ann", &old.memory_id, "user lives in Lyon", &NOW).unwrap();
    assert!(facts(&engine, "ann").iter().all(|fact| fact.is_current()), "undone");
}

#[test]
fn deleting_leaves_nothing_of_prompts_and_answers() {
    let disk = disk();
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with_config(&disk, &model, Config { trace: true, ..Config::default() });
    engine.add_messages("ann", talk(40), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    assert!(files_with(&disk, "kite7 ").len() >= 3, "log, cache and trace hold it");
    engine.delete("ann", "m7", &NOW).unwrap();
    wait(&engine, "ann");
    assert_eq!(files_with(&disk, "kite7 "), Vec::<std::path::PathBuf>::new());
    engine
        .add_messages("ann", vec![said("n", "kite77 flies on", 99_999, None)], None, &NOW)
        .unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    engine.delete_user_data("ann", &NOW).unwrap();
    assert_eq!(files_with(&disk, "kite"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn merged_episodes_keep_one_text_and_both_ids() {
    let script = |prompt: &Prompt| match prompt.phase {
        Phase::Episode => {
            let narrative =
                shown(prompt).iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join("; ");
            Ok(json!({"title": "Kites", "summary": "They flew kites.", "narrative": narrative, "timestamp": "", "topics": [], "entities": []}).to_string())
        }
        _ => sensible(prompt),
    };
    let disk = disk();
    let model = Arc::new(ScriptedModel::new(script));
    let config = Config { merge_episodes: true, ..Config::default() };
    let ids: Vec<String> = {
        let engine = with_config(&disk, &model, config.clone());
        let mut ids = Vec::new();
        let mut all = talk(18).into_iter();
        // The last lies too far away.
        for (count, later) in [(6, 0), (6, 0), (6, 90_000)] {
            let mut part: Vec<NewMessage> = all.by_ref().take(count).collect();
            part.iter_mut()
                .enumerate()
                .for_each(|(n, message)| message.timestamp = Some(moment(later + 60 * n as i64)));
            engine.add_messages("ann", part, None, &NOW).unwrap();
            ids.extend(
                engine.flush("ann", &NOW).unwrap().iter().map(|episode| episode.episode_id.clone()),
            );
            wait(&engine, "ann");
        }
        check_whole(&engine, "ann", 18);
        ids
    };
    assert_eq!(ids[0], ids[1], "the second is part of the first");
    assert_ne!(ids[0], ids[2]);
    let engine = with_config(&disk, &model, config);
    let merged =
        episodes(&engine, "ann").into_iter().find(|episode| episode.episode_id == ids[0]).unwrap();
    assert_eq!((merged.message_count, merged.revision), (12, 1));
    assert!(
        merged.content.contains("kite0 ") && merged.content.contains("kite11 "),
        "{}",
        merged.content
    );
    let other = merged.metadata["merged_from"][0].as_str().unwrap();
    let Some(AnyRecord::Episode(found)) = engine.get("ann", other, &NOW).unwrap() else {
        panic!("the other id leads to it")
    };
    assert_eq!(found.episode_id, merged.episode_id);
}

/// Never answers; gives up when it is told to.
#[derive(Default)]
struct Waiting {
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl LanguageModel for Waiting {
    fn model(&self) -> &str {
        "waiting"
    }

    fn complete(&self, _: &Prompt, control: &dyn Control) -> Result<Answer> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        loop {
            if let Err(error) = control.check() {
                self.inside.fetch_sub(1, Ordering::SeqCst);
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn health(&self) -> ServiceHealth {
        ServiceHealth::default()
    }
}

fn any_answer() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        "[\\[\\]{}\",:0-9a-z ]{0,200}",
        Just(String::new()),
        Just("{\"episodes\":[{\"messages\":[0,1,2,3]},{\"messages\":[3,99,-1]}".to_owned()),
        Just("{\"title\":\"x\",\"summary\":".to_owned()),
        Just("{\"statements\":[{\"content\":\"kite1 flew\",\"messages\":[0]},{\"cont".to_owned()),
        Just(
            "{\"decisions\":[{\"candidate\":0,\"action\":\"SUPERSEDE\",\"memory\":12345}]}"
                .to_owned()
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_at_all_leaves_every_message_in_one_episode(answers in prop::collection::vec(any_answer(), 1..20), count in 1usize..70) {
        let next = AtomicUsize::new(0);
        let model = Arc::new(ScriptedModel::new(move |_: &Prompt| Ok(answers[next.fetch_add(1, Ordering::SeqCst) % answers.len()].clone())));
        let engine = with(&disk(), &model);
        engine.add_messages("ann", talk(count), None, &NOW).unwrap();
        wait(&engine, "ann");
        engine.flush("ann", &NOW).unwrap();
        wait(&engine, "ann");
        check_whole(&engine, "ann", count);
    }
}

#[test]
fn a_disk_that_fails_after_the_answers_loses_nothing() {
    let disk = disk();
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with(&disk, &model);
    engine.add_messages("ann", talk(19), None, &NOW).unwrap();
    wait(&engine, "ann");
    let mut failures = 0;
    for operations in 0..60 {
        disk.fail_after(operations, Failure::FromThenOn, std::io::ErrorKind::StorageFull);
        let outcome = engine.flush("ann", &NOW);
        disk.heal();
        if outcome.is_ok() {
            break;
        }
        failures += 1;
    }
    assert!(failures > 0, "something failed");
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    assert_eq!(engine.retry_pending(Some("ann"), &NOW).unwrap(), 0);
    check_whole(&engine, "ann", 19);
    assert!(episodes(&engine, "ann").iter().all(|episode| episode.provenance.method == "scripted"));
}
