//! Values after a name that says what they are: `password=`, "api key is", `Authorization:`,
//! `postgres://user:password@host`.

use aho_corasick::AhoCorasick;

use super::names::{EXAMPLES, NAMES, OTHER_NAMES, Promise};
use super::told::{self, is_code};
use super::words::{is_in_record, is_short_key, is_unusual};
use super::{FoundSecret, byte_entropy, carried, is_random, listed};
use crate::fork::ForkLazy;
use crate::text::script::is_unspaced;

/// Words between a name and its value.
pub(super) const TELLS: &[&str] =
    &["is", "is:", "was", "ist", "lautet", "lautet:", "es", "est", "é", "è", "'s", "’s"];

/// Most bytes of a value.
pub(super) const MAX_VALUE: usize = 512;

static FINDER: ForkLazy<AhoCorasick> = ForkLazy::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(NAMES.iter().map(|(name, ..)| name))
        .expect("invariant: the names are few and short")
});

pub(super) fn find_named(text: &str, found: &mut Vec<FoundSecret>) {
    for hit in FINDER.find_overlapping_iter(text) {
        let (_, promise, kind) = NAMES[hit.pattern().as_usize()];
        let value = match promise {
            Promise::Header => carried::header_credentials(text, hit.start(), hit.end()),
            Promise::Codes => listed::listed_codes(text, hit.end()),
            Promise::Phrase => listed::wallet_words(text, hit.end()),
            _ => named_value(text, hit.start(), hit.end(), promise),
        };
        if let Some((start, end)) = value {
            found.push(FoundSecret { start, end, kind });
        }
    }
    carried::address_passwords(text, found);
}

/// How a value follows its name.
#[derive(Clone, Copy)]
struct Way {
    /// Where the name and the value begin.
    name: usize,
    from: usize,
    /// Words lead to it.
    is_told: bool,
    /// It belongs to an option of a command, or to an element.
    is_flag: bool,
    is_tag: bool,
    promise: Promise,
}

/// The value of the name at `start..end`, if it is a secret.
fn named_value(text: &str, start: usize, end: usize, promise: Promise) -> Option<(usize, usize)> {
    let (whole, name_end) = whole_name(text, start, end)?;
    let parts = parts_of(&text[whole..name_end]);
    if parts.iter().any(|part| OTHER_NAMES.contains(&part.as_str())) {
        return None;
    }
    let is_flag = text[..whole].ends_with("--") || text[whole..].starts_with("--");
    let is_tag = text[..whole].ends_with('<');
    let promise = match promise {
        // "DB_PASS=", but not "first-pass".
        Promise::Entry if name_end > end => return None,
        Promise::Entry if parts.len() > 1 && (is_flag || !text[whole..end].contains('-')) => {
            Promise::Password
        }
        other => other,
    };
    let sought = |(from, is_told)| {
        value_at(text, Way { name: whole, from, is_told, is_flag, is_tag, promise })
    };
    let is_beside = matches!(promise, Promise::Entry | Promise::Digits(..));
    let near = value_start(text, name_end, is_flag, is_tag)
        .or_else(|| is_beside.then(|| spaced_value(text, name_end)).flatten());
    near.and_then(sought).or_else(|| {
        let may_be_far = match promise {
            Promise::Password => !is_flag && !is_tag,
            Promise::Pin(..) => text[start..end].ends_with(is_unspaced),
            _ => false,
        };
        let places = if may_be_far { told::password_starts(text, name_end) } else { Vec::new() };
        places.into_iter().find_map(|from| sought((from, true)))
    })
}

/// A value after a space alone: "wifi pw kestrel99", "account number 5512009".
fn spaced_value(text: &str, end: usize) -> Option<(usize, bool)> {
    let gap = leading_spaces(&text[end..]);
    (gap > 0).then_some((end + gap, true))
}

