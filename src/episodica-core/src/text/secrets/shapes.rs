//! Secrets of a known form without a beginning of their own: signed tokens, tokens of bots.

use regex::Regex;

use super::{FoundSecret, is_random};
use crate::fork::ForkLazy;

/// Words with dots or colons in them. A word can be read by one of these forms only.
static WORDS: ForkLazy<[(Regex, &str); 6]> = ForkLazy::new(|| {
    let form = |form: &str| Regex::new(&format!("^(?-u:{form})$")).expect("invariant: tested");
    [
        (form(r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}"), "jwt"),
        (form(r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"), "telegram token"),
        (
            form(r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
            "discord token",
        ),
        (form(r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"), "azure client secret"),
        (form(r"[a-f0-9]{32}-us[0-9]{1,2}"), "mailchimp key"),
        (form(r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"), "terraform token"),
    ]
});

/// Characters of such words.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~' | ':' | '=')
}

pub(super) fn find_shapes(text: &str, found: &mut Vec<FoundSecret>) {
    let mut at = 0;
    for piece in text.split(|c: char| !is_word(c)) {
        let start = at;
        at += piece.len();
        at += text[at..].chars().next().map_or(0, char::len_utf8);
        if (20..=8_192).contains(&piece.len()) {
            find_word(piece, start, found);
        }
    }
}

/// A word, or the value after `name=` or `name:`, by its form.
fn find_word(piece: &str, start: usize, found: &mut Vec<FoundSecret>) {
    let has = |part: &str| piece.contains(part);
    if !(has("eyJ") || has(":AA") || has("Q~") || has("-us") || has(".atlasv1.") || has_dots(piece))
    {
        return;
    }
    let ends = piece.trim_end_matches(['.', ':', '=', '~']);
    let starts = std::iter::once(0);
    let values = ends.char_indices().filter(|(_, c)| matches!(c, '=' | ':')).map(|(at, _)| at + 1);
    for from in starts.chain(values.take(4)) {
        let value = &ends[from..];
        let Some((_, kind)) = WORDS.iter().find(|(form, _)| form.is_match(value)) else { continue };
        if is_random(value) {
            found.push(FoundSecret { start: start + from, end: start + ends.len(), kind });
            return;
        }
    }
}

/// Two dots with something between, as in a token of Discord.
fn has_dots(piece: &str) -> bool {
    piece.len() >= 58 && piece.bytes().filter(|byte| *byte == b'.').count() == 2
}
