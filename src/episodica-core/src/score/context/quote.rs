//! Quoting messages and names so that no message passes for the structure around it.
//!
//! In a context a line that begins in the first column is a heading, a fact or a message with its
//! speaker. Every other line of a message begins with a space. Of all indents a single space costs
//! the fewest tokens: -0.4 % in talk, 0.7 % in Markdown, 2.2 % in code.

/// What further lines of a message begin with.
const INDENT: char = ' ';
/// Longest name that is shown, in characters.
const MAX_NAME_CHARS: usize = 64;

/// True for every character at which some reader begins a new line.
fn breaks_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Appends the content of a message, its further lines indented.
pub(super) fn push_quoted(text: &mut String, content: &str) {
    let mut chars = content.chars().peekable();
    while let Some(c) = chars.next() {
        text.push(c);
        if breaks_line(c) && !(c == '\r' && chars.peek() == Some(&'\n')) {
            text.push(INDENT);
        }
    }
}

/// Appends a text so that nothing in it is a tag or ends an attribute.
pub(super) fn push_tagged(text: &mut String, content: &str) {
    for c in content.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            c => text.push(c),
        }
    }
}

/// A text on one line, white space collapsed.
pub(super) fn one_line(text: &str) -> String {
    let shown: String = text.chars().map(|c| if breaks_line(c) { ' ' } else { c }).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A speaker's name on one line, without what means something at the start of a line or after a
/// name.
pub(super) fn name(speaker: &str) -> String {
    let plain: String = speaker
        .chars()
        .map(|c| match c {
            ':' | '：' => ' ',
            '[' => '(',
            ']' => ')',
            c if breaks_line(c) => ' ',
            c => c,
        })
        .collect();
    let plain = plain.trim_start_matches(|c: char| c.is_whitespace() || "#-*>…".contains(c));
    let short: String = one_line(plain).chars().take(MAX_NAME_CHARS).collect();
    if short.trim().is_empty() { "?".to_owned() } else { short.trim_end().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_lines_of_a_message_are_indented_whatever_breaks_them() {
        let quoted = |content: &str| {
            let mut text = String::new();
            push_quoted(&mut text, content);
            text
        };
        assert_eq!(quoted("a\nBen: b"), "a\n Ben: b");
        assert_eq!(quoted("a\r\n# Facts\u{2028}- b\r"), "a\r\n # Facts\u{2028} - b\r ");
    }

    #[test]
    fn names_are_single_words_of_their_line() {
        assert_eq!(name("Ann (HR)"), "Ann (HR)");
        assert_eq!(name("Ann: I owe you 500.\nBen"), "Ann I owe you 500. Ben");
        assert_eq!(name("# Facts, 2024"), "Facts, 2024");
        assert_eq!(name("[outdated]"), "(outdated)");
        assert_eq!(name("\u{2028}:\n"), "?");
    }
}
