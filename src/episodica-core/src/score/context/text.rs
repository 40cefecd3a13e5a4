//! Arranges the selected facts, summaries and messages of a context for output.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::Date;
use rustc_hash::FxHashMap;

use super::dates::{LineDates, with_marks};
use super::excerpt::{Parts, quoted};
use super::form::{ContextLine, ContextPiece, DatePrecision, FactSection, FactSince, OutputForm};
use super::wording::ContextWords;
use crate::clock::{DisplayZone, Moment};
use crate::control::CallControl;
use crate::error::Result;
use crate::index::MessageIndex;
use crate::text::{MAX_TOKEN_BYTES, count_tokens_while};

/// A current fact, prepared for display.
#[derive(Debug, Clone)]
pub struct KnownFact {
    /// The fact, self-contained.
    pub text: String,
    /// Time since which the fact holds.
    pub since: Moment,
    /// True if someone stated this time: otherwise it is only that of the statement.
    pub is_dated: bool,
    /// True if it begins only after the question.
    pub is_ahead: bool,
    /// Slots of the messages that prove it.
    pub sources: Vec<u32>,
    /// Section in which it is shown.
    pub section: FactSection,
    /// Relevance to the question.
    pub relevance: f64,
    /// True if the fact's own relevance suffices to include it.
    pub bears: bool,
}

/// The summary of an episode; it can replace messages that did not fit.
#[derive(Debug, Clone)]
pub struct EpisodeSummary {
    /// The summary, one line.
    pub text: String,
    /// Slots of the episode's messages.
    pub sources: Vec<u32>,
}

/// Maps the slot of each message with superseded content to what superseded it.
pub type Outdated = FxHashMap<u32, Successors>;

/// The facts that superseded the content of a message.
#[derive(Debug, Clone, Default)]
pub struct Successors {
    /// Their indexes.
    pub facts: Vec<usize>,
    /// When the content ceased to hold, which tells it where no fact succeeded it.
    pub ended: Option<Moment>,
    /// True if part of the message still holds: the message is not marked.
    pub partly: bool,
}

/// Maps the slot of each message quoted in part to the quoted parts.
pub(super) type Excerpts = FxHashMap<u32, Parts>;

/// The heading of a message: its day, in the zone in which dates are shown, and its session.
pub(super) type Place = (Date, Option<Arc<str>>);

/// A group of messages shown together: day, start and session.
type Sitting = (Date, Moment, Option<Arc<str>>);

/// Writes the context texts for searches of one user's messages.
#[derive(Clone, Copy)]
pub(super) struct ContextWriter<'a> {
    pub index: &'a MessageIndex,
    pub facts: &'a [KnownFact],
    pub summaries: &'a [EpisodeSummary],
    pub outdated: &'a Outdated,
    pub dates: &'a LineDates<'a>,
    pub words: &'a ContextWords,
    pub form: OutputForm,
    pub zone: &'a DisplayZone,
    pub control: &'a dyn CallControl,
}

/// A written context.
pub(super) struct WrittenContext {
    pub text: String,
    pub tokens: usize,
    /// Slots of the messages, in output order.
    pub messages: Vec<u32>,
    /// Indexes of the facts, in output order.
    pub facts: Vec<usize>,
}

impl<'a> ContextWriter<'a> {
    /// Writes the selected facts, messages and summaries, each kind in chronological order.
    pub fn write(
        &self,
        facts: &[usize],
        messages: &[u32],
        summaries: &[usize],
        excerpts: &Excerpts,
    ) -> Result<WrittenContext> {
        let mut facts = facts.to_vec();
        let place = |number: &usize| {
            let fact = &self.facts[*number];
            (fact.section, fact.is_dated, fact.since, *number)
        };
        facts.sort_by_key(place);
        let mut pieces: Vec<ContextPiece<'a>> = Vec::new();
        for number in &facts {
            let fact = &self.facts[*number];
            let (section, since) = (fact.section, self.since(fact));
            pieces.push(ContextPiece::Fact { section, since, text: &fact.text });
        }
        pieces.extend(
            summaries.iter().map(|number| ContextPiece::Summary(&self.summaries[*number].text)),
        );
        let messages = self.arrange(&mut pieces, messages, excerpts);
        let text = self.form.write(self.words, &pieces);
        Ok(WrittenContext { tokens: self.count(&text)?, text, messages, facts })
    }

    /// Token count of a text. The count of a long text can be cancelled.
    pub fn count(&self, text: &str) -> Result<usize> {
        count_tokens_while(text, || self.control.check())
    }

    /// Adds the selected messages under their days; returns them in output order.
    fn arrange(
        &self,
        pieces: &mut Vec<ContextPiece<'a>>,
        chosen: &[u32],
        excerpts: &Excerpts,
    ) -> Vec<u32> {
        // A session stays together even if it overlaps with another one in time.
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
        let (mut day, mut before) = (None, None);
        for ((date, ..), mut slots) in sittings {
            slots.sort_by_key(|slot| (self.index.get(*slot).timestamp, *slot));
            if day.replace(date) != Some(date) {
                pieces.push(ContextPiece::Day(date));
                before = None;
            }
            for slot in slots {
                pieces.push(ContextPiece::Message(self.line(
                    date,
                    slot,
                    before,
                    excerpts.get(&slot),
                )));
                before = Some(slot);
                messages.push(slot);
            }
        }
        messages
    }

