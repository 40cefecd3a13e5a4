//! The text of a context from the facts and messages that were chosen.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::quote::{name, one_line, push_quoted};
use crate::clock::Moment;
use crate::index::MessageIndex;
use crate::text::count_tokens;

/// Begins a message before which others of the same day and session are left out.
const LEFT_OUT: &str = "[…] ";
/// Follows the name where the message says something that no longer holds.
const OUTDATED: &str = " [outdated]";
/// Heading of what was made of messages that did not fit.
const SUMMARIES: &str = "# Summaries\n";

/// A fact that still holds, as a context shows it.
#[derive(Debug, Clone)]
pub struct KnownFact {
    /// The fact, self-contained.
    pub text: String,
    /// Since when it holds.
    pub since: Moment,
    /// The messages that prove it, by slot.
    pub sources: Vec<u32>,
}

/// The summary of an episode, which can stand for messages that did not fit.
#[derive(Debug, Clone)]
pub struct Summary {
    /// One line.
    pub text: String,
    /// The messages it was made from, by slot.
    pub sources: Vec<u32>,
}

/// Messages that say something that no longer holds, by slot: the facts, by index, that superseded
/// what they say.
pub type Outdated = FxHashMap<u32, Vec<usize>>;

/// The day (on the speaker's own clock) and session that a message stands under.
pub(super) type Place = (Date, Option<Arc<str>>);

/// Messages shown together: day, beginning and session.
type Sitting = (Date, Moment, Option<Arc<str>>);

/// Writes contexts over one user's messages.
pub(super) struct Writer<'a> {
    pub index: &'a MessageIndex,
    pub facts: &'a [KnownFact],
    pub summaries: &'a [Summary],
    pub outdated: &'a Outdated,
}

/// A written context.
pub(super) struct Written {
    pub text: String,
    pub tokens: usize,
    /// The messages in the order of the text, by slot.
    pub messages: Vec<u32>,
    /// The facts in the order of the text, by index.
    pub facts: Vec<usize>,
}

impl Writer<'_> {
    /// Writes the chosen facts, messages and summaries, each in the order of time.
    pub fn write(&self, facts: &[usize], messages: &[u32], summaries: &[usize]) -> Written {
        let mut text = String::new();
        let facts = self.write_facts(&mut text, facts);
        if !summaries.is_empty() {
            text.push_str(SUMMARIES);
            summaries.iter().for_each(|number| text.push_str(&self.summary_line(*number)));
        }
        let messages = self.write_messages(&mut text, messages);
        text.truncate(text.trim_end_matches('\n').len());
        Written { tokens: count_tokens(&text), text, messages, facts }
    }

    fn write_facts(&self, text: &mut String, facts: &[usize]) -> Vec<usize> {
        let mut ordered = facts.to_vec();
        ordered.sort_by_key(|number| (self.facts[*number].since, *number));
        let mut year = None;
        for number in &ordered {
            let since = self.facts[*number].since.local().year();
            if year != Some(since) {
                text.push_str(&fact_heading(since));
                year = Some(since);
            }
            text.push_str(&self.fact_line(*number));
        }
        ordered
    }

    fn write_messages(&self, text: &mut String, chosen: &[u32]) -> Vec<u32> {
        // Sessions stay together even where their times cross.
        let mut starts: FxHashMap<Place, Moment> = FxHashMap::default();
        for slot in chosen {
            let time = self.index.get(*slot).timestamp;
            let start = starts.entry(self.place(*slot)).or_insert(time);
            *start = time.min(*start);
        }
        let mut sittings: BTreeMap<Sitting, Vec<u32>> = BTreeMap::new();
        for slot in chosen {
            let place = self.place(*slot);
            sittings.entry((place.0, starts[&place], place.1)).or_default().push(*slot);
        }
        let mut messages = Vec::with_capacity(chosen.len());
        for ((date, ..), mut slots) in sittings {
            slots.sort_by_key(|slot| (self.index.get(*slot).timestamp, *slot));
            text.push_str(&day_heading(date));
            let mut before = None;
            for slot in slots {
                self.write_message(text, slot, before);
                before = Some(slot);
                messages.push(slot);
            }
        }
        messages
    }

    /// Writes a message after the one in `before`, if that is of the same day and session.
    fn write_message(&self, text: &mut String, slot: u32, before: Option<u32>) {
        let message = self.index.get(slot);
        let follows = before.is_some() && self.index.previous(slot) == before;
        let plain = |slot: u32| !self.outdated.contains_key(&slot);
        let goes_on = follows
            && before.is_some_and(|before| {
                plain(before) && self.index.get(before).speaker() == message.speaker()
            });
        if goes_on && plain(slot) {
            text.push(' ');
        } else {
            if before.is_some() && !follows {
                text.push_str(LEFT_OUT);
            }
            text.push_str(&name(message.speaker()));
            if !plain(slot) {
                text.push_str(OUTDATED);
            }
            text.push_str(": ");
        }
        push_quoted(text, &message.content);
        text.push('\n');
    }

    pub fn place(&self, slot: u32) -> Place {
        let message = self.index.get(slot);
        (message.timestamp.local().date(), message.session_id.clone())
    }

    /// Tokens of a message on a line of its own.
    pub fn message_tokens(&self, slot: u32) -> usize {
        let plain = self.index.line_tokens(slot, || {
            let message = self.index.get(slot);
            let mut line = name(message.speaker());
            line.push_str(": ");
            push_quoted(&mut line, &message.content);
            line.push('\n');
            count_tokens(&line)
        });
        plain + if self.outdated.contains_key(&slot) { count_tokens(OUTDATED) } else { 0 }
    }

    pub fn fact_line(&self, number: usize) -> String {
        let fact = &self.facts[number];
        let since = fact.since.local().date().strftime("%-d %b");
        format!("- {since}: {}\n", one_line(&fact.text))
    }

    pub fn summary_line(&self, number: usize) -> String {
        format!("- {}\n", one_line(&self.summaries[number].text))
    }
}

/// The heading of the facts that hold since a year.
pub(super) fn fact_heading(year: i16) -> String {
    format!("# Facts, {year}\n")
}

pub(super) fn day_heading(date: Date) -> String {
    date.strftime("# %a %-d %b %Y\n").to_string()
}

/// Tokens of the heading of the summaries.
pub(super) fn summaries_tokens() -> usize {
    count_tokens(SUMMARIES)
}
