//! Measures the effect of every feature and gate: the tables of `docs/facts.md`.
//!
//! ```text
//! EPISODICA_LOCOMO=locomo.json \
//!     cargo test --release --workspace --lib -- --ignored --nocapture every_feature
//! ```
//!
//! Reads a file in LoCoMo's format and `NAME_observations.json` next to it, which holds the human
//! annotators' notes.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::extract::{ExtractionRules, VOLUME, extract};
use super::rank::{RankWeights, WEIGHTS};
use crate::config::MemoryConfig;
use crate::generate::episode::sentences_told;
use crate::model::Message;
use crate::model::testing::said;

/// Number of messages in a segment.
const SEGMENT: usize = 10;

/// A conversation: its messages and the ids of the messages that annotators noted.
struct NotedConversation {
    messages: Vec<Arc<Message>>,
    noted: HashSet<String>,
}

fn json(path: &Path) -> Value {
    let text = fs_err::read_to_string(path).expect("readable");
    serde_json::from_str(&text).expect("JSON")
}

fn conversations(path: &Path) -> Vec<NotedConversation> {
    let name = path.file_stem().and_then(|name| name.to_str()).expect("a file name");
    let observations = json(&path.with_file_name(format!("{name}_observations.json")));
    let samples = json(path);
    samples.as_array().expect("a list").iter().map(|sample| read(sample, &observations)).collect()
}

fn read(sample: &Value, observations: &Value) -> NotedConversation {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let mut messages = Vec::new();
    for session in 1.. {
        let talk = &sample["conversation"][format!("session_{session}")];
        let Some(turns) = talk.as_array() else { break };
        for turn in turns {
            let caption = text(turn, "blip_caption");
            let shown = if caption.is_empty() { caption } else { format!(" [Image: {caption}]") };
            let content = text(turn, "text") + &shown;
            let day = format!("2023-05-{:02}T12:00:00Z", 1 + session % 28);
            let mut message =
                (*said(0, "user", Some(&text(turn, "speaker")), &day, &content)).clone();
            message.message_id = text(turn, "dia_id");
            messages.push(Arc::new(message));
        }
    }
    let noted = &observations[text(sample, "sample_id")];
    let ids = noted.as_array().into_iter().flatten().filter_map(|row| row.as_array()?.last());
    let noted = ids.filter_map(|id| Some(id.as_str()?.to_owned())).collect();
    NotedConversation { messages, noted }
}

/// Facts per hundred messages, share of noted messages that a fact cites, share of cited messages
/// that annotators noted.
fn measure(
    talks: &[NotedConversation],
    config: &MemoryConfig,
    rules: &ExtractionRules,
) -> (f64, f64, f64) {
    let (mut facts, mut messages, mut noted, mut cited, mut both) = (0, 0, 0, 0, 0);
    for talk in talks {
        let mut ids: HashSet<String> = HashSet::new();
        for segment in talk.messages.chunks(SEGMENT) {
            let told = sentences_told(segment);
            for candidate in extract(&told, segment, config, rules).candidates {
                facts += 1;
                ids.extend(candidate.source_messages);
            }
        }
        messages += talk.messages.len();
        noted += talk.noted.len();
        both += ids.intersection(&talk.noted).count();
        cited += ids.len();
    }
    let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
    (100.0 * share(facts, messages), share(both, noted), share(both, cited))
}

/// A feature's name and its weight.
type Feature = (&'static str, fn(&mut RankWeights) -> &mut f32);

#[test]
#[allow(clippy::print_stdout, reason = "it prints the table of docs/facts.md")]
#[ignore = "reads the conversations that EPISODICA_LOCOMO names"]
fn every_feature_and_gate_left_out() {
    let path = std::env::var_os("EPISODICA_LOCOMO").map(PathBuf::from).expect("EPISODICA_LOCOMO");
    let talks = conversations(&path);
    let config = MemoryConfig::default();
    let row = |name: &str, weight: &str, config: &MemoryConfig, rules: &ExtractionRules| {
        let (facts, recall, precision) = measure(&talks, config, rules);
        println!("| {name} | {weight}{facts:.1} | {recall:.3} | {precision:.3} |");
    };
    let plain = ExtractionRules { weights: WEIGHTS, volume: VOLUME };
    row("nothing", "| ", &config, &plain);
    let features: [Feature; 15] = [
        ("content words, by logarithm", |weights| &mut weights.content),
        ("first person, or the speaker's name first", |weights| &mut weights.first_person),
        ("past tense", |weights| &mut weights.past),
        ("what lasts in the speaker's life", |weights| &mut weights.lasting),
        ("answers a question", |weights| &mut weights.answer),
        ("a name", |weights| &mut weights.name),
        ("a date", |weights| &mut weights.date),
        ("a number", |weights| &mut weights.digit),
        ("second person", |weights| &mut weights.second_person),
        ("opens small talk", |weights| &mut weights.chatty),
        ("opens with \"it\", \"that\", \"they\"", |weights| &mut weights.dangling),
        ("opens a request", |weights| &mut weights.request),
        ("exclamation", |weights| &mut weights.exclamation),
        ("fewer than four words", |weights| &mut weights.short),
        ("same message again", |weights| &mut weights.same_message),
    ];
    for (name, weight) in features {
        let mut rules = ExtractionRules { weights: WEIGHTS, volume: VOLUME };
        let shown = format!("{:.1} | ", std::mem::take(weight(&mut rules.weights)));
        row(name, &shown, &config, &rules);
    }
    for importance in [0.0, 0.3, 0.4, 0.5, 0.6, 0.7] {
        let config = MemoryConfig { min_importance: importance, ..MemoryConfig::default() };
        row(&format!("`min_importance` {importance}"), "", &config, &plain);
    }
    let volumes = BTreeMap::from([(100_000, "no limit of volume"), (25, "25 for a hundred")]);
    for (volume, name) in volumes.into_iter().rev() {
        row(name, "", &config, &ExtractionRules { weights: WEIGHTS, volume });
    }
}

#[test]
fn a_feature_decides_what_is_kept() {
    let talk = NotedConversation {
        messages: vec![
            said(0, "user", Some("Ada"), "2024-03-11T09:30:00Z", "I moved to Delft last week."),
            said(1, "user", Some("Ben"), "2024-03-11T09:31:00Z", "Hi there!"),
        ],
        noted: HashSet::from(["m0".to_owned()]),
    };
    let kept = |weights| {
        measure(
            std::slice::from_ref(&talk),
            &MemoryConfig::default(),
            &ExtractionRules { weights, volume: VOLUME },
        )
    };
    assert_eq!(kept(WEIGHTS), (50.0, 1.0, 1.0));
    assert_eq!(kept(RankWeights { past: -9.0, ..WEIGHTS }), (50.0, 1.0, 1.0), "it fills a slot");
    assert_eq!(kept(RankWeights { chatty: 9.0, ..WEIGHTS }).2, 0.5);
}
