//! Scores how informative each sentence is and lists its features. Summaries and long narratives
//! use both to select sentences.

use super::keywords::{WordSalience, is_note};
use super::lexicon::{exact_key, is_stop_char};
use super::source::{EpisodeSource, SourceTurn};
use super::units::TurnUnit;

/// Maximum number of words of a sentence that contribute features.
const MAX_FEATURES: usize = 40;

/// One sentence as a candidate.
pub(super) struct ScoredSentence {
    /// Index into the turns.
    pub turn: usize,
    /// Index into the units of the turn.
    pub unit: usize,
    /// Weighted features of the sentence, sorted by key, without duplicates.
    pub features: Vec<(u64, f32)>,
    /// Factor for the sentence's form: assertions score above questions, complete sentences above
    /// remarks.
    pub form: f32,
    /// Length in words; each CJK character counts as half a word.
    pub length: f32,
}

impl ScoredSentence {
    /// The sentence and its turn.
    pub fn place<'a>(&self, source: &'a EpisodeSource) -> (&'a SourceTurn, &'a TurnUnit) {
        let turn = &source.turns[self.turn];
        (turn, &turn.units[self.unit])
    }

    /// How informative the sentence is by itself.
    pub fn score(&self) -> f32 {
        self.gain(&[])
    }

    /// How much the sentence adds to the features `told` (sorted keys), relative to its length.
    pub fn gain(&self, told: &[u64]) -> f32 {
        let news: f32 = self
            .features
            .iter()
            .map(
                |(key, weight)| {
                    if told.binary_search(key).is_ok() { 0.15 * weight } else { *weight }
                },
            )
            .sum();
        news * self.form / (self.length + 6.0).sqrt()
    }
}

/// All sentences of the episode, in order; code and notes have no features.
pub(super) fn scored(source: &EpisodeSource, salience: &WordSalience) -> Vec<ScoredSentence> {
    let mut all = Vec::new();
    for (turn_at, turn) in source.turns.iter().enumerate() {
        for (unit_at, unit) in turn.units.iter().enumerate() {
            let features = if unit.is_code || is_note(turn, unit) {
                Vec::new()
            } else {
                features(source, turn, unit, salience)
            };
            let length = unit
                .words
                .iter()
                .map(|word| if word.unspaced { (word.end - word.start) as f32 / 6.0 } else { 1.0 })
                .sum();
            all.push(ScoredSentence {
                turn: turn_at,
                unit: unit_at,
                features,
                form: form(turn, unit),
                length,
            });
        }
    }
    all
}

fn features(
    source: &EpisodeSource,
    turn: &SourceTurn,
    unit: &TurnUnit,
    salience: &WordSalience,
) -> Vec<(u64, f32)> {
    let mut found: Vec<(u64, f32)> = Vec::with_capacity(unit.words.len().min(MAX_FEATURES));
    for word in &unit.words {
        if found.len() >= MAX_FEATURES {
            break;
        }
        let text = turn.word_text(word);
        if word.unspaced {
            let mut before: Option<(usize, char)> = None;
            for (at, c) in text.char_indices() {
                if let Some((start, previous)) = before
                    && !is_stop_char(previous)
                    && !is_stop_char(c)
                {
                    found.push((exact_key(&text[start..at + c.len_utf8()]), 0.6));
                }
                before = Some((at, c));
            }
        } else if !source.is_speaker_name(turn, word) {
            let weight = if word.technical && text.bytes().any(|byte| byte.is_ascii_digit()) {
                0.8
            } else {
                salience.weight(turn, word)
            };
            if weight > 0.0 {
                found.push((word.key, weight));
            }
        }
    }
    found.sort_by_key(|(key, _)| *key);
    found.dedup_by_key(|(key, _)| *key);
    found
}

fn form(turn: &SourceTurn, unit: &TurnUnit) -> f32 {
    let Some(first) = unit.words.first() else { return 0.2 };
    let mut form = 1.0;
    if unit.asks {
        form *= 0.4;
    }
    let opening = turn.word_text(first);
    if first.class.dangles() {
        form *= 0.75;
    }
    let tells = |word: &str| {
        matches!(word, "I" | "I'm" | "I've" | "I’m" | "I’ve" | "My" | "my" | "We" | "we")
    };
    if unit.words.iter().take(4).any(|word| tells(turn.word_text(word)))
        || first.unspaced && opening.starts_with('我')
    {
        form *= 1.25;
    }
    let listener = |word: &str| {
        word.eq_ignore_ascii_case("you")
            || word.eq_ignore_ascii_case("your")
            || word.eq_ignore_ascii_case("you're")
    };
    if unit.words.iter().take(6).any(|word| listener(turn.word_text(word))) {
        form *= 0.75;
    }
    if unit.words.len() < 4 && !first.unspaced {
        form *= 0.6;
    }
    form
}
