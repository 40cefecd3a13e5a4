//! The spans that tell an episode: sentences of its messages in their speakers' own words, at most
//! shortened at the end of a clause.

use std::collections::BTreeSet;

use super::lexicon::KeyMap;
use super::names::is_note;
use super::source::{EpisodeSource, SourceTurn};
use super::units::TurnUnit;
use crate::generate::voice::{said_by, spans, speaks_of_self};
use crate::model::SaidBy;
use crate::text::Language;
use crate::text::heads::SentenceHeads;
use crate::text::is_cjk;

/// Where a sentence can end early.
const CLAUSE_ENDS: [&str; 10] = [", ", "; ", ": ", " - ", " – ", " — ", "，", "；", "：", "。"];
/// Last characters of a sentence that goes on elsewhere.
const UNFINISHED: [char; 9] = [',', ':', ';', '…', '-', '–', '，', '：', '、'];
/// Marks that a span does not end with.
const STOPS: [char; 5] = ['.', '。', ' ', '!', '！'];
/// Minimum length of a span, in characters; the second is for Chinese and Japanese.
const MIN_CHARS: usize = 10;
const MIN_CJK_CHARS: usize = 4;
/// A sentence, and one that asks, of which the head for small talk is as sure is no span.
const SMALL_TALK: f32 = 1.0;
const ASKED_SMALL_TALK: f32 = 5.8;
/// How much a sentence at the end of an episode loses against one at the start: people say first
/// what a talk is about, and those who ask an agent say it at once.
const LATE: f32 = 5.0;
const LATE_TO_AGENT: f32 = 10.0;

/// What a sentence without any word that may be a subject gets: "We can do this."
const NO_SUBJECT: f32 = -1.0;

/// A sentence that may tell the episode.
pub(super) struct TellingSpan<'a> {
    pub turn: &'a SourceTurn,
    /// The sentence without the listener's name and opening words.
    pub text: &'a str,
    /// Where the sentence begins in its turn, in bytes.
    pub place: usize,
    /// How well it tells the episode.
    pub score: f32,
    /// How much a careful secretary would note it.
    pub worth: f32,
}

/// The sentences that may tell the episode, best first. In a chat with an agent, those of people.
pub(super) fn telling_spans(source: &EpisodeSource) -> Vec<TellingSpan<'_>> {
    let to_agent = source.turns.iter().any(|turn| turn.by_agent);
    let by_people = source.turns.iter().any(|turn| !turn.by_agent && !turn.units.is_empty());
    let count = source.turns.iter().map(|turn| turn.units.len()).sum::<usize>().max(1);
    let late = if to_agent { LATE_TO_AGENT } else { LATE };
    let recurring = RecurringWords::from_source(source);
    let (mut found, mut at) = (Vec::new(), 0);
    for turn in &source.turns {
        let voices = spans(&turn.text, &source.turn_speaker(turn).full, SaidBy::User);
        for (number, unit) in turn.units.iter().enumerate() {
            at += 1;
            // A sentence that quotes others, or asks for a text, is its speaker's own.
            let is_others = said_by(&voices, unit.start..unit.start) != SaidBy::User;
            let goes_on =
                turn.units.get(number + 1).is_some_and(|next| breaks_line(turn, unit, next));
            if turn.by_agent && by_people || is_others || goes_on {
                continue;
            }
            if let Some(span) = telling_span(source, turn, unit) {
                let place = (at - 1) as f32 / count as f32;
                let score = span.score + recurring.recurring_share(unit) - late * place;
                found.push(TellingSpan { score, ..span });
            }
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}

/// In how many messages each word occurs, apart from function words and everyday ones: what a talk
/// is about recurs in it.
struct RecurringWords {
    counts: KeyMap<u32>,
    messages: usize,
}

impl RecurringWords {
    fn from_source(source: &EpisodeSource) -> Self {
        let mut counts: KeyMap<u32> = KeyMap::default();
        for turn in &source.turns {
            for key in possible_subjects(&turn.units) {
                *counts.entry(key).or_default() += 1;
            }
        }
        Self { counts, messages: source.turns.len() }
    }

    /// How much the words of a sentence recur in other messages, on the scale of the heads.
    fn recurring_share(&self, unit: &TurnUnit) -> f32 {
        let words = possible_subjects(std::slice::from_ref(unit));
        if words.is_empty() && !unit.words.iter().any(|word| word.unspaced) {
            return NO_SUBJECT;
        }
        let others: u32 = words.iter().map(|word| self.counts[word].saturating_sub(1)).sum();
        others as f32 / ((words.len().max(4) * self.messages.max(1)) as f32).sqrt()
    }
}

/// The distinct words that may be a subject.
fn possible_subjects(units: &[TurnUnit]) -> BTreeSet<u64> {
    let words = units.iter().flat_map(|unit| &unit.words);
    words.filter(|word| word.class.is_content() && !word.unspaced).map(|word| word.key).collect()
}

fn telling_span<'a>(
    source: &'a EpisodeSource,
    turn: &'a SourceTurn,
    unit: &TurnUnit,
) -> Option<TellingSpan<'a>> {
    let whole = turn.unit_text(unit);
    let is_link = whole.contains("://") || whole.contains("www.");
    let is_part = whole.starts_with(['(', '（']) || whole.matches("**").count() % 2 == 1;
    if unit.is_code || unit.words.is_empty() || is_note(turn, unit) || is_link || is_part {
        return None;
    }
    let text = without_opening(source.without_address(bare_sentence(whole)), turn.by_agent);
    if text.ends_with(UNFINISHED)
        || text.ends_with("...")
        || text.chars().count() < least_length(text)
    {
        return None;
    }
    let heads = SentenceHeads::of(text, turn.by_agent);
    let most = if unit.asks { ASKED_SMALL_TALK } else { SMALL_TALK };
    (heads.small_talk <= most).then_some(TellingSpan {
        turn,
        text,
        place: unit.start,
        score: heads.title,
        worth: heads.worth,
    })
}

