//! Output formats of a context. In none of them can a message imitate the structure around it:
//! plain text indents continuation lines, JSON and XML escape special characters.

use std::borrow::Cow;

use jiff::civil::Date;
use serde_json::{Value, json};

use super::quote::{name, one_line, push_quoted, push_tagged};
use super::wording::ContextWords;
use crate::error::{Error, Result};
use crate::text::count_tokens;

/// Precedes a message if earlier messages of its day and session are omitted.
const LEFT_OUT: &str = "[…] ";

/// Output format of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputForm {
    /// Lines under headings; uses the fewest tokens.
    #[default]
    Text,
    /// As `Text`, but each message has its speaker and each day its year, so that every line can
    /// stand under its heading without the lines before.
    Lines,
    /// One JSON object with lists of facts, summaries and messages.
    Json,
    /// XML-like tags.
    Xml,
}

/// Sections for facts, in output order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FactSection {
    /// Facts about the user and their world, grouped by year.
    #[default]
    Facts,
    /// Facts about an agent.
    Agent,
    /// Actions of an agent that succeeded.
    Worked,
    /// Actions of an agent that failed.
    Failed,
    /// Actions of an agent whose outcome is unknown.
    Tried,
}

impl FactSection {
    /// Name of the list in JSON and of the tag in XML.
    fn name(self) -> &'static str {
        match self {
            Self::Facts => "facts",
            Self::Agent => "agent",
            Self::Worked => "worked",
            Self::Failed => "failed",
            Self::Tried => "tried",
        }
    }
}

/// Date since which a fact holds, with its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FactSince {
    pub date: Date,
    pub known: DatePrecision,
    /// True if the fact's text states the date, so that it is not repeated.
    pub told: bool,
    /// False if no one said since when the fact holds; then no date is written.
    pub stated: bool,
    /// True if the date is still to come.
    pub ahead: bool,
}

/// Precision of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DatePrecision {
    Day,
    Month,
    Year,
}

impl FactSince {
    /// A day.
    pub fn on(date: Date) -> Self {
        Self { date, known: DatePrecision::Day, told: false, stated: true, ahead: false }
    }

    /// The date as written before a fact; empty if the heading or the text already states it.
    /// `year` is false under a heading with the year.
    fn before_fact(self, words: &ContextWords, year: bool) -> String {
        if self.told && !self.ahead || !self.stated {
            return String::new();
        }
        let date = self.in_text(words, year);
        match self.ahead {
            _ if date.is_empty() => date,
            true => words.ahead.replace("{}", &date) + ": ",
            false => date + ": ",
        }
    }

    pub fn in_text(self, words: &ContextWords, year: bool) -> String {
        words.date(self.date, self.known, year)
    }

    /// The date in ISO 8601, shortened to its precision.
    fn iso(self) -> String {
        let form = match self.known {
            DatePrecision::Day => "%Y-%m-%d",
            DatePrecision::Month => "%Y-%m",
            DatePrecision::Year => "%Y",
        };
        self.date.strftime(form).to_string()
    }
}

