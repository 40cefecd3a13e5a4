//! The title: the most telling sentences told in the third person, else the most telling phrases
//! and who talked of them. Nothing is cut in the middle, and nothing is quoted.

use super::keywords::Phrase;
use super::narrative::capitalised;
use super::person::{self, possessive};
use super::salience::{Scored, is_note};
use super::source::Source;
use super::summary::{plain, without_notes};
use crate::clock::Moment;
use crate::text::Language;
use crate::text::time::{Naming, mentions};

/// Most characters of a title.
const MAX_CHARS: usize = 80;
/// A talk of so few sentences has no topics: its own words say more.
const FEW_SENTENCES: usize = 2;
/// Most phrases.
const MAX_PHRASES: usize = 3;
/// A sentence that fits is taken if it is at least this telling, compared with the best.
const LEAST_SENTENCE_SHARE: f32 = 0.6;
/// Fewest words with a subject in a sentence that is a title.
const MIN_HEADLINE_FEATURES: usize = 2;
/// Fewest characters of a Chinese clause that stands for a sentence.
const MIN_CLAUSE_CHARS: usize = 8;
/// Where a sentence can end early.
const BREAKS: [&str; 10] =
    [", ", "; ", " – ", " — ", " but ", " because ", " so ", "，", "；", "。"];
