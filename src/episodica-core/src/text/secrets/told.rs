//! Passwords that a few words lead to: "the password for the wifi is tulip42x", "密码改成 887766".

use super::named::{TELLS, clip_text, parts_of};
use super::names::OTHER_NAMES;
use crate::text::script::is_unspaced;

/// The most bytes and words of the way to a password, and the words after "is" that may be one.
const MAX_WAY: usize = 96;
const MAX_WORDS: usize = 10;
const MAX_BEHIND: usize = 3;
/// The most letters of a script without spaces, such as 现在改成.
const MAX_LETTERS: usize = 6;

/// Where a password may begin after the name that ends at `end`, within the same clause.
pub(super) fn password_starts(text: &str, end: usize) -> Vec<usize> {
    let rest = clip_text(&text[end..], MAX_WAY);
    let letters = rest.trim_start_matches(' ').chars().take_while(|c| is_unspaced(*c)).count();
    if letters > 0 {
        let value = rest.trim_start_matches(|c| c == ' ' || is_unspaced(c));
        let is_value =
            value.starts_with(|c: char| c.is_ascii_alphanumeric() || "\"“「".contains(c));
        let at = end + rest.len() - value.len();
        return if is_value && letters <= MAX_LETTERS { vec![at] } else { Vec::new() };
    }
    let mut found = Vec::new();
    let mut left = 0;
    let words: Vec<&str> = rest.split([' ', '\n']).take(MAX_WORDS).collect();
    let mut at = end;
    for (place, word) in words.iter().enumerate() {
        if left > 0 {
            found.push(at);
            left -= 1;
        } else if parts_of(word).iter().any(|part| OTHER_NAMES.contains(&&**part) && part != "at") {
            break;
        }
        let is_last = |word: &str| word.ends_with(['.', ',', ';', '!']);
        let ends = |next: &&str| is_last(next) || place + 2 == words.len() && !next.ends_with('?');
        if TELLS.contains(&word.to_lowercase().as_str()) {
            left = MAX_BEHIND;
        } else if word.ends_with(':') {
            left = 1;
        } else if matches!(*word, "to" | "auf") && words.get(place + 1).is_some_and(ends) {
            left = left.max(1);
        }
        if is_last(word) || word.ends_with('?') {
            break;
        }
        at += word.len() + 1;
    }
    found
}

/// A number that opens something: not 111111 or 123456, and no year, date or telephone number.
pub(super) fn is_code(value: &str) -> bool {
    let digits = value.as_bytes();
    matches!(value.len(), 6 | 7)
        && digits.iter().all(u8::is_ascii_digit)
        && digits.iter().any(|digit| *digit != digits[0])
        && !"0123456789 9876543210".contains(value)
}

/// A number that opens something and stands directly after its name: four to eight digits, but no
/// year and no date.
pub(super) fn is_short_code(value: &str) -> bool {
    let digits = value.as_bytes();
    (4..=8).contains(&value.len())
        && digits.iter().all(u8::is_ascii_digit)
        && digits.iter().any(|digit| *digit != digits[0])
        && !"0123456789 9876543210".contains(value)
        && !(matches!(value.len(), 4 | 8) && (value.starts_with("19") || value.starts_with("20")))
}
