//! The methods of reading JSON, from strict to lenient.

use serde_json::{Map, Value};

use super::repair::parse;
use super::scan::Scan;

/// Longer texts are cut off here: far more than any answer within a usual token limit, and little
/// enough to keep as values.
pub const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// An object, and how it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Salvaged {
    /// Its members.
    pub value: Map<String, Value>,
    /// True if the text was not exactly this object.
    pub salvaged: bool,
    /// Number of unreadable members.
    pub lost: usize,
}

/// A list, and how it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Items {
    /// The readable items, in order.
    pub values: Vec<Value>,
    /// True if the text was not exactly this list.
    pub salvaged: bool,
    /// Number of unreadable items, including a truncated last one.
    pub lost: usize,
    /// True if there was a list, even an empty one. `false`: the text contains no answer.
    pub found: bool,
    /// True if the text was one object with this list under its key.
    pub keyed: bool,
}

/// The object in `text`; `None` if there is none with at least one readable member.
///
/// ```
/// use episodica_core::llm::json::object;
/// let salvaged = object("Sure!\n```json\n{\"title\": \"A walk\"}\n```").expect("an object");
/// assert_eq!(salvaged.value["title"], "A walk");
/// assert!(salvaged.salvaged);
/// ```
pub fn object(text: &str) -> Option<Salvaged> {
    let text = relevant(text);
    if let Ok(Value::Object(value)) = serde_json::from_str(text) {
        return Some(Salvaged { value, salvaged: false, lost: 0 });
    }
    let whole = |value| Some(Salvaged { value, salvaged: true, lost: 0 });
    for inner in fences(text) {
        if let Some(Value::Object(value)) = parse(inner) {
            return whole(value);
        }
    }
    let mut scan = Scan::new(text);
    let mut at = 0;
    while let Some(start) = scan.find(at, b"{") {
        let end = scan.balanced(start);
        if let Some(Value::Object(value)) = end.and_then(|end| parse(&text[start..end]))
            && !value.is_empty()
        {
            return whole(value);
        }
        let (value, lost) = scan.members(start);
        if !value.is_empty() {
            return Some(Salvaged { value, salvaged: true, lost });
        }
        at = end.unwrap_or(start + 1);
    }
    None
}

/// The items of the list under `key`, or of a list without a key.
///
/// An object instead of the list is a list of one; `null` is an empty list.
///
/// ```
/// use episodica_core::llm::json::items;
/// let items = items(r#"{"facts": [{"text": "a"}, {"text": oops}, {"text": "c"}, {"te"#, "facts");
/// assert_eq!((items.values.len(), items.lost, items.salvaged), (2, 2, true));
/// ```
pub fn items(text: &str, key: &str) -> Items {
    let text = relevant(text);
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let keyed = value.get(key).is_some_and(Value::is_array);
        if let Some((values, salvaged)) = list(value, key) {
            return Items { values, salvaged, lost: 0, found: true, keyed };
        }
    }
    for inner in fences(text) {
        let value = parse(inner);
        let keyed = value.as_ref().is_some_and(|one| one.get(key).is_some_and(Value::is_array));
        if let Some((values, _)) = value.and_then(|value| list(value, key)) {
            return Items { values, salvaged: true, lost: 0, found: true, keyed };
        }
    }
    let mut scan = Scan::new(text);
    let split = |scan: &mut Scan<'_>, start| {
        let (values, lost) = scan.elements(start)?;
        Some(Items { values, salvaged: true, lost, found: true, keyed: false })
    };
    if let Some(start) = scan.list_under(key) {
        return Items { keyed: true, ..split(&mut scan, start).unwrap_or_default() };
    }
    // Prompts ask for lists of objects, and lists of strings are likely; a list of anything else
    // may be a reference mark in prose.
    for first in [&b"{"[..], b"\"", b""] {
        let mut at = 0;
        while let Some(start) = scan.find(at, b"[{") {
            let is_list = text.as_bytes()[start] == b'[';
            if is_list
                && scan.starts_with(start + 1, first)
                && let Some(items) = split(&mut scan, start)
                && (!items.values.is_empty() || items.lost == 0)
            {
                return items;
            }
            match scan.balanced(start) {
                Some(end) => at = end,
                // A list inside a truncated object belongs to that object.
                None if !is_list => break,
                None => at = start + 1,
            }
        }
    }
    Items::default()
}

/// The items of `value`, and whether reading them took a guess.
fn list(value: Value, key: &str) -> Option<(Vec<Value>, bool)> {
    match value {
        Value::Array(mut values) => match values.as_mut_slice() {
            [Value::Object(only)] if only.get(key).is_some_and(Value::is_array) => {
                Some((array(only.remove(key)?)?, true))
            }
            _ => Some((values, false)),
        },
        Value::Object(mut members) => match members.remove(key) {
            Some(Value::Array(values)) => Some((values, false)),
            Some(Value::Null) => Some((Vec::new(), false)),
            Some(Value::Object(only)) => Some((vec![Value::Object(only)], true)),
            Some(_) => None,
            // Small models rename the requested key.
            None if members.len() == 1 => Some((array(members.into_iter().next()?.1)?, true)),
            None => None,
        },
        _ => None,
    }
}

fn array(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

/// `text` within the limit, without the visible reasoning before the answer.
fn relevant(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let text = text.trim_start_matches('\u{feff}').trim();
    match text.strip_prefix("<think>").and_then(|thoughts| thoughts.split_once("</think>")) {
        Some((_, answer)) => answer.trim(),
        None => text,
    }
}

/// The text between three backticks, without the name of the language.
fn fences(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .map(|inner| inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim())
}