/// The value that begins at a place, if it is a secret.
fn value_at(text: &str, way: Way) -> Option<(usize, usize)> {
    let Way { from, is_told, promise, .. } = way;
    let quote = text[from..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`' | '“' | '「'));
    let begin = from + quote.map_or(0, char::len_utf8);
    let rest = clip_text(&text[begin..], MAX_VALUE);
    let length = match quote {
        Some(open) => {
            let close = closing_mark(open);
            rest.find(|c: char| c == close || c == '\\' || c.is_whitespace())?
        }
        None => bare_length(rest, text[..way.name].ends_with(['?', '&']))?,
    };
    let value = &rest[..length];
    let behind = rest[length..].chars().next();
    let is_whole =
        quote.is_none_or(|open| behind == Some(closing_mark(open)) || behind == Some('\\'));
    // `password=UserPassword)` and `password: UserPassword` are code.
    let is_assigned = text[..from].trim_end().ends_with(['=', '>']);
    let is_set =
        quote.is_some() || text[..from].ends_with(['=', '>']) && !matches!(behind, Some(')' | ','));
    let is_near_code = || {
        let is_near = !is_told || text[..from].ends_with(is_unspaced);
        !is_assigned && (is_code(value) || is_near && told::is_short_code(value))
    };
    let is_word = || is_whole && is_surely_value(text, way, begin..begin + length, quote, is_set);
    let is_secret = match promise {
        Promise::Password => {
            is_password(value, is_told, is_set || way.is_flag) || is_near_code() || is_word()
        }
        Promise::Entry => is_entry(text, way, value) || is_word(),
        Promise::Digits(least, most) => is_digits(value, least, most),
        Promise::Pin(least, most) => {
            let digits = value.trim_end_matches(['#', '*']);
            let is_pin = is_digits(digits, least, most) && told::is_short_code(digits);
            return (is_pin && !is_assigned).then_some((begin, begin + digits.len()));
        }
        Promise::Cookie => is_assigned && is_cookie(value),
        Promise::Wallet => is_wallet_key(value),
        _ => {
            let is_assigned = text[..from].trim_end().ends_with(['=', ':', '：']);
            let is_value = quote.is_some() || is_assigned;
            is_key(value) || is_value && is_whole && is_short_key(value, quote.is_some())
        }
    };
    let is_typed = quote.is_none() && matches!(promise, Promise::Password | Promise::Entry);
    let marks = if is_typed { marks_behind(value, &rest[length..]) } else { 0 };
    is_secret.then_some((begin, begin + length + marks))
}

/// The bytes of "!" and "#" behind a password of small and capital letters and digits: who mixes
/// these has been asked for a mark, too.
fn marks_behind(value: &str, rest: &str) -> usize {
    let has = |is: fn(&char) -> bool| value.chars().any(|c| is(&c));
    let is_mixed =
        has(|c| c.is_lowercase()) && has(|c| c.is_uppercase()) && has(|c| c.is_numeric());
    let marks = rest.bytes().take_while(|byte| matches!(byte, b'!' | b'#')).count();
    if is_mixed { marks } else { 0 }
}

/// The mark that closes a quotation.
fn closing_mark(open: char) -> char {
    match open {
        '“' => '”',
        '「' => '」',
        other => other,
    }
}

/// The length of a value without quotation marks; `None` for a call or an index.
fn bare_length(rest: &str, is_parameter: bool) -> Option<usize> {
    let ends = |c: char| ends_value(c) || is_parameter && c == '&';
    let length = rest.find(ends).unwrap_or(rest.len());
    // `token = get_token(1)`.
    if rest[length..].starts_with(['(', '[']) {
        return None;
    }
    // Chinese writes no space after a value.
    let value = &rest[..length];
    let ascii = value.find(|c: char| !c.is_ascii()).filter(|end| *end > 0);
    let is_cut = ascii.is_some_and(|end| value[end..].starts_with(is_unspaced));
    let value = &value[..ascii.filter(|_| is_cut).unwrap_or(length)];
    Some(value.trim_end_matches(['.', ',', '!', '?', ':', ';']).len())
}

/// True for a word that can only be a password by its place: `PGPASSWORD=…`, `"password": "…"`,
/// in a record of other names and values, alone after a colon.
fn is_surely_value(
    text: &str,
    way: Way,
    value: std::ops::Range<usize>,
    quote: Option<char>,
    is_set: bool,
) -> bool {
    let word = &text[value.clone()];
    let name = &text[way.name..way.from];
    let is_variable = name.ends_with('=')
        && !name.contains(|c: char| c.is_lowercase())
        && name.len() > "=PWD".len();
    let is_lead = name.contains("lautet");
    if is_variable || is_lead || way.is_flag || way.is_tag || quote.is_some() && !way.is_told {
        return is_unusual(word, 2);
    }
    let ends_line = text[value.end..].trim_start_matches([' ', '\r', '.']).starts_with('\n')
        || text[value.end..].trim().is_empty();
    let is_code = word.chars().skip(1).any(char::is_uppercase) && !word.contains(is_sign);
    let is_open = !is_code && (is_set || !way.is_told);
    is_open && is_in_record(text, way.name, value.end) && is_unusual(word, 2)
        || is_open && ends_line && !is_set && is_unusual(word, 3)
}

/// A character that no identifier has.
fn is_sign(c: char) -> bool {
    c.is_ascii_digit() || c.is_ascii_punctuation() && c != '_'
}

/// "pw: kestrel99": letters and digits without signs of a path or a name in code.
fn is_entry(text: &str, way: Way, value: &str) -> bool {
    let name = &text[way.name..way.from];
    let is_plain = !value.contains(['_', '.', '/', ':', '(', '=']);
    let is_beside = way.is_told && name.ends_with([' ', '\t']);
    let is_pw = name.starts_with("pw") || name.starts_with("PW") || name.starts_with("Pw");
    // Not "PASS: test2" of a run of tests.
    let is_likely = is_pw || name.starts_with("pass") && !is_beside;
    is_likely && is_plain && is_password(value, way.is_told, false)
        || is_in_record(text, way.name, way.from + value.len())
            && is_password(value, way.is_told, true)
}

/// 32 bytes as wallets write them: 64 hexadecimal digits, or Bitcoin's form for import.
fn is_wallet_key(value: &str) -> bool {
    let digits = value.strip_prefix("0x").unwrap_or(value);
    let is_hexadecimal = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_base58 = |byte: u8| byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte);
    let is_for_import = matches!(value.len(), 51 | 52)
        && value.starts_with(['5', 'K', 'L'])
        && value.bytes().all(is_base58);
    (is_hexadecimal || is_for_import) && is_random(value)
}

/// The value of a cookie: long, with digits and letters.
fn is_cookie(value: &str) -> bool {
    value.len() >= 12
        && value.is_ascii()
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && is_random(value)
        && !is_reference(value)
}

/// The words of a name, in lower case and without a plural ending: `maxTokens` is "max", "token".
pub(super) fn parts_of(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut previous = '_';
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || previous.is_lowercase() && c.is_uppercase();
        previous = c;
        if begins {
            parts.push(String::new());
        }
        if let (Some(part), true) = (parts.last_mut(), c.is_alphanumeric()) {
            part.extend(c.to_lowercase());
        }
    }
    for part in &mut parts {
        if part.len() > 3 && part.ends_with('s') {
            part.pop();
        }
    }
    parts
}

/// The whole name around `start..end`, such as `DB_PASSWORD_2`; `None` if it is part of another
/// word, such as `tokenizer`.
fn whole_name(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let before = clip_end(&text[..start], 32);
    let front = before.len() - before.trim_end_matches(is_name).len();
    let after = clip_text(&text[end..], 32);
    let tail = &after[..after.find(|c| !is_name(c)).unwrap_or(after.len())];
    let first = text[start..].chars().next()?;
    let joined = |before: Option<char>, next: Option<char>| match (before, next) {
        (Some(before), Some(next)) => {
            before.is_ascii_alphabetic()
                && next.is_ascii_alphabetic()
                && !(before.is_ascii_lowercase() && next.is_ascii_uppercase())
                && !(before.is_ascii_uppercase() && next.is_ascii_uppercase())
        }
        _ => false,
    };
    let last = text[..end].chars().next_back();
    let is_plural = tail == "s";
    (!joined(before.chars().next_back(), Some(first))
        && (is_plural || !joined(last, tail.chars().next())))
    .then_some((start - front, end + tail.len()))
}

/// Where the value begins after the name that ends at `end`, and whether words lead to it: `=`,
/// `": "`, " is ".
pub(super) fn value_start(
    text: &str,
    end: usize,
    is_flag: bool,
    is_tag: bool,
) -> Option<(usize, bool)> {
    let rest = &text[end..];
    let after_name = rest.trim_start_matches(['"', '\'', '`', '\\', ']', '*', ')']);
    let gap = leading_spaces(after_name);
    let mut bare = &after_name[gap..];
    // `<add key="DbPassword" value="…"/>`, `define('DB_PASSWORD', '…')`
    if after_name.len() < rest.len() {
        bare = bare.strip_prefix("value").unwrap_or(bare);
        let listed = bare.strip_prefix(',').map(|value| &value[leading_spaces(value)..]);
        if let Some(value) = listed.filter(|value| value.starts_with(['"', '\''])) {
            return Some((text.len() - value.len(), false));
        }
    }
    for sign in [":=", "=>", "="] {
        if let Some(value) = bare.strip_prefix(sign) {
            if value.starts_with('=') || value.starts_with('~') {
                return None;
            }
            return Some((
                text.len() - value.len() + leading_spaces(value) + escape_length(value),
                false,
            ));
        }
    }
    for sign in [":", "：", "→", "->", "- ", "– "] {
        if let Some(value) = bare.strip_prefix(sign) {
            let value = value.strip_prefix('\n').unwrap_or(value);
            let at = text.len() - value.len() + leading_spaces(value) + escape_length(value);
            return (!value.starts_with(':')).then_some((at, sign.len() > 1 && sign != "："));
        }
    }
    if is_tag {
        return bare.strip_prefix('>').map(|value| (text.len() - value.len(), false));
    }
    let told = TELLS
        .iter()
        .filter(|word| gap > 0 || word.ends_with('s'))
        .filter_map(|word| bare.strip_prefix(word))
        .find(|value| value.starts_with([' ', '\t']));
    if let Some(value) = told {
        return Some((text.len() - value.len() + leading_spaces(value), true));
    }
    (is_flag && gap > 0).then_some((text.len() - bare.len(), false))
}

