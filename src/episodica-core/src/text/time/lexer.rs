//! Cuts a text into the tokens of the date grammar.
//!
//! File names, addresses, versions and identifiers become one meaningless token each, so that
//! nothing inside them is read as a date.

use super::vocabulary::{Word, lookup};

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word(Word),
    /// A whole number and how many digits it has.
    Number(u32, u8),
    /// `5th`.
    Ordinal(u32),
    /// `3-5`, `2019–2021`.
    Span(u32, u32),
    /// `2023-05-08`, with day 0 for `2023-05`.
    Iso(u32, u32, u32),
    /// `5/8/2023` in the order of its numbers.
    Slashed(u32, u32, u32),
    /// `8.5.2023`: day, month, year.
    Dotted(u32, u32, u32),
    /// `90s`, `1990s`.
    Decade(u32),
    /// Punctuation that patterns and sentence ends are made of.
    Mark(u8),
}

/// A token and its place in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
    /// Begins with a capital letter.
    pub capital: bool,
}

/// The tokens of `text`, and whether any of them can begin a date at all.
pub(super) fn tokens(text: &str) -> (Vec<Token>, bool) {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len() / 5 + 4);
    let mut trigger = false;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let byte = bytes[at];
        let kind = if byte.is_ascii_alphabetic() {
            at += run(&bytes[at..], |b| b.is_ascii_alphanumeric() || b == b'_');
            if is_compound(bytes, start, at) {
                at = token_end(bytes, at);
                Kind::Word(Word::Other)
            } else {
                let word = lookup(&bytes[start..at]);
                trigger |= starts_date(word);
                Kind::Word(word)
            }
        } else if byte.is_ascii_digit() {
            trigger = true;
            let (end, kind) = number(bytes, at);
            at = end;
            kind
        } else if byte >= 0x80 {
            let (length, kind) = beyond_ascii(text, at);
            at += length;
            match kind {
                Some(kind) => kind,
                None => continue,
            }
        } else {
            at += 1;
            if matches!(byte, b' ' | b'\t') {
                continue;
            }
            if matches!(byte, b'/' | b'\\' | b'@' | b'#' | b'_')
                && bytes.get(at).is_some_and(u8::is_ascii_alphanumeric)
            {
                // A path or a handle; "Saturday/Sunday" is two words because a word is before the
                // stroke.
                let after_word =
                    byte == b'/' && start > 0 && bytes[start - 1].is_ascii_alphabetic();
                if !after_word {
                    at = token_end(bytes, at);
                    found.push(Token {
                        start,
                        end: at,
                        kind: Kind::Word(Word::Other),
                        capital: false,
                    });
                    continue;
                }
            }
            Kind::Mark(byte)
        };
        found.push(Token { start, end: at, kind, capital: byte.is_ascii_uppercase() });
    }
    (found, trigger)
}

fn run(bytes: &[u8], keep: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !keep(byte)).unwrap_or(bytes.len())
}

/// Whether the word that ends at `end` goes on as an address, a file name or a word in another
/// alphabet.
fn is_compound(bytes: &[u8], start: usize, end: usize) -> bool {
    if bytes[start..end].contains(&b'_') {
        return true;
    }
    let next = bytes.get(end + 1).copied().unwrap_or(b' ');
    match bytes.get(end) {
        Some(b'.') => next.is_ascii_lowercase() || next.is_ascii_digit(),
        Some(b':') => next == b'/' || next == b'\\',
        Some(b'@' | b'\\') => next.is_ascii_alphanumeric(),
        Some(b'(') => next == b')',
        Some(b'=') => true,
        // Two-byte sequences are letters of Latin, Greek, Cyrillic and the like (or marks that
        // touch no word).
        Some(byte) => (0xC3..=0xDF).contains(byte),
        None => false,
    }
}

