//! The subject of an episode: word weights, key phrases and names.
//!
//! Phrases are runs of content words between function words and punctuation (Rose et al. 2010,
//! RAKE). A phrase weighs more if more messages use it, if its form is a name or a noun phrase, and
//! if a possessive precedes it. Repetition within one message does not count, so that a pasted log
//! does not become the subject. Chinese has no spaces: `han.rs` finds its phrases.

use super::han;
use super::key_phrase::KeyPhrase;
use super::lexicon::{KeyMap, exact_key};
use super::source::{EpisodeSource, SourceTurn};
use super::units::{TurnUnit, TurnWord};

/// Maximum length of a phrase, in words.
const MAX_PHRASE_WORDS: usize = 4;
/// Maximum length of a phrase, in bytes; a longer run does not name a subject.
const MAX_PHRASE_BYTES: usize = 48;

/// Statistics of one word over the whole episode.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WordFacts {
    /// Number of messages that contain the word.
    pub turns: u32,
    last_turn: u32,
    speakers: u32,
    /// Number of capitalised and of lower-case occurrences inside sentences.
    capital: u32,
    plain: u32,
}

/// Statistics of an episode's words.
pub(super) struct WordSalience {
    facts: KeyMap<WordFacts>,
}

impl WordSalience {
    /// Counts the words.
    pub fn of(source: &EpisodeSource) -> Self {
        let mut facts: KeyMap<WordFacts> = KeyMap::default();
        for (number, turn) in source.turns.iter().enumerate() {
            let number = number as u32 + 1;
            for word in turn
                .units
                .iter()
                .flat_map(|unit| &unit.words)
                .filter(|word| !word.class.is_function() && !word.unspaced)
            {
                let known = facts.entry(word.key).or_default();
                if known.last_turn != number {
                    known.turns += 1;
                    known.last_turn = number;
                    known.speakers |= 1 << turn.speaker.min(31);
                }
                match (word.capital, word.first) {
                    (true, false) => known.capital += 1,
                    (false, _) => known.plain += 1,
                    (true, true) => {}
                }
            }
        }
        Self { facts }
    }

    /// True if the word is a name: capitalised where only names are.
    pub fn is_name(&self, word: &TurnWord) -> bool {
        word.capital
            && !word.unspaced
            && self
                .facts
                .get(&word.key)
                .is_some_and(|known| known.capital > 0 && known.capital >= known.plain)
    }

    /// True if a capitalised word at the start of a sentence may be a name: if it never occurs in
    /// lower case, and either stands alone or is a possessive ("Emil's painting"). `followed` is
    /// true if more words of the phrase follow.
    fn may_be_name(&self, turn: &SourceTurn, word: &TurnWord, followed: bool) -> bool {
        let text = turn.word_text(word);
        let plain = self.facts.get(&word.key).is_some_and(|known| known.plain > 0);
        !plain && (!followed || text.ends_with("'s") || text.ends_with("’s"))
    }

    /// The weight of a word in the episode; 0 for words without a topic.
    pub fn weight(&self, turn: &SourceTurn, word: &TurnWord) -> f32 {
        if !word.class.is_content() || word.unspaced {
            return 0.0;
        }
        let text = turn.word_text(word);
        let known = self.facts.get(&word.key).copied().unwrap_or_default();
        let length = match text.len() {
            0 | 1 => return 0.0,
            2 => 0.5,
            3 => 0.75,
            4 => 0.9,
            5..=24 => 1.0,
            _ => 0.4,
        };
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_punctuation()) {
            return 0.25;
        }
        let spread = 1.0 + (known.turns.max(1) as f32).ln() * 0.8;
        let shared = if known.speakers.count_ones() > 1 { 1.15 } else { 1.0 };
        let form =
            if self.is_name(word) { 1.3 } else { 1.0 } * if word.technical { 0.8 } else { 1.0 };
        let adverb = if text.ends_with("ly") && !word.capital { 0.5 } else { 1.0 };
        let general = if word.class.is_abstract() { 0.5 } else { 1.0 };
        general * spread * shared * length * form * adverb
    }
}

