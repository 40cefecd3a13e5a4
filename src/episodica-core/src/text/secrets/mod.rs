//! Keys, tokens, passwords, cards and accounts in texts.
//!
//! Eight readers look for eight kinds of signs: the beginnings that services give their keys
//! (`formats`), words of a known form (`shapes`), private keys in armour (`armour`), names such as
//! `password=` before a value (`named`), numbers with check digits (`numbers`), options of commands
//! (`commands`), columns of tables (`tables`), and files of programs (`files`). Nothing is found
//! by its randomness alone: hashes, ids and encoded images stay. Each reader is linear in the
//! length of the text.

mod armour;
mod carried;
mod colours;
mod commands;
mod files;
mod formats;
mod listed;
mod manifests;
mod named;
mod names;
mod numbers;
mod shapes;
mod tables;
#[cfg(test)]
mod tests;
mod told;
mod words;

use aho_corasick::AhoCorasick;
use regex::Regex;

use self::formats::FORMATS;
use crate::fork::ForkLazy;

/// A secret in a text, in bytes. `kind` is a few words: "github token".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundSecret {
    pub start: usize,
    pub end: usize,
    pub kind: &'static str,
}

/// The beginnings of all formats.
static BEGINNINGS: ForkLazy<AhoCorasick> = ForkLazy::new(|| {
    AhoCorasick::new(FORMATS.iter().map(|format| format.begin))
        .expect("invariant: the beginnings are few and short")
});

/// The rest of each format, compiled on first use.
static RESTS: ForkLazy<Vec<std::sync::OnceLock<Regex>>> =
    ForkLazy::new(|| FORMATS.iter().map(|_| std::sync::OnceLock::new()).collect());

/// The secrets of `text`, in order, without overlaps.
pub(crate) fn find_secrets(text: &str) -> Vec<FoundSecret> {
    let Some(plain) = colours::without_colours(text) else { return find_in_plain(text) };
    let found = find_in_plain(&plain.text);
    let placed = |one: FoundSecret| FoundSecret {
        start: plain.start_of(one.start),
        end: plain.end_of(one.end),
        ..one
    };
    found.into_iter().map(placed).collect()
}

/// The secrets of a text without colours.
fn find_in_plain(text: &str) -> Vec<FoundSecret> {
    let mut found = Vec::new();
    find_marked(text, &mut found);
    shapes::find_shapes(text, &mut found);
    armour::find_armour(text, &mut found);
    named::find_named(text, &mut found);
    numbers::find_numbers(text, &mut found);
    commands::find_in_commands(text, &mut found);
    tables::find_in_tables(text, &mut found);
    files::find_in_files(text, &mut found);
    found.sort_by_key(|one| (one.start, std::cmp::Reverse(one.end)));
    let mut free = 0;
    found.retain(|one| {
        let is_free = one.start >= free;
        if is_free {
            free = one.end;
        }
        is_free
    });
    found
}

/// How the mask of a secret begins.
pub(crate) const MASK: &str = "[secret: ";

/// `text` with `[secret: github token]` in place of each secret, and their number; `None` if there
/// is none.
pub(crate) fn masked_text(text: &str) -> Option<(String, usize)> {
    let found = find_secrets(text);
    if found.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for one in &found {
        out.push_str(&text[done..one.start]);
        out.push_str(MASK);
        out.push_str(one.kind);
        out.push(']');
        done = one.end;
    }
    out.push_str(&text[done..]);
    Some((out, found.len()))
}

/// `text` with `[secret: github token]` in place of each secret, and the kind of each.
///
/// ```
/// use episodica_core::text::mask_secrets;
/// let (text, kinds) = mask_secrets("card 4111 1111 1111 1111, please");
/// assert_eq!(text, "card [secret: card number], please");
/// assert_eq!(kinds, ["card number"]);
/// ```
pub fn mask_secrets(text: &str) -> (String, Vec<&'static str>) {
    let kinds = find_secrets(text).iter().map(|one| one.kind).collect();
    (masked_text(text).map_or_else(|| text.to_owned(), |(hidden, _)| hidden), kinds)
}

/// Secrets that begin as their service marks them.
fn find_marked(text: &str, found: &mut Vec<FoundSecret>) {
    for hit in BEGINNINGS.find_overlapping_iter(text) {
        let (start, format) = (hit.start(), &FORMATS[hit.pattern().as_usize()]);
        if !stands_apart(text, start, format.begin) {
            continue;
        }
        let rest = RESTS[hit.pattern().as_usize()].get_or_init(|| {
            Regex::new(&format!("^(?-u:{})", format.rest)).expect("invariant: formats are tested")
        });
        let after = &text[hit.end()..];
        let Some(value) = rest.find(after) else { continue };
        let goes_on = after[value.end()..].starts_with(is_token);
        if !goes_on && is_random(value.as_str()) {
            found.push(FoundSecret { start, end: hit.end() + value.end(), kind: format.kind });
        }
    }
}

/// True if no longer word ends in the beginning of a key. An address may come before its path.
fn stands_apart(text: &str, start: usize, begin: &str) -> bool {
    begin.contains(".com/") || !text[..start].ends_with(is_token)
}

/// A character of a key.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Minimum entropy of the characters of a secret, in bits: below it are "xxxxxxxx" and "00000000".
const MIN_ENTROPY: f32 = 2.5;

/// False for placeholders.
fn is_random(value: &str) -> bool {
    byte_entropy(value) >= MIN_ENTROPY.min((value.len() as f32).log2() * 0.75)
        && !["xxxx", "XXXX", "....", "****", "0000000", "1234567890"]
            .iter()
            .any(|part| value.contains(part))
}

/// Entropy of the bytes of `value`, in bits per byte.
fn byte_entropy(value: &str) -> f32 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let length = value.len() as f32;
    let parts = counts.iter().filter(|count| **count > 0).map(|count| *count as f32 / length);
    -parts.map(|part| part * part.log2()).sum::<f32>()
}
