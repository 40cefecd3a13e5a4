//! Cursors: the places in the logs of all users, as text.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::store::{LogPlace, UserPlaces};

/// Prefix of every cursor; names its encoding.
const FORM: &str = "e1-";

/// A place in the logs of each user; a user who is missing is at the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FeedCursor {
    pub users: BTreeMap<String, UserPlaces>,
}

impl FeedCursor {
    pub fn user_places(&self, user: &str) -> UserPlaces {
        self.users.get(user).copied().unwrap_or_default()
    }

    pub fn set_places(&mut self, user: &str, places: UserPlaces) {
        if places.logs.iter().all(|place| place.bytes == 0) {
            self.users.remove(user);
        } else {
            self.users.insert(user.to_owned(), places);
        }
    }

    /// The cursor as text: [`FORM`] and hexadecimal digits. The digits encode, for each user, the
    /// length of the id, the id, the generation, and for each log the offset and (unless that is 0)
    /// the checksum. Numbers are in LEB128, checksums in four bytes.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        for (user, places) in &self.users {
            put_number(&mut bytes, user.len() as u64);
            bytes.extend_from_slice(user.as_bytes());
            put_number(&mut bytes, places.generation);
            for place in &places.logs {
                put_number(&mut bytes, place.bytes);
                if place.bytes > 0 {
                    bytes.extend_from_slice(&place.anchor.to_le_bytes());
                }
            }
        }
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        std::iter::once(FORM.to_owned()).chain(digits).collect()
    }

    /// # Errors
    /// `InvalidInput` for a malformed cursor.
    pub fn from_text(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| {
            let shown: String = text.chars().take(80).collect();
            Error::invalid(format!("not a cursor: `{shown}`"))
                .with_hint("pass the `cursor` of an earlier page or event, or `latest`")
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(FORM)?.as_bytes();
        let mut bytes = Vec::with_capacity(digits.len() / 2);
        for pair in digits.chunks(2) {
            let [high, low] = pair else { return None };
            let value = |digit: &u8| char::from(*digit).to_digit(16);
            bytes.push(u8::try_from(value(high)? * 16 + value(low)?).ok()?);
        }
        let (mut rest, mut users) = (&bytes[..], BTreeMap::new());
        while !rest.is_empty() {
            let length = usize::try_from(take_number(&mut rest)?).ok()?;
            let user = std::str::from_utf8(rest.get(..length)?).ok()?.to_owned();
            rest = &rest[length..];
            let mut places =
                UserPlaces { generation: take_number(&mut rest)?, ..UserPlaces::default() };
            for place in &mut places.logs {
                let bytes = take_number(&mut rest)?;
                let anchor = match bytes {
                    0 => 0,
                    _ => {
                        let (anchor, behind) = rest.split_first_chunk()?;
                        rest = behind;
                        u32::from_le_bytes(*anchor)
                    }
                };
                *place = LogPlace { bytes, anchor };
            }
            users.insert(user, places);
        }
        Some(Self { users })
    }
}

fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8 & 0x7f) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