/// The key phrases of the episode, best first; none is part of another.
pub(super) fn phrases(source: &EpisodeSource, salience: &WordSalience) -> Vec<KeyPhrase> {
    let mut found: Vec<KeyPhrase> = Vec::new();
    let mut places: KeyMap<usize> = KeyMap::default();
    for (number, turn) in source.turns.iter().enumerate() {
        for unit in turn.units.iter().filter(|unit| !unit.is_code && !is_note(turn, unit)) {
            visit_unit(source, salience, (number, turn, unit), &mut |phrase| match places
                .get(&exact_key(&phrase.text))
            {
                Some(at) => {
                    let known: &mut KeyPhrase = &mut found[*at];
                    known.score =
                        known.score.max(phrase.score) + 0.35 * phrase.score.min(known.score);
                }
                None => {
                    places.insert(exact_key(&phrase.text), found.len());
                    found.push(phrase);
                }
            });
        }
    }
    found.extend(han::phrases(source));
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.place.cmp(&b.place)));
    let mut kept: Vec<KeyPhrase> = Vec::new();
    for phrase in found {
        let covered = |other: &KeyPhrase| {
            phrase.keys.iter().any(|key| other.keys.contains(key))
                || other.text.contains(&phrase.text)
                || phrase.text.contains(&other.text)
        };
        if !kept.iter().any(covered) {
            kept.push(phrase);
        }
        if kept.len() >= 12 {
            break;
        }
    }
    kept
}

