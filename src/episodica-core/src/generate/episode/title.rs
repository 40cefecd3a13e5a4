//! The title: the most informative sentences in the third person, or else a sentence in its
//! speaker's own words. A long sentence is shortened at a clause; only if no sentence has a clause
//! that fits, it is cut between two words.

use std::borrow::Cow;

use super::keywords::is_note;
use super::narrative::capitalised;
use super::person;
use super::salience::ScoredSentence;
use super::source::{EpisodeSource, SourceTurn};
use super::summary::{plain, without_notes};
use super::told_sentences::{breaks_off, without_openers};
use super::units::TurnUnit;
use crate::text::Language;
use crate::text::heads::SentenceHeads;
use crate::text::time::{NamedDates, mentions_in};

/// Maximum length of a title, in characters.
const MAX_CHARS: usize = 80;
/// Minimum number of topic words in a sentence that becomes a title.
const MIN_HEADLINE_FEATURES: usize = 2;
/// Minimum length of a sentence or clause that becomes a title, in characters; the second is for
/// Chinese.
const MIN_CHARS: usize = 16;
const MIN_CLAUSE_CHARS: usize = 8;
/// Only a time that ends within this many bytes of the end of its sentence can be removed as
/// trailing.
const LAST_BYTES: usize = 48;
/// Places where a sentence can end early.
const BREAKS: [&str; 10] =
    [", ", "; ", " – ", " — ", " but ", " because ", " so ", "，", "；", "。"];
/// Plural pronouns that, after rewriting, would seem to mean the one person who is named. They are
/// allowed if the original sentence contains them.
const PLURAL: [&str; 4] = [" their", " them", " they", "Their"];
/// Factor for a sentence that dates an event: an event is the best title of a conversation.
const EVENT: f32 = 1.2;
/// Minimum score of the second sentence of a title, relative to the first.
const LEAST_SECOND_SHARE: f32 = 0.5;

/// Writes the title.
pub(super) fn write(source: &EpisodeSource, scored: &[ScoredSentence]) -> String {
    let ranked: Vec<(TitleRank, &ScoredSentence)> =
        scored.iter().map(|scored| (TitleRank::of(source, scored), scored)).collect();
    let title = of_sentences(source, &ranked)
        .or_else(|| of_words(source, &ranked))
        .unwrap_or_else(|| of_names(source));
    capitalised(&title)
}

/// The most informative sentences that fit, in the third person.
fn of_sentences(source: &EpisodeSource, ranked: &[(TitleRank, &ScoredSentence)]) -> Option<String> {
    let scores = ranked.iter().map(|(rank, scored)| (rank.score, *scored));
    let mut order: Vec<_> = scores.filter(|(score, _)| *score > 0.0).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (best, first, mut title) = order
        .iter()
        .find_map(|(score, first)| Some((*score, *first, headline(source, first, MAX_CHARS)?)))?;
    // A second sentence about another topic.
    let room = MAX_CHARS.saturating_sub(title.chars().count() + 2);
    let shared = |(key, _): &(u64, f32)| first.features.iter().any(|(known, _)| known == key);
    let second = order
        .iter()
        .take_while(|(score, _)| *score >= LEAST_SECOND_SHARE * best)
        .filter(|(_, other)| !other.features.iter().any(shared))
        .find_map(|(_, other)| headline(source, other, room));
    if let Some(second) = second {
        title.push_str(if source.language == Language::Chinese { "；" } else { "; " });
        title.push_str(&second);
    }
    Some(title)
}

/// The rank of a sentence as a title.
struct TitleRank {
    /// True if the sentence is informative, worth a note, understandable alone and no question.
    is_worth: bool,
    /// How informative the sentence is: raised for events, lowered for what is not worth a note or
    /// not understandable alone.
    score: f32,
}

impl TitleRank {
    fn of(source: &EpisodeSource, scored: &ScoredSentence) -> Self {
        let score = scored.score();
        if score <= 0.0 {
            return Self { is_worth: false, score };
        }
        let (turn, unit) = scored.place(source);
        let event = if turn.dates(unit).is_empty() { 1.0 } else { EVENT };
        let heads = heads(source, turn, unit);
        let share = |score: f32| 1.0 / (1.0 + (-score).exp());
        let score = score * event * share(heads.worth) * share(-heads.unclear);
        Self { is_worth: !unit.asks && heads.worth > 0.0 && heads.unclear <= 0.0, score }
    }
}

