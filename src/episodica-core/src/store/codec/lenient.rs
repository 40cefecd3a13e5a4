//! Values as other programs write them: dates in three formats, lists that may be missing, numbers
//! that may be strings.

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::clock::Moment;
use crate::ids::Owner;
use crate::model::TextProvenance;

/// A record and readable notes about it; `Err` states why the line is not a record.
pub(crate) type Read<T> = Result<(T, Vec<String>), String>;

/// Maximum nesting of a caller's JSON: every reader handles this depth.
pub(crate) const MAX_JSON_DEPTH: usize = 128;

/// True if well-formed JSON is nested deeper than [`MAX_JSON_DEPTH`].
pub(crate) fn is_too_deep(json: &str) -> bool {
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            b'[' | b'{' if !inside => depth += 1,
            b']' | b'}' if !inside => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_JSON_DEPTH {
            return true;
        }
    }
    false
}

/// A point in time as ISO 8601 with or without offset, or as seconds since 1970.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum LooseMoment {
    /// Missing or null.
    #[default]
    Absent,
    At(Moment),
    /// Present, but not a date.
    Unreadable(String),
}

impl LooseMoment {
    pub fn get(&self) -> Option<Moment> {
        match self {
            Self::At(moment) => Some(*moment),
            _ => None,
        }
    }

    fn from_seconds(seconds: f64) -> Self {
        let micros = (seconds * 1e6).round();
        // A float beyond 64 bits saturates and is then outside the calendar.
        Moment::new(micros as i64, 0)
            .map_or_else(|_| Self::Unreadable(seconds.to_string()), Self::At)
    }
}

impl<'de> Deserialize<'de> for LooseMoment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyForm;
        impl<'de> Visitor<'de> for AnyForm {
            type Value = LooseMoment;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a date")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<LooseMoment, E> {
                Ok(Moment::parse(text).map_or_else(
                    |_| LooseMoment::Unreadable(text.chars().take(40).collect()),
                    LooseMoment::At,
                ))
            }
            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<LooseMoment, E> {
                Ok(LooseMoment::from_seconds(seconds))
            }
            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<LooseMoment, E> {
                Ok(LooseMoment::from_seconds(seconds as f64))
            }
            fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<LooseMoment, E> {
                Ok(LooseMoment::from_seconds(seconds as f64))
            }
            fn visit_unit<E: de::Error>(self) -> Result<LooseMoment, E> {
                Ok(LooseMoment::Absent)
            }
        }
        deserializer.deserialize_any(AnyForm)
    }
}

/// A list of strings. A single string becomes a list of one; null and a missing value become an
/// empty list; other elements are left out.
pub(crate) fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Array(items) => items
            .into_iter()
            .filter_map(|item| match item {
                serde_json::Value::String(text) => Some(text),
                _ => None,
            })
            .collect(),
        serde_json::Value::String(text) => vec![text],
        _ => Vec::new(),
    })
}

/// A JSON object; any other value becomes an empty object.
pub(crate) fn object<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<serde_json::Map<String, serde_json::Value>, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Object(map) => map,
        _ => serde_json::Map::new(),
    })
}

/// A string; null becomes empty, numbers and other values are converted to text.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    })
}

pub(super) fn check_owner(owner: &Owner, user_id: Option<&str>) -> Result<(), String> {
    match user_id {
        Some(user) if !user.is_empty() && user != owner.user => {
            Err(format!("the record belongs to another user: `{user}`"))
        }
        _ => Ok(()),
    }
}

/// One note for each unreadable date.
pub(super) fn note_dates(dates: &[(&str, &LooseMoment)]) -> Vec<String> {
    let unreadable = |(key, date): &(&str, &LooseMoment)| match date {
        LooseMoment::Unreadable(text) => {
            Some(format!("`{key}` is not a date and was ignored: `{text}`"))
        }
        _ => None,
    };
    dates.iter().filter_map(unreadable).collect()
}

/// The provenance of a record without one.
pub(super) fn imported() -> TextProvenance {
    TextProvenance { method: "imported".into(), ..TextProvenance::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_come_in_many_forms() {
        let read = |json: &str| serde_json::from_str::<LooseMoment>(json).unwrap();
        let noon = Moment::parse("2024-03-11T12:00:00Z").unwrap();
        assert_eq!(read("\"2024-03-11T12:00:00.000000\""), LooseMoment::At(noon));
        assert_eq!(read("\"2024-03-11T14:00:00+02:00\""), LooseMoment::At(noon));
        assert_eq!(read("1710158400"), LooseMoment::At(noon));
        assert_eq!(read("1710158400.0"), LooseMoment::At(noon));
        assert_eq!(read("null"), LooseMoment::Absent);
        assert_eq!(read("\"yesterday\""), LooseMoment::Unreadable("yesterday".into()));
        assert!(matches!(read("1e300"), LooseMoment::Unreadable(_)));
    }
}
