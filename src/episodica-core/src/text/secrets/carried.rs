//! Credentials that are carried along: in the header of a request, in an address.

use super::named::{
    MAX_VALUE, clip_text, ends_value, is_example, is_key, is_reference, leading_spaces, value_start,
};
use super::{FoundSecret, is_random};

/// The credentials of a header after their scheme: "Authorization: Basic dXNlcjpwYXNz".
pub(super) fn header_credentials(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let is_bare = text[start..end].ends_with(' ');
    if text[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let mut from = if is_bare {
        end + leading_spaces(&text[end..])
    } else {
        value_start(text, end, false, false)?.0
    };
    from += text[from..].len() - text[from..].trim_start_matches(['"', '\'', '`', '\\']).len();
    if !is_bare {
        let rest = &text[from..];
        let schemes = [
            "Bearer ", "Basic ", "Token ", "token ", "bearer ", "basic ", "ApiKey ", "Digest ",
            "AWS ",
        ];
        let scheme = schemes.into_iter().find(|scheme| rest.starts_with(scheme));
        from += scheme.map_or(0, str::len);
        from += text[from..].len() - text[from..].trim_start_matches("token=").len();
    }
    from += text[from..].len() - text[from..].trim_start_matches(['"', '\'']).len();
    let rest = clip_text(&text[from..], 4 * MAX_VALUE);
    let length = rest.find(ends_value).unwrap_or(rest.len());
    let value = rest[..length].trim_end_matches(['.', ',', ':']);
    let least = if is_bare { 20 } else { 12 };
    let mixed = value.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        && value.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_secret = value.len() >= least
        && value.is_ascii()
        && (mixed || is_key(value))
        && !is_reference(value)
        && is_random(value)
        && !is_example(value)
        && (value.bytes().any(|byte| byte.is_ascii_digit()) || value.ends_with('='));
    is_secret.then(|| (from, from + value.len()))
}

/// The passwords of `scheme://user:password@host`.
pub(super) fn address_passwords(text: &str, found: &mut Vec<FoundSecret>) {
    for at in text.match_indices("://").map(|(at, _)| at) {
        if !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let from = at + "://".len();
        let rest = clip_text(&text[from..], MAX_VALUE);
        let host = rest
            .find(|c: char| {
                c.is_whitespace()
                    || matches!(c, '/' | '"' | '\'' | '`' | '<' | '>' | '(' | ')' | ',')
            })
            .unwrap_or(rest.len());
        let Some(user_end) = rest[..host].rfind('@') else { continue };
        let Some(colon) = rest[..user_end].find(':') else { continue };
        let password = &rest[colon + 1..user_end];
        let is_open = password.len() < 3
            || password.starts_with(['$', '{', '<', '*', '[', '%'])
            || password.contains("**")
            || password.contains("${")
            || is_example(password)
            || password == &rest[..colon];
        if !is_open {
            let (start, end) = (from + colon + 1, from + user_end);
            found.push(FoundSecret { start, end, kind: "password" });
        }
    }
}
