//! Several words or codes in a row: the words of a wallet, codes for emergencies.

use super::named::{MAX_VALUE, clip_text, value_start};

/// Numbers of words that wallets have.
const LEAST: usize = 12;
const MOST: usize = 24;
/// Most bytes between a name and the words.
const MAX_GAP: usize = 12;

/// The words of a wallet after the name that ends at `end`.
pub(super) fn wallet_words(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = clip_text(&text[end..], MAX_VALUE);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, word) in hyphenated_pieces(rest) {
        if word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() <= 2 {
            continue;
        }
        let is_of_list =
            (3..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_of_list && found.len() < MOST {
            found.push((at, at + word.len()));
        } else if found.is_empty() && at <= MAX_GAP {
            // "is", "are:"
        } else {
            break;
        }
    }
    let (Some((first, _)), Some((_, last))) = (found.first(), found.last()) else { return None };
    (found.len() >= LEAST).then_some((end + first, end + last))
}

/// Two or more codes after the name that ends at `end`.
pub(super) fn listed_codes(text: &str, end: usize) -> Option<(usize, usize)> {
    let name = end + usize::from(text[end..].starts_with('s'));
    let (from, _) = value_start(text, name, false, false)?;
    let rest = clip_text(&text[from..], MAX_VALUE);
    let (mut number, mut last) = (0, 0);
    for (at, code) in hyphenated_pieces(rest) {
        let digits = code.bytes().filter(u8::is_ascii_digit).count();
        if !(6..=16).contains(&code.len()) || digits == 0 || digits + 8 < code.len() {
            break;
        }
        number += 1;
        last = at + code.len();
    }
    let start = rest.find(|c: char| c.is_ascii_alphanumeric())?;
    (number > 1).then_some((from + start, from + last))
}

/// The words of a text with their places: letters, digits and hyphens between other characters.
fn hyphenated_pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_inside = |c: char| c.is_alphanumeric() || c == '-';
    text.split(move |c: char| !is_inside(c))
        .filter(|piece| !piece.is_empty())
        .map(|piece| (piece.as_ptr() as usize - text.as_ptr() as usize, piece))
}
