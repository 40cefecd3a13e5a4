//! The results of the model's answers: facts, merged episodes, history.

use std::sync::Arc;

use episodica_core::clock::DisplayZone;
use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, ContextRequest, StatedFact};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{ChatPrompt, UsagePhase};
use episodica_core::model::{MemoryKind, NewMessage};
use episodica_core::score::{HitKind, OutputForm, RecordFilter, SearchMethod, SearchRequest};
use serde_json::{Value, json};

use crate::engine::support::{NOW, files_with, moment, said};

use super::*;

#[test]
fn a_quotation_that_a_model_replaced_leaves_no_word_behind() {
    let (disk, model) = (disk(), Arc::new(ScriptedModel::new(sensible)));
    model.set_available(false);
    let engine = with(&disk, &model);
    engine.add_messages("ann", talk(3), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let quoted = records(&engine, "ann", RecordKind::Semantic).len();
    model.set_available(true);
    engine.retry_pending(Some("ann"), &NOW).unwrap();
    wait(&engine, "ann");
    assert_eq!(records(&engine, "ann", RecordKind::Semantic).len(), 1, "of {quoted}");
    engine.delete("ann", "m1", &NOW).unwrap();
    for word in ["kite1", "hill1", "string1"] {
        assert_eq!(files_with(&disk, word), [] as [std::path::PathBuf; 0], "{word}");
    }
    assert_eq!(engine.verify(Some("ann"), &NOW).unwrap().errors, 0);
}

#[test]
fn what_was_recalled_is_not_learned_again() {
    let repeat = |prompt: &ChatPrompt| {
        let told = shown(prompt).into_iter().map(|(number, text)| {
            json!({
                "content": format!("It holds that {text}"), "kind": "event",
                "messages": [number], "confidence": 1, "importance": "high",
            })
        });
        let sensible = sensible(prompt)?;
        let Ok(Value::Object(mut answer)) = serde_json::from_str(&sensible) else {
            return Ok(sensible);
        };
        if answer.contains_key("facts") {
            answer.insert("facts".to_owned(), told.collect());
        }
        Ok(Value::Object(answer).to_string())
    };
    let model = Arc::new(ScriptedModel::new(repeat));
    let engine = with(&disk(), &model);
    engine.add_messages("ann", talk(6), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let known = facts(&engine, "ann").len();
    assert_eq!(known, 6);
    let search = SearchRequest {
        query: "kite3 hill3".into(),
        top_k: 10,
        kinds: vec![HitKind::Message, HitKind::Semantic],
        method: SearchMethod::Hybrid,
        filter: RecordFilter::default(),
        threshold: None,
        per_kind: std::collections::BTreeMap::new(),
        include_superseded: true,
        now: moment(0),
    };
    let context = engine
        .context(
            "ann",
            &ContextRequest {
                search,
                max_tokens: 500,
                form: OutputForm::Text,
                zone: DisplayZone::default(),
            },
            &NOW,
        )
        .unwrap();
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
    let script = |prompt: &ChatPrompt| {
        let text = &shown(prompt).first().map(|(_, text)| text.clone()).unwrap_or_default();
        match prompt.phase {
            UsagePhase::Episode => {
                let place = if text.contains("Lyon") { "Lyon" } else { "Nice" };
                let told = format!("user lives in {place}");
                let fact = json!({
                    "content": told, "kind": "personal_info", "subject": "user",
                    "attribute": "home", "value": place, "confidence": 1, "importance": "high",
                    "messages": [0], "ends": if place == "Nice" { vec![0] } else { vec![] },
                });
                let text = json!({
                    "title": told, "narrative": told, "facts": [fact],
                });
                Ok(text.to_string())
            }
            _ => sensible(prompt),
        }
    };
    let engine = with(&disk(), &Arc::new(ScriptedModel::new(script)));
    for (id, text, at) in [("a", "I live in Lyon now", 0), ("b", "I live in Nice now", 80_000)] {
        engine.add_messages("ann", vec![said(id, text, at, None)], None, &NOW).unwrap();
        engine.flush("ann", &NOW).unwrap();
        wait(&engine, "ann");
    }
    let all = facts(&engine, "ann");
    let old = all.iter().find(|fact| fact.content.contains("Lyon")).expect("kept");
    let new = all.iter().find(|fact| fact.content.contains("Nice")).expect("learned");
    assert_eq!(old.superseded_by.as_ref(), Some(&new.memory_id));
    assert!(new.ends.iter().any(|ending| ending.memory_id == old.memory_id));
    engine.update("ann", &old.memory_id, "user lives in Lyon", &NOW).unwrap();
    assert!(facts(&engine, "ann").iter().all(|fact| fact.is_open()), "undone");
}

#[test]
fn deleting_leaves_nothing_of_prompts_and_answers() {
    let disk = disk();
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine =
        with_config(&disk, &model, MemoryConfig { trace: true, ..MemoryConfig::default() });
    engine.add_messages("ann", talk(40), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    assert!(files_with(&disk, "kite7 ").len() >= 2, "log and trace contain it");
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
    let script = |prompt: &ChatPrompt| match prompt.phase {
        UsagePhase::Episode => {
            let narrative =
                shown(prompt).iter().map(|(_, text)| text.clone()).collect::<Vec<_>>().join("; ");
            Ok(json!({
                "title": "flew over", "narrative": narrative,
            })
            .to_string())
        }
        _ => sensible(prompt),
    };
    let disk = disk();
    let model = Arc::new(ScriptedModel::new(script));
    let config = MemoryConfig { merge_episodes: true, narratives: true, ..MemoryConfig::default() };
    let ids: Vec<String> = {
        let engine = with_config(&disk, &model, config.clone());
        let mut ids = Vec::new();
        let mut all = talk(18).into_iter();
        // The last part is too late to be merged.
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
    assert_eq!(ids[0], ids[1], "the second episode is part of the first");
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
        panic!("the other id must lead to the merged episode")
    };
    assert_eq!(found.episode_id, merged.episode_id);
}

#[test]
fn an_episode_with_three_changes_sees_the_three_facts_that_change() {
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with(&disk(), &model);
    let matters = ["home", "employer", "choir", "car", "dentist", "sister", "lunch", "phone"];
    for number in 0..48 {
        let matter = matters[number % matters.len()];
        let content = format!("ann's {matter} has the label tag{number}.");
        let kind = Some(MemoryKind::PersonalInfo);
        let fact = StatedFact { content, kind, ..StatedFact::default() };
        engine.remember("ann", fact, &NOW).unwrap();
    }
    let said = [
        "tag3 is over, we sold it on Monday",
        "and tag17 moved to Thursdays. by the way, tag30 has retired",
        "what a week",
    ];
    let said = said.iter().enumerate();
    let said = said.map(|(n, text)| crate::engine::support::said(&format!("n{n}"), text, 60, None));
    engine.add_messages("ann", said.collect(), None, &NOW).unwrap();
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    let prompts = model.prompts();
    let shown = prompts.iter().find(|prompt| prompt.phase == UsagePhase::Episode).unwrap();
    for tag in ["tag3.", "tag17.", "tag30."] {
        assert!(shown.user.contains(tag), "{tag} in {}", shown.user);
    }
    let lines = shown.user.lines().filter(|line| line.matches(" | ").count() == 4);
    assert_eq!(lines.count(), 16);
}
