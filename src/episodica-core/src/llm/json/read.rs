//! Methods of reading JSON, from strict to lenient.

use serde_json::{Map, Value};

use super::repair::parse_value;
use super::scan::JsonScan;

/// Maximum length that is read: far more than any answer within a usual token limit, but small
/// enough to parse in memory.
pub const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// An object, and how it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SalvagedObject {
    /// Its members.
    pub value: Map<String, Value>,
    /// True if the text was not exactly this object.
    pub salvaged: bool,
    /// Number of unreadable members.
    pub lost: usize,
}

/// A list, and how it was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SalvagedList {
    /// The readable items, in order.
    pub values: Vec<Value>,
    /// True if the text was not exactly this list.
    pub salvaged: bool,
    /// Number of unreadable items, including a truncated last one.
    pub lost: usize,
    /// True if there was a list, even an empty one. False means that the text contains no answer.
    pub found: bool,
    /// True if the text was one object with this list under the requested key.
    pub keyed: bool,
}

/// The object in `text`; `None` if there is none with at least one readable member.
///
/// ```
/// use episodica_core::llm::json::read_object;
/// let salvaged = read_object("Sure!\n```json\n{\"title\": \"A walk\"}\n```").expect("an object");
/// assert_eq!(salvaged.value["title"], "A walk");
/// assert!(salvaged.salvaged);
/// ```
pub fn read_object(text: &str) -> Option<SalvagedObject> {
    object_with(text, &[])
}

/// The last complete object in `text` with one of `keys`: a model's drafts precede its answer. If
/// there is none, the result of [`read_object`].
pub fn object_with(text: &str, keys: &[&str]) -> Option<SalvagedObject> {
    let text = bounded_text(text);
    let strict = serde_json::from_str(text);
    let has_form = |value: &Value| keys.iter().any(|key| value.get(key).is_some());
    match strict {
        Ok(Value::Object(value))
            if keys.is_empty() || keys.iter().any(|one| value.contains_key(*one)) =>
        {
            return Some(SalvagedObject { value, salvaged: false, lost: 0 });
        }
        Ok(Value::String(inner)) if inner.len() < text.len() => {
            return object_with(&inner, keys)
                .map(|found| SalvagedObject { salvaged: true, ..found });
        }
        _ => {}
    }
    let text = answer_of(text);
    let whole = |value| Some(SalvagedObject { value, salvaged: true, lost: 0 });
    if let Some(Value::Object(value)) = last_of_form(text, has_form) {
        return whole(value);
    }
    if let Ok(Value::Object(value)) = serde_json::from_str(text) {
        return Some(SalvagedObject { value, salvaged: false, lost: 0 });
    }
    for inner in fenced_texts(text) {
        if let Some(Value::Object(value)) = parse_value(inner) {
            return whole(value);
        }
    }
    let mut scan = JsonScan::new(text);
    let mut at = 0;
    while let Some(start) = scan.find_byte(at, b"{") {
        let end = scan.container_end(start);
        if let Some(Value::Object(value)) = end.and_then(|end| parse_value(&text[start..end]))
            && !value.is_empty()
        {
            return whole(value);
        }
        let (value, lost) = scan.read_members(start);
        if !value.is_empty() {
            return Some(SalvagedObject { value, salvaged: true, lost });
        }
        at = end.unwrap_or(start + 1);
    }
    None
}

/// The items of the list under `key`, or of a list without a key.
///
/// An object or a string instead of the list is a list of one; `null` is an empty list.
///
/// ```
/// use episodica_core::llm::json::read_items;
/// let cut = r#"{"facts": [{"text": "a"}, {"text": oops}, {"text": "c"}, {"te"#;
/// let items = read_items(cut, "facts");
/// assert_eq!((items.values.len(), items.lost, items.salvaged), (2, 2, true));
/// ```
pub fn read_items(text: &str, key: &str) -> SalvagedList {
    let text = bounded_text(text);
    let read = |value: Value, salvaged: bool| {
        let keyed = value.get(key).is_some_and(Value::is_array);
        let (values, guessed) = read_list(value, key)?;
        Some(SalvagedList { values, salvaged: salvaged || guessed, lost: 0, found: true, keyed })
    };
    match serde_json::from_str::<Value>(text) {
        Ok(Value::String(inner)) if inner.len() < text.len() => {
            return SalvagedList { salvaged: true, ..read_items(&inner, key) };
        }
        Ok(value) => {
            if let Some(found) = read(value, false) {
                return found;
            }
        }
        Err(_) => {}
    }
    let text = answer_of(text);
    let last = last_of_form(text, |value| value.get(key).is_some());
    if let Some(found) = last.and_then(|value| read(value, true)) {
        // If the whole text is valid JSON, nothing was salvaged.
        let is_all = serde_json::from_str::<Value>(text).is_ok_and(|all| all.get(key).is_some());
        return SalvagedList { salvaged: found.salvaged && !is_all, ..found };
    }
    for inner in fenced_texts(text) {
        if let Some(found) = parse_value(inner).and_then(|value| read(value, true)) {
            return found;
        }
    }
    salvaged_items(text, key)
}