    /// The line of a message or of its `parts`. `before` is the previous message of the same day:
    /// its speaker is not repeated.
    fn line(
        &self,
        date: Date,
        slot: u32,
        before: Option<u32>,
        parts: Option<&Parts>,
    ) -> ContextLine<'a> {
        let message = self.index.get(slot);
        let follows = before.is_some() && self.index.previous_slot(slot) == before;
        let outdated = self.outdated_mark(slot);
        let same_speaker = before.is_some_and(|before| {
            let is_outdated = !self.outdated_mark(before).is_empty();
            !is_outdated && self.index.get(before).speaker() == message.speaker()
        });
        ContextLine {
            date,
            speaker: message.speaker(),
            content: match parts {
                Some(parts) => {
                    let (dates, foreign) = (self.dates.of(slot), self.dates.foreign(slot));
                    quoted(&message.content, parts, &dates, &foreign).into()
                }
                None => self.whole(slot),
            },
            excerpt: parts.is_some(),
            gap: before.is_some() && !follows,
            goes_on: follows && same_speaker && outdated.is_empty(),
            outdated,
        }
    }

    /// The content of a message, with the days of its relative dates.
    pub fn whole(&self, slot: u32) -> Cow<'a, str> {
        let content = &self.index.get(slot).content;
        with_marks(content, 0..content.len(), &self.dates.of(slot))
    }

    pub fn place(&self, slot: u32) -> Place {
        let message = self.index.get(slot);
        (self.date(message.timestamp), message.session_id.clone())
    }

    /// The date displayed for a moment.
    pub fn date(&self, moment: Moment) -> Date {
        self.zone.local_moment(moment).local().date()
    }

    /// Token count of a message on its own line, or only a lower bound if that bound exceeds
    /// `budget`.
    pub fn message_tokens(&self, slot: u32, budget: usize) -> Result<usize> {
        let message = self.index.get(slot);
        let least = message.content.len() / MAX_TOKEN_BYTES;
        if least > budget {
            return Ok(least);
        }
        let count = || self.line_tokens(slot, None);
        let plain = match self.form {
            // Later words may change from question to question, so their tokens are not kept.
            OutputForm::Text | OutputForm::Lines if self.dates.said_later(slot).is_empty() => {
                self.index.line_tokens(slot, count)?
            }
            _ => count()?,
        };
        Ok(plain + self.mark_tokens(slot)?)
    }

    /// Token count of an excerpt on its own line.
    pub fn excerpt_tokens(&self, slot: u32, parts: &Parts) -> Result<usize> {
        Ok(self.line_tokens(slot, Some(parts))? + self.mark_tokens(slot)?)
    }

    fn line_tokens(&self, slot: u32, parts: Option<&Parts>) -> Result<usize> {
        let date = self.date(self.index.get(slot).timestamp);
        let line = ContextLine { outdated: String::new(), ..self.line(date, slot, None, parts) };
        self.count(&self.form.message(&line))
    }

    fn mark_tokens(&self, slot: u32) -> Result<usize> {
        self.count(&self.outdated_mark(slot))
    }

    /// The mark on a message if all of its content is superseded, otherwise empty.
    fn outdated_mark(&self, slot: u32) -> String {
        let content = self.outdated.get(&slot).filter(|content| !content.partly);
        let since = |content: &Successors| {
            let facts = content.facts.iter().map(|number| &self.facts[*number]);
            let since = facts.filter(|fact| fact.is_dated).map(|fact| self.since(fact));
            let ended = content.ended.map(|ended| FactSince::on(self.date(ended)));
            self.form.outdated_mark(self.words, since.min_by_key(|since| since.date).or(ended))
        };
        content.map(since).unwrap_or_default()
    }

    pub(crate) fn fact_line(&self, number: usize) -> String {
        let fact = &self.facts[number];
        self.form.fact(self.words, fact.section, self.since(fact), &fact.text)
    }

    /// Date since which a fact holds. 1 January, or the first of a month, stands for the year or
    /// the month, unless the message that states the fact is of that day.
    pub fn since(&self, fact: &KnownFact) -> FactSince {
        let date = self.date(fact.since);
        let year = date.year().to_string();
        let on_that_day = |slot: &u32| self.date(self.index.get(*slot).timestamp) == date;
        let is_said_then = fact.sources.is_empty() || fact.sources.iter().any(on_that_day);
        let known = match (date.month(), date.day()) {
            (1, 1) if !is_said_then => DatePrecision::Year,
            (_, 1) if !is_said_then => DatePrecision::Month,
            _ => DatePrecision::Day,
        };
        let told = !is_said_then && fact.text.contains(&year);
        FactSince { date, known, told, stated: fact.is_dated, ahead: fact.is_ahead }
    }

    pub fn summary_line(&self, number: usize) -> String {
        self.form.summary(&self.summaries[number].text)
    }
}
