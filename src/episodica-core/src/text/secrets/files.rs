//! Secrets in files of programs, by their place in a line: `.pgpass`, the registries of Docker and
//! npm.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::armour::is_base64;
use super::named::{MAX_VALUE, clip_text, is_example, is_reference, value_start};
use super::{FoundSecret, manifests};

/// Base64 with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn find_in_files(text: &str, found: &mut Vec<FoundSecret>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some((from, to)) = pgpass_password(line.trim_end()) {
            found.push(FoundSecret { start: at + from, end: at + to, kind: "password" });
        }
        at += line.len();
    }
    find_logins(text, found);
    manifests::find_in_manifests(text, found);
}

/// The password in a line of `.pgpass`, after the mark that a program may put before a line.
fn pgpass_password(line: &str) -> Option<(usize, usize)> {
    if line.len() > MAX_VALUE || !line.contains(':') {
        return None;
    }
    let start = line
        .rfind([' ', '\t', '→'])
        .map_or(0, |at| at + line[at..].chars().next().map_or(0, char::len_utf8));
    let is_mark = !line[..start].contains(|c: char| c.is_ascii_alphabetic());
    let fields: Vec<&str> = line[start..].split(':').collect();
    let [host, port, database, user, password] = fields[..] else { return None };
    let is_name = |name: &str| {
        name == "*"
            || name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@'))
    };
    let is_host = host == "*"
        || host.contains(|c: char| c.is_ascii_alphanumeric()) && {
            host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/'))
        };
    // PostgreSQL's port, or one that shows it: 15432, 5433.
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit())
        && (port.ends_with("5432") || port.starts_with("543") || port == "6432");
    let is_line = is_host
        && (is_port || port == "*" && host == "*")
        && is_name(database)
        && is_name(user)
        && is_mark;
    let is_secret = (4..=128).contains(&password.len())
        && password.contains(char::is_alphanumeric)
        && !is_reference(password)
        && !is_example(password)
        && !password.contains("**");
    (is_line && is_secret).then_some((line.len() - password.len(), line.len()))
}

/// `"auth": "…"` and `_auth=…`, whose value is a user and a password in base64.
fn find_logins(text: &str, found: &mut Vec<FoundSecret>) {
    const NAME: &str = "auth";
    for (at, _) in text.match_indices(NAME) {
        if text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let Some((from, is_told)) = value_start(text, at + NAME.len(), false, false) else {
            continue;
        };
        let rest = &text[from..];
        let start = from + rest.len() - rest.trim_start_matches(['"', '\'', '\\']).len();
        let rest = clip_text(&text[start..], MAX_VALUE);
        let length = rest.find(|c| !is_base64(c)).unwrap_or(rest.len());
        if !is_told && is_login(&rest[..length]) {
            found.push(FoundSecret { start, end: start + length, kind: "authorization" });
        }
    }
}

/// Whether `value` is "user:password" in base64.
fn is_login(value: &str) -> bool {
    let Ok(bytes) = BASE64.decode(value) else { return false };
    let Ok(login) = String::from_utf8(bytes) else { return false };
    login.split_once(':').is_some_and(|(user, password)| {
        let is_text = !user.is_empty() && !login.contains(char::is_control);
        is_text && password.len() >= 3 && !is_example(password)
    })
}
