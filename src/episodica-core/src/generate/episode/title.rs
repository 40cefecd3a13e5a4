//! The title: the most telling phrases, whose they are, or the most telling sentence where no
//! phrase stands out.

use super::keywords::Phrase;
use super::lexicon::class_of;
use super::narrative::{capitalised, clip};
use super::person::{self, possessive};
use super::salience::Scored;
use super::source::Source;
use super::summary::plain;
use crate::clock::Moment;
use crate::text::Language;
use crate::text::time::resolve_text;

/// Most characters of a title.
const MAX_CHARS: usize = 80;
/// Most phrases.
const MAX_PHRASES: usize = 3;
/// A sentence that fits is taken if it is at least this telling, compared with the best.
const LEAST_SENTENCE_SHARE: f32 = 0.6;
/// Fewest words with a subject in a sentence that is a title.
const MIN_HEADLINE_FEATURES: usize = 2;
/// Fewest characters of a Chinese clause that stands for a sentence.
const MIN_CLAUSE_CHARS: usize = 8;
/// A further phrase is at least this telling, compared with the first.
const LEAST_SHARE: f32 = 0.5;
/// Writes the title.
pub(super) fn write(
    source: &Source,
    scored: &[Scored],
    phrases: &[Phrase],
    moments: &[Moment],
) -> String {
    let title = of_phrases(source, phrases)
        .or_else(|| of_sentence(source, scored, moments))
        .unwrap_or_else(|| of_names(source));
    capitalised(&title)
}

fn of_phrases(source: &Source, phrases: &[Phrase]) -> Option<String> {
    // Without lists of its function words, a language's phrases are guesses.
    if !matches!(source.language, Language::English | Language::Chinese) {
        return None;
    }
    let best = phrases.iter().find(|phrase| phrase.is_telling)?;
    let (mut parts, mut owners, mut strong, mut length) = (Vec::new(), Vec::new(), 0, 0);
    for phrase in phrases
        .iter()
        .filter(|phrase| phrase.is_telling && phrase.score >= LEAST_SHARE * best.score)
    {
        let owner = phrase
            .owner
            .filter(|owner| !source.speakers[*owner].is_role && !owners.contains(owner));
        let name = owner.map(|owner| &*source.speakers[owner].short);
        let text = match (name, source.language) {
            (Some(name), Language::Chinese) => format!("{name}的{}", phrase.text),
            (Some(name), _) => format!("{} {}", possessive(name), phrase.text),
            (None, _) => phrase.text.clone(),
        };
        let chars = text.chars().count() + 4;
        if length + chars > MAX_CHARS {
            continue;
        }
        length += chars;
        strong += usize::from(phrase.is_strong);
        owners.extend(owner);
        parts.push(text);
        if parts.len() == MAX_PHRASES {
            break;
        }
    }
    // Words that could stand over many talks say less than one sentence of this one.
    (strong >= 2 && parts.len() > 1).then(|| joined(parts, source.language))
}

fn joined(parts: Vec<String>, language: Language) -> String {
    let (comma, and) = match language {
        Language::Chinese => ("、", "和"),
        Language::English => (", ", " and "),
        _ => (", ", ", "),
    };
    match parts.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{}{and}{last}", first.join(comma)),
        _ => parts.concat(),
    }
}

/// The most telling sentence, whole if there is one that fits.
fn of_sentence(source: &Source, scored: &[Scored], moments: &[Moment]) -> Option<String> {
    let mut order: Vec<&Scored> =
        scored.iter().filter(|scored| scored.score() > 0.0 && !is_note(source, scored)).collect();
    order.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let best = order.first().copied();
    let least = best.map_or(0.0, |best| LEAST_SENTENCE_SHARE * best.score());
    let whole = order
        .iter()
        .take_while(|scored| scored.score() >= least)
        .find_map(|scored| headline(source, scored, moments, true));
    whole.or_else(|| {
        headline(
            source,
            best.or_else(|| {
                scored.iter().find(|scored| !source.turns[scored.turn].text.is_empty())
            })?,
            moments,
            false,
        )
    })
}

/// A note in brackets about the message.
fn is_note(source: &Source, scored: &Scored) -> bool {
    let turn = &source.turns[scored.turn];
    turn.unit_text(&turn.units[scored.unit]).starts_with('[')
}

/// A sentence as a title; with `whole`, only one that is told in the third person and needn't be
/// clipped.
fn headline(source: &Source, scored: &Scored, moments: &[Moment], whole: bool) -> Option<String> {
    let turn = &source.turns[scored.turn];
    let unit = &turn.units[scored.unit];
    if whole && (scored.features.len() < MIN_HEADLINE_FEATURES) {
        return None;
    }
    let resolved = resolve_text(turn.unit_text(unit), moments[scored.turn], turn.language);
    let text =
        plain(source.without_address(&resolved)).split_whitespace().collect::<Vec<_>>().join(" ");
    let name = &source.speaker(turn).short;
    let told = match turn.language {
        _ if unit.asks || unit.is_code => None,
        Language::English => person::english(&text, name),
        Language::Chinese => person::chinese(clause(&text), name),
        _ => None,
    };
    if whole {
        return told
            .filter(|told| told.chars().count() <= MAX_CHARS)
            .map(|told| clip_chars(&told, MAX_CHARS));
    }
    if let Some(told) = told {
        return Some(clip_chars(&told, MAX_CHARS));
    }
    let text = if turn.language == Language::Chinese { clause(&text) } else { &text };
    let room = MAX_CHARS.saturating_sub(name.chars().count() + 3);
    let colon = if turn.language == Language::Chinese { "：" } else { ": " };
    (!text.is_empty()).then(|| format!("{name}{colon}{}", clip_chars(text, room)))
}

/// The first clauses of a Chinese sentence that together say something.
fn clause(text: &str) -> &str {
    for (chars, (at, c)) in text.char_indices().enumerate() {
        if matches!(c, '，' | ',' | '；' | '。') && chars >= MIN_CLAUSE_CHARS {
            return &text[..at];
        }
    }
    text
}

fn of_names(source: &Source) -> String {
    let names: Vec<&str> = source.speakers.iter().map(|speaker| &*speaker.short).take(3).collect();
    clip_chars(
        &names.join(if source.language == Language::Chinese { "、" } else { ", " }),
        MAX_CHARS,
    )
}

/// At most `chars` characters, not ending in the middle of a word or in a word that leads on.
fn clip_chars(text: &str, chars: usize) -> String {
    let text = text.trim_end_matches(['.', '。', '!', '！', ' ', ',', '，', ';', ':']);
    let Some((end, _)) = text.char_indices().nth(chars) else { return text.to_owned() };
    let mut cut = clip(text, end).trim_end_matches('…').to_owned();
    while let Some((rest, last)) = cut.rsplit_once(' ') {
        if !class_of(last).is_function() {
            break;
        }
        cut = rest.to_owned();
    }
    let room = chars.saturating_sub(1);
    match cut.char_indices().nth(room) {
        Some((end, _)) => format!("{}…", &cut[..end]),
        None => format!("{cut}…"),
    }
}
