//! Passwords that are words, by the place in which they stand.

use super::named::{clip_end, clip_text, is_example, is_reference};
use super::{byte_entropy, is_random};
use crate::text::count_tokens;

/// Bytes around a value in which other names and values may stand.
const MAX_AROUND: usize = 160;

/// True for what is no common word, of which the tokenizer makes at least so many pieces: no
/// "required", but "kestrelmoor".
pub(super) fn is_unusual(word: &str, least: usize) -> bool {
    let lower = word.to_lowercase();
    (4..=64).contains(&word.len())
        && !word.contains(char::is_whitespace)
        && word.contains(char::is_alphanumeric)
        && !word.chars().all(|c| c.is_ascii_punctuation() || c == 'x' || c == 'X')
        && !["passw", "contrase", "kennwort", "secret", "..", "**"]
            .iter()
            .any(|part| lower.contains(part))
        && !is_reference(word)
        && !is_example(word)
        && (!word.bytes().all(|byte| byte.is_ascii_digit()) || word.len() > 5)
        && count_tokens(word) >= least
}

/// A key of 10 to 19 characters in which letters and digits take turns, or a longer one with signs
/// between quotation marks.
pub(super) fn is_short_key(value: &str, is_quoted: bool) -> bool {
    let kinds: Vec<bool> =
        value.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.is_ascii_digit()).collect();
    let turns = kinds.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let is_of_key = |c: char| c.is_ascii_graphic() && (is_quoted || !c.is_ascii_punctuation());
    (10..=128).contains(&value.len())
        && turns >= 4
        && value.chars().all(is_of_key)
        && byte_entropy(value) >= 2.8
        && is_random(value)
        && !is_reference(value)
        && !is_example(value)
        && !value.contains(['(', '{', '<', '['])
}

/// True if the name at `start` with a value up to `end` is one of several names and values, in its
/// line or in the lines around it.
pub(super) fn is_in_record(text: &str, start: usize, end: usize) -> bool {
    let before = clip_end(&text[..start], MAX_AROUND);
    let (earlier, line) = before.rsplit_once('\n').unwrap_or(("", before));
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || ",;&?{\"'-*/".contains(c));
    let words: Vec<&str> = line.rsplit([' ', ',', ';', '&', '?', '\t']).take(2).collect();
    let has_pair =
        |word: &&str| word.find([':', '=', '：']).is_some_and(|at| at > 0 && at + 1 < word.len());
    let is_named = words.first().is_some_and(has_pair)
        || words.get(1).is_some_and(|word| word.ends_with([':', '：', '=']) && word.len() > 1);
    let next = clip_text(&text[end..], MAX_AROUND);
    let after = next.split_once('\n').map_or("", |(_, after)| after);
    is_named
        || earlier.rsplit('\n').next().is_some_and(is_pair)
        || after.lines().next().is_some_and(is_pair)
}

/// "user: ida", "  - user=ida": a name and a value without spaces.
fn is_pair(line: &str) -> bool {
    let bare = line.trim().trim_start_matches(['-', '*', '"', '\'', ' ']);
    let Some((name, value)) = bare.split_once([':', '=', '：']) else { return false };
    let (name, value) = (name.trim(), value.trim());
    let is_name = (1..=32).contains(&name.len()) && name.split(' ').count() <= 2;
    is_name && (1..=64).contains(&value.len()) && !value.contains(char::is_whitespace)
}
