//! Tells in the line of a message which days its relative dates mean, and what was said later.

use std::borrow::Cow;
use std::cell::RefCell;
use std::iter;
use std::ops::Range;
use std::rc::Rc;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::form::DatePrecision;
use super::quote::one_line;
use super::wording::{ALL, ContextWords};
use crate::clock::DisplayZone;
use crate::index::MessageIndex;
use crate::text::language;
use crate::text::time::{NamedDates, TimeMention, day_marks, mentions_after};

/// A mark and its place in a message, in bytes: after "yesterday", " [7 May 2023]".
pub type LineMark = (usize, String);

/// A part of a message about which something was said later.
#[derive(Debug, Clone)]
pub struct LaterWords {
    /// The mark after the part.
    pub mark: LineMark,
    /// The message that says it.
    pub message: u32,
}

/// Maximum length of the later words, in characters.
const MAX_LATER: usize = 240;

/// The mark after words about which `words` were said later, on the day `date`.
///
/// ```
/// use episodica_core::score::{ContextWords, later_mark};
/// use episodica_core::text::Language;
/// let date = jiff::civil::date(2025, 2, 9);
/// let mark = later_mark(ContextWords::of(Language::English), date, "I moved to Bergen [again].");
/// assert_eq!(mark, r#" [later, 9 Feb 2025: "I moved to Bergen (again)"]"#);
/// ```
pub fn later_mark(words: &ContextWords, date: Date, said: &str) -> String {
    let plain: String = one_line(said)
        .chars()
        .map(|c| match c {
            '[' => '(',
            ']' => ')',
            '"' => '\'',
            c => c,
        })
        .collect();
    let plain = plain.trim_end_matches(['.', '。', ' ']);
    let short: String = plain.chars().take(MAX_LATER).collect();
    let more = if short.len() < plain.len() { "…" } else { "" };
    let date = words.date(date, DatePrecision::Day, true);
    format!(" [{}{date}: \"{short}{more}\"]", words.later)
}

/// True for a mark with later words. They stand in quotation marks and have no brackets.
fn is_later(mark: &str) -> bool {
    let said = mark.strip_prefix('[');
    said.is_some_and(|said| ALL.iter().any(|words| said.starts_with(words.later)))
}

/// The marks of the messages of one context, each message's found once.
pub(super) struct LineDates<'a> {
    index: &'a MessageIndex,
    zone: &'a DisplayZone,
    later: &'a dyn Fn(u32) -> Vec<LaterWords>,
    foreign: &'a dyn Fn(u32) -> Vec<Range<usize>>,
    known: RefCell<FxHashMap<u32, Rc<[LineMark]>>>,
    known_foreign: RefCell<FxHashMap<u32, Rc<[Range<usize>]>>>,
}

impl<'a> LineDates<'a> {
    pub fn new(
        index: &'a MessageIndex,
        zone: &'a DisplayZone,
        later: &'a dyn Fn(u32) -> Vec<LaterWords>,
        foreign: &'a dyn Fn(u32) -> Vec<Range<usize>>,
    ) -> Self {
        let (known, known_foreign) = Default::default();
        Self { index, zone, later, foreign, known, known_foreign }
    }

    /// The parts of a message that are not its speaker's own words, ascending.
    pub fn foreign(&self, slot: u32) -> Rc<[Range<usize>]> {
        let find = || (self.foreign)(slot).into();
        Rc::clone(self.known_foreign.borrow_mut().entry(slot).or_insert_with(find))
    }

    /// What was said later about parts of a message.
    pub fn said_later(&self, slot: u32) -> Vec<LaterWords> {
        (self.later)(slot)
    }

    /// The marks of a message, ascending. Days are those of the speaker's clock. What the heading
    /// of the message says has no mark: its day, and its year after a day or month without a year,
    /// unless the speaker's day was another.
    pub fn of(&self, slot: u32) -> Rc<[LineMark]> {
        let index = self.index;
        let find = || {
            let message = index.get(slot);
            let heading = self.zone.local_moment(message.timestamp).local().date();
            let before =
                iter::successors(index.previous_slot(slot), |slot| index.previous_slot(*slot));
            let before = before.map(|slot| &*index.get(slot).content);
            let content = &*message.content;
            let language = language(content);
            let mut found = mentions_after(before, content, message.timestamp, language);
            let is_plain = message.timestamp.local().date() == heading;
            found.retain(|mention| !is_plain || !is_in_heading(mention, heading));
            if message.is_of_two_days() {
                found.iter_mut().for_each(TimeMention::leave_open);
            }
            let mut marks = day_marks(content, &found);
            marks.extend(self.said_later(slot).into_iter().map(|words| words.mark));
            marks.sort_by_key(|(at, _)| *at);
            marks.into()
        };
        Rc::clone(self.known.borrow_mut().entry(slot).or_insert_with(find))
    }
}

/// True if the heading over a line says what its mark would say.
fn is_in_heading(mention: &TimeMention, heading: Date) -> bool {
    let years = (mention.from.year(), mention.to.year());
    (mention.from, mention.to) == (heading, heading)
        || mention.naming == NamedDates::NoYear && years == (heading.year(), heading.year())
}

/// A part of a message with the marks inside it.
pub(super) fn with_marks<'a>(
    content: &'a str,
    part: Range<usize>,
    marks: &[LineMark],
) -> Cow<'a, str> {
    let inside = marks.iter().filter(|(at, _)| part.start < *at && *at <= part.end);
    let (mut text, mut start) = (String::new(), part.start);
    for (at, mark) in inside {
        text.push_str(&content[start..*at]);
        text.push_str(mark);
        start = *at;
    }
    let rest = &content[start..part.end];
    if text.is_empty() { Cow::Borrowed(rest) } else { Cow::Owned(text + rest) }
}

/// A text without bracketed marks: as the message was said, but for brackets of its own.
///
/// ```
/// use episodica_core::score::unmarked;
/// assert_eq!(unmarked("We met last Friday [5 May 2023]."), "We met last Friday.");
/// ```
pub fn unmarked(text: &str) -> Cow<'_, str> {
    let (mut plain, mut rest) = (Cow::Borrowed(""), text);
    while let Some(close) = rest.find(']') {
        let before = match rest[..close].rfind('[') {
            // The list of a context in JSON is no mark.
            Some(open) if !rest[open..close].contains('"') || is_later(&rest[open..]) => {
                rest[..open].strip_suffix(' ').unwrap_or(&rest[..open])
            }
            _ => &rest[..=close],
        };
        plain += before;
        rest = &rest[close + 1..];
    }
    plain + rest
}
