//! Repairs small mistakes of models in JSON that is otherwise complete.

use serde_json::Value;

/// Reads `text` as one value: strictly, then with line breaks in strings, unknown escapes and
/// trailing commas repaired.
pub(super) fn parse(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&repaired(text)).ok())
}

fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    // Holds a comma outside strings, and the white space after it, until the next token is known.
    let mut pending = String::new();
    while let Some(c) = chars.next() {
        if in_string {
            match c {
                '"' => {
                    in_string = false;
                    out.push(c);
                }
                '\\' => match chars.next() {
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
        in_string = c == '"';
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn small_mistakes_are_put_right() {
        assert_eq!(parse("{\"a\": [1, 2, ], }"), Some(json!({"a": [1, 2]})));
        assert_eq!(
            parse("{\"a\": \"two\nlines\tand, ]\"}"),
            Some(json!({"a": "two\nlines\tand, ]"}))
        );
        assert_eq!(parse(r#"{"a": "it\'s \u00e9 \"q\""}"#), Some(json!({"a": "it's é \"q\""})));
        for beyond in ["{\"a\": }", "[1,,2]", "{a: 1}", "\"\\", ""] {
            assert_eq!(parse(beyond), None, "{beyond}");
        }
    }
}