/// Number of spaces at the start of `text`, at most four.
pub(super) fn leading_spaces(text: &str) -> usize {
    text.bytes().take(4).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Length of a backslash after the spaces, before a quotation mark: JSON in JSON.
fn escape_length(text: &str) -> usize {
    usize::from(text[leading_spaces(text)..].starts_with("\\\""))
}

/// A character after an unquoted value.
pub(super) fn ends_value(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\''
                | '`'
                | ','
                | ';'
                | '<'
                | '>'
                | '('
                | ')'
                | '{'
                | '}'
                | '['
                | ']'
                | '|'
                | '\\'
                | '，'
                | '。'
                | '；'
                | '“'
                | '”'
                | '、'
                | '）'
        )
}

/// A password, told by the way or set, mixes kinds of characters, unlike a word for one.
fn is_password(value: &str, is_told: bool, is_set: bool) -> bool {
    if !(6..=128).contains(&value.chars().count()) || is_reference(value) {
        return false;
    }
    let letters = value.chars().filter(|c| c.is_alphabetic()).count();
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let signs = value
        .chars()
        .any(|c| c.is_ascii_punctuation() && !matches!(c, '-' | '_' | '.' | '/' | '\'' | ':'));
    // "My password is case-sensitive.", but `PASSWORD=qTxBBmJJTl`.
    let scrambled = is_set && case_changes(value) >= 4;
    let mixed = letters > 0 && (digits > 0 || signs && !is_told || scrambled);
    mixed && !is_example(value) && !value.contains("...") && !value.contains("**")
}

