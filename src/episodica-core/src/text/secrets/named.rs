//! Values after a name that says what they are: `password=`, "api key is", `Authorization:`,
//! `postgres://user:password@host`.

use aho_corasick::AhoCorasick;

use super::told::{self, is_code};
use super::{FoundSecret, carried, entropy, is_random};
use crate::fork::ForkLazy;
use crate::text::script::is_unspaced;

/// What a name promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    Password,
    Key,
    /// After the scheme, such as `Bearer`.
    Header,
    /// At least and at most this number of digits.
    Digits(usize, usize),
}

/// Names, in lower case, with the kind that is shown.
const NAMES: &[(&str, Promise, &str)] = &[
    ("password", Promise::Password, "password"),
    ("passwd", Promise::Password, "password"),
    ("passphrase", Promise::Password, "password"),
    ("passcode", Promise::Password, "password"),
    ("pwd", Promise::Password, "password"),
    ("passwort", Promise::Password, "password"),
    ("kennwort", Promise::Password, "password"),
    ("contraseña", Promise::Password, "password"),
    ("mot de passe", Promise::Password, "password"),
    ("senha", Promise::Password, "password"),
    ("密码", Promise::Password, "password"),
    ("密碼", Promise::Password, "password"),
    ("パスワード", Promise::Password, "password"),
    ("api key", Promise::Key, "api key"),
    ("api_key", Promise::Key, "api key"),
    ("api-key", Promise::Key, "api key"),
    ("apikey", Promise::Key, "api key"),
    ("app_key", Promise::Key, "api key"),
    ("auth_key", Promise::Key, "api key"),
    ("auth-key", Promise::Key, "api key"),
    ("authkey", Promise::Key, "api key"),
    ("access key", Promise::Key, "access key"),
    ("access_key", Promise::Key, "access key"),
    ("accesskey", Promise::Key, "access key"),
    ("access-key", Promise::Key, "access key"),
    ("account_key", Promise::Key, "access key"),
    ("accountkey", Promise::Key, "access key"),
    ("private_key", Promise::Key, "private key"),
    ("privatekey", Promise::Key, "private key"),
    ("signing_key", Promise::Key, "key"),
    ("encryption_key", Promise::Key, "key"),
    ("license_key", Promise::Key, "key"),
    ("secret", Promise::Key, "secret key"),
    ("token", Promise::Key, "token"),
    ("credential", Promise::Key, "credential"),
    ("密钥", Promise::Key, "key"),
    ("令牌", Promise::Key, "token"),
    ("&sig", Promise::Key, "azure signature"),
    ("?sig", Promise::Key, "azure signature"),
    ("authorization", Promise::Header, "authorization"),
    ("bearer ", Promise::Header, "bearer token"),
    ("account number", Promise::Digits(6, 17), "account number"),
    ("account no", Promise::Digits(6, 17), "account number"),
    ("kontonummer", Promise::Digits(6, 17), "account number"),
    ("numéro de compte", Promise::Digits(6, 24), "account number"),
    ("número de cuenta", Promise::Digits(6, 24), "account number"),
    ("银行账号", Promise::Digits(6, 24), "account number"),
    ("银行卡号", Promise::Digits(12, 19), "card number"),
    ("cvv", Promise::Digits(3, 4), "card code"),
    ("cvc", Promise::Digits(3, 4), "card code"),
];

/// Parts of longer names whose value may be told: `max_tokens`, `password_policy`, `token_type`.
pub(super) const OTHER_NAMES: &[&str] = &[
    "max",
    "min",
    "total",
    "num",
    "count",
    "limit",
    "prompt",
    "completion",
    "input",
    "output",
    "public",
    "publishable",
    "next",
    "page",
    "cursor",
    "continuation",
    "cache",
    "type",
    "name",
    "url",
    "uri",
    "path",
    "file",
    "expiry",
    "expire",
    "length",
    "len",
    "size",
    "policy",
    "field",
    "hint",
    "ttl",
    "usage",
    "regex",
    "pattern",
    "label",
    "version",
    "hash",
    "hashed",
    "digest",
    "sha",
    "sha256",
    "md5",
    "fingerprint",
    "at",
    "id",
    "format",
    "checksum",
    "etag",
    "eos",
    "bos",
    "pad",
];

/// Words that stand for a password in examples.
const EXAMPLES: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "changeme",
    "change",
    "test",
    "testing",
    "example",
    "admin",
    "user",
    "username",
    "root",
    "foo",
    "bar",
    "foobar",
    "guest",
    "dummy",
    "fake",
    "none",
    "null",
    "true",
    "false",
    "undefined",
    "string",
    "str",
    "bytes",
    "int",
    "optional",
    "abc",
    "abcdef",
    "qwerty",
    "letmein",
    "token",
    "key",
    "apikey",
    "value",
    "redacted",
    "mysecret",
    "mypassword",
    "hash",
    "sha",
    "md",
    "utf",
    "base",
    "bcrypt",
    "argon",
    "aes",
    "rsa",
    "oauth",
    "jwt",
];

/// Words between a name and its value.
pub(super) const TELLS: &[&str] = &["is", "is:", "was", "ist", "lautet", "es", "est", "é"];

/// Most bytes of a value.
pub(super) const MAX_VALUE: usize = 512;

static FINDER: ForkLazy<AhoCorasick> = ForkLazy::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(NAMES.iter().map(|(name, ..)| name))
        .expect("invariant: the names are few and short")
});