/// The items of the list under `key`, or of the first plausible list, in a text that is not JSON.
fn salvaged_items(text: &str, key: &str) -> SalvagedList {
    let mut scan = JsonScan::new(text);
    let split = |scan: &mut JsonScan<'_>, start| {
        let (values, lost) = scan.read_elements(start)?;
        Some(SalvagedList { values, salvaged: true, lost, found: true, keyed: false })
    };
    if let Some(start) = scan.list_under(key) {
        return SalvagedList { keyed: true, ..split(&mut scan, start).unwrap_or_default() };
    }
    // Prompts ask for lists of objects, and lists of strings are plausible. A list of other values
    // may be a reference mark in prose.
    for first in [&b"{"[..], b"\"", b""] {
        let mut at = 0;
        while let Some(start) = scan.find_byte(at, b"[{") {
            let is_list = text.as_bytes()[start] == b'[';
            if is_list
                && scan.starts_with(start + 1, first)
                && let Some(items) = split(&mut scan, start)
                && (!items.values.is_empty() || items.lost == 0)
            {
                return items;
            }
            match scan.container_end(start) {
                Some(end) => at = end,
                // A list inside a truncated object belongs to that object.
                None if !is_list => break,
                None => at = start + 1,
            }
        }
    }
    SalvagedList::default()
}

/// The items of `value`, and `true` if reading them required a guess.
fn read_list(value: Value, key: &str) -> Option<(Vec<Value>, bool)> {
    match value {
        Value::Array(mut values) => match values.as_mut_slice() {
            [Value::Object(only)] if only.get(key).is_some_and(Value::is_array) => {
                Some((read_array(only.remove(key)?)?, true))
            }
            _ => Some((values, false)),
        },
        Value::Object(mut members) => match members.remove(key) {
            Some(Value::Array(values)) => Some((values, false)),
            Some(Value::Null) => Some((Vec::new(), false)),
            Some(only @ (Value::Object(_) | Value::String(_))) => Some((vec![only], true)),
            Some(_) => None,
            // Small models rename the requested key.
            None if members.len() == 1 => Some((read_array(members.into_iter().next()?.1)?, true)),
            None => None,
        },
        _ => None,
    }
}

fn read_array(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

/// `text`, cut to the maximum length.
fn bounded_text(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_start_matches('\u{feff}').trim()
}

/// Marks that open a model's reasoning.
const OPENINGS: [&str; 8] = [
    "<think>",
    "<thinking>",
    "<thought>",
    "<reasoning>",
    "<seed:think>",
    "◁think▷",
    "[THINK]",
    "<|channel|>analysis",
];

/// Marks after which the answer follows.
const ENDS: [&str; 8] = [
    "</think>",
    "</thinking>",
    "</thought>",
    "</reasoning>",
    "</seed:think>",
    "◁/think▷",
    "[/THINK]",
    "<|channel|>final",
];

/// The answer without the reasoning before it; empty if the text is reasoning only.
///
/// ```
/// use episodica_core::llm::json::answer_of;
/// assert_eq!(answer_of("First {\"a\": 0}.</think> {\"a\": 1}"), "{\"a\": 1}");
/// assert_eq!(answer_of("<think> Hm, {\"a\": 0}"), "");
/// ```
pub fn answer_of(text: &str) -> &str {
    let text = text.trim();
    let ends = ENDS.iter().filter_map(|mark| text.rfind(mark).map(|at| (at, at + mark.len())));
    match ends.max() {
        Some((_, end)) if text[end..].contains(['{', '[']) => text[end..].trim(),
        // The mark is inside the answer or after it.
        Some((_, _)) if text.starts_with(['{', '[', '`']) => text,
        Some((_, end)) => text[end..].trim(),
        None if OPENINGS.iter().any(|mark| text.starts_with(mark)) => "",
        None => text,
    }
}

/// The last complete object for which `has_form` holds, on its own or as the only member of another
/// object.
fn last_of_form(text: &str, has_form: impl Fn(&Value) -> bool) -> Option<Value> {
    let mut scan = JsonScan::new(text);
    let (mut at, mut last) = (0, None);
    while let Some(start) = scan.find_byte(at, b"{") {
        let end = scan.container_end(start);
        let mut value = end.and_then(|end| parse_value(&text[start..end]));
        while let Some(one) = value {
            if has_form(&one) {
                last = Some(one);
                break;
            }
            value = match one {
                Value::Object(members) if members.len() == 1 => {
                    members.into_iter().next().map(|(_, inner)| inner)
                }
                _ => None,
            };
        }
        at = end.unwrap_or(start + 1);
    }
    last
}

/// The numbers in a value: `[3, 4]`, `3`, `"3"`, `"3-5"`, `"3, 4"`.
pub fn read_numbers(value: &Value) -> Vec<u64> {
    /// Maximum number of values; far more than a window has messages.
    const MOST: u64 = 10_000;
    match value {
        Value::Array(values) => values
            .iter()
            .take(MOST as usize)
            .filter(|one| !one.is_array())
            .flat_map(read_numbers)
            .collect(),
        Value::Number(_) => value.as_u64().into_iter().collect(),
        Value::String(text) => text
            .split([',', ';', ' '])
            .filter_map(|part| match part.split_once(['-', '–']) {
                Some((first, last)) => {
                    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                    Some(first..=u64::min(last, first + MOST))
                }
                None => part.trim().parse().ok().map(|one: u64| one..=one),
            })
            .flatten()
            .take(MOST as usize)
            .collect(),
        _ => Vec::new(),
    }
}

/// The contents of fences of three backticks, without the name of the language.
fn fenced_texts(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .skip(1)
        .step_by(2)
        .map(|inner| inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric()).trim())
}