/// Finds the phrases of one sentence.
fn visit_unit(
    source: &EpisodeSource,
    salience: &WordSalience,
    (number, turn, unit): (usize, &SourceTurn, &TurnUnit),
    visit: &mut impl FnMut(KeyPhrase),
) {
    let words = &unit.words;
    let mut at = 0;
    while at < words.len() {
        if !opens(&words[at]) || source.is_speaker_name(turn, &words[at]) {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while at < words.len()
            && at - start < MAX_PHRASE_WORDS
            && !words[at].breaks
            && continues(&words[at])
            && !source.is_speaker_name(turn, &words[at])
        {
            at += 1;
        }
        let before =
            start.checked_sub(1).map(|before| &words[before]).filter(|_| !words[start].breaks);
        if let Some(phrase) = phrase_of(salience, number, turn, unit, before, &words[start..at]) {
            visit(phrase);
        }
    }
}

fn opens(word: &TurnWord) -> bool {
    !word.unspaced && (word.class.is_content() || word.class.is_opener())
}

fn continues(word: &TurnWord) -> bool {
    !word.unspaced && word.class.is_content()
}

fn phrase_of(
    salience: &WordSalience,
    number: usize,
    turn: &SourceTurn,
    unit: &TurnUnit,
    before: Option<&TurnWord>,
    words: &[TurnWord],
) -> Option<KeyPhrase> {
    let determined = before.is_some_and(|word| word.class.is_determiner());
    let mut words = words;
    // Drops a verb whose object follows without an article: "booked Iceland".
    while words.len() > 1
        && !determined
        && is_verb_form(turn.word_text(&words[0]))
        && !words[0].capital_inside()
    {
        words = &words[1..];
    }
    // Drops adverbs at the end.
    while let Some((last, rest)) =
        words.split_last().filter(|(last, _)| turn.word_text(last).ends_with("ly") && !last.capital)
    {
        let _ = last;
        words = rest;
    }
    let content = words.iter().filter(|word| word.class.is_content()).count();
    if content == 0 || words.is_empty() {
        return None;
    }
    let (start, end) = (words[0].start, words[words.len() - 1].end);
    if end - start > MAX_PHRASE_BYTES {
        return None;
    }
    let mut weights: Vec<f32> = words.iter().map(|word| salience.weight(turn, word)).collect();
    weights.sort_by(|a, b| b.total_cmp(a));
    let best = weights.iter().take(2).sum::<f32>() / content.min(2) as f32;
    if best < 0.5 {
        return None;
    }
    let is_name = words.iter().any(|word| salience.is_name(word));
    let lone_verb =
        words.len() == 1 && !determined && !is_name && is_verb_form(turn.word_text(&words[0]));
    let form = match content {
        1 => 1.0,
        2 => 1.35,
        3 => 1.4,
        _ => 1.2,
    } * if determined { 1.2 } else { 1.0 }
        * if lone_verb { 0.4 } else { 1.0 }
        * if unit.asks { 0.75 } else { 1.0 };
    let is_repeated = words.iter().any(|word| {
        word.class.is_content()
            && salience.facts.get(&word.key).is_some_and(|known| known.turns > 1)
    });
    let form = if content == 1 && !is_name && !is_repeated { 0.75 * form } else { form };
    let is_owned = before.is_some_and(|word| turn.word_text(word).eq_ignore_ascii_case("my"));
    Some(KeyPhrase {
        text: written(salience, turn, words),
        keys: words.iter().filter(|word| word.class.is_content()).map(|word| word.key).collect(),
        score: best * form * if is_owned { 1.15 } else { 1.0 },
        place: (number, start),
    })
}

impl TurnWord {
    /// True if the word is capitalised inside a sentence.
    fn capital_inside(&self) -> bool {
        self.capital && !self.first
    }
}

fn is_verb_form(word: &str) -> bool {
    word.len() > 4 && (word.ends_with("ed") || word.ends_with("ing")) && word.is_ascii()
}

/// "Maya" of "Maya's".
fn without_possessive(word: &str) -> &str {
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// The phrase with the capitals of its names, without the capital of the sentence start.
fn written(salience: &WordSalience, turn: &SourceTurn, words: &[TurnWord]) -> String {
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let text = turn.word_text(word);
        let text = if at + 1 < words.len() { text } else { without_possessive(text) };
        let shouted = text.chars().filter(|c| c.is_alphabetic()).count() > 4
            && !text.chars().any(char::is_lowercase);
        let opens = at == 0 && opens_name(salience, words);
        if word.capital
            && !word.technical
            && !opens
            && (shouted
                || word.first
                    && !salience.is_name(word)
                    && !salience.may_be_name(turn, word, words.len() > 1)
                    && text.chars().skip(1).any(char::is_lowercase))
        {
            out.push_str(&text.to_lowercase())
        } else {
            out.push_str(text)
        }
    }
    out
}

/// True if a name begins here. A capitalised word that opens a sentence begins a name only if the
/// next word is a name.
fn opens_name(salience: &WordSalience, words: &[TurnWord]) -> bool {
    let word = &words[0];
    let follows = words.get(1).is_some_and(|next| {
        !next.breaks
            && salience.is_name(next)
            && !next.class.is_function()
            && next.class.is_content()
    });
    !word.class.is_function()
        && (salience.is_name(word) || word.capital && word.class.is_content() && follows)
}

/// The names in the episode: the speakers, then runs of capitalised words, identifiers and titles
/// in order of appearance.
pub(super) fn entities(
    source: &EpisodeSource,
    salience: &WordSalience,
    most: usize,
) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let add = |name: &str, found: &mut Vec<String>| {
        if found.len() < most
            && name.chars().count() > 1
            && !found.iter().any(|known| known.eq_ignore_ascii_case(name))
        {
            found.push(name.to_owned());
        }
    };
    for speaker in source.speakers.iter().filter(|speaker| !speaker.is_role) {
        add(&speaker.full, &mut found);
    }
    for turn in &source.turns {
        for unit in turn.units.iter().filter(|unit| !unit.is_code) {
            let mut at = 0;
            while at < unit.words.len() {
                let word = &unit.words[at];
                let identifier = word.technical
                    && turn.word_text(word).bytes().any(|byte| byte.is_ascii_alphabetic());
                if !identifier && !opens_name(salience, &unit.words[at..]) {
                    at += 1;
                    continue;
                }
                let start = at;
                at += 1;
                while !identifier
                    && at < unit.words.len()
                    && !unit.words[at].breaks
                    && unit.words[at].capital
                    && !unit.words[at].class.is_function()
                {
                    at += 1;
                }
                let text = &turn.text[word.start..unit.words[at - 1].end];
                let text = without_possessive(text);
                let own = unit.words[start..at]
                    .iter()
                    .all(|word| source.name_keys.contains_key(&word.key));
                let lone_everyday = at - start == 1 && !word.class.is_content();
                if !own && !lone_everyday && text.len() <= MAX_PHRASE_BYTES {
                    add(text, &mut found);
                }
            }
            han::titles(turn.unit_text(unit), |title| add(title, &mut found));
        }
    }
    found
}

/// Whether a sentence is a note in brackets about the message, such as the caption of an image.
pub(super) fn is_note(turn: &SourceTurn, unit: &TurnUnit) -> bool {
    turn.unit_text(unit).starts_with('[')
}