/// Words that would stand for one known person, if the sentence has them not of its own.
const PLURAL: [&str; 4] = [" their", " them", " they", "Their"];
/// A further phrase is at least this telling, compared with the first.
const LEAST_SHARE: f32 = 0.5;
/// Factor for a sentence that says when something happened: an event names a talk best.
const EVENT: f32 = 1.2;
/// Factor for a sentence about the listener's words instead of the speaker's own life.
const REACTION: f32 = 0.5;
/// How such reactions begin.
const REACTIONS: [&str; 14] = [
    "i can imagine",
    "i can picture",
    "i can see",
    "i bet",
    "i guess",
    "i hope",
    "i agree",
    "i totally",
    "i love how",
    "i understand",
    "i know",
    "i get it",
    "i appreciate",
    "i couldn't agree",
];
/// Words that lead over to a sentence and say nothing of it; a comma follows them.
const OPENERS: [&str; 30] = [
    "on another note",
    "on a side note",
    "by the way",
    "speaking of which",
    "unfortunately",
    "fortunately",
    "luckily",
    "sadly",
    "honestly",
    "actually",
    "anyway",
    "besides",
    "plus",
    "also",
    "well",
    "so",
    "oh",
    "wow",
    "yeah",
    "yep",
    "yes",
    "yup",
    "no",
    "nah",
    "sure",
    "thanks",
    "true",
    "agreed",
    "right",
    "hey",
];
/// Writes the title.
pub(super) fn write(source: &Source, scored: &[Scored], phrases: &[Phrase]) -> String {
    let title = of_sentences(source, scored)
        .or_else(|| of_phrases(source, phrases))
        .or_else(|| (scored.len() <= FEW_SENTENCES).then(|| of_words(source, scored))?)
        .or_else(|| of_topics(source, phrases))
        .or_else(|| of_words(source, scored))
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

/// The most telling sentences that fit as they are, told in the third person.
fn of_sentences(source: &Source, scored: &[Scored]) -> Option<String> {
    let mut order: Vec<(f32, &Scored)> =
        scored.iter().map(|scored| (eventful(source, scored), scored)).collect();
    order.retain(|(score, _)| *score > 0.0);
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let best = scored.iter().map(Scored::score).fold(0.0, f32::max);
    let least = LEAST_SENTENCE_SHARE * best;
    let mut telling = order.iter().take_while(|(score, _)| *score >= least);
    let (first, mut title) =
        telling.find_map(|(_, first)| Some((*first, headline(source, first, MAX_CHARS)?)))?;
    // A second one that tells of something else.
    let room = MAX_CHARS.saturating_sub(title.chars().count() + 2);
    let shared = |(key, _): &(u64, f32)| first.features.iter().any(|(known, _)| known == key);
    let second = order
        .iter()
        .filter(|(_, other)| !other.features.iter().any(shared))
        .find_map(|(_, other)| headline(source, other, room));
    if let Some(second) = second {
        title.push_str(if source.language == Language::Chinese { "；" } else { "; " });
        title.push_str(&second);
    }
    Some(title)
}

/// How telling a sentence is of the talk: its score, raised for events and lowered for reactions.
fn eventful(source: &Source, scored: &Scored) -> f32 {
    let score = scored.score();
    if score <= 0.0 {
        return score;
    }
    let turn = &source.turns[scored.turn];
    let text = turn.unit_text(&turn.units[scored.unit]).to_lowercase();
    let text = without_openers(source.without_address(&text));
    let anchor = Moment::new(0, 0).unwrap_or(Moment::MIN);
    let event = if mentions(text, anchor).is_empty() { 1.0 } else { EVENT };
    let reacts = REACTIONS.iter().any(|opening| text.starts_with(opening));
    score * event * if reacts { REACTION } else { 1.0 }
}

/// The sentence without the words that only lead over to it.
fn without_openers(text: &str) -> &str {
    let mut text = text;
    while let Some((front, rest)) = text.split_once([',', '!', '–'])
        && OPENERS.iter().any(|opener| front.trim().eq_ignore_ascii_case(opener))
        && !rest.trim().is_empty()
    {
        text = rest.trim_start();
    }
    text
}

/// A sentence, or the clause it opens with, in the third person and in at most `room` characters;
/// `None` where that does not fit.
fn headline(source: &Source, scored: &Scored, room: usize) -> Option<String> {
    let turn = &source.turns[scored.turn];
    let unit = &turn.units[scored.unit];
    if unit.asks || unit.is_code || scored.features.len() < MIN_HEADLINE_FEATURES {
        return None;
    }
    let text = one_line(source, scored);
    let name = &source.speaker(turn).short;
    let ends = BREAKS.iter().filter_map(|sign| text.find(sign)).chain([text.len()]);
    let mut ends: Vec<usize> = ends.collect();
    ends.sort_unstable_by(|a, b| b.cmp(a));
    ends.into_iter().find_map(|end| {
        let told = match turn.language {
            Language::English => person::english(&text[..end], name),
            Language::Chinese => person::chinese(&text[..end], name),
            _ => None,
        }?;
        let told = told.trim_end_matches(['.', '。', '!', '！', ' ']);
        let told = [" and", " but", " so"]
            .into_iter()
            .find_map(|word| told.strip_suffix(word))
            .unwrap_or(told);
        let length = told.chars().count();
        let least = if turn.language == Language::Chinese { MIN_CLAUSE_CHARS } else { 16 };
        let known = !PLURAL.iter().any(|word| told.contains(word) && !text.contains(word));
        let whole = !hangs(told);
        ((least..=room).contains(&length) && known && whole).then(|| told.to_owned())
    })
}

/// Whether a clause points to something outside of it, or stops before its object.
fn hangs(told: &str) -> bool {
    const POINTERS: [&str; 6] = ["It", "It's", "There", "They", "Here", "Here's"];
    const ENDINGS: [&str; 16] = [
        "is", "are", "was", "were", "has", "had", "be", "the", "a", "an", "to", "of", "it", "like",
        "that", "too",
    ];
    let mut words = told.split(' ').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let last = words.next_back().unwrap_or_default();
    POINTERS.iter().any(|word| word.eq_ignore_ascii_case(first)) || ENDINGS.contains(&last)
}

/// The sentence without marks, notes, the name of the listener, and the time it ends in.
fn one_line(source: &Source, scored: &Scored) -> String {
    let turn = &source.turns[scored.turn];
    let text = turn.unit_text(&turn.units[scored.unit]);
    let text = without_notes(&plain(without_openers(source.without_address(text))));
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let anchor = Moment::new(0, 0).unwrap_or(Moment::MIN);
    let body = text.trim_end_matches(['.', '!', '。', '！', ' ']).len();
    if let Some(last) = mentions(&text[..body], anchor).pop()
        && last.end == body
        && last.naming == Naming::Nothing
        && last.start > body / 2
    {
        text.truncate(last.start);
        text.truncate(text.trim_end_matches([' ', ',', '，']).len());
    }
    text
}

/// Who talked of what, by the most telling phrases.
fn of_topics(source: &Source, phrases: &[Phrase]) -> Option<String> {
    if !matches!(source.language, Language::English | Language::Chinese) {
        return None;
    }
    let telling = || phrases.iter().filter(|phrase| phrase.is_telling);
    let strong = telling().filter(|phrase| phrase.is_strong);
    // Single words say less; they are taken where nothing else is found.
    let weak = telling().filter(|phrase| !phrase.is_strong);
    let mut topics: Vec<String> =
        strong.take(MAX_PHRASES).map(|phrase| phrase.text.clone()).collect();
    if topics.is_empty() {
        topics.extend(weak.take(MAX_PHRASES).map(|phrase| phrase.text.clone()));
    }
    let people: Vec<String> = source
        .speakers
        .iter()
        .filter(|speaker| !speaker.is_role)
        .map(|speaker| speaker.short.clone())
        .collect();
    let title = |count: usize| {
        let topics = joined(topics[..count].to_vec(), source.language);
        match (people.is_empty() || people.len() > 3, source.language) {
            (true, _) => topics,
            (false, Language::Chinese) => {
                format!("{}聊{topics}", joined(people.clone(), source.language))
            }
            (false, _) => format!("{} on {topics}", joined(people.clone(), source.language)),
        }
    };
    (1..=topics.len()).rev().map(title).find(|title| title.chars().count() <= MAX_CHARS)
}

/// The most telling sentence in its speaker's own words, if it fits whole.
fn of_words(source: &Source, scored: &[Scored]) -> Option<String> {
    let mut order: Vec<&Scored> = scored.iter().filter(|scored| scored.score() > 0.0).collect();
    order.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let fits = |text: &String| (1..=MAX_CHARS).contains(&text.chars().count());
    // Where nobody says anything of a subject, what was said first.
    order.extend(scored.iter().filter(|scored| scored.score() <= 0.0 && !is_noted(source, scored)));
    let words =
        |scored: &&Scored| one_line(source, scored).trim_end_matches(['.', '。', ' ']).to_owned();
    order.iter().map(words).find(fits)
}

fn is_noted(source: &Source, scored: &Scored) -> bool {
    let turn = &source.turns[scored.turn];
    let unit = &turn.units[scored.unit];
    unit.is_code || is_note(turn, unit)
}

fn of_names(source: &Source) -> String {
    let comma = if source.language == Language::Chinese { "、" } else { ", " };
    let mut title = String::new();
    for speaker in &source.speakers {
        let name = &speaker.short;
        if title.chars().count() + name.chars().count() + 2 > MAX_CHARS {
            break;
        }
        if !title.is_empty() {
            title.push_str(comma);
        }
        title.push_str(name);
    }
    title
}
