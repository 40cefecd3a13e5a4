//! The Rust side of `tools/train_voice.py`: reads lines of JSON and answers each with the features
//! that the weights are trained on.

use half::f16;
use serde::{Deserialize, Serialize};

use super::model::{GLANCE, VoiceModel, numbers, reading};
use super::telling::told_by;
use super::{Reading, SaidBy};

/// What a line asks for.
#[derive(Deserialize)]
#[serde(untagged)]
enum Asked {
    /// What the networks read of a text.
    Read { read: String },
    /// The features of the pieces of a message.
    Message { message: String, speaker: String },
    /// The spans of a message.
    Spans { spans: String, speaker: String },
    /// What a sentence tells.
    Told { told: String },
}

/// A piece with its features; offsets are in bytes.
#[derive(Serialize)]
struct AnsweredPiece {
    start: usize,
    end: usize,
    joint: usize,
    known: Option<bool>,
    features: String,
}

/// Numbers as 16-bit ones in hexadecimal digits.
fn halves(numbers: &[f32]) -> String {
    let bytes = numbers.iter().flat_map(|number| f16::from_f32(*number).to_le_bytes());
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn answer(model: VoiceModel<'_>, line: &str) -> String {
    let json = |value: serde_json::Result<String>| value.expect("invariant: plain data");
    match serde_json::from_str(line).expect("a line of the recipe") {
        Asked::Read { read } => {
            let read = reading(&read).unwrap_or([0.0; GLANCE]);
            json(serde_json::to_string(&halves(&read)))
        }
        Asked::Message { message, speaker } => {
            let reading = Reading::new(model, &message, &speaker, SaidBy::User);
            let mut found = Vec::new();
            if !reading.pieces.is_empty() {
                let layout = reading.layout();
                for (at, piece) in reading.pieces.iter().enumerate() {
                    found.push(AnsweredPiece {
                        start: piece.range.start,
                        end: piece.range.end,
                        joint: layout.joint(at),
                        known: reading.known[at],
                        features: halves(&layout.features(at)),
                    });
                }
            }
            json(serde_json::to_string(&found))
        }
        Asked::Told { told } => {
            let found = told_by(model, &told).map(|part| (part.start, part.end));
            json(serde_json::to_string(&found))
        }
        Asked::Spans { spans, speaker } => {
            let found = Reading::new(model, &spans, &speaker, SaidBy::User).spans();
            let found: Vec<(usize, usize, &str)> = found
                .into_iter()
                .map(|span| (span.range.start, span.range.end, span.said_by.name()))
                .collect();
            json(serde_json::to_string(&found))
        }
    }
}

/// Answers each line of the file `EPISODICA_VOICE_ROWS` with the weights `EPISODICA_VOICE_WEIGHTS`
/// into `EPISODICA_VOICE_ANSWERS`.
#[test]
#[ignore = "called by tools/train_voice.py"]
fn answers() {
    let place = |name: &str| std::env::var(format!("EPISODICA_VOICE_{name}")).expect("a path");
    let file = numbers(&std::fs::read(place("WEIGHTS")).expect("a file"));
    let model = VoiceModel::of(&file).expect("weights");
    let rows = std::fs::read_to_string(place("ROWS")).expect("rows");
    let found: Vec<String> = rows.lines().map(|line| answer(model, line)).collect();
    std::fs::write(place("ANSWERS"), found.join("\n") + "\n").expect("answers");
}