/// What the heads say of a sentence.
fn heads(source: &EpisodeSource, turn: &SourceTurn, unit: &TurnUnit) -> SentenceHeads {
    let speaker = source.speaker(turn);
    let by_agent = speaker.is_role && !is_user(&speaker.full);
    SentenceHeads::of(&bare(source.without_address(turn.unit_text(unit))), by_agent)
}

fn is_user(role: &str) -> bool {
    ["user", "human", "customer", "client", "patient"]
        .iter()
        .any(|one| role.eq_ignore_ascii_case(one))
}

/// The sentence without introductory words.
fn bare(text: &str) -> Cow<'_, str> {
    without_openers(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// A sentence, or its first clause, in the third person and in at most `room` characters; `None` if
/// neither fits.
fn headline(source: &EpisodeSource, scored: &ScoredSentence, room: usize) -> Option<String> {
    let (turn, unit) = scored.place(source);
    let least = if turn.language == Language::Chinese { MIN_CLAUSE_CHARS } else { MIN_CHARS };
    let is_short = scored.features.len() < MIN_HEADLINE_FEATURES;
    if unit.asks || unit.is_code || is_short || room < least {
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
        let known = !PLURAL.iter().any(|word| told.contains(word) && !text.contains(word));
        let whole = !hangs(told) && !breaks_off(told);
        ((least..=room).contains(&length) && known && whole).then(|| told.to_owned())
    })
}

/// Whether a clause refers to something outside of it or ends before its object.
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

/// The sentence without markers, notes, the listener's name, and a trailing time.
fn one_line(source: &EpisodeSource, scored: &ScoredSentence) -> String {
    let (turn, unit) = scored.place(source);
    let text = without_notes(&plain(&bare(source.without_address(turn.unit_text(unit)))));
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Only a trailing time is removed (a listener's name may follow it).
    let nearly = (unit.end - unit.start).saturating_sub(LAST_BYTES);
    if turn.dates(unit).last().is_none_or(|last| last.end < nearly) {
        return text;
    }
    let body = text.trim_end_matches(['.', '!', '。', '！', ' ']).len();
    if let Some(last) = mentions_in(&text[..body], turn.moment, turn.language).pop()
        && last.end == body
        && last.naming == NamedDates::Nothing
        && last.start > body / 2
    {
        text.truncate(last.start);
        text.truncate(text.trim_end_matches([' ', ',', '，']).len());
    }
    text
}

/// The best sentence in its speaker's own words: one that is worth a note, else the most
/// informative one, else the first.
fn of_words(source: &EpisodeSource, ranked: &[(TitleRank, &ScoredSentence)]) -> Option<String> {
    let spoken = ranked.iter().filter(|(_, scored)| !is_noted(source, scored));
    let mut order: Vec<_> = spoken.map(|(rank, scored)| (rank, one_line(source, scored))).collect();
    order.sort_by(|(a, _), (b, _)| {
        let by_score = b.score.max(0.0).total_cmp(&a.score.max(0.0));
        b.is_worth.cmp(&a.is_worth).then(by_score)
    });
    let whole = |text: &str| !breaks_off(text) && !hangs(text);
    let texts = || order.iter().map(|(_, text)| text.as_str());
    texts()
        .find_map(|text| first_clauses(text, MIN_CLAUSE_CHARS, whole))
        .or_else(|| texts().find_map(|text| first_clauses(text, 1, |_| true)))
        .or_else(|| texts().find_map(first_words))
}

/// As many clauses of a sentence as fit.
fn first_clauses(text: &str, least: usize, is_title: impl Fn(&str) -> bool) -> Option<String> {
    let mut ends: Vec<usize> =
        BREAKS.iter().flat_map(|sign| text.match_indices(sign)).map(|(at, _)| at).collect();
    ends.push(text.len());
    ends.sort_unstable_by(|a, b| b.cmp(a));
    ends.into_iter().find_map(|end| {
        let text = text[..end].trim_end_matches(['.', '。', '!', '！', ':', '：', ' ']);
        let fits = (least..=MAX_CHARS).contains(&text.chars().count());
        (fits && is_title(text)).then(|| text.to_owned())
    })
}

/// The words of a long clause that fit, with an ellipsis.
fn first_words(text: &str) -> Option<String> {
    let (end, _) = text.char_indices().nth(MAX_CHARS - 1)?;
    let end = text[..end].rfind(' ').unwrap_or(end);
    Some(format!("{}…", text[..end].trim_end_matches([',', ' '])))
}

fn is_noted(source: &EpisodeSource, scored: &ScoredSentence) -> bool {
    let (turn, unit) = scored.place(source);
    unit.is_code || is_note(turn, unit)
}

fn of_names(source: &EpisodeSource) -> String {
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
