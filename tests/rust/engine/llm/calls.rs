//! When the model is called, and which operations don't wait for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use episodica_core::Result;
use episodica_core::config::{BoundaryMode, MemoryConfig};
use episodica_core::control::CallControl;
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{
    ChatAnswer, ChatPrompt, LanguageModel, NoAnswer, PROMPT_VERSION, UsagePhase,
};
use episodica_core::model::ServiceHealth;
use episodica_core::score::SearchMethod;
use serde_json::json;

use crate::engine::support::{NO_VECTOR, NOW, found, moment, open_with, said};

use super::*;

/// Never answers; returns when its call is cancelled.
#[derive(Default)]
struct Waiting {
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl LanguageModel for Waiting {
    fn model_name(&self) -> &str {
        "waiting"
    }

    fn complete_prompt(
        &self,
        _: &ChatPrompt,
        control: &dyn CallControl,
    ) -> Result<ChatAnswer, Box<NoAnswer>> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        loop {
            if let Err(error) = control.check() {
                self.inside.fetch_sub(1, Ordering::SeqCst);
                return Err(error.into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn service_health(&self) -> ServiceHealth {
        ServiceHealth::default()
    }
}

#[test]
fn four_hundred_messages_cost_what_was_promised() {
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with(&disk(), &model);
    // Adds one message at a time, as an agent does: the prompts do not depend on how fast the
    // background work follows.
    for message in talk(400) {
        engine.add_messages("ann", vec![message], None, &NOW).unwrap();
    }
    wait(&engine, "ann");
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    check_whole(&engine, "ann", 400);
    let (calls, made) = (by_phase(&model), episodes(&engine, "ann").len());
    assert!((45..=60).contains(&made), "{made} episodes");
    assert_eq!(calls.keys().collect::<Vec<_>>(), [&"episode"], "one question a window: {calls:?}");
    assert!(calls["episode"] <= 22, "{calls:?}");
    assert!(episodes(&engine, "ann").iter().all(|one| one.title.starts_with("Model on")));
    let beginnings: BTreeSet<String> =
        model.prompts().into_iter().map(|prompt| prompt.system).collect();
    assert_eq!(beginnings.len(), 1, "servers can keep the instructions");
    assert_eq!(facts(&engine, "ann").len(), made, "each episode gives one fact");
    let usage = engine.usage().unwrap();
    assert_eq!(usage.total.calls, model.calls() as u64);
    assert_eq!(usage.by_phase["episode"].calls, calls["episode"] as u64);
    assert!(usage.by_user["ann"].prompt_tokens > 10_000, "{usage:?}");
}

#[test]
fn what_a_model_made_says_so() {
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine =
        with_config(&disk(), &model, MemoryConfig { trace: true, ..MemoryConfig::default() });
    engine.add_messages("ann", talk(20), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let episode = &episodes(&engine, "ann")[0];
    assert_eq!(
        (episode.provenance.method.as_str(), episode.provenance.prompt_version.as_str()),
        ("scripted", PROMPT_VERSION)
    );
    assert!(episode.provenance.tokens > 0 && !episode.provenance.pending_llm);
    assert_eq!(episode.timestamp, moment(0), "an episode is dated by its messages");
    let fact = &facts(&engine, "ann")[0];
    assert_eq!((fact.provenance.method.as_str(), fact.source_messages.len()), ("scripted", 1));
    let phases = |id: &str| -> Vec<String> {
        let steps = engine.trace("ann", id, &NOW).unwrap();
        steps.iter().map(|step| step.phase.clone()).collect()
    };
    assert_eq!(phases(&episode.episode_id), ["episode"]);
    assert_eq!(phases(&fact.memory_id), ["episode"]);
}

#[test]
fn an_outage_loses_nothing_and_is_made_good() {
    let model = Arc::new(ScriptedModel::new({
        let up = AtomicBool::new(false);
        move |prompt: &ChatPrompt| {
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
    // The model is available again, and the next work finds that out.
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
            open_with(&disk, false, MemoryConfig::default(), Some(Arc::clone(&silent) as _))
                .unwrap();
        engine.add_messages("ann", talk(40), Some("s"), &NOW).unwrap();
        while silent.inside.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(episodes(&engine, "ann").len(), 0, "the model has not answered yet");
        // Dropped without closing.
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
    let config = MemoryConfig { boundary_mode: BoundaryMode::Message, ..MemoryConfig::default() };
    let never = |prompt: &ChatPrompt| match prompt.phase {
        UsagePhase::Boundary => {
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
        MemoryConfig { llm_concurrency: 2, ..MemoryConfig::default() },
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
        found(&engine, "ann", "kite7", SearchMethod::Bm25)[0],
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
    assert_eq!(found(&engine, "ann", "late word", SearchMethod::Vector)[0], "a late word");
    assert!(
        !engine.wait(Some("ann"), Some(Duration::from_millis(1)), &NOW).unwrap(),
        "something is pending"
    );
    // A deletion of a user does not wait for the model either.
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
    let first = &found(&engine, "ann", "the kite of hill99", SearchMethod::Hybrid)[0];
    assert!(first.contains("hill99"), "{first}");
    assert_eq!(engine.user_stats("ann", &NOW).unwrap().pending_vectors, 1);
}