/// The parts of a context, in output order.
pub(super) enum ContextPiece<'a> {
    Fact { section: FactSection, since: FactSince, text: &'a str },
    Summary(&'a str),
    Day(Date),
    Message(ContextLine<'a>),
}

/// A message in a context.
pub(super) struct ContextLine<'a> {
    pub date: Date,
    pub speaker: &'a str,
    pub content: Cow<'a, str>,
    /// True if the content is only part of the message.
    pub excerpt: bool,
    /// The mark if a later fact supersedes the content, otherwise empty.
    pub outdated: String,
    /// True if earlier messages of the same day and session are omitted.
    pub gap: bool,
    /// True if the previous message is by the same speaker.
    pub goes_on: bool,
}

impl OutputForm {
    /// Looks a format up by name.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown name.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "text" => Ok(Self::Text),
            "lines" => Ok(Self::Lines),
            "json" => Ok(Self::Json),
            "xml" => Ok(Self::Xml),
            other => Err(Error::invalid(format!("format is unknown: `{other}`"))),
        }
    }

    /// The output for an empty context.
    pub fn empty(self) -> &'static str {
        match self {
            Self::Text | Self::Lines => "",
            Self::Json => "{}",
            Self::Xml => "<memory/>",
        }
    }

    /// Token count of the output format's frame.
    pub(super) fn frame_tokens(self) -> usize {
        match self {
            Self::Text | Self::Lines => 0,
            Self::Json => count_tokens("{\"facts\":[\n],\n\"messages\":[\n]}"),
            Self::Xml => count_tokens("<memory>\n</memory>"),
        }
    }

    /// Token count of a day heading with its year.
    pub(super) fn day_tokens(self, words: &ContextWords) -> usize {
        let date = jiff::civil::date(2024, 11, 30);
        match self {
            Self::Text | Self::Lines => count_tokens(&words.day_heading(date, true)),
            Self::Json => 0,
            Self::Xml => count_tokens(&format!("{}{DAY_END}", day_tag(date))),
        }
    }

    /// Token count of the heading over a year's facts.
    pub(super) fn year_tokens(self, words: &ContextWords) -> usize {
        let is_text = matches!(self, Self::Text | Self::Lines);
        if is_text { count_tokens(&words.fact_heading(2024)) } else { 0 }
    }

    /// Token count of the heading over the summaries.
    pub(super) fn summaries_tokens(self, words: &ContextWords) -> usize {
        match self {
            Self::Text | Self::Lines => count_tokens(&words.summaries_heading()),
            Self::Json => count_tokens("\"summaries\":[\n],\n"),
            Self::Xml => 0,
        }
    }

    /// The mark on an outdated message: since when the fact that superseded it holds, which shows
    /// where in the context that fact stands.
    pub(super) fn outdated_mark(self, words: &ContextWords, since: Option<FactSince>) -> String {
        match (self, since) {
            (Self::Text | Self::Lines, since) => {
                words.outdated_mark(since.map(|since| since.in_text(words, true)).as_deref())
            }
            (Self::Json, None) => ",\"outdated\":true".to_owned(),
            (Self::Json, Some(since)) => {
                format!(",\"outdated\":true,\"outdated_since\":\"{}\"", since.iso())
            }
            (Self::Xml, None) => " outdated=\"true\"".to_owned(),
            (Self::Xml, Some(since)) => {
                format!(" outdated=\"true\" outdated_since=\"{}\"", since.iso())
            }
        }
    }

    pub(super) fn fact(
        self,
        words: &ContextWords,
        section: FactSection,
        since: FactSince,
        text: &str,
    ) -> String {
        match self {
            // Facts stand under their year.
            Self::Text | Self::Lines => {
                format!(
                    "- {}{}\n",
                    since.before_fact(words, section != FactSection::Facts),
                    one_line(text)
                )
            }
            Self::Json => {
                let fact = one_line(text);
                let item = if since.stated {
                    json!({"since": since.iso(), "fact": fact})
                } else {
                    json!({"fact": fact})
                };
                format!("{item},\n")
            }
            Self::Xml => {
                let tag = if section == FactSection::Facts { "fact" } else { section.name() };
                let mut line = format!("<{tag}");
                if since.stated {
                    line += &format!(" since=\"{}\"", since.iso());
                }
                line.push('>');
                push_tagged(&mut line, &one_line(text));
                line + &format!("</{tag}>\n")
            }
        }
    }

    pub(super) fn summary(self, text: &str) -> String {
        match self {
            Self::Text | Self::Lines => format!("- {}\n", one_line(text)),
            Self::Json => format!("{},\n", json!(one_line(text))),
            Self::Xml => {
                let mut line = "<summary>".to_owned();
                push_tagged(&mut line, &one_line(text));
                line + "</summary>\n"
            }
        }
    }

    pub(super) fn message(self, line: &ContextLine<'_>) -> String {
        let mut text = String::with_capacity(line.content.len() + 64);
        match self {
            Self::Text | Self::Lines => {
                if line.goes_on && self == Self::Text {
                    text.push(' ');
                } else {
                    if line.gap {
                        text.push_str(LEFT_OUT);
                    }
                    text.push_str(&name(line.speaker));
                    text.push_str(&line.outdated);
                    text.push_str(": ");
                }
                push_quoted(&mut text, &line.content);
                text.push('\n');
            }
            Self::Json => {
                let mut object = serde_json::Map::new();
                object.insert("date".to_owned(), line.date.to_string().into());
                object.insert("speaker".to_owned(), line.speaker.into());
                object.insert("content".to_owned(), (*line.content).into());
                for (key, flag) in [("excerpt", line.excerpt), ("after_gap", line.gap)] {
                    if flag {
                        object.insert(key.to_owned(), true.into());
                    }
                }
                text = Value::Object(object).to_string();
                text.insert_str(text.len() - 1, &line.outdated);
                text.push_str(",\n");
            }
            Self::Xml => {
                if line.gap {
                    text.push_str("<left-out/>\n");
                }
                text.push_str("<message from=\"");
                push_tagged(&mut text, &name(line.speaker));
                text.push_str(if line.excerpt { "\" excerpt=\"true" } else { "" });
                text.push('"');
                text.push_str(&line.outdated);
                text.push('>');
                push_tagged(&mut text, &line.content);
                text.push_str("</message>\n");
            }
        }
        text
    }

    /// Writes the whole context.
    pub(super) fn write(self, words: &ContextWords, pieces: &[ContextPiece<'_>]) -> String {
        if pieces.is_empty() {
            return self.empty().to_owned();
        }
        match self {
            Self::Text | Self::Lines => self.as_text(words, pieces),
            Self::Json => self.as_json(words, pieces),
            Self::Xml => self.as_xml(words, pieces),
        }
    }

    fn as_text(self, words: &ContextWords, pieces: &[ContextPiece<'_>]) -> String {
        let (mut text, mut under, mut summarised) = (String::new(), None, false);
        let mut year = None;
        for piece in pieces {
            match piece {
                ContextPiece::Fact { section, since, text: fact } => {
                    let has_year = *section == FactSection::Facts && since.stated;
                    let year = has_year.then(|| since.date.year());
                    if under.replace((*section, year)) != Some((*section, year)) {
                        text.push_str(&match year {
                            Some(year) => words.fact_heading(year),
                            None => words.section_heading(*section),
                        });
                    }
                    text.push_str(&self.fact(words, *section, *since, fact));
                }
                ContextPiece::Summary(summary) => {
                    if !std::mem::replace(&mut summarised, true) {
                        text.push_str(&words.summaries_heading());
                    }
                    text.push_str(&self.summary(summary));
                }
                ContextPiece::Day(date) => {
                    let is_new =
                        year.replace(date.year()) != Some(date.year()) || self == Self::Lines;
                    text.push_str(&words.day_heading(*date, is_new));
                }
                ContextPiece::Message(line) => text.push_str(&self.message(line)),
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    fn as_json(self, words: &ContextWords, pieces: &[ContextPiece<'_>]) -> String {
        use FactSection::{Agent, Facts, Failed, Tried, Worked};
        let names = [Facts, Agent, Worked, Failed, Tried].map(FactSection::name);
        let names = names.into_iter().chain(["summaries", "messages"]);
        let mut lists: Vec<(&str, String)> = names.map(|name| (name, String::new())).collect();
        for piece in pieces {
            let (name, item) = match piece {
                ContextPiece::Fact { section, since, text } => {
                    (section.name(), self.fact(words, *section, *since, text))
                }
                ContextPiece::Summary(text) => ("summaries", self.summary(text)),
                ContextPiece::Day(_) => continue,
                ContextPiece::Message(line) => ("messages", self.message(line)),
            };
            for (_, items) in lists.iter_mut().filter(|(list, _)| *list == name) {
                items.push_str(&item);
            }
        }
        let lists: Vec<String> = lists
            .iter()
            .filter(|(_, items)| !items.is_empty())
            .map(|(name, items)| format!("\"{name}\":[\n{}]", items.trim_end_matches(",\n")))
            .collect();
        format!("{{{}}}", lists.join(",\n"))
    }

    fn as_xml(self, words: &ContextWords, pieces: &[ContextPiece<'_>]) -> String {
        let (mut text, mut open) = ("<memory>\n".to_owned(), false);
        for piece in pieces {
            match piece {
                ContextPiece::Fact { section, since, text: fact } => {
                    text.push_str(&self.fact(words, *section, *since, fact))
                }
                ContextPiece::Summary(summary) => text.push_str(&self.summary(summary)),
                ContextPiece::Day(date) => {
                    if std::mem::replace(&mut open, true) {
                        text.push_str(DAY_END);
                    }
                    text.push_str(&day_tag(*date));
                }
                ContextPiece::Message(line) => text.push_str(&self.message(line)),
            }
        }
        text.push_str(if open { DAY_END } else { "" });
        text + "</memory>"
    }
}

const DAY_END: &str = "</day>\n";

fn day_tag(date: Date) -> String {
    format!("<day date=\"{date}\">\n")
}