/// True if a line ends inside a sentence, which the next unit continues.
fn breaks_line(turn: &SourceTurn, unit: &TurnUnit, next: &TurnUnit) -> bool {
    let goes_on = |c: char| c.is_lowercase();
    turn.text[unit.end..next.start].contains('\n')
        && turn.unit_text(unit).ends_with(char::is_alphanumeric)
        && turn.unit_text(next).starts_with(goes_on)
}

/// The sentence without list and heading markers.
fn bare_sentence(text: &str) -> &str {
    text.trim_start_matches(['#', '*', '-', '>', '•', '+', ' ']).trim_end()
}

/// The sentence without a first clause that is only small talk: "Hey, ", "Yeah, well, ".
fn without_opening(text: &str, by_agent: bool) -> &str {
    const LONGEST: usize = 24;
    let mut rest = text;
    while let Some((at, mark)) =
        rest.char_indices().find(|(_, c)| matches!(c, ',' | '!' | '，' | '！'))
        && at <= LONGEST
        && SentenceHeads::of(&rest[..at], by_agent).small_talk > 0.0
    {
        let after = rest[at + mark.len_utf8()..].trim_start();
        if after.chars().count() < least_length(after) {
            break;
        }
        rest = after;
    }
    rest
}

fn least_length(text: &str) -> usize {
    if text.contains(is_cjk) { MIN_CJK_CHARS } else { MIN_CHARS }
}

impl TellingSpan<'_> {
    /// The span in at most `room` characters, half as many in Chinese and Japanese: whole, or up to
    /// the end of a clause; `None` if its first clause is too long or too short.
    pub fn shorten_to(&self, room: usize) -> Option<&str> {
        let room = if self.text.contains(is_cjk) { room / 2 } else { room };
        let mut ends: Vec<usize> = CLAUSE_ENDS
            .iter()
            .flat_map(|sign| self.text.match_indices(sign).map(|(at, _)| at))
            .chain([self.text.len()])
            .collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        ends.into_iter().find_map(|end| {
            let text = self.text[..end].trim_end_matches(STOPS);
            let is_balanced =
                text.matches(['(', '（']).count() == text.matches([')', '）']).count();
            let fits = (least_length(text)..=room).contains(&text.chars().count());
            (fits && is_balanced).then_some(text)
        })
    }

    /// The speaker's name and a colon, if the span needs them: among people, and where a named
    /// person speaks of themself.
    pub fn speaker_prefix(&self, source: &EpisodeSource) -> String {
        let speaker = source.turn_speaker(self.turn);
        let among_people = source.turns.iter().all(|turn| !turn.by_agent);
        if speaker.is_role || !(among_people || speaks_of_self(self.text)) {
            return String::new();
        }
        let colon = if self.turn.language == Language::Chinese { "：" } else { ": " };
        format!("{}{colon}", speaker.short)
    }
}
