//! Quotes messages and names so that they cannot imitate the structure around them.
//!
//! In a context, a line that starts in the first column is a heading, a fact, or the first line of
//! a message. A message's other lines start with a space, the cheapest indent: it changes the
//! number of tokens by -0.4 % in conversation, 0.7 % in Markdown, 2.2 % in code.

/// Indent of a message's second and later lines.
const INDENT: char = ' ';
/// Maximum length of a displayed name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// True for every character that some parser treats as a line break.
fn breaks_line(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Appends a message's content and indents its second and later lines.
pub(super) fn push_quoted(text: &mut String, content: &str) {
    let mut chars = content.chars().peekable();
    while let Some(c) = chars.next() {
        text.push(c);
        if breaks_line(c) && !(c == '\r' && chars.peek() == Some(&'\n')) {
            text.push(INDENT);
        }
    }
}

/// Appends text with escapes, so that it contains no tag and ends no attribute. Characters that XML
/// cannot represent are replaced.
pub(super) fn push_tagged(text: &mut String, content: &str) {
    for c in content.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                text.push(char::REPLACEMENT_CHARACTER);
            }
            c => text.push(c),
        }
    }
}

/// The text on one line, with white space collapsed.
pub(super) fn one_line(text: &str) -> String {
    let shown: String = text.chars().map(|c| if breaks_line(c) { ' ' } else { c }).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a speaker's name on one line, without characters that have a meaning at the start of a
/// line or after a name.
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
    fn tagged_text_has_no_character_that_xml_lacks() {
        let every: String = ('\0'..='\u{ffff}').collect();
        let mut text = String::new();
        push_tagged(&mut text, &every);
        let is_of_xml =
            |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}');
        assert!(text.chars().all(is_of_xml));
        assert_eq!(text.matches('\u{fffd}').count(), 29 + 2 + 1, "one for each, and itself");
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
