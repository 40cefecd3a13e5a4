//! Tells in the line of a message which days its relative dates mean.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::clock::DisplayZone;
use crate::index::MessageIndex;
use crate::text::time::{day_marks, mentions};

/// A mark and its place in a message, in bytes: after "yesterday", " [7 May 2023]".
pub(super) type DayMark = (usize, String);

/// The marks of the messages of one context, each message's found once.
pub(super) struct LineDates<'a> {
    index: &'a MessageIndex,
    zone: &'a DisplayZone,
    known: RefCell<FxHashMap<u32, Rc<[DayMark]>>>,
}

impl<'a> LineDates<'a> {
    pub fn new(index: &'a MessageIndex, zone: &'a DisplayZone) -> Self {
        Self { index, zone, known: RefCell::default() }
    }

    /// The marks of a message, ascending. Days are those of the speaker's clock. The day of the
    /// message's heading has no mark.
    pub fn of(&self, slot: u32) -> Rc<[DayMark]> {
        let find = || {
            let message = self.index.get(slot);
            let heading = self.zone.show(message.timestamp).local().date();
            let mut found = mentions(&message.content, message.timestamp);
            found.retain(|mention| (mention.from, mention.to) != (heading, heading));
            day_marks(&message.content, &found).into()
        };
        Rc::clone(self.known.borrow_mut().entry(slot).or_insert_with(find))
    }
}

/// A part of a message with the marks inside it.
pub(super) fn with_marks<'a>(
    content: &'a str,
    part: Range<usize>,
    marks: &[DayMark],
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
            Some(open) if !rest[open..close].contains('"') => {
                rest[..open].strip_suffix(' ').unwrap_or(&rest[..open])
            }
            _ => &rest[..=close],
        };
        plain += before;
        rest = &rest[close + 1..];
    }
    plain + rest
}
