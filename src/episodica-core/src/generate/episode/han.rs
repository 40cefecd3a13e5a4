//! Key phrases of Chinese (and of Japanese, for kanji and katakana). Uses no dictionary, only
//! characters that topics rarely contain.
//!
//! Characters of function words split a run of Han characters. The candidates are the pieces
//! between them, and parts of longer pieces that several messages repeat.

use std::collections::HashMap;

use super::key_phrase::KeyPhrase;
use super::lexicon::{exact_key, is_stop_char, is_stop_word_han};
use super::source::EpisodeSource;
use crate::text::script::{is_han, is_katakana};

/// Maximum length of a phrase, in characters.
const MAX_CHARS: usize = 6;

#[derive(Default)]
struct HanPhrase {
    turns: u32,
    last_turn: usize,
    place: (usize, usize),
    is_owned: bool,
    /// True if the phrase is, at least once, the whole text between two function characters.
    whole: bool,
}

/// The phrases, scored like those of languages with spaces between words.
pub(super) fn phrases(source: &EpisodeSource) -> Vec<KeyPhrase> {
    let mut candidates: HashMap<&str, HanPhrase> = HashMap::new();
    for (number, turn) in source.turns.iter().enumerate() {
        for unit in turn.units.iter().filter(|unit| !unit.is_code) {
            for word in unit.words.iter().filter(|word| word.unspaced) {
                let run = turn.word_text(word);
                pieces(run, |start, piece| {
                    let mine = run[..start].ends_with("我的")
                        || run[..start].ends_with("我家")
                        || run[..start].ends_with("我家的");
                    let place = (number, word.start + start);
                    offer(&mut candidates, piece, place, mine, true);
                    let starts: Vec<usize> =
                        piece.char_indices().map(|(at, _)| at).chain([piece.len()]).collect();
                    for length in 2..=MAX_CHARS.min(starts.len().saturating_sub(2)) {
                        for pair in starts.windows(length + 1) {
                            let part = &piece[pair[0]..pair[length]];
                            let place = (number, word.start + start + pair[0]);
                            offer(&mut candidates, part, place, false, false);
                        }
                    }
                });
            }
        }
    }
    let names: Vec<&str> = source.speakers.iter().map(|speaker| &*speaker.short).collect();
    let mut found: Vec<KeyPhrase> = Vec::new();
    for (text, candidate) in candidates {
        let chars = text.chars().count();
        // A part of a piece counts only if another message repeats it.
        if !(2..=MAX_CHARS).contains(&chars)
            || !candidate.whole && candidate.turns < 2
            || is_stop_word_han(text)
            || names.iter().any(|name| name.contains(text))
        {
            continue;
        }
        let length = [0.0, 0.0, 0.95, 1.1, 1.2, 0.9, 0.8][chars];
        let spread = 1.0 + (candidate.turns as f32).ln() * 1.2;
        let owned = if candidate.is_owned { 1.15 } else { 1.0 };
        let keys = vec![exact_key(text)];
        let score = length * spread * owned * 1.2;
        found.push(KeyPhrase { text: text.to_owned(), keys, score, place: candidate.place });
    }
    // Sets an order, which the map lacks. The caller sorts by score and place; this sort also
    // breaks ties by text.
    found.sort_by(|a, b| {
        a.place
            .cmp(&b.place)
            .then(b.text.len().cmp(&a.text.len()))
            .then_with(|| a.text.cmp(&b.text))
    });
    found
}

fn offer<'a>(
    candidates: &mut HashMap<&'a str, HanPhrase>,
    text: &'a str,
    place: (usize, usize),
    is_owned: bool,
    whole: bool,
) {
    let known = candidates.entry(text).or_insert_with(|| HanPhrase {
        place,
        last_turn: usize::MAX,
        ..HanPhrase::default()
    });
    if known.last_turn != place.0 {
        known.turns += 1;
        known.last_turn = place.0;
    }
    known.is_owned |= is_owned;
    known.whole |= whole;
}

/// The pieces of a run between characters that topics rarely contain, with their offsets.
fn pieces<'a>(run: &'a str, mut visit: impl FnMut(usize, &'a str)) {
    let mut start = 0;
    for (at, c) in run.char_indices().chain([(run.len(), '的')]) {
        if is_stop_char(c) || !(is_han(c) || is_katakana(c)) {
            if start < at && !is_stop_word_han(&run[start..at]) {
                visit(start, &run[start..at]);
            }
            start = at + if at < run.len() { c.len_utf8() } else { 0 };
        }
    }
}

/// Titles of works in 《》.
pub(super) fn titles(text: &str, mut visit: impl FnMut(&str)) {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('《') {
        let Some((title, tail)) = after.split_once('》') else { return };
        if title.len() <= 60 {
            visit(title);
        }
        rest = tail;
    }
}
