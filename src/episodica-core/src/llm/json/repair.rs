//! Repairs small mistakes that models make in otherwise complete JSON.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// Parses `text` as one value, first strictly, then with repairs: line breaks in strings, unknown
/// escapes, trailing commas, comments, single quotes and Python's constants.
pub(super) fn parse_value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&repaired_text(text)).ok())
}

fn repaired_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    // The quotation mark that ends the string.
    let mut in_string: Option<char> = None;
    // A comma outside strings and the following white space, held back until the next token is
    // known.
    let mut pending = String::new();
    while let Some(c) = chars.next() {
        if let Some(quote) = in_string {
            if c == quote {
                in_string = None;
                out.push('"');
            } else {
                put_in_string(c, &mut chars, &mut out);
            }
            continue;
        }
        if c == '/' && chars.peek() == Some(&'/') {
            chars.by_ref().find(|next| *next == '\n');
            continue;
        }
        if c == ',' || (!pending.is_empty() && c.is_whitespace()) {
            out.push_str(if c == ',' { pending.as_str() } else { "" });
            if c == ',' {
                pending.clear();
            }
            pending.push(c);
            continue;
        }
        if !matches!(c, '}' | ']') {
            out.push_str(&pending);
        }
        pending.clear();
        match c {
            '"' | '\'' => {
                in_string = Some(c);
                out.push('"');
            }
            _ if c.is_ascii_alphabetic() && !out.ends_with(|last: char| last.is_ascii_digit()) => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(char::is_ascii_alphabetic) {
                    word.push(next);
                }
                out.push_str(match word.as_str() {
                    "None" | "NaN" | "undefined" => "null",
                    "True" => "true",
                    "False" => "false",
                    other => other,
                });
            }
            _ => out.push(c),
        }
    }
    out
}

/// Adds a character of a string that does not end it.
fn put_in_string(c: char, rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => match rest.next() {
            Some(escaped @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't' | 'u')) => {
                out.extend(['\\', escaped])
            }
            Some(other) => out.push(other),
            None => out.push(c),
        },
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        control if control < ' ' => out.push(' '),
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_mistakes_are_put_right() {
        assert_eq!(parse_value("{\"a\": [1, 2, ], }"), Some(json!({"a": [1, 2]})));
        assert_eq!(
            parse_value("{\"a\": \"two\nlines\tand, ]\"}"),
            Some(json!({"a": "two\nlines\tand, ]"}))
        );
        assert_eq!(
            parse_value(r#"{"a": "it\'s \u00e9 \"q\""}"#),
            Some(json!({"a": "it's é \"q\""}))
        );
        for (text, value) in [
            (
                "{'a': 'it is \"so\"', 'b': None, 'c': True}",
                json!({"a": "it is \"so\"", "b": null, "c": true}),
            ),
            ("{\"a\": NaN, // why\n \"b\": 1e2}", json!({"a": null, "b": 1e2})),
        ] {
            assert_eq!(parse_value(text), Some(value), "{text}");
        }
        for beyond in ["{\"a\": }", "[1,,2]", "{a: 1}", "\"\\", ""] {
            assert_eq!(parse_value(beyond), None, "{beyond}");
        }
    }
}
