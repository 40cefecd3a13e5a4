//! The title: the most telling phrases, whose they are, or the most telling sentence where no phrase stands out.

use super::keywords::Phrase;
use super::lexicon::class_of;
use super::narrative::{capitalised, clip};
use super::person::possessive;
use super::salience::Scored;
use super::source::Source;
use super::summary::plain;
use crate::text::Language;

/// Most characters of a title.
const MAX_CHARS: usize = 80;
/// Most phrases.
const MAX_PHRASES: usize = 3;
/// A further phrase is at least this telling, compared with the first.
const LEAST_SHARE: f32 = 0.5;
/// With a first phrase less telling than this, a sentence says more.
const LEAST_SCORE: f32 = 0.9;

/// Writes the title.
pub(super) fn write(source: &Source, scored: &[Scored], phrases: &[Phrase]) -> String {
    let title = of_phrases(source, phrases).or_else(|| of_sentence(source, scored)).unwrap_or_else(|| of_names(source));
    capitalised(&title)
}

fn of_phrases(source: &Source, phrases: &[Phrase]) -> Option<String> {
    let best = phrases.first().filter(|phrase| phrase.score >= LEAST_SCORE)?;
    let mut parts: Vec<String> = Vec::new();
    for phrase in phrases.iter().filter(|phrase| phrase.score >= LEAST_SHARE * best.score) {
        let owner = phrase.owner.map(|owner| &source.speakers[owner]).filter(|speaker| !speaker.is_role);
        let text = match (owner, source.language) {
            (Some(owner), Language::Chinese) => format!("{}的{}", owner.short, phrase.text),
            (Some(owner), _) => format!("{} {}", possessive(&owner.short), phrase.text),
            (None, _) => phrase.text.clone(),
        };
        let length: usize = parts.iter().map(|part| part.chars().count() + 2).sum::<usize>() + text.chars().count() + 4;
        if length <= MAX_CHARS {
            parts.push(text);
        }
        if parts.len() == MAX_PHRASES {
            break;
        }
    }
    // One bare word is a tag, not a title.
    let telling = parts.len() > 1 || parts.first().is_some_and(|part| part.contains(' ') || part.chars().count() > 3 && !part.is_ascii());
    telling.then(|| joined(parts, source.language))
}

fn joined(parts: Vec<String>, language: Language) -> String {
    let (comma, and) = match language {
        Language::Chinese => ("、", "和"),
        Language::English => (", ", " and "),
        Language::Other => (", ", ", "),
    };
    match parts.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{}{and}{last}", first.join(comma)),
        _ => parts.concat(),
    }
}

/// The most telling sentence, clipped.
fn of_sentence(source: &Source, scored: &[Scored]) -> Option<String> {
    let best = scored.iter().map(|scored| (scored, scored.score())).filter(|(_, score)| *score > 0.0).fold(
        None,
        |best: Option<(&Scored, f32)>, next| {
            if best.is_some_and(|best| best.1 >= next.1) { best } else { Some(next) }
        },
    );
    let scored = best.map(|(scored, _)| scored).or_else(|| scored.first())?;
    let turn = &source.turns[scored.turn];
    let text = plain(turn.unit_text(&turn.units[scored.unit])).split_whitespace().collect::<Vec<_>>().join(" ");
    let name = &source.speaker(turn).short;
    let room = MAX_CHARS.saturating_sub(name.chars().count() + 3);
    let text = clip_chars(&text, room);
    (!text.is_empty()).then(|| format!("{name}: {text}"))
}

fn of_names(source: &Source) -> String {
    let names: Vec<&str> = source.speakers.iter().map(|speaker| &*speaker.short).take(3).collect();
    clip_chars(&names.join(if source.language == Language::Chinese { "、" } else { ", " }), MAX_CHARS)
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