/// Where the run of characters without white space ends that goes on at `at`; closing punctuation
/// is left off.
fn token_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at
        + run(&bytes[at..], |byte| {
            byte > b' '
                && byte < 0x80
                && !matches!(byte, b'"' | b',' | b')' | b'>' | b']' | b'}' | b';')
        });
    while end > at && matches!(bytes[end - 1], b'.' | b'!' | b'?' | b':' | b'\'') {
        end -= 1;
    }
    end
}

/// The length of what begins at `at`, and its token if it matters: dashes, quotes, ellipses; one
/// token for a run of other characters.
fn beyond_ascii(text: &str, at: usize) -> (usize, Option<Kind>) {
    let rest = &text[at..];
    let first = rest.chars().next().expect("invariant: a byte that is no ASCII begins a character");
    let kind = match first {
        '–' | '—' => Some(Kind::Mark(b'-')),
        '’' | '‘' => Some(Kind::Mark(b'\'')),
        '“' | '”' => Some(Kind::Mark(b'"')),
        '…' | '。' | '！' | '？' => Some(Kind::Mark(b'.')),
        '\u{A0}' | '\u{202F}' | '\u{3000}' => None,
        _ => {
            let letters = first.is_alphabetic() && first.len_utf8() == 2;
            let ends = |c: char| {
                if c.is_ascii() {
                    !(letters && c.is_ascii_alphanumeric())
                } else {
                    has_own_token(c)
                }
            };
            let length = rest.find(ends).unwrap_or(rest.len());
            return (length, Some(Kind::Word(Word::Other)));
        }
    };
    (first.len_utf8(), kind)
}

fn has_own_token(c: char) -> bool {
    matches!(
        c,
        '–' | '—'
            | '’'
            | '‘'
            | '“'
            | '”'
            | '…'
            | '。'
            | '！'
            | '？'
            | '\u{A0}'
            | '\u{202F}'
            | '\u{3000}'
    )
}

/// The token that begins with a digit: where it ends and what it is.
fn number(bytes: &[u8], start: usize) -> (usize, Kind) {
    let other = |at: usize| (token_end(bytes, at), Kind::Word(Word::Other));
    // What is glued to the front of a number makes it part of something else: "v2", "$5", "#5",
    // "1,000".
    if start > 0
        && matches!(bytes[start - 1], b'$' | b'#' | b'_' | b'.' | b':' | b'=' | b'/' | b'\\')
    {
        return other(start);
    }
    let mut fields = [0u32; 3];
    let mut digits = [0usize; 3];
    let mut separators = [0u8; 2];
    let mut count = 0;
    let mut at = start;
    loop {
        let length = run(&bytes[at..], |byte| byte.is_ascii_digit());
        if length == 0 || length > 9 || count == 3 {
            return other(at);
        }
        fields[count] =
            bytes[at..at + length].iter().fold(0, |sum, byte| sum * 10 + u32::from(byte - b'0'));
        digits[count] = length;
        count += 1;
        at += length;
        let (dash, width) = match bytes[at..] {
            [b'-' | b'/' | b'.', ..] => (bytes[at], 1),
            [0xE2, 0x80, 0x93, ..] => (b'-', 3),
            _ => break,
        };
        if !bytes.get(at + width).is_some_and(u8::is_ascii_digit) {
            break;
        }
        if count == 3 {
            return other(at);
        }
        separators[count - 1] = dash;
        at += width;
    }
    let glued = bytes.get(at).copied().unwrap_or(b' ');
    let [a, b, c] = fields;
    let suffix_end = at + run(&bytes[at..], |byte| byte.is_ascii_alphabetic());
    let suffix = bytes[at..suffix_end].to_ascii_lowercase();
    if count == 1 {
        let kind = match suffix.as_slice() {
            b"" if glued == b',' && run(&bytes[at + 1..], |byte| byte.is_ascii_digit()) == 3 => {
                let grouped = at + run(&bytes[at..], |byte| byte == b',' || byte.is_ascii_digit());
                return other(grouped);
            }
            b"" if matches!(glued, b':' | b'%' | b'_' | b'@' | b'/' | b'\\')
                && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) =>
            {
                return other(at);
            }
            b"" if matches!(glued, b'%' | b'_') => return other(at),
            b"" if glued == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                return other(at);
            }
            b"" => Kind::Number(a, digits[0] as u8),
            b"st" | b"nd" | b"rd" | b"th" if a <= 31 => Kind::Ordinal(a),
            b"s" if a % 10 == 0 && matches!(digits[0], 2 | 4) => Kind::Decade(a),
            _ => return other(at),
        };
        return (suffix_end, kind);
    }
    let time_follows =
        matches!(glued, b'T' | b't') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
    if time_follows && count == 3 && digits == [4, 2, 2] {
        // The time belongs to the date: 2023-05-08T10:00:00+02:00.
        return (token_end(bytes, at), Kind::Iso(a, b, c));
    }
    if !suffix.is_empty() || matches!(glued, b':' | b'_' | b'%') {
        return other(at);
    }
    let kind = match (count, separators, digits) {
        (3, [s, t], [4, 1..=2, 1..=2]) if s == t => Kind::Iso(a, b, c),
        (3, [b'/', b'/'], [1..=2, 1..=2, 2 | 4]) => Kind::Slashed(a, b, c),
        (3, [b'-', b'-'], [1..=2, 1..=2, 4]) => Kind::Slashed(a, b, c),
        (3, [b'.', b'.'], [1..=2, 1..=2, 4]) => Kind::Dotted(a, b, c),
        (2, [b'-', _], [4, 2, _]) => Kind::Iso(a, b, 0),
        (2, [b'-', _], _) => Kind::Span(a, b),
        _ => Kind::Word(Word::Other),
    };
    (at, kind)
}

