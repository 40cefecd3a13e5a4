//! Finds the bounds of values in text that is almost JSON, without recursion and within a budget.

use serde_json::{Map, Value};

use super::repair::parse_value;

/// Maximum number of scans per byte. Without it, broken text with many brackets would take
/// quadratic time.
const LOOKS: usize = 16;

/// Maximum length of a member's name that is searched.
const MAX_KEY_BYTES: usize = 64;

pub(super) struct JsonScan<'t> {
    text: &'t str,
    bytes: &'t [u8],
    budget: usize,
}

impl<'t> JsonScan<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, bytes: text.as_bytes(), budget: LOOKS * text.len() + 1024 }
    }

    /// The first of `wanted` at or after `at`.
    pub(super) fn find_byte(&self, at: usize, wanted: &[u8]) -> Option<usize> {
        self.bytes
            .get(at..)?
            .iter()
            .position(|byte| wanted.contains(byte))
            .map(|offset| at + offset)
    }

    /// True if the text after `at` and white space begins with `first`.
    pub(super) fn starts_with(&self, at: usize, first: &[u8]) -> bool {
        self.bytes[self.skip_space(at, b"")..].starts_with(first)
    }

    /// The `[` after the first `"key":`.
    pub(super) fn list_under(&self, key: &str) -> Option<usize> {
        let quoted = format!("\"{key}\"");
        self.text.match_indices(&quoted).find_map(|(at, _)| {
            let colon = self.skip_space(at + quoted.len(), b"");
            let list = self.skip_space(colon + 1, b"");
            (self.bytes.get(colon) == Some(&b':') && self.bytes.get(list) == Some(&b'['))
                .then_some(list)
        })
    }

    /// The position after the container that begins at `start`; `None` if it has no end or the
    /// budget is used up.
    pub(super) fn container_end(&mut self, start: usize) -> Option<usize> {
        let mut depth = 0_usize;
        self.walk_bytes(start, |byte| {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            depth == 0
        })
        .map(|last| last + 1)
    }

    /// The readable elements of the list whose bracket is at `start`, and the number of unreadable
    /// ones; `None` for a list that is truncated before its first element.
    pub(super) fn read_elements(&mut self, start: usize) -> Option<(Vec<Value>, usize)> {
        let (mut values, mut lost) = (Vec::new(), 0);
        let mut at = start + 1;
        loop {
            at = self.skip_space(at, b",");
            if matches!(self.bytes.get(at), None | Some(b']' | b'}')) {
                let empty = values.is_empty() && lost == 0;
                return (at < self.bytes.len() || !empty).then_some((values, lost));
            }
            let (end, value) = self.read_value(at);
            match value {
                Some(value) => {
                    values.push(value);
                    at = end;
                }
                None => {
                    lost += 1;
                    at = self.next_element(at, end);
                }
            }
        }
    }

    /// The readable members of the object whose bracket is at `start`, and the number of unreadable
    /// ones.
    pub(super) fn read_members(&mut self, start: usize) -> (Map<String, Value>, usize) {
        let (mut members, mut lost) = (Map::new(), 0);
        let mut at = start + 1;
        loop {
            at = self.skip_space(at, b",");
            if matches!(self.bytes.get(at), None | Some(b']' | b'}')) {
                return (members, lost);
            }
            let Some((key, from)) = self.read_key(at) else {
                lost += 1;
                let end = self.read_value(at).0;
                at = self.next_member(at, end);
                continue;
            };
            let (end, value) = self.read_value(from);
            match value {
                Some(value) => {
                    members.insert(key.to_owned(), value);
                    at = end;
                }
                None => {
                    lost += 1;
                    at = self.next_member(from, end);
                }
            }
        }
    }

    /// The value at `at`, if it is readable, and its end; the end of the text for a truncated
    /// value.
    fn read_value(&mut self, at: usize) -> (usize, Option<Value>) {
        let length = self.bytes.len();
        let end = match self.bytes.get(at) {
            Some(b'{' | b'[') => self.container_end(at),
            _ => {
                let mut depth = 0_usize;
                self.walk_bytes(at, |byte| {
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' if depth > 0 => depth -= 1,
                        b'}' | b']' | b',' => return depth == 0,
                        _ => {}
                    }
                    false
                })
            }
        };
        let text = &self.text[at..end.unwrap_or(length)];
        // A number at the very end may be truncated.
        let whole = end.is_some() || text.trim_end().ends_with('"');
        // Always past `at`, so that every scan advances.
        (
            end.unwrap_or(length).max(at + 1).min(length),
            if whole { parse_value(text.trim()) } else { None },
        )
    }

    /// The position at which to continue after the broken element from `at` to `end`: the next
    /// place within it that looks like the start of an element. A surplus quotation mark makes an
    /// element swallow the following ones.
    fn next_element(&mut self, at: usize, end: usize) -> usize {
        let (close, open) = match self.bytes[at] {
            b'{' => (b'}', b'{'),
            b'"' => (b'"', b'"'),
            _ => return end,
        };
        let name = self.key_in(at);
        if !self.spend_budget(end - at) {
            return end;
        }
        (at + 1..end)
            .filter(|place| self.bytes[*place] == close)
            .filter_map(|place| {
                let comma = self.skip_space(place + 1, b"");
                let next = self.skip_space(place + 1, b",");
                let parted = open == b'{' || self.bytes.get(comma) == Some(&b',');
                (parted && next < end && self.bytes[next] == open).then_some(next)
            })
            .find(|next| open == b'"' || name.is_none() || self.key_in(*next) == name)
            .unwrap_or(end)
    }

    /// As [`Self::next_element`], but for members: the position of the next `, "name":`.
    fn next_member(&mut self, at: usize, end: usize) -> usize {
        if !self.spend_budget(end - at) {
            return end;
        }
        let mut commas = (at..end).filter(|place| self.bytes[*place] == b',');
        commas.find(|comma| self.read_key(self.skip_space(comma + 1, b"")).is_some()).unwrap_or(end)
    }

    /// The name at `at` and the start of its value.
    fn read_key(&self, at: usize) -> Option<(&'t str, usize)> {
        let rest = self.bytes.get(at..)?.strip_prefix(b"\"")?;
        let length = rest.iter().take(MAX_KEY_BYTES).position(|byte| *byte == b'"')?;
        let colon = self.skip_space(at + length + 2, b"");
        let name = &self.text[at + 1..at + 1 + length];
        (self.bytes.get(colon) == Some(&b':') && !name.contains('\\'))
            .then(|| (name, self.skip_space(colon + 1, b"")))
    }

    /// The first name in the object at `at`.
    fn key_in(&self, at: usize) -> Option<&'t str> {
        self.read_key(self.skip_space(at + 1, b"")).map(|(name, _)| name)
    }

    /// The first position from `at` that is neither white space nor one of `also`.
    fn skip_space(&self, at: usize, also: &[u8]) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && !also.contains(byte))
            .unwrap_or(rest.len());
        (at + length).min(self.bytes.len())
    }

    /// Calls `stop` with each byte from `start` that is outside strings (quotation marks excluded);
    /// returns the position at which `stop` returns true.
    fn walk_bytes(&mut self, start: usize, mut stop: impl FnMut(u8) -> bool) -> Option<usize> {
        let (mut in_string, mut escaped) = (false, false);
        let most = self.budget.min(self.bytes.len() - start);
        for (offset, byte) in self.bytes[start..start + most].iter().enumerate() {
            match (in_string, *byte) {
                (true, _) if escaped => escaped = false,
                (true, b'\\') => escaped = true,
                (_, b'"') => in_string = !in_string,
                (true, _) => {}
                (false, byte) => {
                    if stop(byte) {
                        self.spend_budget(offset + 1);
                        return Some(start + offset);
                    }
                }
            }
        }
        self.spend_budget(most);
        None
    }

    fn spend_budget(&mut self, cost: usize) -> bool {
        let enough = cost <= self.budget;
        self.budget = self.budget.saturating_sub(cost);
        enough
    }
}
