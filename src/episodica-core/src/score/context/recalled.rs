//! Finds contexts inside messages. An imported chat log may include prompts, and a prompt may
//! include a context that this memory returned. Storing it again would duplicate known messages and
//! facts.
//!
//! Contexts are recognised by the form of their lines, whether plain, fenced, or inside a JSON
//! string. The caller checks from the quoted content whether this memory wrote them.

use std::borrow::Cow;
use std::ops::Range;

use jiff::civil::Date;
use serde_json::Value;

use super::wording::{ALL, WrittenDate};

/// Maximum length of a speaker or date at the start of a line, in characters.
const MAX_START: usize = 120;

/// The contexts found inside a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecalledText {
    /// The byte ranges of the message outside of contexts; empty if the message is JSON.
    pub rest: Vec<Range<usize>>,
    /// The quoted text: of messages with their days, and of facts.
    pub quoted: Vec<(Option<Date>, String)>,
}

/// Finds the contexts inside a message; `None` if it contains none.
pub fn without_contexts(text: &str) -> Option<RecalledText> {
    // Nearly no message contains a context, so look for the marks before reading lines.
    let marks = ["# ", "<day date=", "\"date\":\"", "\"date\\\":", "\"fact\":\"", "<fact"];
    if !marks.iter().any(|mark| text.contains(mark)) {
        return None;
    }
    // Inside a JSON string, line breaks are escaped.
    let is_escaped = text.contains("\\n");
    let text: Cow<'_, str> = if is_escaped {
        text.replace("\\n", "\n").replace("\\\"", "\"").into()
    } else {
        text.into()
    };
    let mut found = RecalledText::default();
    // True inside a context in the text form; the day of its last heading; and where the line
    // starts.
    let (mut is_open, mut day, mut start) = (false, None, 0);
    for whole in text.split_inclusive('\n') {
        let part = start..start + whole.len();
        start = part.end;
        let line = whole.trim_end_matches(['\n', '\r']);
        let bare = line.strip_prefix('>').map_or(line, |line| line.trim_start_matches(' '));
        if let Some(date) = heading(bare, day) {
            (is_open, day) = (true, date.or(day));
        } else if let Some(quoted) = json_line(bare) {
            found.quoted.push(quoted);
        } else if let Some(said) = tag_line(bare, &mut day) {
            found.quoted.extend(said.map(|said| (day, said)));
        } else if let Some(said) = text_line(bare).filter(|_| is_open) {
            found.quoted.push((day, said.to_owned()));
        } else {
            is_open = false;
            match found.rest.last_mut() {
                Some(last) if last.end == part.start => last.end = part.end,
                _ => found.rest.push(part),
            }
        }
    }
    found.rest.retain(|part| text[part.clone()].contains(char::is_alphanumeric));
    if is_escaped {
        found.rest.clear();
    }
    (!found.quoted.is_empty()).then_some(found)
}

/// Reads a heading of the text form: its day, or `Some(None)` for other headings. Only the first
/// day of a year has the year in its heading; `before` is the day of the previous heading.
fn heading(line: &str, before: Option<Date>) -> Option<Option<Date>> {
    // Inside JSON, a key precedes the first heading.
    let (key, heading) = line.split_once("# ")?;
    if !(key.is_empty() || key.ends_with('"')) {
        return None;
    }
    let heading = heading.trim_end();
    if ALL.iter().any(|words| words.is_heading(heading)) {
        return Some(None);
    }
    let found = WrittenDate::read_heading(heading)?;
    let mut years = before.map_or(0..=0, |before| before.year()..=before.year().saturating_add(1));
    let is_day = |date: &Date| ALL.iter().any(|words| words.is_day(heading, *date));
    let of_year = |year| found.in_year((year > 0).then_some(year)).filter(is_day);
    years.find_map(of_year).map(Some)
}

/// The quoted text of a line: a message's continuation, a fact, or a message after its speaker.
fn text_line(line: &str) -> Option<&str> {
    if let Some(further) = line.strip_prefix(' ') {
        return Some(further);
    }
    if let Some(fact) = line.strip_prefix("- ") {
        // A fact may start with a date.
        return Some(
            fact.split_once(": ").filter(|(start, _)| is_date(start)).map_or(fact, |s| s.1),
        );
    }
    let (start, said) = line.split_once(": ")?;
    (start.chars().count() <= MAX_START).then_some(said)
}

/// The date and quoted text of a line in the JSON form.
fn json_line(line: &str) -> Option<(Option<Date>, String)> {
    let starts = ["{\"date\":\"", "{\"since\":\"", "{\"fact\":\""];
    let start = starts.iter().any(|start| line.starts_with(start));
    let mut values = serde_json::Deserializer::from_str(line).into_iter::<Value>();
    let item = start.then(|| values.next()?.ok())??;
    let text = |key| item.get(key).and_then(Value::as_str);
    let said = text("content").or_else(|| text("fact"))?;
    Some((text("date").and_then(|date| date.parse().ok()), said.to_owned()))
}

/// The quoted text of a line in the tag form; `Some(None)` for structural tags. A day's tag sets
/// `day`.
fn tag_line(line: &str, day: &mut Option<Date>) -> Option<Option<String>> {
    if let Some(date) = line.strip_prefix("<day date=\"") {
        *day = date.get(..10).and_then(|date| date.parse().ok());
        return Some(None);
    }
    if ["<memory>", "</memory>", "</day>", "<left-out/>"].contains(&line) {
        return Some(None);
    }
    let tags = ["<message from=\"", "<fact since=\"", "<fact>"];
    let (_, said) =
        tags.iter().any(|tag| line.starts_with(tag)).then(|| line.split_once('>'))??;
    let said = said.split("</").next().unwrap_or(said);
    let said = said.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Some(Some(said.replace("&amp;", "&")))
}

/// True for the date before a fact, such as "8 May 2024", "May 2024" or "3月8日".
pub fn is_date(text: &str) -> bool {
    WrittenDate::read(text).is_some()
}