/// Words without which no pattern matches.
fn starts_date(word: Word) -> bool {
    use Word::*;
    matches!(
        word,
        Yesterday
            | Today
            | Tomorrow
            | Tonight
            | Month(_)
            | ShortMonth(_)
            | Weekday(_)
            | ShortWeekday(_)
            | Unit(..)
            | Season(_)
            | Holiday(_)
            | New
            | Valentine
            | Boxing
            | Independence
            | DayPart
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).0.iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers() {
        const OTHER: Kind = Kind::Word(Word::Other);
        for (text, expected) in [
            ("5", Kind::Number(5, 1)),
            ("5th", Kind::Ordinal(5)),
            ("2023-05-08", Kind::Iso(2023, 5, 8)),
            ("2023-05-08T10:00:00+02:00", Kind::Iso(2023, 5, 8)),
            ("2023/5/8", Kind::Iso(2023, 5, 8)),
            ("2023-05", Kind::Iso(2023, 5, 0)),
            ("5/8/2023", Kind::Slashed(5, 8, 2023)),
            ("8.5.2023", Kind::Dotted(8, 5, 2023)),
            ("3-5", Kind::Span(3, 5)),
            ("2019–2021", Kind::Span(2019, 2021)),
            ("1990s", Kind::Decade(1990)),
            ("2023.1", OTHER),
            ("10:30", OTHER),
            ("5pm", OTHER),
            ("192.168.2.1", OTHER),
            ("1,000", OTHER),
            ("50%", OTHER),
            ("99999999999999999999", OTHER),
            ("notes_may_2023.md", OTHER),
            ("https://a.example/may/5", OTHER),
            ("me@may.example", OTHER),
            ("2023.txt", OTHER),
        ] {
            assert_eq!(kinds(text), [expected], "{text}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_in_order_and_on_boundaries(text in "\\PC{0,80}") {
            let mut last = 0;
            for token in tokens(&text).0 {
                prop_assert!(token.start >= last && token.end > token.start);
                prop_assert!(text.is_char_boundary(token.start) && text.is_char_boundary(token.end));
                last = token.end;
            }
        }
    }
}
