//! Identity: validated owner ids, their file names, and record ids derived from content.
//!
//! Nothing here is random. A record's id is a hash of its owner and its content, so the same input
//! gives the same store.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Longest user or tenant id, in bytes of UTF-8.
pub const MAX_OWNER_ID_BYTES: usize = 512;

/// Longest piece of a file name for an encoded id; longer ids continue in a subdirectory.
const MAX_NAME_PIECE: usize = 180;

/// Ends the name of a directory in which a long encoded id continues.
const CONTINUES: char = '~';

/// A tenant and a user of it: every record belongs to exactly one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// The tenant; `default` where none was named.
    pub tenant: String,
    /// The user within the tenant.
    pub user: String,
}

impl Owner {
    /// Checks both ids.
    ///
    /// # Errors
    /// `InvalidInput` for an id that is empty or longer than [`MAX_OWNER_ID_BYTES`].
    pub fn new(tenant: &str, user: &str) -> Result<Self> {
        check_owner_id("tenant", tenant)?;
        check_owner_id("user_id", user)?;
        Ok(Self { tenant: tenant.to_owned(), user: user.to_owned() })
    }

    /// The address of one of the owner's records: `episodica://tenant/user/kind/id`, each part
    /// percent-encoded.
    pub fn uri(&self, kind: &str, id: &str) -> String {
        format!(
            "episodica://{}/{}/{kind}/{}",
            uri_part(&self.tenant),
            uri_part(&self.user),
            uri_part(id)
        )
    }

    /// The kind and id of a record that [`Owner::uri`] addressed; `None` for another owner's or a
    /// malformed address.
    pub(crate) fn parse_uri(&self, uri: &str) -> Option<(String, String)> {
        let rest = uri.strip_prefix("episodica://")?;
        let mut parts = rest.split('/');
        let (tenant, user) = (percent_decode(parts.next()?)?, percent_decode(parts.next()?)?);
        let (kind, id) = (parts.next()?, percent_decode(parts.next()?)?);
        (parts.next().is_none() && tenant == self.tenant && user == self.user)
            .then(|| (kind.to_owned(), id))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.user)
    }
}

fn check_owner_id(what: &str, id: &str) -> Result<()> {
    match id.len() {
        0 => Err(Error::invalid(format!("{what} is empty"))),
        1..=MAX_OWNER_ID_BYTES => Ok(()),
        long => Err(Error::invalid(format!(
            "{what} is longer than {MAX_OWNER_ID_BYTES} bytes: `{long}`"
        ))),
    }
}

/// Encodes an id as a file name, or a long id as a path.
///
/// Injective and reversible, also on file systems that fold case or normalise Unicode: `a-z 0-9 - _
/// .` stand for themselves (a dot only if it is neither first nor after a dot), an upper-case ASCII
/// letter is `^` and its lower-case form, every other byte is `%` and two hex digits. A name of
/// more than 180 characters continues in a subdirectory whose name ends in `~`.
pub(crate) fn encode_file_name(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    let mut piece = 0;
    for byte in id.bytes() {
        if piece >= MAX_NAME_PIECE {
            name.push(CONTINUES);
            name.push('/');
            piece = 0;
        }
        let before = name.len();
        match byte {
            b'.' if piece == 0 || name.ends_with('.') => name.push_str("%2e"),
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(char::from(byte)),
            b'A'..=b'Z' => {
                name.push('^');
                name.push(char::from(byte.to_ascii_lowercase()));
            }
            _ => name.push_str(&format!("%{byte:02x}")),
        }
        piece += name.len() - before;
    }
    name
}

/// The id that [`encode_file_name`] encoded; also takes names that other programs wrote unencoded
/// (`Alice`). `None` for malformed escapes.
pub(crate) fn decode_file_name(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'^', [letter @ b'a'..=b'z', after @ ..]) => {
                bytes.push(letter.to_ascii_uppercase());
                rest = after;
            }
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
                rest = after;
            }
            (b'%' | b'^', _) => return None,
            (b'~', [b'/', after @ ..]) => rest = after,
            (byte, _) => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// SHA-256 over the parts, each preceded by its length, so that different lists never hash the same
/// bytes.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

/// The first 128 bits of a [`digest`] in the form of a UUID of version 8 (RFC 9562).
pub(crate) fn uuid8(hash: &[u8; 32]) -> String {
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = to_hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The id of a record of `kind`, derived from `parts`. The parts distinguish the record from the
/// owner's other records of that kind.
pub(crate) fn record_id(owner: &Owner, kind: &str, parts: &[&[u8]]) -> String {
    let mut all: Vec<&[u8]> = vec![owner.tenant.as_bytes(), owner.user.as_bytes(), kind.as_bytes()];
    all.extend_from_slice(parts);
    uuid8(&digest(&all))
}

/// The mark that remains of a deleted record's id: a known id can be recognised by it, but the id
/// can't be restored.
pub fn mark_of(owner: &Owner, id: &str) -> String {
    to_hex(&digest(&[owner.user.as_bytes(), id.as_bytes()])[..8])
}

/// The content hash by which cached answers recognise a prompt: SHA-256, hex.
pub fn content_hash(text: &str) -> String {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    to_hex(&hash)
}

/// Identifies the text of a vector: the first 128 bits of its SHA-256.
pub type VectorKey = [u8; 16];

/// The key of a text's vector.
pub fn vector_key(text: &str) -> VectorKey {
    let mut key = VectorKey::default();
    key.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    key
}

/// Lower-case hexadecimal.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

fn uri_part(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if let (b'%', [high, low, after @ ..]) = (first, tail) {
            let digit = |byte: &u8| char::from(*byte).to_digit(16);
            bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_injective_and_reversible() {
        let long = "Ü".repeat(256);
        let ids = [
            "a",
            "A",
            "a_b",
            "../../x",
            "/etc/passwd",
            "a\0b",
            ".hidden",
            "^a",
            "%41",
            "ａ",
            "e\u{301}",
            "\u{e9}",
            "con",
            "a~b",
            &long,
        ];
        let mut names: Vec<String> = ids.iter().map(|id| encode_file_name(id)).collect();
        for (id, name) in ids.iter().zip(&names) {
            assert_eq!(decode_file_name(name).as_deref(), Some(*id), "{name}");
            assert!(name.is_ascii() && !name.starts_with('.') && !name.contains(".."), "{name}");
            assert!(name.split('/').all(|piece| piece.len() < 200), "{name}");
        }
        names.sort();
        names.dedup_by_key(|name| name.to_lowercase());
        assert_eq!(names.len(), ids.len());
    }

    #[test]
    fn uris_come_back_for_their_owner_only() {
        let owner = Owner::new("t/1", "ü ser").expect("valid");
        let uri = owner.uri("episode", "x/1");
        assert_eq!(owner.parse_uri(&uri), Some(("episode".into(), "x/1".into())));
        assert_eq!(Owner::new("t", "1/ü ser").expect("valid").parse_uri(&uri), None);
    }

    #[test]
    fn ids_do_not_run_together() {
        let one = Owner::new("a", "bc").expect("valid");
        let two = Owner::new("ab", "c").expect("valid");
        assert_ne!(record_id(&one, "message", &[b"1"]), record_id(&two, "message", &[b"1"]));
        assert_eq!(uuid8(&digest(&[])).as_bytes()[14], b'8');
    }
}
