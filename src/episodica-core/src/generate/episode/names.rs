//! The names in an episode: its speakers, runs of capitalised words, identifiers, titles of works.

use super::lexicon::KeyMap;
use super::source::{EpisodeSource, SourceTurn};
use super::units::{TurnUnit, TurnWord};

/// Maximum length of a name, in bytes.
const MAX_BYTES: usize = 48;
/// Maximum length of the title of a work, in bytes.
const MAX_WORK_BYTES: usize = 60;

/// How often each word occurs with and without a capital inside sentences.
struct CapitalCounts(KeyMap<(u32, u32)>);

impl CapitalCounts {
    fn from_source(source: &EpisodeSource) -> Self {
        let mut counts: KeyMap<(u32, u32)> = KeyMap::default();
        let words = source.turns.iter().flat_map(|turn| &turn.units).flat_map(|unit| &unit.words);
        for word in words.filter(|word| !word.class.is_function() && !word.unspaced) {
            let (capital, plain) = counts.entry(word.key).or_default();
            *capital += u32::from(word.capital && !word.first);
            *plain += u32::from(!word.capital);
        }
        Self(counts)
    }

    /// True if the word is a name: capitalised where only names are.
    fn is_name(&self, word: &TurnWord) -> bool {
        let known = self.0.get(&word.key).copied().unwrap_or_default();
        word.capital && !word.unspaced && known.0 > 0 && known.0 >= known.1
    }

    /// True if a name begins here. A capitalised word that opens a sentence begins a name only if
    /// the next word is a name.
    fn opens_name(&self, words: &[TurnWord]) -> bool {
        let word = &words[0];
        let follows = words
            .get(1)
            .is_some_and(|next| !next.breaks && self.is_name(next) && next.class.is_content());
        !word.class.is_function()
            && (self.is_name(word) || word.capital && word.class.is_content() && follows)
    }
}

/// The names, in order of appearance, at most `most`.
pub(super) fn find_entities(source: &EpisodeSource, most: usize) -> Vec<String> {
    let counts = CapitalCounts::from_source(source);
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let is_new = !found.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is_new && found.len() < most && name.chars().count() > 1 {
            found.push(name.to_owned());
        }
    };
    for speaker in source.speakers.iter().filter(|speaker| !speaker.is_role) {
        add(&speaker.full);
    }
    for turn in &source.turns {
        for unit in turn.units.iter().filter(|unit| !unit.is_code) {
            visit_names(source, &counts, turn, unit, &mut add);
            visit_works(turn.unit_text(unit), &mut add);
        }
    }
    found
}

fn visit_names(
    source: &EpisodeSource,
    counts: &CapitalCounts,
    turn: &SourceTurn,
    unit: &TurnUnit,
    visit: &mut dyn FnMut(&str),
) {
    let mut at = 0;
    while at < unit.words.len() {
        let word = &unit.words[at];
        let is_identifier =
            word.technical && turn.word_text(word).bytes().any(|byte| byte.is_ascii_alphabetic());
        if !is_identifier && !counts.opens_name(&unit.words[at..]) {
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
        while !is_identifier
            && at < unit.words.len()
            && !unit.words[at].breaks
            && unit.words[at].capital
            && !unit.words[at].class.is_function()
        {
            at += 1;
        }
        let words = &unit.words[start..at];
        let text = without_possessive(&turn.text[word.start..words[words.len() - 1].end]);
        let is_speaker = words.iter().all(|word| source.name_keys.contains_key(&word.key));
        let is_everyday = words.len() == 1 && !word.class.is_content();
        if !is_speaker && !is_everyday && text.len() <= MAX_BYTES {
            visit(text);
        }
    }
}

/// "Maya" of "Maya's".
fn without_possessive(word: &str) -> &str {
    word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word)
}

/// Titles of works in 《》.
fn visit_works(text: &str, visit: &mut dyn FnMut(&str)) {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('《') {
        let Some((title, tail)) = after.split_once('》') else { return };
        if title.len() <= MAX_WORK_BYTES {
            visit(title);
        }
        rest = tail;
    }
}

/// Whether a sentence is a note in brackets about the message, such as the caption of an image.
pub(super) fn is_note(turn: &SourceTurn, unit: &TurnUnit) -> bool {
    turn.unit_text(unit).starts_with('[')
}
