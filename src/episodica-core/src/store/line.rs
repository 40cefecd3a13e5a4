//! One line of a log: a JSON object whose last key is the checksum of everything before it.
//!
//! `{"message_id":"m1","content":"hello","crc":"89abcdef"}`: CRC-32 (IEEE) in eight lower-case hex
//! digits over every byte of the line before `,"crc"`. A line without this key is accepted, because
//! people write such lines.

use serde::Serialize;

use crate::error::{Error, Result};

/// Maximum length of a line, in bytes: longer than the largest episode of ordinary messages, and
/// short enough not to exhaust memory.
pub const MAX_LINE_BYTES: usize = 256 << 20;

const KEY: &[u8] = b",\"crc\":\"";
const END: &[u8] = b"\"}";
const DIGITS: usize = 8;
const TAIL: usize = KEY.len() + DIGITS + END.len();

/// Appends `record`, with its checksum and a line feed, to `out`.
///
/// # Errors
/// `InvalidInput` for a line longer than [`MAX_LINE_BYTES`]; `Internal` for a record that is not a
/// JSON object with a key.
pub(crate) fn encode_line(out: &mut Vec<u8>, record: &impl Serialize) -> Result<()> {
    let start = out.len();
    serde_json::to_writer(&mut *out, record)
        .map_err(|error| Error::internal("record has no JSON form").caused_by(error))?;
    if out.last() != Some(&b'}') || out.get(start) != Some(&b'{') || out.len() - start < 3 {
        out.truncate(start);
        return Err(Error::internal("record of a log is not a JSON object with a key"));
    }
    if out.len() - start + TAIL > MAX_LINE_BYTES {
        let bytes = out.len() - start;
        out.truncate(start);
        return Err(Error::invalid(format!(
            "record is longer than {MAX_LINE_BYTES} bytes: `{bytes}`"
        )));
    }
    // Raw metadata may contain line breaks between its tokens; inside JSON strings a line break is
    // always escaped.
    for byte in &mut out[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    out.pop();
    let crc = crc32fast::hash(&out[start..]);
    out.extend_from_slice(KEY);
    out.extend_from_slice(format!("{crc:08x}").as_bytes());
    out.extend_from_slice(END);
    out.push(b'\n');
    Ok(())
}

/// True if the checksum of the line (without its line feed) matches; `Ok(false)` if the line has no
/// checksum.
///
/// # Errors
/// A readable reason.
pub fn check_line(line: &[u8]) -> Result<bool, String> {
    let Some((body, tail)) = line.len().checked_sub(TAIL).map(|at| line.split_at(at)) else {
        return Ok(false);
    };
    let (key, rest) = tail.split_at(KEY.len());
    let (digits, end) = rest.split_at(DIGITS);
    if key != KEY || end != END {
        // A key with one or two damaged bytes still counts as the checksum key; otherwise damaged
        // text would pass unchecked.
        let alike = key.iter().zip(KEY).filter(|(have, want)| have == want).count();
        let ends_alike = end.iter().zip(END).filter(|(have, want)| have == want).count();
        if alike + 2 >= KEY.len() && alike + ends_alike < TAIL - DIGITS {
            return Err("the checksum key is damaged".into());
        }
        return Ok(false);
    }
    if digits == format!("{:08x}", crc32fast::hash(body)).as_bytes() {
        Ok(true)
    } else {
        Err("the checksum does not match".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(value: &serde_json::Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode_line(&mut out, value).unwrap();
        out
    }

    #[test]
    fn a_line_is_json_with_its_checksum_last() {
        let out = line(&serde_json::json!({"a": "x\ny"}));
        assert_eq!(
            String::from_utf8(out.clone()).unwrap(),
            "{\"a\":\"x\\ny\",\"crc\":\"6abd673e\"}\n"
        );
        let parsed: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(parsed["crc"], "6abd673e");
        assert_eq!(check_line(&out[..out.len() - 1]), Ok(true));
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let out = line(&serde_json::json!({"content": "I moved to Lyon", "crc_of": 1}));
        let body = &out[..out.len() - 1];
        for bit in 0..body.len() * 8 {
            let mut flipped = body.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(check_line(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn lines_without_checksum_are_taken_as_they_are() {
        assert_eq!(check_line(b"{}"), Ok(false));
        assert_eq!(check_line(br#"{"content":"a line that somebody wrote by hand"}"#), Ok(false));
    }

    #[test]
    fn raw_line_breaks_become_spaces() {
        let raw = serde_json::value::RawValue::from_string("{\"a\":\r\n 1}".into()).unwrap();
        let mut out = Vec::new();
        encode_line(&mut out, &std::collections::BTreeMap::from([("m", raw)])).unwrap();
        assert_eq!(out.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count(), 1);
    }

    #[test]
    fn only_objects_are_encoded() {
        let mut out = b"kept".to_vec();
        assert!(encode_line(&mut out, &3).is_err());
        assert!(encode_line(&mut out, &serde_json::json!({})).is_err());
        assert_eq!(out, b"kept");
    }
}