/// Number of places where an upper-case letter follows a lower-case one or the reverse.
fn case_changes(value: &str) -> usize {
    let cases = value.as_bytes().windows(2).filter(|pair| {
        pair.iter().all(u8::is_ascii_alphabetic)
            && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()
    });
    cases.count()
}

/// A key is long and random.
pub(super) fn is_key(value: &str) -> bool {
    let token = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '-' | '+' | '/' | '=' | '.' | '~' | ':' | '%' | '!')
    };
    let pieces = || value.split(['_', '-', '.', '/', ':', '=']).filter(|piece| !piece.is_empty());
    let is_plain = |piece: &str| {
        piece.bytes().all(|byte| byte.is_ascii_alphabetic())
            || piece.bytes().all(|byte| byte.is_ascii_digit())
    };
    (20..=MAX_VALUE).contains(&value.len())
        && value.chars().all(token)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !pieces().all(is_plain)
        && byte_entropy(value) >= 3.0
        && is_random(value)
        && !is_reference(value)
        && !is_example(value)
}

fn is_digits(value: &str, least: usize, most: usize) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    (least..=most).contains(&digits)
        && value.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '-'))
}

/// A value that only names where the secret is: `${PASS}`, `self.token`, `/run/secrets/db`.
pub(super) fn is_reference(value: &str) -> bool {
    let is_identifier = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut parts = value.split('.');
    let dotted = value.contains('.') && value.len() < 40 && parts.all(is_identifier);
    dotted
        || value.contains("://")
        || value.contains("${")
        || value.starts_with(['$', '/', '%', '@', '&', '#', '{', '<', '*', '~', '-'])
        || value.starts_with("./")
        || value.starts_with("arn:")
        || value.starts_with("AWS4-")
        || value.contains("/aws4_request")
        || value.ends_with(".json")
        || value.ends_with(".txt")
        || value.ends_with(".pem")
        || value.ends_with(".py")
}

/// A word for a password in an example, with digits and signs or without.
pub(super) fn is_example(value: &str) -> bool {
    let lower = value.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    lower.contains("your")
        || lower.contains("example") && value.len() < 40
        || lower.contains("placeholder")
        || words.all(|word| EXAMPLES.contains(&word) || word.len() == 1 && lower.len() < 8)
}

/// The first `bytes` of `text`, up to a character.
pub(super) fn clip_text(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last `bytes` of `text`, from a character on.
pub(super) fn clip_end(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