pub(super) fn find(text: &str, found: &mut Vec<FoundSecret>) {
    for hit in FINDER.find_overlapping_iter(text) {
        let (_, promise, kind) = NAMES[hit.pattern().as_usize()];
        let value = match promise {
            Promise::Header => carried::header(text, hit.start(), hit.end()),
            _ => value(text, hit.start(), hit.end(), promise),
        };
        if let Some((start, end)) = value {
            found.push(FoundSecret { start, end, kind });
        }
    }
    carried::addresses(text, found);
}

/// The value of the name at `start..end`, if it is a secret.
fn value(text: &str, start: usize, end: usize, promise: Promise) -> Option<(usize, usize)> {
    let (whole, name_end) = whole_name(text, start, end)?;
    if parts_of(&text[whole..name_end]).iter().any(|part| OTHER_NAMES.contains(&part.as_str())) {
        return None;
    }
    let is_flag = text[..whole].ends_with("--") || text[whole..].starts_with("--");
    let is_tag = text[..whole].ends_with('<');
    let near = operator(text, name_end, is_flag, is_tag);
    let sought = |(from, is_told)| value_at(text, from, is_told, is_flag, promise);
    near.and_then(sought).or_else(|| {
        let may_be_far = promise == Promise::Password && !is_flag && !is_tag;
        let places = if may_be_far { told::places(text, name_end) } else { Vec::new() };
        places.into_iter().find_map(|from| sought((from, true)))
    })
}

/// The value that begins at `from`, if it is a secret.
fn value_at(
    text: &str,
    from: usize,
    is_told: bool,
    is_flag: bool,
    promise: Promise,
) -> Option<(usize, usize)> {
    let quote = text[from..].chars().next().filter(|c| matches!(c, '"' | '\'' | '`' | '“' | '「'));
    let begin = from + quote.map_or(0, char::len_utf8);
    let rest = clip(&text[begin..], MAX_VALUE);
    let length = match quote {
        Some(open) => {
            let close = match open {
                '“' => '”',
                '「' => '」',
                other => other,
            };
            rest.find(|c: char| c == close || c == '\\' || c.is_whitespace())?
        }
        None => {
            let length = rest.find(ends_value).unwrap_or(rest.len());
            let after = rest[length..].chars().next();
            // A call or an index: `token = get_token(1)`.
            if matches!(after, Some('(' | '[')) {
                return None;
            }
            // Chinese writes no space after a value.
            let value = &rest[..length];
            let ascii = value.find(|c: char| !c.is_ascii()).filter(|end| *end > 0);
            let is_cut = ascii.is_some_and(|end| value[end..].starts_with(is_unspaced));
            let value = &value[..ascii.filter(|_| is_cut).unwrap_or(length)];
            value.trim_end_matches(['.', ',', '!', '?', ':', ';']).len()
        }
    };
    let value = &rest[..length];
    let behind = rest[length..].chars().next();
    // `password=UserPassword)` and `password: UserPassword` are code.
    let is_assigned = text[..from].trim_end().ends_with(['=', '>']);
    let is_set =
        quote.is_some() || text[..from].ends_with(['=', '>']) && !matches!(behind, Some(')' | ','));
    let is_secret = match promise {
        Promise::Password => {
            is_password(value, is_told, is_set || is_flag) || !is_assigned && is_code(value)
        }
        Promise::Digits(least, most) => is_digits(value, least, most),
        Promise::Key | Promise::Header => is_key(value),
    };
    is_secret.then_some((begin, begin + length))
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
    let after = clip(&text[end..], 32);
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
pub(super) fn operator(
    text: &str,
    end: usize,
    is_flag: bool,
    is_tag: bool,
) -> Option<(usize, bool)> {
    let rest = &text[end..];
    let after_name = rest.trim_start_matches(['"', '\'', '`', '\\', ']', '*', ')']);
    let gap = spaces(after_name);
    let bare = &after_name[gap..];
    for sign in [":=", "=>", "="] {
        if let Some(value) = bare.strip_prefix(sign) {
            if value.starts_with('=') || value.starts_with('~') {
                return None;
            }
            return Some((text.len() - value.len() + spaces(value) + escapes(value), false));
        }
    }
    for sign in [":", "："] {
        if let Some(value) = bare.strip_prefix(sign) {
            let at = text.len() - value.len() + spaces(value) + escapes(value);
            return (!value.starts_with(':')).then_some((at, false));
        }
    }
    if is_tag {
        return bare.strip_prefix('>').map(|value| (text.len() - value.len(), false));
    }
    let told = TELLS.iter().filter(|_| gap > 0).find_map(|word| bare.strip_prefix(word));
    if let Some(value) = told.filter(|value| value.starts_with([' ', '\t'])) {
        return Some((text.len() - value.len() + spaces(value), true));
    }
    (is_flag && gap > 0).then_some((text.len() - bare.len(), false))
}

/// Number of spaces at the start of `text`, at most four.
pub(super) fn spaces(text: &str) -> usize {
    text.bytes().take(4).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Length of a backslash after the spaces, before a quotation mark: JSON in JSON.
fn escapes(text: &str) -> usize {
    usize::from(text[spaces(text)..].starts_with("\\\""))
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
        && entropy(value) >= 3.0
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
pub(super) fn clip(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The last `bytes` of `text`, from a character on.
fn clip_end(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}
